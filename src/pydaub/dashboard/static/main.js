// Puts the page together. This is the last file, and the only one that does anything when it is loaded.

const REDRAW_MILLISECONDS = 700;

let outdated = false; // something has come in that is not drawn yet

function take(news, whole) {
  receive(news, whole);
  if (whole) forgetDrawn();
  drawHead();
  outdated = true;
  if (!whole) return;
  drawOutdated();
  if (recalled("open") && !detail.learner && run.learners.has(recalled("open"))) openDetail(recalled("open"));
}

function forgetDrawn() {
  ranking.rows.clear();
  curves.cards.clear();
  log.newest = 0;
}

function drawAll() {
  outdated = false;
  drawAgainIfRescaled();
  for (const name of changed) {
    if (ranking.rows.has(name)) fillRow(name);
    if (curves.cards.get(name)?.isConnected) fillCard(name);
    else curves.cards.delete(name); // made again when it is shown
  }
  changed.clear();
  drawNow();
  drawOverview();
  drawFilter();
  drawColumnMenu(drawAll);
  drawTable();
  drawCards();
  drawDetail();
  setTimeout(drawBelow); // in a task of its own, so that the page stays responsive
}

// Whiskers share one scale: where it changes, all of them do.
function drawAgainIfRescaled() {
  const scale = String(run.header.focus.interval);
  if (scale === ranking.scale) return;
  ranking.scale = scale;
  for (const name of ranking.rows.keys()) changed.add(name);
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
  byId("notify").onclick = askToNotify;
  byId("notes").onclick = () => openNotes("");
  byId("commands").onclick = () => openCommands("");
  byId("skip").onclick = (event) => {
    event.preventDefault(); // the address is for what is remembered
    byId("ranking").focus();
  };
  keep("search", "q", "input");
  keep("only", "status", "change");
  keep("where", "where", "change");
  keep("way", "way", "change");
  keep("than", "than", "input");
  byId("rows").onclick = () => {
    ranking.all = !ranking.all;
    drawTable();
  };
  byId("more").onclick = () => {
    curves.all = !curves.all;
    drawCards();
  };
  listenToMenus();
  byId("each").ontoggle = drawCards;
  byId("now").ontoggle = drawBest;
  byId("spent").ontoggle = drawAllocation;
  byId("as-svg").onclick = () => savePicture("svg");
  byId("as-png").onclick = () => savePicture("png");
  listenToOverview();
  roveRows(document.querySelector("#ranking table"));
  rove(byId("cards"));
  byId("older").onclick = () => {
    log.all = true;
    log.newest = 0;
    drawLog();
  };
  byId("close").onclick = () => byId("detail").close();
  byId("detail").addEventListener("close", closeDetail);
  document.addEventListener("visibilitychange", drawOutdated);
  addEventListener("resize", () => (outdated = true));
  addEventListener("beforeprint", () => drawForPaper(true));
  addEventListener("afterprint", () => drawForPaper(false));
  setInterval(drawOutdated, REDRAW_MILLISECONDS);
  setInterval(drawElapsed, 1000);
}

// A control whose value the address keeps.
function keep(id, key, when) {
  byId(id).addEventListener(when, () => {
    remember(key, byId(id).value);
    drawAll();
  });
}

// On paper everything is shown, in the width of a page.
function drawForPaper(printing) {
  for (const fold of [byId("decisions"), ...document.querySelectorAll(".folds details:not(#each, #primer)")]) {
    if (printing && !fold.open) fold.dataset.opened = "yes";
    if (printing || fold.dataset.opened) fold.open = printing;
    if (!printing) delete fold.dataset.opened;
  }
  document.body.classList.toggle("paper", printing);
  ranking.all = log.all = printing;
  log.newest = 0;
  drawAll();
  drawBelow();
}

// What the address remembers.
function recall() {
  byId("search").value = recalled("q");
  for (const name of recalledAll("pick")) ranking.picked.add(name);
}

// A report contains its story; otherwise the server sends it.
function start() {
  recall();
  listen();
  const story = byId("story");
  if (!story) {
    takeToken();
    drawTiles(run.header.tiles); // something stands there at once
    drawOverview();
    follow(take, drawConnection);
    return;
  }
  document.body.classList.add("report");
  const content = JSON.parse(story.textContent);
  take(content, true);
  drawAbout(content);
}

start();
