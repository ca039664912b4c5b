// The header: state, verdict, progress, and which buttons work. Uses format.js, run.js and tab.js.

// States of the connection, which the server cannot report.
const CONNECTION = {
  lost: "no connection; trying again",
  gone: "this address is no longer valid; use the one that was printed last",
};

let busy = false; // a command is on its way

function drawHead() {
  const { header } = run;
  drawState(header.state, header.words);
  setText(byId("trouble"), header.trouble ?? "");
  byId("trouble").hidden = !header.trouble;
  drawButtons(header);
  drawFacts(header.facts);
  setText(byId("verdict"), header.verdict.line);
  const { fraction } = header.verdict;
  const bar = document.querySelector(".progress");
  bar.hidden = fraction === null;
  const percent = 100 * (fraction ?? 0);
  bar.setAttribute("aria-valuenow", percent.toFixed(0));
  bar.firstElementChild.style.width = `${percent}%`;
  drawTab();
}

function drawState(state, words) {
  byId("state").dataset.state = state;
  setText(byId("state"), marked(state, words));
}

function drawLost(forGood) {
  if (run.header.over) return; // nothing changes any more
  const state = forGood ? "gone" : "lost";
  drawState(state, CONNECTION[state]);
}

function drawButtons({ actions, confirm, immovable }) {
  setText(byId("immovable"), immovable ?? "");
  byId("immovable").hidden = !immovable;
  for (const command of ["pause", "stop", "add"]) {
    byId(command).disabled = !actions[command] || busy;
    byId(command).title = busy ? "A command is on its way" : actions[command] ? "" : immovable;
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
  if (byId("state").dataset.state === "lost") return;
  drawLanes();
  const words = document.querySelector("#facts .ticking bdi");
  if (words) setText(words, duration(elapsedNow()));
}
