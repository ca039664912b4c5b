// The header: state, verdict, progress, and which buttons work. Uses format.js, run.js, net.js and tab.js.

// States of the connection, which the server cannot report.
const CONNECTION = {
  lost: "connection lost; trying again",
  refused: "this address is not valid; open the one that was printed last",
  full: "too many pages of this run are open; close one of them",
};

let busy = false; // a command is on its way

function drawHead() {
  const { header } = run;
  if (header.run) setText(byId("title"), header.run);
  byId("home").hidden = !header.home;
  if (header.home) byId("home").href = "../../"; // a report leads nowhere
  setText(byId("trouble"), header.trouble ?? "");
  byId("trouble").hidden = !header.trouble;
  drawFacts(header.facts);
  setText(byId("verdict"), header.verdict.line);
  const { fraction } = header.verdict;
  const bar = document.querySelector(".progress");
  bar.hidden = fraction === null;
  const percent = 100 * (fraction ?? 0);
  bar.setAttribute("aria-valuenow", percent.toFixed(0));
  bar.firstElementChild.style.width = `${percent}%`;
  drawConnection();
}

function drawState(state, words) {
  byId("state").dataset.state = state;
  setText(byId("state"), marked(state, words));
}

// The state of the run, or of the connection where that is all that is known.
function drawConnection() {
  const { header } = run;
  if (isLost() && !header.over) drawState(connection.state, CONNECTION[connection.state]);
  else drawState(header.state, header.words);
  drawButtons(header);
  drawHeard();
  drawTab();
}

// When the page last heard from its server. It ticks, so that it is no status that a screen reader would read out.
function drawHeard() {
  const heard = byId("heard");
  heard.hidden = connection.state === "none" || !connection.heardAt || (run.header.over && !isLost());
  const seconds = Math.max(Math.round(silence() / 1000), 0);
  const ago = seconds < 1 ? "just now" : `${seconds < 120 ? `${seconds} s` : duration(seconds)} ago`;
  setText(heard, `${isLost() && run.header.over ? "no connection, " : ""}last heard ${ago}`);
}

function drawButtons({ actions, confirm, immovable }) {
  setText(byId("immovable"), immovable ?? "");
  byId("immovable").hidden = !immovable;
  for (const command of ["pause", "stop", "add"]) {
    byId(command).disabled = !actions[command] || busy || isLost();
    const why = busy ? "A command is on its way" : isLost() ? "There is no connection" : immovable;
    byId(command).title = byId(command).disabled ? why : "";
  }
  if (actions.command) setText(byId("pause"), capitalised(actions.command));
  setText(byId("stop"), confirm.stop ? "Stop …" : "Stop");
}

function drawFacts(facts) {
  const list = byId("facts");
  const terms = [...list.querySelectorAll("dt")].map((term) => term.textContent);
  if (String(terms) !== String(facts.map(([term]) => term))) list.replaceChildren(...termsAndWords(facts));
  facts.forEach(([, words], place) => {
    if (words) setText(list.children[place].lastChild.firstChild, words);
    list.children[place].classList.toggle("ticking", !words);
  });
  drawElapsed();
}

// The one fact that comes without words, because it changes every second.
function drawElapsed() {
  drawHeard();
  if (isLost()) return;
  drawLanes();
  const words = document.querySelector("#facts .ticking bdi");
  if (words) setText(words, duration(elapsedNow()));
}
