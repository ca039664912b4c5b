// Notes on a run, and commands for it: dialogs that the page of a run and the list of runs share.
// Uses format.js and net.js.

// Open a dialog with this content; it is gone once it is closed.
function openDialog(title, content) {
  const before = document.activeElement;
  const dialog = make("dialog", undefined, { "aria-labelledby": "dialog-h" });
  const close = make("button", "✕", { type: "button", "aria-label": "Close", class: "x" });
  close.onclick = () => dialog.close();
  within(dialog, close, make("h2", title, { id: "dialog-h" }), ...content);
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (document.activeElement === document.body) focusNear(before);
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

let opening = false; // a dialog waits for its content

// Ask for what is known about a run; null where another dialog is being opened already.
async function askAbout(base) {
  if (opening) return null;
  opening = true;
  try {
    return (await asked(`${base}about`)) ?? NO_ANSWER;
  } finally {
    opening = false;
  }
}

const NO_ANSWER = { error: "The server of this page did not answer." };

// `base` is the address of the run's page, relative to this one: empty on that page itself.
async function openCommands(base, wanted = "") {
  const about = await askAbout(base);
  if (!about) return null;
  const { run: name, commands, error } = about;
  if (error) return openDialog("Commands", [make("p", error)]);
  const rows = commands.map(([title, command]) => {
    const copy = make("button", "Copy", { type: "button", "aria-label": `Copy: ${title}` });
    copy.onclick = async () => {
      setText(copy, (await copied(command)) ? "Copied" : "Select it by hand");
      copy.setAttribute("aria-label", `${copy.textContent}: ${title}`);
    };
    const row = within(make("div", undefined, { class: "command" }), make("h3", title), make("code", command), copy);
    row.classList.toggle("wanted", title === wanted);
    return row;
  });
  const dialog = openDialog(`Commands for ${name}`, rows);
  dialog.querySelector(".wanted button")?.focus();
  return dialog;
}

// Put text on the clipboard; return whether that worked. Only secure pages, such as local ones, have the new way.
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = make("textarea", text);
    (document.querySelector("dialog[open]") ?? document.body).append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }
}

async function openNotes(base, onSaved = () => {}) {
  const about = await askAbout(base);
  if (!about) return null;
  const { run: name, notes, longest, error } = about;
  if (error) return openDialog("Notes", [make("p", error)]);
  const field = make("textarea", undefined, { rows: "10", "aria-label": `Notes on ${name}`, maxlength: longest });
  field.value = notes;
  const said = make("p", "Plain text, kept in the run's folder as notes.txt.", { class: "quiet", role: "status" });
  const save = make("button", "Save", { type: "button" });
  const dialog = openDialog(`Notes on ${name}`, [
    field,
    said,
    within(make("div", undefined, { class: "steer" }), save),
  ]);
  field.focus();
  save.onclick = async () => {
    save.disabled = true;
    const answer = (await asked(`${base}notes`, { text: field.value, before: notes })) ?? NO_ANSWER;
    save.disabled = false;
    if (answer.error) return setText(said, answer.error);
    onSaved(answer.notes);
    return dialog.close();
  };
  return dialog;
}
