// The table of learners: sorted, searched, filtered. Uses format.js, run.js, address.js, columns.js, rows.js,
// keyboard.js, and `drawOverview` and `drawCards`.

const MOST_ROWS = 150; // shown at first, since long tables are slow

const ranking = {
  all: false,
  scale: "", // of the whiskers
  rows: new Map(), // by learner
  picked: new Set(), // learners to compare
  columns: [], // those on the page
  widths: new Map(), // of columns, in characters
};

const sortedBy = () => recalled("by") || "expected";
const isRising = () => recalled("rising") === "1";

// The learners that the filters let through, sorted by the chosen column; equal ones in the order of every view.
function ranked() {
  const words = byId("search").value.trim().toLowerCase();
  const status = byId("only").value;
  const passes = numberFilter();
  const found = ordered().filter(
    (x) => (!words || x.learner.toLowerCase().includes(words)) && (!status || x.status === status) && passes(x),
  );
  const column = recalled("by") && columnOf(recalled("by"));
  return column ? found.sort((a, b) => compared(column.value(a) ?? null, column.value(b) ?? null, isRising())) : found;
}

// Missing values come last in either direction.
function compared(a, b, rising) {
  if (a === b) return 0;
  if (a === null || a === "") return 1;
  if (b === null || b === "") return -1;
  return a < b === rising ? -1 : 1;
}

function drawColumns() {
  const columns = shownColumns();
  const keys = columns.map(({ key }) => key);
  if (String(keys) !== String(ranking.columns.map(({ key }) => key))) {
    ranking.rows.clear();
    ranking.widths.clear();
  }
  ranking.columns = columns;
  const content = String([keys, sortedBy(), isRising()]);
  const line = document.querySelector("#ranking thead tr");
  if (line.dataset.drawn === content) return;
  line.dataset.drawn = content;
  const box = within(make("th", undefined, { scope: "col", class: "l" }), make("span", "⇄", { title: "Compare" }));
  line.replaceChildren(box, ...columns.map(columnHead));
}

function columnHead({ key, title, side = "", help, text }) {
  const direction = key !== sortedBy() ? "none" : isRising() ? "ascending" : "descending";
  const head = make("th", undefined, { class: side, scope: "col", "aria-sort": direction, "data-key": key });
  if (!text) return within(head, make("span", title, { title: help }));
  const arrow = { none: "", ascending: " ▲", descending: " ▼" }[direction];
  const sort = make("button", title + arrow, { type: "button", title: help, tabindex: "-1" });
  sort.onclick = () => sortBy(key);
  return within(head, sort);
}

function sortBy(key) {
  const { rising = false } = columnOf(key);
  const next = sortedBy() === key ? !isRising() : rising;
  remember("by", key);
  remember("rising", next ? "1" : "");
  drawColumns();
  drawTable();
  drawCards();
  document.querySelector(`thead [data-key="${key}"] button`).focus();
}

function drawTable() {
  drawColumns();
  const found = ranked();
  const shown = ranking.all ? found : found.slice(0, MOST_ROWS);
  for (const { learner } of shown) if (!ranking.rows.has(learner)) addRow(learner);
  arrange(
    document.querySelector("#ranking tbody"),
    shown.map(({ learner }) => ranking.rows.get(learner)),
  );
  for (const [name, row] of ranking.rows) row.classList.toggle("leader", name === run.header.focus.leader);
  drawWidths();
  settleRove(document.querySelector("#ranking table"));
  const some = found.length === shown.length ? "" : "the first ";
  setText(byId("count"), `${some}${shown.length} of ${some ? found.length : run.learners.size}`);
  byId("rows").hidden = found.length <= MOST_ROWS;
  setText(byId("rows"), ranking.all ? `Show the first ${MOST_ROWS}` : `Show all ${found.length}`);
}

function pick(name, wanted) {
  if (wanted) ranking.picked.add(name);
  else ranking.picked.delete(name);
  remember("pick", ...ranking.picked);
  const box = ranking.rows.get(name)?.querySelector("input");
  if (box) box.checked = wanted;
  drawOverview();
}

// The filter offers every status that some learner has, and keeps the chosen one.
function drawFilter() {
  const chosen = recalled("status");
  const statuses = new Set([...run.learners.values()].map(({ status }) => status));
  if (chosen) statuses.add(chosen);
  const words = [...statuses].sort();
  const offered = [...byId("only").options].slice(1).map(({ value }) => value);
  if (String(words) !== String(offered)) {
    const options = words.map((word) => make("option", word, { value: word }));
    byId("only").replaceChildren(make("option", "all", { value: "" }), ...options);
  }
  byId("only").value = chosen;
}
