// The rows of the leaderboard, and the widths of its columns. Uses format.js, run.js, `ranking` and `pick` of
// ranking.js, `openDetail` of detail.js and `steerButtons` of steering.js.

const RANGE_WIDE = 80; // pixels of a whisker in a cell
const RANGE_TALL = 12;
const WIDEST = 28; // characters of a column before it wraps

// Every column is as wide as its longest text; the remarks take what is left. So nothing jumps or overlaps.
function drawWidths() {
  const widths = ranking.columns.map(({ key, title }) => {
    const most = Math.max(ranking.widths.get(key) ?? 0, title.length + 2);
    const width = `calc(${Math.min(most, WIDEST)}ch + 18px)`;
    const ranged = `calc(${most}ch + 18px + var(--range))`;
    return { remark: "", learner: `min(${width}, 36vw)`, expected: ranged }[key] ?? width;
  });
  const group = document.querySelector("#ranking colgroup");
  if (group.dataset.drawn === String(widths)) return;
  group.dataset.drawn = String(widths);
  const columns = ["30px", ...widths].map((width) => {
    const column = make("col");
    column.style.width = width;
    return column;
  });
  group.replaceChildren(...columns);
  const total = widths.map((width) => width || "150px").join(" + ");
  group.parentElement.style.minWidth = `calc(30px + ${total})`;
}

function addRow(name) {
  const box = make("input", undefined, { type: "checkbox", "aria-label": `Compare ${name}`, tabindex: "-1" });
  box.checked = ranking.picked.has(name);
  box.onchange = () => pick(name, box.checked);
  const open = link(name, () => openDetail(name));
  open.tabIndex = -1;
  const cells = ranking.columns.map(({ key, side = "", score }) => {
    const cell = make("td", undefined, { class: score ? "score" : side, "data-key": key });
    if (key === "learner") cell.append(open);
    if (key === "remark") cell.append(make("span"));
    if (key === "expected") cell.append(draw("svg", { class: "range", "aria-hidden": "true" }), make("span"));
    return cell;
  });
  ranking.rows.set(name, within(make("tr"), within(make("td", undefined, { class: "l" }), box), ...cells));
  fillRow(name);
}

function fillRow(name) {
  const learner = run.learners.get(name);
  const row = ranking.rows.get(name);
  row.classList.toggle("part", learner.size < run.header.full_size);
  ranking.columns.forEach(({ key, text }, place) => {
    const cell = row.children[place + 1];
    const words = text ? text(learner) : learner.actions.join(" ");
    const room = text ? words.length : words.length * 0.9 + 4 * learner.actions.length;
    ranking.widths.set(key, Math.max(ranking.widths.get(key) ?? 0, Math.ceil(room)));
    if (key === "learner") return;
    if (key === "actions") fillActions(cell, learner);
    else setText(cell.lastElementChild ?? cell, words);
    if (key === "expected") drawRange(cell.firstElementChild, learner);
    if (key === "status" || key === "remark") cell.title = learner.note;
  });
}

function fillActions(cell, learner) {
  const content = learner.actions.join(" ");
  if (cell.dataset.content === content) return;
  cell.dataset.content = content;
  cell.replaceChildren(...steerButtons(learner));
  for (const button of cell.children) button.tabIndex = -1;
}

// The interval of the expected score, on the scale of the contenders; an arrow where it is below that.
function drawRange(chart, { expected, low, high, learner }) {
  const { interval, leader } = run.header.focus;
  const content = String([expected, low, high, interval, leader === learner]);
  if (chart.dataset.drawn === content) return;
  chart.dataset.drawn = content;
  filled(chart, undefined, { viewBox: `0 0 ${RANGE_WIDE} ${RANGE_TALL}`, width: RANGE_WIDE, height: RANGE_TALL });
  chart.replaceChildren();
  if (expected === null || !interval) return;
  const [from, to] = interval;
  const place = (score) => 6 + (RANGE_WIDE - 12) * Math.max(0, Math.min(1, (score - from) / (to - from || 1)));
  const y = RANGE_TALL / 2;
  if (high < from) {
    chart.append(draw("path", { d: `M8 ${y - 4}l-4 4l4 4`, class: "beyond" }));
    return;
  }
  chart.append(draw("path", { d: `M${place(low).toFixed(1)} ${y}H${place(high).toFixed(1)}`, class: "beyond" }));
  if (expected >= from) {
    const look = leader === learner ? "spot leader" : "spot";
    chart.append(draw("circle", { cx: place(expected).toFixed(1), cy: y, r: 3.4, class: look }));
  }
}
