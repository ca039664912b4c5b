// What goes on now: a lane for each evaluation, what comes next, and the best score so far over time.
// Uses format.js, run.js, scales.js, `fitted` and `openDetail` of detail.js.

function drawNow() {
  const { lanes, words, next } = run.header.now;
  const list = byId("lanes");
  if (list.dataset.keys !== laneKeys()) {
    list.dataset.keys = laneKeys();
    list.replaceChildren(...lanes.map(lane));
  }
  list.hidden = !lanes.length;
  setText(byId("now-words"), words);
  setText(byId("next"), next);
  const training = lanes.map(({ learner, size }) => `${cut(learner, 40)} with ${count(size)} rows`).join(", ");
  setText(byId("doing"), [training ? `Training: ${training}.` : words, next].filter(Boolean).join(" "));
  drawLanes();
  drawBest();
}

const laneKeys = () => String(run.header.now.lanes.map(({ learner, size }) => `${learner} ${size}`));

function lane({ learner, size, ahead }) {
  const what = make("p");
  within(
    what,
    link(learner, () => openDetail(learner)),
    make("span", ` with ${count(size)} rows`),
  );
  if (ahead) what.append(make("span", ` · ${ahead}`, { class: "quiet" }));
  const bar = within(make("div", undefined, { class: "lane", "aria-hidden": "true" }), make("i"));
  return within(make("li"), what, bar, make("p", "", { class: "quiet clock" }));
}

// These tick every second.
function drawLanes() {
  if (byId("lanes").dataset.keys !== laneKeys()) return; // others are drawn soon
  const now = elapsedNow();
  run.header.now.lanes.forEach(({ since, expected, words, late }, place) => {
    const item = byId("lanes").children[place];
    const spent = Math.max(0, now - since);
    const isLate = expected !== null && spent > expected;
    item.querySelector("i").style.width = `${expected ? Math.min(100, (100 * spent) / expected) : 0}%`;
    item.querySelector(".lane").classList.toggle("late", isLate);
    const times = { "{spent}": duration(spent), "{left}": duration(expected - spent) };
    setText(
      item.querySelector(".clock"),
      (isLate ? late : words).replace(/\{\w+\}/g, (name) => times[name]),
    );
  });
}

function drawBest() {
  const { best } = run.header.now;
  const figure = byId("best");
  figure.hidden = !best.length;
  if (!best.length || !byId("now").open) return;
  const end = Math.max(run.header.elapsed, best.at(-1)[0]) || 1;
  const content = JSON.stringify([best, Math.round(end), figure.clientWidth]);
  if (figure.dataset.drawn === content) return;
  figure.dataset.drawn = content;
  const [, score, learner, size] = best.at(-1);
  figure.querySelector("svg")?.remove();
  figure.prepend(bestChart(best, end, Math.max(260, figure.clientWidth)));
  const latest = `Best validation score so far with any number of rows, over time. Latest: ${number(score)} by ${learner} with ${count(size)} rows.`;
  setText(figure.querySelector("figcaption"), latest);
}

function bestChart(best, end, width) {
  const height = 130;
  const range = roomyRange(best.map(([, score]) => score));
  const marks = ticks(range);
  const left = 14 + 6.4 * Math.max(...marks.map(([, words]) => words.length));
  const edges = { left, right: width - 12, top: 8, bottom: height - 20 };
  const { x, y } = scaleFor(edges, [0, end], range, true);
  const chart = draw("svg", {
    viewBox: `0 0 ${width} ${height}`,
    role: "img",
    "aria-label": `Best score so far over time: ${best.length} improvements`,
  });
  for (const [score, words] of marks) {
    chart.append(draw("line", { x1: left, x2: edges.right, y1: y(score), y2: y(score), class: "g" }));
    chart.append(draw("text", { x: left - 6, y: y(score) + 4, "text-anchor": "end" }, words));
  }
  const steps = best.map(([clock, score], place) => {
    const spot = `${x(clock).toFixed(1)} ${y(score).toFixed(1)}`;
    return place ? `H${x(clock).toFixed(1)}L${spot}` : `M${spot}`;
  });
  chart.append(draw("path", { d: `${steps.join("")}H${x(end).toFixed(1)}`, class: "curve leader" }));
  for (const [clock, score, learner, size] of best) {
    const spot = draw("circle", { cx: x(clock), cy: y(score), r: 3, class: "dot leader" });
    const words = `${duration(clock)}: ${number(score)}, ${learner} with ${count(size)} rows`;
    chart.append(within(spot, draw("title", {}, words)));
  }
  chart.append(draw("text", { x: left, y: height - 4 }, "0 s"));
  chart.append(draw("text", { x: edges.right, y: height - 4, "text-anchor": "end" }, duration(end)));
  return chart;
}
