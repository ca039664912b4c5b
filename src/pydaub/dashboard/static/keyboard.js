// One tab stop for a table or a group of many controls: arrow keys move inside it. Uses nothing from the other files.

// Moving by rows, where each row has its own controls: up and down keep the place, left and right move in the row.
function roveRows(table) {
  table.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    const end = { Home: 1, End: -1 }[event.key];
    const here = event.target;
    if ((!step && !end) || !here.closest("tr") || here.matches("input[type=search]")) return;
    event.preventDefault();
    const rows = [...table.querySelectorAll("tr")].filter((row) => controlsIn(row).length);
    const row = here.closest("tr");
    const place = controlsIn(row).indexOf(here);
    const next = end ? rows.at(end === 1 ? 0 : -1) : rows[rows.indexOf(row) + step[0]];
    const inNext = next ? controlsIn(next) : [];
    const wanted = step?.[1] ? inNext[place + step[1]] : inNext[Math.min(place, inNext.length - 1)];
    if (wanted) focusRove(table, wanted);
  });
  table.addEventListener("focusin", (event) => moveStop(table, event.target));
}

function rove(group) {
  group.addEventListener("keydown", (event) => {
    const step = { ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1 }[event.key];
    const controls = controlsIn(group);
    const wanted = controls[controls.indexOf(event.target) + step];
    if (!step || !wanted) return;
    event.preventDefault();
    focusRove(group, wanted);
  });
  group.addEventListener("focusin", (event) => moveStop(group, event.target));
}

const controlsIn = (parent) => [...parent.querySelectorAll("a[href], button, input")];

function focusRove(group, control) {
  moveStop(group, control);
  control.focus();
}

function moveStop(group, control) {
  for (const other of group.querySelectorAll("[tabindex='0']")) other.tabIndex = -1;
  control.tabIndex = 0;
}

// After drawing: exactly one control can be reached with Tab.
function settleRove(group) {
  const stops = group.querySelectorAll("[tabindex='0']");
  if (stops.length === 1) return;
  const first = stops[0] ?? controlsIn(group)[0];
  if (first) moveStop(group, first);
}
