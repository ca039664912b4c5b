// The columns of the table of learners: what they show and mean, which are shown, and a filter by any number.
// Uses format.js, run.js and address.js.

// `text` fills a cell; `value` is what a column sorts by (the field of its key, unless given); `rising` is its first
// direction. Columns without any value are left out, `spare` ones until they are chosen, and `late` ones until the end.
const COLUMNS = [
  { key: "learner", title: "Learner", help: "Click a name for everything about it", side: "l", rising: true, text: (x) => x.learner },
  { key: "expected", title: "Expected", help: "Score with all rows, measured or forecast, and its 90 % interval", side: "l", whisker: true, text: (x) => x.interval },
  { key: "status", title: "Status", help: "What the learner is doing", side: "l", rising: true, text: statusAndLead },
  { key: "valid", title: "Measured", help: "Score on the validation rows, with the rows beside it", score: true, text: (x) => number(x.valid) },
  { key: "size", title: "Rows", help: "Training rows of its latest score, and their share of all rows", text: sizeAndShare },
  { key: "seconds", title: "Time", help: "Training time of all its sizes together", text: (x) => x.time },
  { key: "predict", title: "Predict", help: "Milliseconds that predicting 1,000 rows takes", rising: true, late: true, text: (x) => milliseconds(x.predict) },
  { key: "memory", title: "Memory", help: "Most memory that one of its trainings took", late: true, text: (x) => megabytes(x.memory) },
  { key: "remark", title: "Remark", help: "What to know of it; its name opens the rest", side: "l why", rising: true, text: (x) => x.remark },
  { key: "actions", title: "Steer", help: "Boost: its next size comes before all others. Drop: it gets no more rows", side: "l" },
  { key: "train", title: "Training", help: "Score on the training rows themselves", score: true, spare: true, text: (x) => number(x.train) },
  { key: "loss", title: "Loss", help: "Distance from the best possible score", score: true, rising: true, spare: true, text: (x) => number(x.loss) },
  { key: "bound", title: "Bound", help: "The most that it can score with all rows if its curve gets no steeper", spare: true, text: (x) => number(x.bound) },
  { key: "priority", title: "Potential", help: "The number by which the strategy decides: the score it could reach, discounted by training time", spare: true, text: (x) => number(x.priority) },
  { key: "rows", title: "Rows in all", help: "Training rows of all its sizes together", spare: true, text: (x) => count(x.rows) },
  { key: "weight", title: "Weight", help: "Its weight in the ensemble", text: (x) => number(x.weight) },
]; // prettier-ignore

function statusAndLead({ learner, status }) {
  const isSaid = learner !== run.header.focus.leader || ["selected", "best so far"].includes(status);
  return isSaid ? marked(status) : `★ leads, ${status}`;
}

function sizeAndShare({ size }) {
  return size ? `${count(size)} (${Math.round((100 * size) / run.header.full_size)} %)` : "0";
}

// With a column for each figure that was recorded.
function allColumns() {
  const figures = run.header.figures.map(({ key, title, help, lower }) => {
    const value = (x) => x.figures[key] ?? null;
    return { key: `figures.${key}`, title, help, rising: lower, spare: true, value, text: (x) => number(value(x)) };
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

const isShown = ({ key, spare = false, late = false }) =>
  (spare || (late && run.header.going)) === recalledAll("turned").includes(key);

const shownColumns = () =>
  allColumns().filter((column) => column.key === "learner" || (isShown(column) && !isEmpty(column)));

const columnOf = (key) => allColumns().find((column) => column.key === key);

const isNumeric = ({ side = "" }) => !side;

// The menu of columns. The address keeps those that differ from what is usual.
function drawColumnMenu(redraw) {
  const offered = allColumns().filter((column) => column.key !== "learner" && !isEmpty(column));
  const keys = String([run.header.going, ...offered.map(({ key }) => key)]);
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
