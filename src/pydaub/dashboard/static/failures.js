// The list of learners that failed, with another chance for each where the run is going on.
// Uses format.js, run.js, `openDialog` and `openCommands` of about.js, `openDetail` of detail.js and steering.js.

function openFailures() {
  const failed = ordered().filter(({ status }) => status === "failed");
  const list = make("ul", undefined, { class: "failures" });
  for (const learner of failed) {
    const open = link(learner.learner, () => {
      dialog.close();
      openDetail(learner.learner);
    });
    const score = learner.valid === null ? "" : ` It had ${number(learner.valid)} with ${count(learner.size)} rows.`;
    list.append(
      within(
        make("li"),
        open,
        make("span", `: ${learner.note}.${score} `),
        ...steerButtons(learner, () => dialog.close()),
      ),
    );
  }
  const again = run.header.steps.find(([label]) => label.startsWith("Retry"));
  const retry = make("button", "Retry with higher limits …", { type: "button" });
  retry.onclick = () => {
    dialog.close();
    openCommands("", again[1]);
  };
  const buttons =
    again && connection.state !== "none" ? [within(make("div", undefined, { class: "steer" }), retry)] : [];
  const dialog = openDialog(`${failed.length} of ${run.learners.size} failed`, [list, ...buttons]);
}
