// The list of the runs in a folder. Uses format.js, net.js, keyboard.js and about.js.

const ASK_MILLISECONDS = 2000; // between two questions; with the patience below, silence is noticed within 5 s
const PATIENCE_MILLISECONDS = 2500;

const words = (value) => String(value ?? "");
const by = (value) => (a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0);
const high = (value) => by((one) => -(value(one) ?? -Infinity));

// Title, class of the column, and the order when sorted by it.
const LIST = [
  ["Run", "l name", by((one) => one.name)],
  ["State", "l state", by((one) => `${one.going ? 0 : 1} ${one.state}`)],
  ["Leader", "l leader", by((one) => `${one.scoring} ${one.leader}`)],
  ["Score", "", high((one) => one.score)],
  ["Rows", "spare", high((one) => one.size)],
  ["Training time", "", high((one) => one.seconds)],
  ["Allocations", "spare", high((one) => one.allocations)],
  ["Started", "", high((one) => one.started)],
];

const list = { runs: new Map(), version: "", rows: new Map(), picked: new Set(), sort: "Started", lost: false };

async function look() {
  const headers = { "X-Token": connection.token };
  try {
    const signal = AbortSignal.timeout(PATIENCE_MILLISECONDS);
    const answer = await fetch(`runs?version=${list.version}`, { headers, signal });
    const news = await answer.json();
    if (answer.status === 403)
      drawListState("refused", "this address is not valid; open the one that was printed last");
    else if (news.runs) takeRuns(news);
    else drawListState("live", summaryOfStates());
  } catch {
    drawListState("lost", "connection lost; trying again");
  }
  setTimeout(look, ASK_MILLISECONDS);
}

function takeRuns({ version, folder, runs }) {
  list.version = version;
  list.runs = new Map(runs.map((one) => [one.name, one]));
  for (const name of list.picked) if (!list.runs.has(name)) list.picked.delete(name);
  for (const name of list.rows.keys()) if (!list.runs.has(name)) list.rows.delete(name);
  setText(byId("title"), folder);
  drawListState("live", summaryOfStates());
  drawRuns();
}

function summaryOfStates() {
  if (!list.version) return "looking for runs …";
  const going = [...list.runs.values()].filter((one) => one.going).length;
  return going ? `${count(going)} going on` : "none going on";
}

function drawListState(state, text) {
  byId("state").dataset.state = state;
  setText(byId("state"), marked(state, text));
  const title = `${state === "live" ? text : "connection lost"} · ${byId("title").textContent || "Runs"} · pydaub`;
  if (document.title !== title) document.title = title;
}

function drawRuns() {
  const wanted = byId("search").value.trim().toLowerCase();
  const order = LIST.find(([title]) => title === list.sort)[2];
  const runs = [...list.runs.values()]
    .filter((one) => found(one, wanted))
    .sort((a, b) => order(a, b) || (a.name < b.name ? -1 : 1));
  arrange(document.querySelector("#runs tbody"), runs.map(rowOf));
  byId("empty").hidden = runs.length > 0 || !list.version;
  const all = list.runs.size;
  const some = runs.length === all ? "" : `${count(runs.length)} of `;
  setText(byId("count"), list.version ? `${some}${count(all)} runs` : "");
  for (const head of document.querySelectorAll("#runs thead th")) {
    if (head.dataset.by === list.sort) head.setAttribute("aria-sort", "descending");
    else head.removeAttribute("aria-sort");
  }
  byId("sort").value = list.sort;
  settleRove(byId("runs"));
}

const found = (one, wanted) =>
  !wanted || [one.name, one.state, one.leader, one.notes].some((text) => words(text).toLowerCase().includes(wanted));

// The row of a run, made again only if something in it has changed.
function rowOf(one) {
  const content = JSON.stringify(one);
  const before = list.rows.get(one.name);
  if (before?.content === content) return before.row;
  const row = before?.row ?? make("tr");
  const focused = row.contains(document.activeElement) ? document.activeElement.dataset.what : null;
  row.dataset.state = one.state;
  row.replaceChildren(...cellsOf(one));
  if (focused) row.querySelector(`[data-what="${focused}"]`)?.focus();
  list.rows.set(one.name, { row, content });
  return row;
}

function cellsOf(one) {
  const box = make("input", undefined, { type: "checkbox", "aria-label": `Compare ${one.name}` });
  box.checked = list.picked.has(one.name);
  box.onchange = () => pick(one.name, box.checked);
  const base = `run/${encodeURIComponent(one.name)}/`;
  const open = make("a", one.name, { href: `${base}#token=${connection.token}` });
  const note = link(one.noted ? "Edit the note" : "Add a note", () => openNotes(base));
  const copy = link("Commands", () => openCommands(base));
  note.setAttribute("aria-label", `${note.textContent}: ${one.name}`);
  copy.setAttribute("aria-label", `Commands: ${one.name}`);
  const controls = { pick: box, open, note, copy };
  for (const [what, control] of Object.entries(controls)) {
    control.dataset.what = what;
    control.tabIndex = -1; // arrow keys lead there
  }
  const known = one.score !== undefined && one.score !== null;
  const shown = [
    "",
    marked(one.state),
    one.trouble || one.leader,
    known ? `${one.scoring} ${one.score_words}` : "",
    one.size ? `${count(one.size)} of ${count(one.full_size)}` : "",
    one.time ?? "",
    one.allocations ? count(one.allocations) : "",
    startedAt(one.started),
  ];
  const cells = LIST.map(([title, kind], place) =>
    make("td", shown[place], { class: kind, ...(place > 1 ? { "data-title": title } : {}) }),
  );
  within(cells[0], open, ...(one.notes ? [make("div", one.notes, { class: "note" })] : []));
  const doing = within(make("div", undefined, { class: "doing" }), note, copy);
  return [
    within(make("td", undefined, { class: "pick" }), box),
    ...cells,
    within(make("td", undefined, { class: "l" }), doing),
  ];
}

function startedAt(seconds) {
  const date = new Date(1000 * seconds);
  const two = (value) => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

function pick(name, wanted) {
  if (wanted) list.picked.add(name);
  else list.picked.delete(name);
  byId("compare").disabled = list.picked.size !== 2;
  setText(byId("compare"), list.picked.size > 2 ? "Compare: choose only two" : "Compare two");
}

async function compareTwo() {
  const [one, other] = [...list.picked];
  const query = new URLSearchParams([
    ["run", one],
    ["run", other],
  ]);
  const answer = (await asked(`compare?${query}`)) ?? NO_ANSWER;
  if (answer.error) return openDialog("Compare", [make("p", answer.error)]);
  const facts = table(["", ...answer.runs], answer.facts);
  const learners = answer.learners.map(([name, ...both]) => [
    name,
    ...both.map(([score, rows]) => `${score} (${rows} rows)`),
  ]);
  const [alone, also] = answer.alone;
  const rest = `What differs is bold. Learners that only one run has tried: ${alone} in ${answer.runs[0]}, ${also} in ${answer.runs[1]}.`;
  const more = answer.common > learners.length ? ` The first ${learners.length} of ${answer.common} are shown.` : "";
  const common = answer.common
    ? [make("h3", "Learners that both have tried: latest score"), table(["Learner", ...answer.runs], learners)]
    : [];
  const warning = answer.warning ? [make("p", answer.warning)] : [];
  return openDialog("Two runs", [...warning, facts, ...common, make("p", rest + more, { class: "quiet" })]);
}

function table(titles, rows) {
  const head = within(make("tr"), ...titles.map((title) => make("th", title, title ? { scope: "col" } : {})));
  const body = rows.map(([title, ...values]) => {
    const row = within(make("tr"), make("th", title, { scope: "row" }), ...values.map((value) => make("td", value)));
    row.classList.toggle("differs", values[0] !== values[1]);
    return row;
  });
  return within(
    make("table", undefined, { class: "compared" }),
    within(make("thead"), head),
    within(make("tbody"), ...body),
  );
}

function drawListHead() {
  const titles = LIST.map(([title, kind]) => {
    const button = make("button", title, { type: "button", tabindex: "-1" });
    button.onclick = () => sortBy(title);
    return within(make("th", undefined, { scope: "col", "data-by": title, class: kind }), button);
  });
  document.querySelector("#runs thead tr").append(make("td"), ...titles, make("td"));
  byId("sort").append(...LIST.map(([title]) => make("option", title, { value: title })));
}

function sortBy(title) {
  list.sort = title;
  drawRuns();
}

function startList() {
  takeToken();
  drawListHead();
  roveRows(byId("runs"));
  byId("search").oninput = drawRuns;
  byId("sort").onchange = () => sortBy(byId("sort").value);
  byId("compare").onclick = compareTwo;
  addEventListener("hashchange", takeToken);
  look();
}

startList();
