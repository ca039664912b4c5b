// The page's side of the server: a stream of messages in, commands out, and whether the server is still there.
// Uses nothing from the other files.

const SILENT_MILLISECONDS = 4000; // more than two beats of the server: then the connection is lost
const LISTEN_MILLISECONDS = 500; // how often that is checked
const WAITS = [300, 600, 1200, 2500, 4000]; // milliseconds before each further attempt
// A hidden tab only looks now and then: browsers allow six streams to one server, and other tabs need them.
const HIDDEN_MILLISECONDS = 15_000;

// State: none (a report), connecting, live, lost, refused (another token is needed), or full (too many viewers).
const connection = { state: "none", token: "", startedAt: 0, heardAt: 0, failures: 0, attempt: null, retry: 0 };

// The token comes in the address once. From then on this tab keeps it, and neither history nor bookmarks do.
function takeToken() {
  const fields = new URLSearchParams(location.hash.slice(1));
  const given = fields.get("token");
  if (given) {
    sessionStorage.setItem("token", given);
    fields.delete("token");
    const rest = String(fields) && `#${fields}`;
    history.replaceState(history.state, "", location.pathname + location.search + rest);
  }
  connection.token = sessionStorage.getItem("token") ?? "";
  return Boolean(given);
}

// Call `onMessage(content, whole)` for every message, and `onConnection()` when the state of the connection changes.
function follow(onMessage, onConnection) {
  const change = (state) => {
    if (connection.state === state) return;
    connection.state = state;
    onConnection();
  };
  const handle = { onMessage, change };
  connection.state = "connecting";
  connect(handle);
  setInterval(() => listenFor(handle), LISTEN_MILLISECONDS);
  const again = () => {
    listenFor(handle); // after a sleep this finds a long silence
    if (!connection.attempt) connect(handle);
  };
  addEventListener("online", again);
  addEventListener("focus", again);
  addEventListener("hashchange", () => takeToken() && connect(handle));
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) again();
    else if (connection.state === "live") rest(handle);
  });
}

// Close the stream, and look again after a while.
function rest(handle) {
  connection.attempt?.abort();
  connection.attempt = null;
  clearTimeout(connection.retry);
  connection.retry = setTimeout(() => connect(handle), HIDDEN_MILLISECONDS);
}

const silence = () => Date.now() - connection.heardAt;

const isLost = () => ["lost", "refused", "full"].includes(connection.state);

function listenFor(handle) {
  const since = Math.max(connection.startedAt, connection.heardAt);
  if (connection.attempt && Date.now() - since > SILENT_MILLISECONDS) {
    connection.attempt.abort();
    connection.attempt = null;
    lose(handle, "lost");
  }
}

function lose(handle, state) {
  handle.change(state);
  if (state === "refused") return; // until the person returns, or gives another address
  const wait = WAITS[Math.min(connection.failures, WAITS.length - 1)];
  connection.failures += 1;
  clearTimeout(connection.retry);
  connection.retry = setTimeout(() => connect(handle), wait);
}

async function connect(handle) {
  clearTimeout(connection.retry);
  connection.attempt?.abort();
  const attempt = new AbortController();
  connection.attempt = attempt;
  connection.startedAt = Date.now();
  let state = "lost";
  try {
    const answer = await fetch("events", { headers: { "X-Token": connection.token }, signal: attempt.signal });
    if (answer.ok) await receiveAll(answer.body, handle);
    else state = answer.status === 403 ? "refused" : answer.status === 503 ? "full" : "lost";
  } catch {
    // the same as an end of the stream
  }
  if (connection.attempt !== attempt) return; // another one has begun, or the tab rests
  connection.attempt = null;
  lose(handle, state);
}

async function receiveAll(body, handle) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let pending = [];
  let told = false; // whether more than a beat has come
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    connection.heardAt = Date.now();
    pending.push(value);
    if (!value.includes("\n")) continue; // in the middle of a long message
    const parts = pending.join("").split("\n\n");
    pending = [parts.pop()];
    for (const part of parts) {
      const [, kind, data] = part.match(/^event: (\w+)\ndata: (.*)$/s);
      if (kind === "beat") continue;
      connection.failures = 0;
      told = true;
      handle.onMessage(JSON.parse(data), kind === "snapshot");
      handle.change("live");
    }
    if (document.hidden && told) return rest(handle);
  }
}

// Return the server's answer to a command: {obeyed} or {error}.
async function send(command, learner) {
  const missing = { error: "The command did not reach the run: there is no connection." };
  return (await asked("steer", { command, learner })) ?? missing;
}

// Return the names of the learners that can be added, or {error}.
async function addable() {
  return (await asked("addable")) ?? { error: "The server of this page did not answer." };
}

// Return what the server answers; with content, to a request that changes something. Null where there is no answer.
async function asked(path, content) {
  const headers = { "X-Token": connection.token };
  const sent = { method: "POST", headers: { ...headers, "Content-Type": "application/json" } };
  try {
    const answer = await fetch(path, content ? { ...sent, body: JSON.stringify(content) } : { headers });
    return await answer.json();
  } catch {
    return null;
  }
}
