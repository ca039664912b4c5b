// Commands to the run, with a question first where work would be lost.
// Uses format.js, net.js, `ranking` of ranking.js, and `busy` and `drawHead` of head.js.

let lastQuestion = Promise.resolve();

// Ask a question and return the answer: true or the field's value, or null. Questions wait for each other.
function ask(question) {
  lastQuestion = lastQuestion.then(() => openQuestion(question));
  return lastQuestion;
}

function openQuestion({
  title,
  words,
  yes = "OK",
  field = null,
  answer: value = () => true,
  careful = false,
  choice = true,
}) {
  const dialog = byId("ask");
  byId("ask-h").textContent = title;
  byId("ask-words").textContent = words;
  byId("ask-yes").textContent = yes;
  byId("ask-no").hidden = !choice;
  byId("ask-field").replaceChildren(...(field ? [field] : []));
  return new Promise((resolve) => {
    const answer = (value) => {
      dialog.onclose = null;
      dialog.close();
      resolve(value);
    };
    byId("ask-yes").onclick = () => answer(value());
    byId("ask-no").onclick = () => answer(null);
    dialog.onclose = () => resolve(null);
    byId("ask-yes").classList.toggle("danger", careful);
    dialog.showModal();
    if (careful) byId("ask-no").focus();
  });
}

// What can be done with a learner, as buttons.
function steerButtons({ learner, actions, confirm }, before = () => {}) {
  return actions.map((command) => {
    const question = confirm[command];
    const words = capitalised(command) + (question ? " …" : "");
    const button = make("button", words, { type: "button", "aria-label": `${words} ${learner}` });
    button.onclick = () => {
      before();
      return steer(command, learner, question);
    };
    return button;
  });
}

async function steer(command, learner = null, question = "") {
  if (busy) return;
  const what = learner ? `${command} ${learner}` : command;
  const yes = capitalised(what);
  if (question && !(await ask({ title: `${capitalised(what)}?`, words: question, yes, careful: true }))) return;
  setBusy(true);
  report("");
  const { obeyed, error } = await send(command, learner);
  if (error) await ask({ title: "The command was refused", words: error, choice: false });
  else if (obeyed) reportFor(`Done: ${what}.`, learner);
  else
    await ask({
      title: "No answer yet",
      words: "The run will carry out the command as soon as it can.",
      choice: false,
    });
  setBusy(false);
}

function setBusy(now) {
  busy = now;
  drawButtons(run.header);
}

const DONE_MILLISECONDS = 8000;

// An answer stands in the header, and on the row that it concerns, for a while.
function reportFor(words, learner) {
  report(words);
  const row = learner && ranking.rows.get(learner);
  row?.classList.add("done");
  setTimeout(() => {
    row?.classList.remove("done");
    if (byId("answer").textContent === words) report("");
  }, DONE_MILLISECONDS);
}

function report(words) {
  for (const id of ["answer", "answer-here"]) byId(id).textContent = words;
}

async function addLearner() {
  const found = await addable();
  if (!Array.isArray(found) || !found.length) {
    const words = found.error ?? "Every learner of the portfolio is in the run already.";
    await ask({ title: "Nothing to add", words, choice: false });
    return;
  }
  const choice = make("input", undefined, { "aria-label": "Learner", list: "addable", autocomplete: "off" });
  choice.placeholder = `Search ${found.length} learners`;
  choice.onkeydown = (event) => {
    if (event.key === "Enter") byId("ask-yes").click();
  };
  const names = make("datalist", undefined, { id: "addable" });
  names.append(...found.map((name) => make("option", undefined, { value: name })));
  const field = within(make("div"), choice, names);
  const name = await ask({
    title: "Add a learner",
    words: "It starts with the smallest size.",
    yes: "Add",
    field,
    answer: () => choice.value.trim(),
  });
  if (name) await steer("add", name);
}
