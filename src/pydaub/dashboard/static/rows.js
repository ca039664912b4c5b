// The rows of the table of learners, and the widths of its columns. Uses format.js, run.js, `ranking` and `pick` of
// ranking.js, `openDetail` of detail.js and `steerButtons` of steering.js.

const WIDEST = 34; // characters of a column before it wraps

// Every column is as wide as its longest text; the remarks take what is left. So nothing jumps or overlaps.
function drawWidths() {
  const widths = ranking.columns.map(({ key, title }) => {
    const most = Math.max(ranking.widths.get(key) ?? 0, title.length + 2);
    const width = `calc(${Math.min(most, WIDEST)}ch + 18px)`;
    return { remark: "", learner: `min(${width}, 36vw)` }[key] ?? width;
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
  const total = widths.map((width) => width || "220px").join(" + ");
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
    else setText(cell.firstElementChild ?? cell, words);
    if (key === "status" || key === "remark") cell.title = learner.remark;
  });
}

function fillActions(cell, learner) {
  const content = learner.actions.join(" ");
  if (cell.dataset.content === content) return;
  cell.dataset.content = content;
  cell.replaceChildren(...steerButtons(learner));
  for (const button of cell.children) button.tabIndex = -1;
}
