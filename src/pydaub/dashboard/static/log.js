// Sentences: the decisions, the result, and the check of the assumptions.
// Uses format.js, run.js and `openDetail` of detail.js.

const MOST_LINES = 200; // shown at first

const log = { all: false, oldest: 0, newest: 0 }; // the numbers of the decisions on the page

function drawLog() {
  const shown = log.all ? run.decisions : run.decisions.slice(-MOST_LINES);
  const [oldest, newest] = [shown[0]?.number ?? 0, shown[shown.length - 1]?.number ?? 0];
  const list = byId("log");
  if (!log.newest || oldest < log.oldest || newest < log.newest) {
    list.replaceChildren(...shown.map(decisionLine).reverse());
  } else {
    for (const decision of shown) if (decision.number > log.newest) list.prepend(decisionLine(decision));
    while (list.children.length > shown.length) list.lastChild.remove();
  }
  Object.assign(log, { oldest, newest });
  const latest = run.decisions.at(-1);
  setText(byId("latest"), latest ? `${duration(latest.clock)} · ${latest.words}` : "No decision yet");
  byId("older").hidden = log.all || run.decisions.length <= MOST_LINES;
}

function decisionLine({ number: value, clock, words }) {
  return within(make("li", undefined, { value }), make("time", duration(clock)), make("span", words));
}

function drawResult() {
  const { claims = [], spent = null, doubts = [] } = run.certificate ?? {};
  byId("certificate").replaceChildren(
    ...[...run.summary, ...claims, ...(spent ? [spent.sentence] : []), ...doubts].map((words) => make("p", words)),
  );
}

function drawAudit() {
  const found = Object.entries(run.certificate?.misbehaved ?? {});
  const parts = [make("p", run.audit)];
  if (found.length) {
    const list = make("ul");
    for (const [name, what] of found) {
      list.append(
        within(
          make("li"),
          link(name, () => openDetail(name)),
          make("span", `: its curve ${what}`),
        ),
      );
    }
    const details = make("details");
    details.open = byId("audit").querySelector("details")?.open ?? false;
    parts.push(within(details, make("summary", `All exceptions: ${found.length}`), list));
  }
  byId("audit").replaceChildren(...parts);
}

// Only a report has these parts.
function drawAbout({ about, notes }) {
  byId("noted").hidden = !notes;
  setText(byId("noted").querySelector("p"), notes);
  byId("about").hidden = false;
  for (const [title, facts] of Object.entries(about)) {
    byId("about-body").append(make("h3", title), within(make("dl"), ...termsAndWords(Object.entries(facts))));
  }
}
