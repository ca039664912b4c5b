// The page's side of the server: a stream of messages in, commands out. Uses nothing from the other files.

const token = new URLSearchParams(location.search).get("token") ?? "";

// Call `onMessage(content, whole)` for every message, and `onLost(forGood)` when the connection breaks.
function follow(onMessage, onLost) {
  const source = new EventSource(`/events?token=${encodeURIComponent(token)}`);
  source.addEventListener("snapshot", (event) => onMessage(JSON.parse(event.data), true));
  source.addEventListener("changes", (event) => onMessage(JSON.parse(event.data), false));
  source.onerror = () => onLost(source.readyState === EventSource.CLOSED);
}

// Return the server's answer to a command: {obeyed} or {error}.
async function send(command, learner) {
  const headers = { "Content-Type": "application/json", "X-Token": token };
  const body = JSON.stringify({ command, learner });
  try {
    return await (await fetch("/steer", { method: "POST", headers, body })).json();
  } catch {
    return { error: "The command did not reach the run: there is no connection." };
  }
}

// Return the names of the learners that can be added, or {error}.
async function addable() {
  try {
    return await (await fetch(`/addable?token=${encodeURIComponent(token)}`)).json();
  } catch {
    return { error: "The server of this page did not answer." };
  }
}
