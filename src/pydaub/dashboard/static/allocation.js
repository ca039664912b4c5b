// Rows allocated to each learner: Figure 2 of the paper, live.
// Uses format.js, run.js, `compared` of ranking.js and `openDetail` of detail.js.

const BARS_LEFT = 78; // room for the numbers

function drawAllocation() {
  if (!byId("spent").open) return;
  const learners = [...run.learners.values()].sort(
    (a, b) => compared(a.valid, b.valid, false) || compared(a.rows, b.rows, false),
  );
  const most = Math.max(1, ...learners.map(({ rows }) => rows));
  const width = Math.max(300, byId("allocation").clientWidth);
  const wide = Math.min(60, (width - BARS_LEFT - 60) / Math.max(1, learners.length));
  const named = wide >= 14;
  const floor = named ? 130 : 140;
  const chart = draw("svg", {
    viewBox: `0 0 ${width} ${named ? 250 : 150}`,
    role: "img",
    "aria-label": "Rows allocated to each learner; the column Rows of the table has the numbers",
  });
  chart.append(...rowLines(most, floor, width), ...bars(learners, most, floor, wide));
  if (named) chart.append(...barNames(learners, floor, wide));
  explainBars(chart, learners, width, wide);
  byId("allocation").replaceChildren(chart);
}

function rowLines(most, floor, width) {
  return (most > 1 ? [0, 0.5, 1] : [0]).flatMap((share) => {
    const y = floor - (floor - 10) * share;
    return [
      draw("text", { x: BARS_LEFT - 6, y: y + 4, "text-anchor": "end" }, count(most * share)),
      draw("line", { x1: BARS_LEFT - 2, x2: width, y1: y, y2: y, class: "g" }),
    ];
  });
}

// One path for all bars with the same status: a thousand elements would be slow.
function bars(learners, most, floor, wide) {
  const paths = new Map();
  const across = Math.max(0.5, wide > 4 ? wide - 2 : wide * 0.8).toFixed(1);
  learners.forEach(({ rows, status }, place) => {
    const tall = Math.max(0.5, ((floor - 10) * rows) / most).toFixed(1);
    const bar = `M${(BARS_LEFT + place * wide).toFixed(1)} ${floor}v-${tall}h${across}v${tall}z`;
    paths.set(status, (paths.get(status) ?? "") + bar);
  });
  return [...paths].map(([status, d]) => draw("path", { d, class: "bar", "data-status": status }));
}

function barNames(learners, floor, wide) {
  return learners.map(({ learner }, place) => {
    const middle = BARS_LEFT + place * wide + wide / 2 + 2;
    return draw("text", { transform: `translate(${middle} ${floor + 6}) rotate(60)` }, fitted(learner, 118));
  });
}

function explainBars(chart, learners, width, wide) {
  const title = draw("title", {});
  const under = (event) => {
    const drawn = chart.getBoundingClientRect();
    const x = ((event.clientX - drawn.left) * width) / drawn.width;
    return learners[Math.floor((x - BARS_LEFT) / wide)];
  };
  chart.onmousemove = (event) => {
    const found = under(event);
    title.textContent = found ? `${found.learner}: ${count(found.rows)} rows, ${found.status}` : "";
  };
  chart.onclick = (event) => {
    const found = under(event);
    if (found) openDetail(found.learner);
  };
  chart.append(title);
}
