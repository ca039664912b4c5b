// The one chart of all curves: all learners thin, the leader, its rivals and the compared ones highlighted.
// Uses format.js, run.js, scales.js, address.js, names.js and `ranking` of ranking.js.

const OVERVIEW_ROWS = { log: "logarithmic", linear: "linear" };
const OVERVIEW_UP = { score: "score", error: "error (logarithmic)" };
const HUES = [0, 1, 3, 4, 5, 6, 7, 8, 9]; // without that of the leader
const MOST_BAND = 0.2; // share of the height, above which the leader's noise is no band
const NAMES_FROM = 620; // pixels: below, names stand under the chart
const EVERYTHING = { sizes: null, values: null }; // the view of all curves

const overview = {
  zoom: null, // {sizes, values}; null for the contenders, EVERYTHING for all
  hues: new Map(), // by learner
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
  setText(byId("band-words"), run.header.focus.band_words);
  byId("zoom").hidden = ![...run.learners.values()].some(({ points }) => points.length);
  setText(byId("zoom"), overview.zoom ? "Zoom to the contenders" : "Show everything");
}

function fillChoice(id, words, chosen) {
  const list = byId(id);
  if (!list.options.length)
    list.append(...Object.entries(words).map(([value, text]) => make("option", text, { value })));
  list.value = chosen;
}

// The contenders, each with its class: the leader, those that are compared, then those that could still win or are tied.
function highlighted() {
  const { leader, rivals } = run.header.focus;
  const found = new Map();
  const add = (name, look) => {
    if (run.learners.get(name)?.points.length && !found.has(name)) found.set(name, look);
  };
  if (leader && !recalled("only")) add(leader, "leader");
  const names = recalled("only") ? [...ranking.picked] : [...ranking.picked, ...rivals];
  names.slice(0, HUES.length).forEach((name) => add(name, `hue h${hueOf(name)}`));
  return found;
}

// A learner keeps its hue while it is highlighted, so that colours do not jump.
function hueOf(name) {
  const { hues } = overview;
  const named = new Set([...ranking.picked, ...run.header.focus.rivals]);
  for (const known of hues.keys()) if (!named.has(known)) hues.delete(known);
  if (!hues.has(name)) {
    const taken = new Set(hues.values());
    const free = HUES.find((hue) => !taken.has(hue));
    hues.set(name, free ?? HUES[hues.size % HUES.length]);
  }
  return hues.get(name);
}

function drawOverview() {
  drawOverviewControls();
  const box = byId("picture");
  const width = Math.max(300, box.clientWidth);
  const looks = highlighted();
  const shown = recalled("only") ? [...looks.keys()].map((name) => run.learners.get(name)) : [...run.learners.values()];
  const measured = shown.filter(({ points }) => points.length);
  if (!measured.length) {
    box.replaceChildren(
      recalled("only") ? make("p", "Tick learners in the table to compare them.") : emptyChart(width),
    );
    for (const key of document.querySelectorAll(".legend [data-of]")) key.hidden = true;
    return;
  }
  const view = overviewView(measured, looks, width);
  const chart = draw("svg", {
    viewBox: `0 0 ${width} ${view.height}`,
    class: "big",
    role: "img",
    "aria-label": `Learning curves of ${measured.length} learners; the table of learners has the numbers`,
  });
  chart.append(...overviewGrid(view), ...overviewCurves(measured, looks, view));
  chart.append(...whiskers(looks, view), ...overviewNames(looks, view));
  box.replaceChildren(chart);
  for (const key of document.querySelectorAll(".legend [data-of]")) key.hidden = !chart.querySelector(key.dataset.of);
  Object.assign(overview, { scale: view.scale, axis: view.axis, places: placesIn(measured, view) });
}

// What the chart will be, and who is training for its first points.
function emptyChart(width) {
  const { sizes, now, full_size: full } = run.header;
  const height = Math.max(180, Math.min(300, width * 0.3));
  const chart = draw("svg", {
    viewBox: `0 0 ${width} ${height}`,
    class: "big",
    role: "img",
    "aria-label": "No score yet",
  });
  if (!sizes.length) {
    chart.append(draw("text", { x: 28, y: height / 2, class: "soon" }, "Waiting for the run …"));
    return chart;
  }
  const scale = scaleFor(
    { left: 20, right: width - 40, top: 10, bottom: height - 36 },
    [sizes[0], full],
    [0, 1],
    false,
  );
  for (const size of sizeTicks(sizes, scale.x, [sizes[0], full], 64)) {
    chart.append(draw("line", { x1: scale.x(size), x2: scale.x(size), y1: 10, y2: scale.bottom, class: "g" }));
    chart.append(draw("text", { x: scale.x(size), y: scale.bottom + 16, "text-anchor": "middle" }, sizeWords(size)));
  }
  const training = now.lanes.length ? `Training ${now.lanes.map(({ learner }) => learner).join(", ")}.` : "";
  const words = `The first scores will appear here. ${training}`;
  chart.append(draw("text", { x: 28, y: height / 2 - 10, class: "soon" }, fitted(words, width - 80, 15)));
  chart.append(draw("text", { x: 20, y: height - 3 }, "Across: training rows."));
  return chart;
}

// Sizes, the axis and the scale. Validation scores make the picture, training scores if they are wanted.
function overviewView(measured, looks, width) {
  const { focus, sizes, full_size: full } = run.header;
  const scores = measured.flatMap(({ points }) => points.map((point) => point[2]));
  for (const name of looks.keys()) for (const [, , valid] of run.learners.get(name).ahead) scores.push(valid);
  if (recalled("training")) {
    for (const name of looks.keys())
      for (const [, train] of run.learners.get(name).points) if (train !== null) scores.push(train);
  }
  const axis = scoreAxis(overviewUp(), scores, focus.top);
  const first = measured.reduce((low, { points }) => Math.min(low, points[0][0]), sizes[0]);
  const across = overview.zoom?.sizes ?? [first, full];
  const range =
    overview.zoom?.values ?? (overview.zoom ? withWhiskers(axis, looks, axis.range) : bestRange(axis, looks));
  const marks = axis.ticks(range);
  const left = 14 + 6.4 * Math.max(...marks.map(([, words]) => words.length), 3);
  const beside = width >= NAMES_FROM;
  const gutter = 16 + WHISKER_STEP * looks.size;
  const right = gutter + (beside ? Math.min(200, width * 0.2) : 4);
  const tall = Math.max(250, Math.min(400, width * 0.36));
  const edges = { left, right: width - right, top: 10, bottom: tall - 36 };
  const scale = scaleFor(edges, across, range, recalled("across") === "linear");
  const below = beside ? 0 : looks.size * NAME_HEIGHT + 6;
  return { axis, scale, marks, across, width, tall, beside, gutter, height: tall + below };
}

// From a little below what the contenders have, or will have with all rows, to a little above.
function bestRange(axis, looks) {
  if (!looks.size || recalled("only")) return withWhiskers(axis, looks, axis.range);
  const values = [...looks.keys()].flatMap((name) => {
    const { points, low, high } = run.learners.get(name);
    return [points.at(-1)[2], low, high].filter((value) => value !== null);
  });
  if (recalled("training"))
    for (const name of looks.keys()) values.push(run.learners.get(name).points.at(-1)[1] ?? values[0]);
  for (const name of looks.keys()) for (const [, , valid] of run.learners.get(name).ahead) values.push(valid);
  const [low, high] = extent(values.map(axis.place));
  const room = (high - low) * 0.08 || Math.abs(high) * 0.01 || 0.01;
  return [low - room, high + room];
}

// The range, with room for the whiskers.
function withWhiskers({ place }, looks, [low, high]) {
  const ends = [...looks.keys()].flatMap((name) => [run.learners.get(name).low, run.learners.get(name).high]);
  const [least, most] = extent(ends.filter((end) => end !== null).map(place));
  return [Math.min(low, least), Math.max(high, most)];
}

function overviewGrid({ scale, marks, across, gutter, tall }) {
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
  parts.push(
    draw("text", { x: left, y: tall - 3 }, fitted(`Across: training rows. Up: ${up}.`, right + gutter / 2 - 28 - left)),
  );
  return parts;
}

function overviewCurves(measured, looks, { scale, axis }) {
  const { focus } = run.header;
  const inside = draw("g", { "clip-path": "url(#inside)" });
  if (focus.band && !recalled("only")) {
    const [low, high] = focus.band.map((score) => scale.y(axis.place(score)));
    const y = Math.min(high, low);
    const tall = Math.abs(low - high);
    if (tall < MOST_BAND * (scale.bottom - scale.top))
      inside.append(
        draw("rect", {
          x: scale.left,
          width: scale.right - scale.left,
          y,
          height: Math.abs(low - high),
          class: "band",
        }),
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
  const { points, ahead } = learner;
  const parts = [];
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
