// The one chart of all curves: all learners thin, the leader, its rivals and the compared ones highlighted.
// Uses format.js, run.js, scales.js, address.js, names.js, `boundLine` of curves.js and `ranking` of ranking.js.

const OVERVIEW_ROWS = { log: "logarithmic", linear: "linear" };
const OVERVIEW_UP = { score: "score", error: "error (logarithmic)" };
const MOST_HUES = 10;
const FEW = 12; // so many learners are all named
const NAMES_FROM = 620; // pixels: below, names stand under the chart

const overview = {
  zoom: null, // {sizes, values}, or null for everything
  places: [], // what can be pointed at: {name, size, x, y}
  scale: null,
};

const overviewUp = () => (recalled("up") === "error" && run.header.focus.top !== null ? "error" : "score");

function drawOverviewControls() {
  fillChoice("across", OVERVIEW_ROWS, recalled("across") || "log");
  fillChoice("up", OVERVIEW_UP, overviewUp());
  byId("up").disabled = run.header.focus.top === null;
  byId("up").title = byId("up").disabled ? "The best possible score is not known, so there is no error" : "";
  byId("with-training").checked = Boolean(recalled("training"));
  byId("only-compared").checked = Boolean(recalled("only"));
  setText(byId("rivals"), run.header.focus.words);
  setText(byId("band-words"), run.header.focus.band_words);
  setText(byId("zoom"), overview.zoom ? "Show everything" : "Zoom to the best");
}

function fillChoice(id, words, chosen) {
  const list = byId(id);
  if (!list.options.length)
    list.append(...Object.entries(words).map(([value, text]) => make("option", text, { value })));
  list.value = chosen;
}

// The learners that are highlighted, each with its class: the leader, those that are compared, then the rivals.
function highlighted() {
  const { leader, rivals } = run.header.focus;
  const found = new Map();
  const add = (name, look) => {
    if (run.learners.get(name)?.points.length && !found.has(name)) found.set(name, look);
  };
  if (leader && !recalled("only")) add(leader, "leader");
  [...ranking.picked].slice(0, MOST_HUES).forEach((name, place) => add(name, `hue h${place}`));
  if (recalled("only")) return found;
  for (const name of rivals) add(name, "rival");
  if (run.learners.size <= FEW) for (const name of run.learners.keys()) add(name, "other");
  return found;
}

function drawOverview() {
  drawOverviewControls();
  const box = byId("picture");
  const width = Math.max(300, box.clientWidth);
  const looks = highlighted();
  const shown = recalled("only") ? [...looks.keys()].map((name) => run.learners.get(name)) : [...run.learners.values()];
  const measured = shown.filter(({ points }) => points.length);
  if (!measured.length) {
    box.replaceChildren(make("p", recalled("only") ? "Tick learners in the table to compare them." : "No score yet."));
    return;
  }
  const view = overviewView(measured, looks, width);
  const chart = draw("svg", {
    viewBox: `0 0 ${width} ${view.height}`,
    class: "big",
    role: "img",
    "aria-label": `Learning curves of ${measured.length} learners; the table of learners has the numbers`,
  });
  chart.append(...overviewGrid(view), ...overviewCurves(measured, looks, view), ...overviewNames(looks, view));
  box.replaceChildren(chart);
  for (const key of document.querySelectorAll(".legend [data-of]")) key.hidden = !chart.querySelector(key.dataset.of);
  Object.assign(overview, { scale: view.scale, axis: view.axis, places: placesIn(measured, view) });
}

// Sizes, the axis and the scale. Bounds and training scores may leave the picture; validation scores make it, all of
// them where only the compared learners are shown.
function overviewView(measured, looks, width) {
  const { focus, sizes, full_size: full } = run.header;
  const scores = measured.flatMap(({ points }) => points.map((point) => point[2]));
  for (const name of looks.keys()) for (const [, , valid] of run.learners.get(name).ahead) scores.push(valid);
  if (recalled("training")) {
    for (const name of looks.keys())
      for (const [, train] of run.learners.get(name).points) if (train !== null) scores.push(train);
  }
  const axis = scoreAxis(overviewUp(), scores, focus.top, recalled("only") ? null : focus.range);
  const first = measured.reduce((low, { points }) => Math.min(low, points[0][0]), sizes[0]);
  const across = overview.zoom?.sizes ?? [first, full];
  const range = overview.zoom?.values ?? withBounds(axis, looks);
  const marks = axis.ticks(range);
  const left = 14 + 6.4 * Math.max(...marks.map(([, words]) => words.length), 3);
  const beside = width >= NAMES_FROM;
  const right = beside ? Math.min(240, width * 0.24) : 4 + 3.2 * sizeWords(across[1]).length;
  const tall = Math.max(250, Math.min(430, width * 0.4));
  const edges = { left, right: width - right, top: 10, bottom: tall - 36 };
  const scale = scaleFor(edges, across, range, recalled("across") === "linear");
  const below = beside ? 0 : looks.size * NAME_HEIGHT + 6;
  return { axis, scale, marks, across, width, tall, beside, height: tall + below };
}

// The range, with some room for what the highlighted learners reach at best.
function withBounds({ place, range: [low, high] }, looks) {
  const bounds = [...looks.keys()].map((name) => run.learners.get(name).at_best).filter((best) => best !== null);
  const [least, most] = extent(bounds.map(place));
  const room = 0.25 * (high - low);
  return [Math.min(low, Math.max(least, low - room)), Math.max(high, Math.min(most, high + room))];
}

function overviewGrid({ scale, marks, across, width, tall }) {
  const { left, right, top, bottom, x, y } = scale;
  const clip = draw("clipPath", { id: "inside" });
  const inside = { x: left - 4, y: top - 4, width: right - left + 8, height: bottom - top + 8 };
  const parts = [within(clip, draw("rect", inside)), draw("rect", { ...inside, class: "plane" })];
  for (const [value, words] of marks) {
    parts.push(draw("line", { x1: left, x2: right, y1: y(value), y2: y(value), class: "g" }));
    parts.push(draw("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, words));
  }
  const room = 12 + 6.4 * sizeWords(across[1]).length;
  for (const size of sizeTicks(run.header.sizes, x, across, room)) {
    parts.push(draw("line", { x1: x(size), x2: x(size), y1: top, y2: bottom, class: "g" }));
    parts.push(draw("text", { x: x(size), y: bottom + 16, "text-anchor": "middle" }, sizeWords(size)));
  }
  const up =
    overviewUp() === "error" ? `error: ${number(run.header.focus.top)} minus ${run.header.score}` : run.header.score;
  parts.push(draw("text", { x: left, y: tall - 3 }, fitted(`Across: training rows. Up: ${up}.`, width - left - 4)));
  return parts;
}

function overviewCurves(measured, looks, { scale, axis }) {
  const { focus } = run.header;
  const inside = draw("g", { "clip-path": "url(#inside)" });
  if (focus.band && !recalled("only")) {
    const [low, high] = focus.band.map((score) => scale.y(axis.place(score)));
    const y = Math.min(high, low);
    inside.append(
      draw("rect", { x: scale.left, width: scale.right - scale.left, y, height: Math.abs(low - high), class: "band" }),
    );
  }
  const others = measured.filter(({ learner }) => !looks.has(learner));
  const many = others.length > 200 ? " many" : "";
  const isSingle = ({ points }) => points.length === 1;
  const path = (found) => found.map((one) => curvePath(one.points, 2, scale, axis)).join("");
  inside.append(
    draw("path", { d: path(others.filter((one) => !isSingle(one))), class: `thin${many}` }),
    draw("path", { d: path(others.filter(isSingle)), class: `single${many}` }),
  );
  for (const [name, look] of [...looks].reverse()) {
    inside.append(...overviewCurve(run.learners.get(name), look, scale, axis));
  }
  inside.append(draw("path", { id: "pointed", class: "pointed" }));
  return [inside];
}

// A single point becomes a dot, because the ends of lines are round.
function curvePath(points, which, { x, y }, { place }) {
  const known = points.filter((point) => point[which] !== null);
  const spots = known.map((point) => `${x(point[0]).toFixed(1)} ${y(place(point[which])).toFixed(1)}`);
  if (spots.length === 1) return `M${spots[0]}h0.01`;
  return spots.length ? `M${spots.join("L")}` : "";
}

function overviewCurve(learner, look, scale, axis) {
  const { points, corrected, at_best: best, ahead } = learner;
  const parts = [];
  const bounds = boundLine(points, corrected, best, run.header.full_size);
  if (bounds.length) parts.push(draw("path", { d: curvePath(bounds, 1, scale, axis), class: `fan ${look}` }));
  if (recalled("training"))
    parts.push(draw("path", { d: curvePath(points, 1, scale, axis), class: `trained ${look}` }));
  parts.push(draw("path", { d: curvePath(points, 2, scale, axis), class: `curve ${look}` }));
  for (const [size, , valid] of ahead) {
    const [x, y] = [scale.x(size) - 3, scale.y(axis.place(valid)) - 3];
    parts.push(draw("rect", { x, y, width: 6, height: 6, class: `guess ${look}` }));
  }
  for (const [size, , valid] of points) {
    parts.push(draw("circle", { cx: scale.x(size), cy: scale.y(axis.place(valid)), r: 2.6, class: `dot ${look}` }));
  }
  return parts;
}

function placesIn(measured, { scale, axis }) {
  const { left, right, top, bottom } = scale;
  return measured
    .flatMap(({ learner, points }) =>
      points.map(([size, , valid]) => ({ name: learner, size, x: scale.x(size), y: scale.y(axis.place(valid)) })),
    )
    .filter(({ x, y }) => x >= left - 1 && x <= right + 1 && y >= top - 5 && y <= bottom + 5);
}
