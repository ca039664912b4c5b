// The table of learners: sorted, searched, filtered. Uses format.js, run.js and `openDetail` of detail.js.

const MOST_ROWS = 150; // shown at first, since long tables are slow

// `title` names the column, `text` fills a cell, `help` is its tooltip. Columns sort by the value under `key`.
const COLUMNS = [
  { key: "learner", title: "Learner", side: "l", rising: true },
  { key: "size", title: "Size", text: sizeAndShare, help: "Training rows of its latest score" },
  { key: "train", title: "Training", text: (x) => number(x.train), help: "Score on the training rows", score: true },
  {
    key: "valid",
    title: "Validation",
    text: (x) => number(x.valid),
    help: "Score on the validation rows",
    score: true,
  },
  {
    key: "loss",
    title: "Loss",
    text: (x) => number(x.loss),
    help: "Distance from the best possible score",
    score: true,
    rising: true,
  },
  { key: "bound", title: "Bound", text: (x) => number(x.bound), help: "Upper bound on its score with all rows" },
  {
    key: "priority",
    title: "Priority",
    text: (x) => number(x.priority),
    help: "The number by which the strategy decides: the highest gets data next",
  },
  { key: "rows", title: "Rows", text: (x) => count(x.rows), help: "Training rows of all its allocations together" },
  { key: "seconds", title: "Time", text: (x) => x.time, help: "Training time of all its allocations together" },
  { key: "standing", title: "Status", text: (x) => marked(x.standing), side: "l", rising: true },
  { key: "remark", title: "Remarks", text: (x) => x.remark, side: "l why", rising: true },
];

const ranking = {
  by: "size",
  rising: false,
  sorted: false, // whether the reader has chosen an order
  all: false,
  rows: new Map(), // by learner
  picked: new Set(), // learners to compare
};

function sizeAndShare({ size }) {
  return size ? `${count(size)} (${Math.round((100 * size) / run.header.full_size)} %)` : "0";
}

// The learners that the filters let through, in the chosen order. Equal ones: by size, then by score, then by name.
function ranked() {
  const words = byId("search").value.trim().toLowerCase();
  const standing = byId("only").value;
  const found = [...run.learners.values()].filter(
    (x) => (!words || x.learner.toLowerCase().includes(words)) && (!standing || x.standing === standing),
  );
  const { first } = run.header;
  return found.sort(
    (a, b) =>
      (ranking.sorted ? 0 : (b.learner === first) - (a.learner === first)) ||
      compared(a[ranking.by], b[ranking.by], ranking.rising) ||
      compared(a.size, b.size, false) ||
      compared(a.valid, b.valid, false) ||
      compared(a.learner, b.learner, true),
  );
}

// Missing values come last in either direction.
function compared(a, b, rising) {
  if (a === b) return 0;
  if (a === null || a === "") return 1;
  if (b === null || b === "") return -1;
  return a < b === rising ? -1 : 1;
}

function drawColumns() {
  const heads = COLUMNS.map(({ key, title, side = "", help = "" }) => {
    const direction = key !== ranking.by ? "none" : ranking.rising ? "ascending" : "descending";
    const arrow = { none: "", ascending: " ▲", descending: " ▼" }[direction];
    const sort = make("button", title + arrow, { type: "button", title: help, "data-key": key });
    sort.onclick = () => sortBy(key);
    return within(make("th", undefined, { class: side, scope: "col", "aria-sort": direction }), sort);
  });
  const box = make("th", "", { scope: "col", class: "l", "aria-label": "Compare" });
  document.querySelector("thead tr").replaceChildren(box, ...heads);
}

function sortBy(key) {
  const { rising = false } = COLUMNS.find((column) => column.key === key);
  ranking.rising = ranking.by === key ? !ranking.rising : rising;
  ranking.by = key;
  ranking.sorted = true;
  drawColumns();
  drawTable();
  drawCards();
  document.querySelector(`thead [data-key=${key}]`).focus();
}

function drawTable() {
  const found = ranked();
  const shown = ranking.all ? found : found.slice(0, MOST_ROWS);
  for (const { learner } of shown) if (!ranking.rows.has(learner)) addRow(learner);
  arrange(
    document.querySelector("tbody"),
    shown.map(({ learner }) => ranking.rows.get(learner)),
  );
  const trained = [...run.learners.values()].some(({ train }) => train !== null);
  byId("ranking").classList.toggle("untrained", !trained); // no column for scores that nobody has
  const some = found.length === shown.length ? "" : "the first ";
  setText(byId("count"), `${some}${shown.length} of ${some ? found.length : run.learners.size}`);
  byId("rows").hidden = found.length <= MOST_ROWS;
  setText(byId("rows"), ranking.all ? `Show the first ${MOST_ROWS}` : `Show all ${found.length}`);
}

function addRow(name) {
  const box = make("input", undefined, { type: "checkbox", "aria-label": `Compare ${name}` });
  box.checked = ranking.picked.has(name);
  box.onchange = () => pick(name, box.checked);
  const open = link(name, () => openDetail([name]));
  const cells = COLUMNS.slice(1).map(({ side = "", score }) => make("td", "", { class: score ? "score" : side }));
  const row = within(
    make("tr"),
    within(make("td", undefined, { class: "l" }), box),
    within(make("td", undefined, { class: "l" }), open),
    ...cells,
  );
  ranking.rows.set(name, row);
  fillRow(name);
}

function fillRow(name) {
  const learner = run.learners.get(name);
  const row = ranking.rows.get(name);
  row.className = learner.size < run.header.full_size ? "part" : "";
  COLUMNS.slice(1).forEach(({ text }, place) => setText(row.children[place + 2], text(learner)));
}

function pick(name, wanted) {
  if (wanted) ranking.picked.add(name);
  else ranking.picked.delete(name);
  drawCompare();
}

function drawCompare() {
  const { size } = ranking.picked;
  byId("compare").disabled = size < 2;
  setText(byId("compare"), size < 2 ? "Compare" : `Compare ${size}`);
}

// The filter offers every status that some learner has, and keeps the chosen one.
function drawFilter() {
  const chosen = byId("only").value;
  const standings = new Set([...run.learners.values()].map(({ standing }) => standing));
  if (chosen) standings.add(chosen);
  const words = [...standings].sort();
  const offered = [...byId("only").options].slice(1).map(({ value }) => value);
  if (String(words) === String(offered)) return;
  const options = words.map((word) => make("option", word, { value: word }));
  byId("only").replaceChildren(make("option", "all", { value: "" }), ...options);
  byId("only").value = chosen;
}
