// Learning curves: a card for each learner, and the large chart of the details.
// Uses format.js, run.js, scales.js, `ranked` of ranking.js and `openDetail` of detail.js.

const MOST_CARDS = 60; // shown at first
const DASHES = ["", "6 3", "2 3", "9 3 2 3", "1 4", "12 4", "6 3 2 3 2 3", "4 8", "12 3 1 3", "3 1"];
const BOUND_PARTS = 16;

const curves = { range: [0, 1], all: false, cards: new Map() };

// All cards share one scale, so that curves can be compared.
function updateRange() {
  const range = rangeOf([...run.learners.values()], true);
  if (String(range) === String(curves.range)) return;
  curves.range = range;
  for (const name of run.learners.keys()) changed.add(name);
}

function drawCards() {
  const found = ranked();
  const shown = curves.all ? found : found.slice(0, MOST_CARDS);
  for (const { learner } of shown) if (!curves.cards.has(learner)) addCard(learner);
  arrange(
    byId("cards"),
    shown.map(({ learner }) => curves.cards.get(learner)),
  );
  byId("more").hidden = found.length <= MOST_CARDS;
  setText(byId("more"), curves.all ? `Show ${MOST_CARDS}` : `Show all ${found.length}`);
}

function addCard(name) {
  const card = make("button", undefined, { type: "button", class: "card" });
  card.onclick = () => openDetail([name]);
  curves.cards.set(name, card);
  fillCard(name);
}

function fillCard(name) {
  const learner = run.learners.get(name);
  const score = learner.valid === null ? "" : `${number(learner.valid)} with ${count(learner.size)} rows`;
  const card = curves.cards.get(name);
  card.title = learner.why;
  card.replaceChildren(
    make("b", name),
    make("span", marked(learner.standing)),
    make("span", score),
    smallChart(learner),
  );
}

function smallChart(learner) {
  const space = { width: 180, height: 84, left: 4, right: 6, bottom: 4 };
  const scale = scaleFor([learner], curves.range, space);
  return within(emptyChart([learner], space), fullLine(scale), ...curveOf(learner, scale, 2.2));
}

// One learner with its training scores and bound, or several with their validation scores only.
function largeChart(learners, width, height) {
  const several = learners.length > 1;
  const range = rangeOf(learners, !several);
  const space = { width, height, left: 44, right: several ? 190 : 6, bottom: 26 };
  const scale = scaleFor(learners, range, space);
  const chart = within(emptyChart(learners, space), ...grid(scale, range, height), fullLine(scale));
  if (!several) return within(chart, ...curveOf(learners[0], scale, 3.4));
  const measured = learners.filter(({ points }) => points.length);
  measured.forEach((learner, place) => chart.append(...comparedCurve(learner, scale, place % DASHES.length)));
  return within(chart, ...nameLines(measured, scale, height - 4));
}

function emptyChart(learners, { width, height }) {
  const words = learners.map((learner) => `${learner.learner}: ${scoreWords(learner)}`).join("; ");
  return draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words });
}

function scoreWords({ points, bound }) {
  if (!points.length) return "nothing measured yet";
  const [size, train, valid] = points[points.length - 1];
  const most = bound === null ? "" : `, bound ${number(bound)}`;
  const training = train === null ? "" : ` and training ${number(train)}`;
  return `validation ${number(valid)}${training} with ${count(size)} rows${most}`;
}

function grid({ first, full, left, right, x, y }, range, height) {
  const parts = ticks(range).flatMap(([score, words]) => [
    draw("line", { x1: left, x2: right, y1: y(score), y2: y(score), class: "g" }),
    draw("text", { x: left - 5, y: y(score) + 3, "text-anchor": "end" }, words),
  ]);
  let last = -Infinity;
  for (const size of run.header.sizes.filter((size) => size >= first)) {
    const crowded = x(size) - last <= 44 || x(full) - x(size) <= 60;
    if (crowded && size !== full) continue;
    last = x(size);
    const anchor = size === full ? "end" : "middle";
    parts.push(draw("text", { x: x(size), y: height - 8, "text-anchor": anchor }, count(size)));
  }
  return parts;
}

function fullLine({ full, floor, x }) {
  return draw("line", { x1: x(full), x2: x(full), y1: 3, y2: floor, class: "g" });
}

function curveOf({ points, corrected, bound, ahead }, scale, radius) {
  const parts = [];
  if (points.length) {
    const training = points.filter(([, train]) => train !== null);
    if (training.length) parts.push(draw("polyline", { points: scale.line(training), class: "t" }));
    parts.push(...validationLine(points, corrected, scale, radius, "", ""));
    const bounds = boundLine(points, corrected, bound, scale.full);
    if (bounds.length) parts.push(draw("polyline", { points: scale.line(bounds), class: "b" }));
  }
  const squares = ahead.map(([size, , valid]) =>
    draw("rect", { x: scale.x(size) - 3, y: scale.y(valid) - 3, width: 6, height: 6, class: "a" }),
  );
  return [...parts, ...squares];
}

function comparedCurve({ points, corrected }, scale, hue) {
  return validationLine(points, corrected, scale, 3.4, ` h${hue}`, DASHES[hue]);
}

function validationLine(points, corrected, { line, low, floor, x, y }, radius, hue, dashes) {
  const scores = points.map(([size, , valid]) => [size, valid]);
  const below = scores.filter(([, valid]) => valid < low);
  const parts = [draw("polyline", { points: line(scores), class: `v${hue}`, "stroke-dasharray": dashes || "none" })];
  for (const [size] of below) parts.push(draw("text", { x: x(size) - 3, y: floor - 2, class: "off" }, "▾"));
  corrected.forEach((score, place) => {
    if (score === null) return;
    const [cx, cy] = [x(points[place][0]).toFixed(1), y(score).toFixed(1)];
    parts.push(draw("circle", { cx, cy, r: radius, class: `c${hue}` }));
  });
  return parts;
}

// The bound grows in proportion to the rows: a bent line, since sizes are drawn by their logarithm.
function boundLine(points, corrected, bound, full) {
  const [size] = points[points.length - 1];
  const start = corrected[corrected.length - 1];
  if (bound === null || start === null || size >= full) return [];
  return Array.from({ length: BOUND_PARTS + 1 }, (_, part) => {
    const rows = size * (full / size) ** (part / BOUND_PARTS);
    return [rows, start + ((bound - start) * (rows - size)) / (full - size)];
  });
}

// Names at the right, pushed apart so that none covers another, each with a thin line to the end of its curve.
function nameLines(learners, { x, y, right }, floor) {
  const height = 13;
  const ends = learners.map(({ learner, points }) => {
    const [size, , valid] = points[points.length - 1];
    return { learner, x: x(size), y: y(valid), at: Math.max(10, y(valid) + 3) };
  });
  ends.sort((a, b) => a.y - b.y);
  ends.forEach((end, place) => {
    if (place) end.at = Math.max(end.at, ends[place - 1].at + height);
  });
  let lowest = floor;
  for (const end of [...ends].reverse()) {
    end.at = Math.min(end.at, lowest);
    lowest = end.at - height;
  }
  return ends.flatMap((end) => [
    draw("line", { x1: end.x, y1: end.y, x2: right + 10, y2: end.at - 3, class: "thread" }),
    draw("text", { x: right + 13, y: end.at }, shortened(end.learner, 28)),
  ]);
}
