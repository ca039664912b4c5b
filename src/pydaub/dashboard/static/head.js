// The header and the tiles: state, progress, how the run stands, and which buttons work.
// Uses format.js, run.js, net.js, tab.js, `openCommands` of about.js and `openFailures` of failures.js.

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
  drawTiles(header.tiles);
  drawSteps(header.steps);
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

// A button that cannot be used is not there; while a command is on its way, it waits.
function drawButtons({ actions, confirm }) {
  for (const command of ["pause", "stop", "add"]) {
    const button = byId(command);
    const hidden = !actions[command] || isLost();
    if (hidden && document.activeElement === button) document.querySelector("#aside summary").focus();
    button.hidden = hidden;
    button.setAttribute("aria-disabled", String(busy));
  }
  if (actions.command) setText(byId("pause"), capitalised(actions.command));
  setText(byId("stop"), confirm.stop ? "Stop …" : "Stop");
}

// One tile for each answer; that of the failures opens their list.
function drawTiles(tiles) {
  const list = byId("tiles");
  const keys = String(tiles.map(({ key }) => key));
  if (list.dataset.keys !== keys) {
    list.dataset.keys = keys;
    list.replaceChildren(
      ...tiles.map(({ key }) => {
        const parts = ["title", "value", "detail"].map((part) => make("span", "", { class: part }));
        return within(make("li", undefined, { "data-key": key }), ...parts);
      }),
    );
  }
  tiles.forEach(({ key, title, value, detail }, place) => {
    const [first, second, third] = list.children[place].children;
    setText(first, title);
    setText(third, detail);
    if (key === "failed" && value[0] !== "0") drawFailed(second, value);
    else setText(second, value);
  });
}

function drawFailed(place, value) {
  if (place.textContent === value) return;
  const focused = place.contains(document.activeElement);
  place.replaceChildren(link(value, openFailures));
  if (focused) place.firstChild.focus();
}

function drawSteps(steps) {
  const box = byId("steps");
  const shown = connection.state === "none" ? [] : steps; // a report has no folder to name
  box.hidden = !shown.length;
  if (box.dataset.drawn === String(shown)) return;
  box.dataset.drawn = String(shown);
  box.replaceChildren(
    ...shown.map(([label, title], place) => {
      const button = make("button", label, { type: "button", class: place ? "" : "main" });
      button.onclick = () => openCommands("", title);
      return button;
    }),
  );
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
