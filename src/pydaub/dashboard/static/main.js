// Puts the page together. This is the last file, and the only one that does anything when it is loaded.

const REDRAW_MILLISECONDS = 700;

let outdated = false; // something has come in that is not drawn yet

function take(news, whole) {
  receive(news, whole);
  if (whole) forgetDrawn();
  drawHead();
  outdated = true;
  if (whole) drawAll();
}

function forgetDrawn() {
  ranking.rows.clear();
  curves.cards.clear();
  log.newest = 0;
  for (const name of ranking.picked) if (!run.learners.has(name)) ranking.picked.delete(name);
  drawCompare();
}

function drawAll() {
  outdated = false;
  updateRange();
  for (const name of changed) {
    if (ranking.rows.has(name)) fillRow(name);
    if (curves.cards.get(name)?.isConnected) fillCard(name);
    else curves.cards.delete(name); // made again when it is shown
  }
  changed.clear();
  drawFilter();
  drawTable();
  drawCards();
  drawDetail();
  setTimeout(drawBelow); // in a task of its own, so that the page stays responsive
}

function drawBelow() {
  drawAllocation();
  drawLog();
  drawResult();
  drawAudit();
}

function drawOutdated() {
  if (outdated && !document.hidden) drawAll();
}

function listen() {
  byId("pause").onclick = () => steer(run.header.actions.command);
  byId("stop").onclick = () => steer("stop", null, run.header.confirm.stop);
  byId("add").onclick = addLearner;
  byId("search").oninput = drawAll;
  byId("only").onchange = drawAll;
  byId("compare").onclick = () => openDetail([...ranking.picked]);
  byId("rows").onclick = () => {
    ranking.all = !ranking.all;
    drawTable();
  };
  byId("more").onclick = () => {
    curves.all = !curves.all;
    drawCards();
  };
  byId("older").onclick = () => {
    log.all = true;
    log.newest = 0;
    drawLog();
  };
  byId("close").onclick = () => byId("detail").close();
  byId("detail").addEventListener("close", closeDetail);
  document.addEventListener("visibilitychange", drawOutdated);
  setInterval(drawOutdated, REDRAW_MILLISECONDS);
  setInterval(drawElapsed, 1000);
}

// A report contains its story; otherwise the server sends it.
function start() {
  drawColumns();
  listen();
  const story = byId("story");
  if (!story) {
    follow(take, drawLost);
    return;
  }
  document.body.classList.add("report");
  const content = JSON.parse(story.textContent);
  take(content, true);
  drawAbout(content.about);
}

start();
