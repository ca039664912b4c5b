// Commands to the run, with a question first where work would be lost.
// Uses format.js, net.js, and `busy` and `drawHead` of head.js.

let lastQuestion = Promise.resolve();

// Ask a question and return the answer: true or the field's value, or null. Questions wait for each other.
function ask(question) {
  lastQuestion = lastQuestion.then(() => openQuestion(question));
  return lastQuestion;
}

function openQuestion({ title, words, yes = "OK", field = null, careful = false, choice = true }) {
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
    byId("ask-yes").onclick = () => answer(field ? field.value : true);
    byId("ask-no").onclick = () => answer(null);
    dialog.onclose = () => resolve(null);
    dialog.showModal();
    if (careful) byId("ask-no").focus();
  });
}

// What can be done with a learner, as buttons.
function steerButtons({ learner, actions, confirm }) {
  return actions.map((command) => {
    const question = confirm[command];
    const words = capitalised(command) + (question ? " …" : "");
    const button = make("button", words, { type: "button", "aria-label": `${words} ${learner}` });
    button.onclick = () => steer(command, learner, question);
    return button;
  });
}

async function steer(command, learner = null, question = "") {
  const what = learner ? `${command} ${learner}` : command;
  const yes = capitalised(what);
  if (question && !(await ask({ title: `${capitalised(what)}?`, words: question, yes, careful: true }))) return;
  setBusy(true);
  report("");
  const { obeyed, error } = await send(command, learner);
  if (error) await ask({ title: "The command was refused", words: error, choice: false });
  else if (obeyed) report(`Done: ${what}.`);
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
  const choice = make("select", undefined, { "aria-label": "Learner" });
  choice.append(...found.map((name) => make("option", name, { value: name })));
  const name = await ask({
    title: "Add a learner",
    words: "It starts with the smallest size.",
    yes: "Add",
    field: choice,
  });
  if (name) await steer("add", name);
}
