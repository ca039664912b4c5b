// The names of the highlighted curves in the chart of all curves. Uses format.js, run.js and `openDetail` of detail.js.

const NAME_HEIGHT = 14; // pixels

// Names beside the chart, pushed apart, each with a thin line to the end of its curve; on a phone, below it.
function overviewNames(looks, { scale, axis, beside, width, tall }) {
  const ends = [...looks].map(([name, look]) => {
    const [size, , valid] = run.learners.get(name).points.at(-1);
    const y = Math.max(scale.top, Math.min(scale.bottom, scale.y(axis.place(valid))));
    return { name, look, x: Math.max(scale.left, Math.min(scale.right, scale.x(size))), y, at: y };
  });
  ends.sort((a, b) => a.y - b.y);
  ends.forEach((end, place) => {
    if (!beside) end.at = tall + 8 + place * NAME_HEIGHT;
    else if (place) end.at = Math.max(end.at, ends[place - 1].at + NAME_HEIGHT);
  });
  let lowest = beside ? scale.bottom : Infinity;
  for (const end of [...ends].reverse()) {
    end.at = Math.min(end.at, lowest);
    lowest = end.at - NAME_HEIGHT;
  }
  const left = beside ? scale.right + 28 : 24;
  return ends.flatMap(({ name, look, x, y, at }) => {
    const room = (width - left) * (look === "leader" ? 0.82 : 0.92); // it is bold
    const text = draw("text", { x: left, y: at + 4, class: `name ${look}` }, fitted(name, room));
    text.append(draw("title", {}, name));
    text.onclick = () => openDetail(name);
    const thread = draw("line", { x1: x, y1: y, x2: scale.right + 12, y2: at, class: "thread" });
    const key = draw("line", { x1: left - 16, x2: left - 4, y1: at, y2: at, class: `curve ${look}` });
    return beside ? [thread, key, text] : [key, text];
  });
}
