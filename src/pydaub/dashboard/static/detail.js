// The dialog about one learner, or about several side by side.
// Uses format.js, run.js, curves.js and `steer` of steering.js.

const ONE_CHART =
  "Across: training rows, on a logarithmic scale. Solid: validation scores. Dotted: training scores." +
  " Dashed: the bound, up to all rows. Circles: corrected scores, where a drop from one size to the next is" +
  " averaged out. Squares: sizes that were evaluated ahead and not asked for yet.";
const SEVERAL_CHART =
  "Validation scores by training rows, on a logarithmic scale. A thin line leads from each name to the end of its" +
  " curve.";

const detail = { learners: [], drawn: "" };

function openDetail(names) {
  Object.assign(detail, { learners: names, drawn: "" });
  byId("answer-here").textContent = "";
  byId("detail-h").textContent = names.join(", ");
  drawDetail();
  if (!byId("detail").open) byId("detail").showModal();
}

function closeDetail() {
  detail.learners = [];
}

function drawDetail() {
  const learners = detail.learners.map((name) => run.learners.get(name)).filter(Boolean);
  const content = JSON.stringify([learners, innerWidth]);
  if (!learners.length || content === detail.drawn) return; // do not replace a button that is about to be clicked
  detail.drawn = content;
  const width = Math.max(340, Math.min(800, innerWidth * 0.94 - 40));
  const chart = largeChart(learners, width, Math.max(240, width * 0.41));
  const parts = learners.length === 1 ? aboutOne(learners[0], chart) : aboutSeveral(chart);
  keepFocus(byId("detail-body"), () => byId("detail-body").replaceChildren(...parts));
}

function aboutOne(learner, chart) {
  return [
    make("p", standingWords(learner)),
    make("p", `${capitalised(scoreWords(learner))}; ${count(learner.rows)} rows and ${learner.time} in all.`),
    chart,
    make("p", `${ONE_CHART} Up: ${run.header.score}.`, { class: "quiet" }),
    actionButtons(learner),
    ...pointTable(learner),
    ...historyOf(learner),
  ];
}

function aboutSeveral(chart) {
  return [chart, make("p", `${SEVERAL_CHART} Up: ${run.header.score}.`, { class: "quiet" })];
}

function standingWords({ standing, remark }) {
  return `${marked(standing, capitalised(standing))}${remark ? `: ${remark}` : ""}`;
}

function actionButtons({ learner, actions, confirm }) {
  const group = make("div", undefined, { class: "steer" });
  for (const command of actions) {
    const question = confirm[command];
    const button = make("button", capitalised(command) + (question ? " …" : ""), { type: "button" });
    button.onclick = () => steer(command, learner, question);
    group.append(button);
  }
  return group;
}

function pointTable({ points, corrected }) {
  const titles = ["Size", "Training", "Validation", "Corrected", "Time"];
  const head = within(make("tr"), ...titles.map((title) => make("th", title, { scope: "col" })));
  const lines = points.map(([size, train, valid, seconds], place) => {
    const words = [count(size), number(train), number(valid), number(corrected[place]), duration(seconds)];
    return within(make("tr"), ...words.map((text) => make("td", text)));
  });
  const table = within(make("table"), head, ...lines);
  return points.length ? [within(make("div", undefined, { class: "scroll all" }), table)] : [];
}

function historyOf({ learner, points }) {
  const scores = new Map(points.map(([size, , valid]) => [size, valid]));
  const own = run.decisions.filter((decision) => decision.learner === learner);
  const lines = own.map(({ clock, words, size }) => {
    const score = scores.has(size) ? ` It scored ${number(scores.get(size))}.` : "";
    return within(make("li"), make("time", `${duration(clock)} `), make("span", words + score));
  });
  return lines.length ? [make("h2", "History"), within(make("ol"), ...lines)] : [];
}

// Replace content without losing the keyboard's place: the button with the same text, or else the one that closes.
function keepFocus(parent, replace) {
  const text = parent.contains(document.activeElement) ? document.activeElement.textContent : null;
  replace();
  if (text === null) return;
  const same = [...parent.querySelectorAll("button")].find((button) => button.textContent === text);
  (same ?? byId("close")).focus();
}
