// The columns of the table of learners: what they show and mean, which are shown, and a filter by any number.
// Uses format.js, run.js and address.js.

// `text` fills a cell; `value` is what a column sorts by (the field of its key, unless given); `rising` is its first
// direction. Columns without any value are left out, and `spare` ones until they are chosen.
const COLUMNS = [
  { key: "learner", title: "Learner", help: "Click a name for everything about it", side: "l", rising: true, text: (x) => x.learner },
  { key: "valid", title: "Validation", help: "Score on the validation rows, with the size beside it", score: true, text: (x) => number(x.valid) },
  { key: "status", title: "Status", help: "What the learner is doing", side: "l", rising: true, text: (x) => marked(x.status) },
  { key: "actions", title: "Steer", help: "Boost: its next size comes before all others. Drop: it gets no more rows", side: "l" },
  { key: "size", title: "Size", help: "Training rows of its latest score, and their share of all rows", text: sizeAndShare },
  { key: "seconds", title: "Time", help: "Training time of all its allocations together", text: (x) => x.time },
  { key: "memory", title: "Memory", help: "Most memory that one of its trainings took", text: (x) => megabytes(x.memory) },
  { key: "train", title: "Training", help: "Score on the training rows themselves", score: true, text: (x) => number(x.train) },
  { key: "loss", title: "Loss", help: "Distance from the best possible score", score: true, rising: true, spare: true, text: (x) => number(x.loss) },
  { key: "likely", title: "Likely", help: "Forecast of its score with all rows: as likely to be exceeded as not (50 % quantile)", score: true, text: (x) => number(x.likely) },
  { key: "at_best", title: "At best", help: "Forecast of its score with all rows: exceeded in one case of twenty (95 % quantile)", score: true, text: (x) => number(x.at_best) },
  { key: "bound", title: "Bound", help: "The most that it can score with all rows if its curve gets no steeper", text: (x) => number(x.bound) },
  { key: "priority", title: "Priority", help: "The number by which the strategy decides: the highest gets data next", text: (x) => number(x.priority) },
  { key: "rows", title: "Rows", help: "Training rows of all its allocations together", spare: true, text: (x) => count(x.rows) },
  { key: "weight", title: "Weight", help: "Its weight in the ensemble", text: (x) => number(x.weight) },
  { key: "remark", title: "Remarks", help: "Why it has this status, and what is odd about its curve", side: "l why", rising: true, text: (x) => x.remark },
]; // prettier-ignore

function sizeAndShare({ size }) {
  return size ? `${count(size)} (${Math.round((100 * size) / run.header.full_size)} %)` : "0";
}

// With a column for each figure that was recorded.
function allColumns() {
  const figures = run.header.figures.map(({ key, title, help, lower }) => {
    const value = (x) => x.figures[key] ?? null;
    return { key: `figures.${key}`, title, help, rising: lower, value, text: (x) => number(value(x)) };
  });
  return [...COLUMNS, ...figures].map((column) => ({ value: (x) => x[column.key], ...column }));
}

function isEmpty({ value }) {
  for (const learner of run.learners.values()) {
    const found = value(learner);
    if (found !== null && found !== undefined && found !== "" && found.length !== 0) return false;
  }
  return true;
}

const isShown = ({ key, spare = false }) => spare === recalledAll("turned").includes(key);

const shownColumns = () =>
  allColumns().filter((column) => column.key === "learner" || (isShown(column) && !isEmpty(column)));

const columnOf = (key) => allColumns().find((column) => column.key === key);

const isNumeric = ({ side = "" }) => !side;

// The menu of columns. The address keeps those that differ from what is usual.
function drawColumnMenu(redraw) {
  const offered = allColumns().filter((column) => column.key !== "learner" && !isEmpty(column));
  const keys = String(offered.map(({ key }) => key));
  const menu = byId("choose");
  if (menu.dataset.keys === keys) return;
  menu.dataset.keys = keys;
  menu.replaceChildren(
    ...offered.map((column) => {
      const box = make("input", undefined, { type: "checkbox" });
      box.checked = isShown(column);
      box.onchange = () => {
        const turned = new Set(recalledAll("turned"));
        if (!turned.delete(column.key)) turned.add(column.key);
        remember("turned", ...turned);
        redraw();
      };
      return within(make("label", undefined, { title: column.help }), box, make("span", ` ${column.title}`));
    }),
  );
  const numbers = offered.filter(isNumeric);
  const none = make("option", "none", { value: "" });
  byId("where").replaceChildren(none, ...numbers.map(({ key, title }) => make("option", title, { value: key })));
  byId("where").value = recalled("where");
  byId("way").value = recalled("way") || "least";
  byId("than").value = recalled("than");
  byId("meanings")
    .querySelector("dl")
    .replaceChildren(...termsAndWords(offered.map(({ title, help }) => [title, help])));
}

// Whether a learner passes the filter by a number; one without that number does not.
function numberFilter() {
  const column = recalled("where") && columnOf(recalled("where"));
  const than = parseFloat(recalled("than"));
  const most = recalled("way") === "most";
  const active = column && !Number.isNaN(than);
  setText(byId("where-words"), active ? `Filter: ${column.title} ${most ? "≤" : "≥"} ${recalled("than")}` : "Filter");
  if (!active) return () => true;
  return (learner) => {
    const value = column.value(learner) ?? null;
    return value !== null && (most ? value <= than : value >= than);
  };
}
