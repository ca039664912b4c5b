// Beside the chart of all curves: what each contender is expected to score with all rows, and its name.
// Uses format.js, run.js and `openDetail` of detail.js.

const NAME_HEIGHT = 15; // pixels
const WHISKER_STEP = 9; // pixels between two whiskers

// A whisker for each contender, beside each other so that none hides another, in the order of their names.
function whiskers(looks, { scale, axis, gutter, tall }) {
  const clamped = (score) => Math.max(scale.top - 4, Math.min(scale.bottom + 4, scale.y(axis.place(score))));
  const parts = [...looks].flatMap(([name, look], place) => {
    const { expected, low, high } = run.learners.get(name);
    if (expected === null) return [];
    const x = scale.right + 12 + WHISKER_STEP * place;
    const words = `${name}: ${run.learners.get(name).interval} with all rows`;
    const group = within(draw("g", { class: `whisker ${look}` }), draw("title", {}, words));
    const ends = [low, high].map(clamped);
    return [
      within(
        group,
        draw("path", { d: `M${x} ${ends[0].toFixed(1)}V${ends[1].toFixed(1)}` }),
        draw("circle", { cx: x, cy: clamped(expected), r: 3.2 }),
      ),
    ];
  });
  if (!parts.length) return [];
  const middle = scale.right + gutter / 2;
  const below = { x: middle, y: tall - 3, "text-anchor": "middle" };
  return [...parts, draw("text", below, "all rows")];
}

// Names in the colours of their curves, pushed apart; on a phone, below the chart.
function overviewNames(looks, { scale, axis, beside, gutter, width, tall }) {
  const ends = [...looks].map(([name, look]) => {
    const { points, expected } = run.learners.get(name);
    const y = scale.y(axis.place(expected ?? points.at(-1)[2]));
    return { name, look, at: Math.max(scale.top, Math.min(scale.bottom, y)) };
  });
  if (beside) ends.sort((a, b) => a.at - b.at);
  ends.forEach((end, place) => {
    if (!beside) end.at = tall + 8 + place * NAME_HEIGHT;
    else if (place) end.at = Math.max(end.at, ends[place - 1].at + NAME_HEIGHT);
  });
  let lowest = beside ? scale.bottom : Infinity;
  for (const end of [...ends].reverse()) {
    end.at = Math.min(end.at, lowest);
    lowest = end.at - NAME_HEIGHT;
  }
  const left = beside ? scale.right + gutter + 20 : 24;
  return ends.flatMap(({ name, look, at }) => {
    const room = (width - left) * (look === "leader" ? 0.82 : 0.92); // it is bold
    const text = draw("text", { x: left, y: at + 4, class: `name ${look}` }, fitted(name, room));
    text.append(draw("title", {}, name));
    text.onclick = () => openDetail(name);
    return [draw("line", { x1: left - 16, x2: left - 4, y1: at, y2: at, class: `curve ${look}` }), text];
  });
}
