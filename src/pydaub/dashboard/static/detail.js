// The dialog about one learner. Uses format.js, run.js, address.js, curves.js, and `steerButtons` of steering.js.

const ONE_CHART =
  "Across: training rows, on a logarithmic scale. Solid: validation scores. Dotted: training scores." +
  " Whisker: expected with all rows, 90 % interval. Circles: corrected scores, with drops averaged out." +
  " Squares: sizes that were started early.";

const detail = { learner: "", drawn: "" };

function openDetail(name) {
  Object.assign(detail, { learner: name, drawn: "" });
  remember("open", name);
  byId("answer-here").textContent = "";
  byId("detail-h").replaceChildren(make("bdi", name));
  drawDetail();
  if (!byId("detail").open) byId("detail").showModal();
}

function closeDetail() {
  detail.learner = "";
  remember("open", "");
}

function drawDetail() {
  const learner = run.learners.get(detail.learner);
  const content = JSON.stringify([learner, innerWidth]);
  if (!learner || content === detail.drawn) return; // do not replace a button that is about to be clicked
  detail.drawn = content;
  const parts = aboutLearner(learner);
  keepFocus(byId("detail-body"), () => byId("detail-body").replaceChildren(...parts));
}

function aboutLearner(learner) {
  const width = Math.max(300, Math.min(800, innerWidth * 0.94 - 40));
  const chart = learner.points.length
    ? [
        learnerChart(learner, width, Math.max(240, width * 0.41), 11),
        make("p", `${ONE_CHART} Up: ${run.header.score}.`, { class: "quiet" }),
      ]
    : [];
  const spent = `${count(learner.rows)} rows and ${learner.time} in all`;
  return [
    make("p", statusWords(learner)),
    ...(learner.about ? [make("p", learner.about, { class: "about" })] : []),
    make("p", `${capitalised(scoreWords(learner))}; ${spent}.`),
    steering(learner),
    ...chart,
    ...figureList(learner),
    ...pointTable(learner),
    ...historyOf(learner),
  ];
}

function steering(learner) {
  const buttons = steerButtons(learner);
  if (!buttons.length) return make("p", run.header.going ? run.header.immovable : "", { class: "quiet immovable" });
  return within(make("div", undefined, { class: "steer" }), ...buttons);
}

function figureList({ figures, weight }) {
  const found = run.header.figures
    .filter(({ key }) => key in figures)
    .map(({ key, title }) => [title, number(figures[key])]);
  if (weight !== null) found.push(["Weight in the ensemble", number(weight)]);
  return found.length ? [within(make("dl", undefined, { class: "figures" }), ...termsAndWords(found))] : [];
}

function statusWords({ status, note }) {
  return `${marked(status, capitalised(status))}${note ? `: ${note}` : ""}`;
}

function pointTable({ points, corrected, peaks }) {
  const titles = ["Size", "Training", "Validation", "Corrected", "Time", "Memory"];
  const head = within(make("tr"), ...titles.map((title) => make("th", title, { scope: "col" })));
  const lines = points.map(([size, train, valid, seconds], place) => {
    const words = [
      count(size),
      number(train),
      number(valid),
      number(corrected[place]),
      duration(seconds),
      megabytes(peaks[place]),
    ];
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
