// Training against validation: a card for each learner, and the chart of the details.
// Uses format.js, run.js, scales.js, `ranked` of ranking.js, `rove` of keyboard.js and `openDetail` of detail.js.

const MOST_CARDS = 60; // shown at first

const curves = { all: false, cards: new Map() };

function drawCards() {
  if (!byId("each").open) return;
  const found = ranked();
  const shown = curves.all ? found : found.slice(0, MOST_CARDS);
  for (const { learner } of shown) if (!curves.cards.has(learner)) addCard(learner);
  arrange(
    byId("cards"),
    shown.map(({ learner }) => curves.cards.get(learner)),
  );
  settleRove(byId("cards"));
  byId("more").hidden = found.length <= MOST_CARDS;
  setText(byId("more"), curves.all ? `Show ${MOST_CARDS}` : `Show all ${found.length}`);
}

function addCard(name) {
  const card = make("button", undefined, { type: "button", class: "card", tabindex: "-1", title: name });
  card.onclick = () => openDetail(name);
  curves.cards.set(name, card);
  fillCard(name);
}

function fillCard(name) {
  const learner = run.learners.get(name);
  const score = learner.valid === null ? "no score yet" : `${number(learner.valid)} with ${count(learner.size)} rows`;
  const chart = learner.points.length ? [learnerChart(learner, 220, 110, 9)] : [];
  curves.cards
    .get(name)
    .replaceChildren(
      within(make("b"), make("bdi", fitted(name, 185, 13))),
      make("span", marked(learner.status)),
      make("span", score),
      ...chart,
    );
}

// Training and validation scores of one learner, its expected score with all rows, and what was started early. Each chart has its own scale.
function learnerChart(learner, width, height, font) {
  const { points, ahead, expected, low: least, high: most } = learner;
  const shown = [...points, ...ahead];
  const scores = shown.flatMap(([, train, valid]) => (train === null ? [valid] : [train, valid]));
  const [low, high] = roomyRange(scores);
  const range = [Math.min(low, least ?? low), Math.max(high, most ?? high)];
  const marks = ticks(range);
  const kept = height < 200 ? [marks[0], marks.at(-1)] : marks;
  const letter = font * 0.62;
  const left = 10 + letter * Math.max(...kept.map(([, words]) => words.length));
  const edges = { left, right: width - letter * 4 - 10, top: 8, bottom: height - font - 12 };
  const { full_size: full, sizes } = run.header;
  const across = [Math.min(sizes[0], ...shown.map(([size]) => size)), full];
  const scale = scaleFor(edges, across, range, false);
  const axis = { place: (score) => score };
  const chart = draw("svg", {
    viewBox: `0 0 ${width} ${height}`,
    role: "img",
    "aria-label": `${learner.learner}: ${scoreWords(learner)}`,
    "font-size": font,
  });
  for (const [score, words] of kept) {
    const y = scale.y(score);
    chart.append(draw("line", { x1: left, x2: edges.right, y1: y, y2: y, class: "g" }));
    chart.append(draw("text", { x: left - 4, y: y + font / 3, "text-anchor": "end" }, words));
  }
  const room = letter * (sizeWords(full).length + 2);
  const sized = height < 200 ? [...new Set(across)] : sizeTicks(sizes, scale.x, across, room);
  for (const size of sized) {
    const x = Math.min(scale.x(size), width - (letter * sizeWords(size).length) / 2 - 2);
    chart.append(draw("text", { x, y: height - 3, "text-anchor": "middle" }, sizeWords(size)));
  }
  const clip = `clip-${(clips += 1)}`;
  const inside = draw("g", { "clip-path": `url(#${clip})` });
  const plane = draw("rect", { x: left - 4, y: 2, width: edges.right - left + 8, height: edges.bottom + 4 });
  chart.append(within(draw("clipPath", { id: clip }), plane), inside);
  inside.append(
    draw("path", { d: curvePath(points, 1, scale, axis), class: "t" }),
    draw("path", { d: curvePath(points, 2, scale, axis), class: "v" }),
    ...spots(learner, scale, height < 200 ? 2.2 : 3.4),
  );
  if (expected !== null) {
    const x = edges.right + 10;
    chart.append(draw("path", { d: `M${x} ${scale.y(least).toFixed(1)}V${scale.y(most).toFixed(1)}`, class: "b" }));
    chart.append(draw("circle", { cx: x, cy: scale.y(expected), r: 2.6, class: "bc" }));
  }
  return chart;
}

let clips = 0; // every chart has a clip of its own

function spots({ points, corrected, ahead }, { x, y }, r) {
  const training = points.filter(([, train]) => train !== null);
  return [
    ...training.map(([size, train]) => draw("circle", { cx: x(size), cy: y(train), r: r * 0.7, class: "tc" })),
    ...points
      .map(([size], place) => [size, corrected[place]])
      .filter(([, score]) => score !== null)
      .map(([size, score]) => draw("circle", { cx: x(size), cy: y(score), r, class: "c" })),
    ...ahead.map(([size, , valid]) =>
      draw("rect", { x: x(size) - 3, y: y(valid) - 3, width: 6, height: 6, class: "a" }),
    ),
  ];
}

function scoreWords({ points, interval }) {
  if (!points.length) return "nothing measured yet";
  const [size, train, valid] = points[points.length - 1];
  const most = interval ? `, expected ${interval} with all` : "";
  const training = train === null ? "" : ` and training ${number(train)}`;
  return `validation ${number(valid)}${training} with ${count(size)} rows${most}`;
}
