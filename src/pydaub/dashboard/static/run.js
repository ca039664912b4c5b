// What the server has sent about the run. Uses nothing from the other files.

const run = {
  header: {
    state: "waiting",
    words: "connecting …",
    verdict: { line: "", title: "connecting", fraction: null },
    tiles: ["Best so far", "Could still change", "Time left", "Failed"].map((title) => ({
      key: title,
      title,
      value: "…",
      detail: "",
    })),
    steps: [],
    facts: [],
    actions: {},
    confirm: {},
    immovable: "",
    sizes: [],
    now: { lanes: [], words: "", next: "", best: [] },
    focus: { leader: null, band: null, rivals: [], words: "", top: null, range: null, interval: null },
    figures: [],
  },
  learners: new Map(), // by name
  decisions: [],
  summary: [],
  certificate: null,
  audit: "",
  receivedAt: 0, // on the browser's clock, so that the elapsed time can tick
};

const changed = new Set(); // learners whose row and card must be drawn again

// Take in a snapshot (`whole`), or what has changed since the last message.
function receive(news, whole) {
  if (whole) {
    run.learners.clear();
    changed.clear();
    run.decisions.length = 0;
  }
  run.header = news.header;
  run.receivedAt = performance.now();
  for (const learner of news.learners) {
    run.learners.set(learner.learner, learner);
    changed.add(learner.learner);
  }
  for (const decision of news.decisions) run.decisions.push(decision); // spread arguments are limited in number
  ({ summary: run.summary, certificate: run.certificate, audit: run.audit } = news);
}

// The learners in the order of every view: the leader first.
const ordered = () => [...run.learners.values()].sort((a, b) => ranks(a.rank, b.rank));

const ranks = (a, b) => a.reduce((found, part, place) => found || part - b[place], 0);

function elapsedNow() {
  const since = run.header.going ? (performance.now() - run.receivedAt) / 1000 : 0;
  return run.header.elapsed + since;
}
