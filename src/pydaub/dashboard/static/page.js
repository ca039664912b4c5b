"use strict";
// The page draws what the server tells and decides nothing. Names and messages are set as text, never as markup.
const $ = (id) => document.getElementById(id);
const token = new URLSearchParams(location.search).get("token") || "";
const SVG = "http://www.w3.org/2000/svg", CARDS = 60, LINES = 200, ROWS = 150;
const DASHES = ["", "6 3", "2 3", "9 3 2 3", "1 4", "12 4", "6 3 2 3 2 3", "4 8", "12 3 1 3", "3 1"];
const MARKS = { running: "▶", waiting: "…", bootstrapping: "◔", suspended: "–", failed: "✕", dropped: "⊘", selected: "★", "knocked out": "↓", "not selected": "·", interrupted: "·" };
const COLUMNS = [
  ["name", "Learner", "l", (x) => x.name],
  ["size", "Size", "", (x) => x.size],
  ["train", "Training", "", (x) => x.train],
  ["valid", "Validation", "", (x) => x.valid],
  ["loss", "Loss", "", (x) => (x.valid === null ? null : -x.valid)],
  ["bound", "Bound", "", (x) => x.bound],
  ["rows", "Rows", "", (x) => x.rows],
  ["seconds", "Cost", "", (x) => x.seconds],
  ["status", "Status", "l", (x) => x.status],
];
let head = {}, learners = new Map(), decisions = [], misbehaved = {}, order = { by: "size", up: false };
let stale = new Set(), picked = new Set(), cards = new Map(), rows = new Map(), cardRange = [0, 1], all = false, shown = null, dirty = false, base = 0;

const number = (x, digits = 4) => (x === null || x === undefined ? "" : x.toFixed(digits));
const count = (x) => Math.round(x).toLocaleString("en");
function time(s) {
  if (s === null || s === undefined) return "unknown";
  if (s < 120) return `${s.toFixed(s < 10 ? 1 : 0)} s`;
  const minutes = Math.floor(s / 60);
  return s < 7200 ? `${minutes} min ${Math.floor(s % 60)} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
function make(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}
function setText(element, words) { if (element.textContent !== words) element.textContent = words; }
function draw(tag, attributes, text) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// What comes in
function take(news, whole) {
  head = news.header;
  if (whole) { learners = new Map(); decisions = []; rows.clear(); cards.clear(); stale.clear(); $("log").dataset.newest = ""; document.querySelector("tbody").replaceChildren(); $("cards").replaceChildren(); }
  for (const one of news.learners) {
    const last = one.points[one.points.length - 1];
    learners.set(one.name, { ...one, size: last ? last[0] : 0, train: last ? last[1] : null, valid: last ? last[2] : null });
  }
  for (const one of news.decisions) decisions.push(one);
  if (news.certificate) { head.certificate = news.certificate; head.summary = news.summary; misbehaved = news.misbehaved; }
  base = performance.now();
  for (const one of news.learners) stale.add(one.name);
  if (whole) for (const name of picked) if (!learners.has(name)) picked.delete(name);
  drawHead();
  dirty = true;
  if (whole) drawSlowly();
}
// One scale for all cards, so that curves compare. What lies far below the others is drawn at the edge, with a mark.
function setRange() {
  const before = String(cardRange);
  cardRange = rangeOf([...learners.values()], true);
  if (before !== String(cardRange)) for (const name of learners.keys()) stale.add(name);
}
function rangeOf(list, training) {
  const valid = Float64Array.from(list.flatMap((one) => one.points.map((point) => point[2]))).sort();
  if (!valid.length) return [0, 1];
  const at = (share) => valid[Math.floor(share * (valid.length - 1))], spread = Math.max(at(0.75) - at(0.25), (valid[valid.length - 1] - at(0.5)) / 4);
  let high = valid[valid.length - 1];
  if (training) for (const one of list) for (const point of one.points) if (point[1] > high) high = point[1];
  const low = spread > 0 ? Math.max(valid[0], at(0.25) - 2.5 * spread) : valid[0], step = tickStep(low, high) / 2;
  const found = [Math.floor(low / step + 1e-9) * step, Math.ceil(high / step - 1e-9) * step];
  return found[0] === found[1] ? [found[0] - step, found[1] + step] : found;
}
function tickStep(low, high) {
  const rough = (high - low || Math.abs(high) / 10 || 0.1) / 5, power = 10 ** Math.floor(Math.log10(rough));
  return power * [1, 2, 5, 10].find((x) => x * power >= rough * 0.999);
}

// The head
const OVER = ["finished", "stopped", "failed"];
const STATES = { waiting: "waiting for the run to begin", running: "running", paused: "paused", stopped: "stopped", finished: "finished", failed: "every learner failed", killed: "not running: killed or interrupted; pydaub resume goes on with it", lost: "no connection; trying again", gone: "this address is no longer valid: use the one that was printed last" };
function setState(state, more) {
  $("state").dataset.state = state;
  const words = { running: "▶ ", paused: "❚❚ ", finished: "✓ ", stopped: "■ ", failed: "✕ ", killed: "✕ ", lost: "⚠ ", gone: "⚠ ", waiting: "… " }[state] + STATES[state] + (more ? ` (${more})` : "");
  setText($("state"), words);
}
function drawHead() {
  setState(head.state, head.state !== "stopped" ? "" : head.reason === "stopped by hand" ? "by hand; pydaub resume goes on with it" : head.reason);
  setText($("trouble"), head.trouble || "");
  $("trouble").hidden = !head.trouble;
  const going = head.state === "running" || head.state === "paused";
  $("pause").textContent = head.state === "paused" ? "Resume" : "Pause";
  $("pause").disabled = !going || busy;
  $("stop").disabled = !going;
  $("add").disabled = !going || !head.steerable;
  if (!head.full_size) return;
  const share = (100 * head.largest) / head.full_size;
  const bar = document.querySelector(".progress");
  bar.setAttribute("aria-valuenow", share.toFixed(0));
  bar.firstElementChild.style.width = `${share}%`;
  const facts = [
    ["Largest size", `${count(head.largest)} of ${count(head.full_size)} rows`],
    ["Elapsed", time(head.elapsed)],
    ["Training", `${time(head.seconds)}${head.full_seconds ? against(head.seconds, head.full_seconds, `about ${time(head.full_seconds)}`) : ""}`],
    ["Rows", `${count(head.rows)}${against(head.rows, head.full_rows, count(head.full_rows))}`],
    ["Allocations", count(head.allocations)],
    [head.selected ? "Selected" : "Leader", head.leader ? `${head.leader.name}: ${number(head.leader.valid)} with ${count(head.leader.size)} rows` : "none yet"],
    ["Score", `${head.scoring}, higher is better`],
    ["Strategy", head.strategy],
    ["Running", head.running.map(([name, size]) => `${name} ${count(size)}`).join(", ")],
  ];
  const there = $("facts").children;
  if (!there.length) $("facts").append(...facts.map(([term]) => { const div = make("div"); div.append(make("dt", term), make("dd")); return div; }));
  facts.forEach(([term, words], place) => { setText(there[place].firstChild, term); setText(there[place].lastChild, words); there[place].hidden = !words; });
  elapsed();
}
// What was spent against a projection of training every learner on all rows.
function against(spent, full, words) {
  if (!full || head.learners < 2) return "";
  if (spent > full) return `, ${(spent / full).toFixed(1)} times the ${words} of training everything`;
  return OVER.includes(head.state) ? `: ${Math.round(100 * (1 - spent / full))} % of the ${words} for everything saved` : `, ${Math.round((100 * spent) / full)} % of the ${words} for everything`;
}
function elapsed() {
  const shownTime = $("facts").children[1];
  const going = ["running", "paused"].includes(head.state) && $("state").dataset.state !== "lost";
  if (shownTime && going) setText(shownTime.lastChild, time(head.elapsed + (performance.now() - base) / 1000));
}
setInterval(elapsed, 1000);

// The ranking
const proportion = () => /^(accuracy|balanced|f1|precision|recall|jaccard|roc_auc|average|top_k)/.test(head.scoring || "");
function ranked() {
  const words = $("search").value.trim().toLowerCase(), only = $("only").value;
  const value = COLUMNS.find(([key]) => key === order.by)[3];
  const found = [...learners.values()].filter((x) => (!words || x.name.toLowerCase().includes(words)) && (!only || x.status === only));
  const compare = (a, b) => (a === b ? 0 : a === null ? 1 : b === null ? -1 : (a < b ? -1 : 1) * (order.up ? 1 : -1));
  return found.sort((a, b) => compare(value(a), value(b)) || compare(a.size, b.size) || (b.valid ?? -Infinity) - (a.valid ?? -Infinity) || (a.name < b.name ? -1 : 1));
}
function drawColumns() {
  const line = document.querySelector("thead tr");
  const heads = COLUMNS.map(([key, words, side]) => {
    const th = make("th", undefined, { class: side, scope: "col", "aria-sort": order.by === key ? (order.up ? "ascending" : "descending") : "none" });
    const sort = make("button", words + (order.by === key ? (order.up ? " ▲" : " ▼") : ""), { type: "button" });
    sort.onclick = () => { order = { by: key, up: order.by === key ? !order.up : key === "name" || key === "status" || key === "loss" }; drawColumns(); drawTable(); drawCards(); document.querySelectorAll("thead button")[COLUMNS.findIndex(([k]) => k === key)].focus(); };
    th.append(sort);
    return th;
  });
  line.replaceChildren(make("th", "", { scope: "col", class: "l", "aria-label": "Compare" }), ...heads, make("th", "Remarks", { class: "l", scope: "col" }));
}
function fillRow(name) {
  const x = learners.get(name), row = rows.get(name), cells = row.children;
  row.className = x.size < head.full_size ? "part" : "";
  const share = x.size ? ` (${Math.round((100 * x.size) / head.full_size)} %)` : "";
  const texts = [count(x.size) + share, number(x.train), number(x.valid), x.valid === null ? "" : number(proportion() ? 1 - x.valid : -x.valid), number(x.bound), count(x.rows), time(x.seconds), `${MARKS[x.status] || ""} ${x.status}`, x.why || (Object.hasOwn(misbehaved, name) ? `curve: ${misbehaved[name]}` : "")];
  texts.forEach((text, place) => setText(cells[place + 2], text));
}
function addRow(name) {
  const row = make("tr"), box = make("input", undefined, { type: "checkbox", "aria-label": `Compare ${name}` });
  box.onchange = () => { box.checked ? picked.add(name) : picked.delete(name); $("compare").disabled = picked.size < 2; $("compare").textContent = picked.size < 2 ? "Compare" : `Compare ${picked.size}`; };
  const first = make("td", undefined, { class: "l" }), second = make("td", undefined, { class: "l" }), open = make("button", name, { type: "button", class: "link" });
  open.onclick = () => detail([name]);
  first.append(box);
  second.append(open);
  box.checked = picked.has(name);
  row.append(first, second, ...["", "score", "score", "score", "", "", "", "l", "l why"].map((kind) => make("td", "", { class: kind })));
  rows.set(name, row);
  fillRow(name);
}
function drawTable() {
  const every = ranked(), body = document.querySelector("tbody"), found = $("rows").dataset.all ? every : every.slice(0, ROWS);
  for (const x of found) if (!rows.has(x.name)) addRow(x.name);
  arrange(body, found.map((x) => rows.get(x.name)));
  const words = every.length === found.length ? `${found.length} of ${learners.size}` : `the first ${found.length} of ${every.length}`;
  setText($("count"), words);
  $("rows").hidden = every.length <= ROWS;
  $("rows").textContent = $("rows").dataset.all ? `Show the first ${ROWS}` : `Show all ${every.length}`;
}

// Bring elements into an order, and touch nothing that is in its place: with many learners that is what costs.
function arrange(parent, wanted) {
  const focus = document.activeElement, top = parent.parentElement.scrollTop, keep = new Set(wanted);
  for (const one of [...parent.children]) if (!keep.has(one)) one.remove();
  let here = parent.firstElementChild;
  for (const one of wanted) {
    if (here && one === here.nextElementSibling) { here.remove(); here = one; } // it moves further down
    if (one === here) here = here.nextElementSibling;
    else parent.insertBefore(one, here);
  }
  if (parent.parentElement.scrollTop !== top) parent.parentElement.scrollTop = top;
  if (focus !== document.activeElement && parent.contains(focus)) focus.focus({ preventScroll: true });
}

// The curves
function chart(list, width, height, big) {
  const range = big ? rangeOf(list, list.length === 1) : cardRange;
  const N = head.full_size, first = Math.min(...list.map((x) => (x.points[0] ? x.points[0][0] : N)), N), left = big ? 44 : 4, bottom = big ? 26 : 4, right = list.length > 1 ? 190 : 6;
  const X = (n) => left + ((width - left - right) * Math.log(n / first)) / (Math.log(N / first) || 1);
  const Y = (s) => 5 + (height - bottom - 10) * (1 - (s - range[0]) / (range[1] - range[0]));
  const at = (n, s) => `${X(n).toFixed(1)},${Math.max(2, Math.min(height - bottom, Y(s))).toFixed(1)}`;
  const made = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": list.map(describe).join("; ") });
  if (big) {
    const step = tickStep(...range);
    for (let s = Math.ceil(range[0] / step - 1e-9) * step; s <= range[1] + step / 1e6; s += step) {
      made.append(draw("line", { x1: left, x2: width - right, y1: Y(s), y2: Y(s), class: "g" }), draw("text", { x: left - 5, y: Y(s) + 3, "text-anchor": "end" }, s.toFixed(Math.min(6, Math.max(0, Math.ceil(-Math.log10(step) - 1e-9))))));
    }
    let last = -99;
    for (const n of head.sizes.filter((n) => n >= first)) if (n === N || (X(n) - last > 44 && X(N) - X(n) > 60)) { last = X(n); made.append(draw("text", { x: X(n), y: height - 8, "text-anchor": n === N ? "end" : "middle" }, count(n))); }
  }
  made.append(draw("line", { x1: X(N), x2: X(N), y1: 3, y2: height - bottom, class: "g" }));
  list.forEach((x, place) => {
    const several = list.length > 1, hue = several ? ` h${place % DASHES.length}` : "";
    if (x.points.length) {
      if (!several) made.append(draw("polyline", { points: x.points.map(([n, t]) => at(n, t)).join(" "), class: "t" }));
      const line = draw("polyline", { points: x.points.map(([n, , v]) => at(n, v)).join(" "), class: `v${hue}` });
      if (several) line.setAttribute("stroke-dasharray", DASHES[place % DASHES.length]);
      made.append(line);
      for (const [n, , v] of x.points) if (v < range[0]) made.append(draw("text", { x: X(n) - 3, y: height - bottom - 2, class: "off" }, "▾"));
      x.corrected.forEach((s, i) => made.append(draw("circle", { cx: X(x.points[i][0]).toFixed(1), cy: Math.max(2, Math.min(height - bottom, Y(s))).toFixed(1), r: big ? 3.4 : 2.2, class: `c${hue}` })));
      const [n] = x.points[x.points.length - 1];
      if (x.bound !== null && n < N && !several) made.append(draw("polyline", { points: boundLine(x, n, N).map(([m, s]) => at(m, s)).join(" "), class: "b" }));
    }
    if (!several) for (const [n, , v] of x.ahead) made.append(draw("rect", { x: X(n) - 3, y: Math.min(height - bottom, Y(v)) - 3, width: 6, height: 6, class: "a" }));
  });
  if (list.length > 1) nameLines(made, list.filter((x) => x.points.length), X, (s) => Math.min(height - bottom, Y(s)), width - right + 4, height - 4);
  return made;
}
// The bound grows in proportion to the rows, which is no straight line where sizes are drawn by their logarithm.
function boundLine(x, n, N) {
  const start = x.corrected[x.corrected.length - 1], parts = 16;
  return Array.from({ length: parts + 1 }, (_, i) => { const m = n * (N / n) ** (i / parts); return [m, start + ((x.bound - start) * (m - n)) / (N - n)]; });
}
// The names beside their lines, pushed apart where they would lie on each other, each with a thread to its line's end.
function nameLines(made, list, X, Y, left, floor) {
  const ends = list.map((x) => { const [n, , v] = x.points[x.points.length - 1]; return { x, n, y: Y(v), at: Math.max(10, Y(v) + 3) }; }).sort((a, b) => a.y - b.y);
  ends.forEach((end, place) => { if (place) end.at = Math.max(end.at, ends[place - 1].at + 13); });
  for (let place = ends.length - 1, most = floor; place >= 0; place--, most = ends[place + 1].at - 13) ends[place].at = Math.min(ends[place].at, most);
  for (const { x, n, y, at } of ends) {
    made.append(draw("line", { x1: X(n), y1: y, x2: left + 6, y2: at - 3, class: "thread" }));
    made.append(draw("text", { x: left + 9, y: at }, x.name.length > 28 ? `${x.name.slice(0, 27)}…` : x.name));
  }
}
const describe = (x) => `${x.name}: ${standing(x)}`;
function standing(x) {
  if (!x.points.length) return "nothing measured yet";
  const [n, train, valid] = x.points[x.points.length - 1];
  return `validation ${number(valid)} and training ${number(train)} with ${count(n)} rows` + (x.bound === null ? "" : `, bound ${number(x.bound)}`);
}
function fillCard(name) {
  const x = learners.get(name), card = cards.get(name), words = `${MARKS[x.status] || ""} ${x.status}${x.size ? ` · ${number(x.valid, 3)} at ${count(x.size)}` : ""}`;
  card.replaceChildren(make("b", name), make("span", words), chart([x], 180, 84, false));
}
function drawCards() {
  const found = ranked(), some = all ? found : found.slice(0, CARDS);
  for (const x of some) if (!cards.has(x.name)) {
    const card = make("button", undefined, { type: "button", class: "card" });
    card.onclick = () => detail([x.name]);
    cards.set(x.name, card);
    fillCard(x.name);
  }
  arrange($("cards"), some.map((x) => cards.get(x.name)));
  $("more").hidden = found.length <= CARDS;
  $("more").textContent = all ? `Show ${CARDS}` : `Show all ${found.length}`;
}

// Rows allocated: Figure 2 of the paper, live. All bars of a kind are one path: a thousand elements would be slow.
function drawAllocation() {
  const list = [...learners.values()].sort((a, b) => (a.valid === null) - (b.valid === null) || b.valid - a.valid || b.rows - a.rows), most = Math.max(1, ...list.map((x) => x.rows));
  const wide = Math.max(3, Math.min(60, 1060 / Math.max(1, list.length))), names = wide >= 10, height = names ? 250 : 150, floor = names ? 130 : 140, width = Math.max(300, 60 + wide * list.length + (names ? 70 : 0));
  const made = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Rows allocated to each learner; the column Rows of the ranking has the numbers" });
  const paths = { bar: "", won: "", bad: "" };
  made.style.width = `${width}px`;
  for (const share of [0, 0.5, 1]) { const y = floor - (floor - 10) * share; made.append(draw("text", { x: 52, y: y + 4, "text-anchor": "end" }, count(most * share)), draw("line", { x1: 56, x2: width, y1: y, y2: y, class: "g" })); }
  list.forEach((x, place) => {
    const tall = Math.max(0.5, ((floor - 10) * x.rows) / most), left = 58 + place * wide, across = Math.max(1.5, wide - 2);
    paths[x.status === "selected" ? "won" : x.status === "failed" ? "bad" : "bar"] += `M${left.toFixed(1)} ${floor}v${-tall.toFixed(1)}h${across.toFixed(1)}v${tall.toFixed(1)}z`;
    if (names) made.append(draw("text", { transform: `translate(${left + wide / 2 + 2} ${floor + 6}) rotate(60)` }, x.name.length > 20 ? `${x.name.slice(0, 19)}…` : x.name));
  });
  for (const [kind, d] of Object.entries(paths)) made.append(draw("path", { d, class: kind }));
  const under = (event) => { const { left, width: drawn } = made.getBoundingClientRect(); return list[Math.floor((((event.clientX - left) * width) / drawn - 58) / wide)]; };
  const title = draw("title", {});
  made.append(title);
  made.onmousemove = (event) => { const x = under(event); title.textContent = x ? `${x.name}: ${count(x.rows)} rows, ${x.status}` : ""; };
  made.onclick = (event) => { const x = under(event); if (x) detail([x.name]); };
  $("allocation").replaceChildren(made);
}

// Decisions, audit, certificate
function drawLog() {
  const some = $("older").dataset.all ? decisions : decisions.slice(-LINES);
  $("older").hidden = decisions.length <= LINES || Boolean($("older").dataset.all);
  const log = $("log"), newest = Number(log.dataset.newest || 0), oldest = Number(log.dataset.oldest || 0);
  const line = (one) => { const li = make("li", undefined, { value: one.number }); li.append(make("time", time(one.clock)), make("span", one.words)); return li; };
  if (!newest || !some.length || some[0].number < oldest || newest > some[some.length - 1].number) log.replaceChildren(...some.map(line).reverse());
  else { for (const one of some) if (one.number > newest) log.prepend(line(one)); while (log.children.length > some.length) log.lastChild.remove(); }
  log.dataset.newest = some.length ? some[some.length - 1].number : "";
  log.dataset.oldest = some.length ? some[0].number : 0;
}
function drawWords() {
  const audited = (words) => words.startsWith("The assumptions"), sentences = head.certificate || [], over = OVER.includes(head.state) || document.body.classList.contains("report");
  $("ending").hidden = !over;
  if (over) $("certificate").replaceChildren(...head.summary.map((words) => make("p", words)), ...sentences.filter((words) => !audited(words)).map((words) => make("p", words)));
  const names = Object.keys(misbehaved), list = make("ul");
  for (const name of names) { const li = make("li"), open = make("button", name, { type: "button", class: "link" }); open.onclick = () => detail([name]); li.append(open, document.createTextNode(`: ${misbehaved[name]}`)); list.append(li); }
  const audit = sentences.filter(audited), rest = make("details");
  rest.open = $("audit").querySelector("details")?.open ?? false;
  rest.append(make("summary", `Curves that did not behave: ${names.length}`), list);
  $("audit").replaceChildren(...(audit.length ? audit : ["Nothing can be said before a learner has three sizes."]).map((words) => make("p", words)), ...(names.length ? [rest] : []));
}

// One learner, or several beside each other
function detail(names) {
  shown = names;
  drawnDetail = "";
  $("told-here").textContent = "";
  $("detail-h").textContent = names.join(", ");
  drawDetail();
  if (!$("detail").open) $("detail").showModal();
}
let drawnDetail = "";
function drawDetail() {
  if (!shown) return;
  const now = JSON.stringify([shown.map((name) => learners.get(name)), head.state]);
  if (now === drawnDetail) return; // or a button would vanish under a finger
  drawnDetail = now;
  const list = shown.map((name) => learners.get(name)).filter(Boolean), wide = Math.max(340, Math.min(800, innerWidth * 0.94 - 40)), parts = [chart(list, wide, Math.max(240, wide * 0.41), true)];
  if (list.length === 1) {
    const x = list[0], acts = make("div", undefined, { class: "steer" }), going = ["running", "paused"].includes(head.state) && head.steerable;
    parts.unshift(make("p", `${MARKS[x.status] || ""} ${x.status}${x.why ? `: ${x.why}` : ""}. ${standing(x)}; ${count(x.rows)} rows and ${time(x.seconds)} in all.`));
    parts.push(make("p", "Across: training rows, by their logarithm. Up: " + head.scoring + ". Solid: validation; dotted: training; dashed: the bound up to all rows; circles: corrected scores (one that is below the one before meets it in the middle); squares: measured ahead of its turn.", { class: "quiet" }));
    const act = (words, command, ask) => { const button = make("button", words, { type: "button" }); button.disabled = !going || ["failed", "selected"].includes(x.status); button.onclick = () => steer(command, x.name, ask); acts.append(button); };
    if (x.status === "dropped") act("Restore", "restore");
    else { act("Boost", "boost"); act(x.status === "running" ? "Drop …" : "Drop", "drop", x.status === "running" ? "Its training is ended, and what it has done for this size is lost. It can be brought back later." : ""); }
    parts.push(acts);
    const table = make("table"), top = make("tr");
    for (const words of ["Size", "Training", "Validation", "Corrected", "Time"]) top.append(make("th", words, { scope: "col" }));
    table.append(top);
    x.points.forEach(([n, train, valid, s], i) => { const line = make("tr"); for (const words of [count(n), number(train), number(valid), number(x.corrected[i]), time(s)]) line.append(make("td", words)); table.append(line); });
    const box = make("div", undefined, { class: "scroll all" });
    box.append(table);
    parts.push(box);
    const history = make("ol");
    for (const one of decisions) if (one.learner === x.name) { const li = make("li"), got = one.size && x.points.find(([n]) => n === one.size); li.append(make("time", `${time(one.clock)} `), make("span", one.words + (got ? ` It got ${number(got[2])}.` : ""))); history.append(li); }
    parts.push(make("h2", "History"), history);
  } else parts.push(make("p", `Validation scores (${head.scoring}) by training rows; a thin line leads from a name to the end of its curve.`, { class: "quiet" }));
  const focus = $("detail-body").contains(document.activeElement) ? document.activeElement.textContent : null;
  $("detail-body").replaceChildren(...parts);
  if (focus !== null) ([...$("detail-body").querySelectorAll("button")].find((one) => one.textContent === focus && !one.disabled) || $("close")).focus();
}
$("close").onclick = () => $("detail").close();
$("detail").addEventListener("close", () => { shown = null; });

// Steering
let asking = Promise.resolve(), busy = false;
const ask = (...question) => (asking = asking.then(() => put(...question))); // one after the other
function put(title, words, yes, field, careful) {
  return new Promise((resolve) => {
    $("ask-h").textContent = title; $("ask-words").textContent = words; $("ask-yes").textContent = yes;
    $("ask-field").replaceChildren(...(field ? [field] : []));
    const done = (answer) => { $("ask").onclose = null; $("ask").close(); resolve(answer); };
    $("ask-yes").onclick = () => done(field ? field.value : true);
    $("ask-no").onclick = () => done(null);
    $("ask").onclose = () => resolve(null);
    $("ask").showModal();
    if (careful) $("ask-no").focus();
  });
}
async function steer(command, learner, words) {
  if (words && !(await ask(`${command[0].toUpperCase()}${command.slice(1)}${learner ? ` ${learner}` : ""}?`, words, command[0].toUpperCase() + command.slice(1), null, true))) return;
  busy = true;
  for (const place of ["told", "told-here"]) $(place).textContent = "";
  drawHead();
  try {
    const answer = await fetch("/steer", { method: "POST", headers: { "Content-Type": "application/json", "X-Token": token }, body: JSON.stringify({ command, learner: learner ?? null }) });
    const told = await answer.json();
    if (told.error) await ask("That was refused", told.error, "Very well");
    else if (!told.obeyed) await ask("No answer yet", "The run will take it up when it next looks.", "Very well");
    else for (const place of ["told", "told-here"]) $(place).textContent = `Done: ${command}${learner ? ` ${learner}` : ""}.`;
  } catch (error) { await ask("No connection", "The command did not reach the run.", "Very well"); }
  busy = false;
  drawHead();
}
$("pause").onclick = () => steer(head.state === "paused" ? "resume" : "pause");
$("stop").onclick = () => steer("stop", null, "The run ends now with the best learner so far, and what is being trained is lost. It can be resumed from the terminal.");
$("add").onclick = async () => {
  let names = {};
  try { names = await (await fetch(`/addable?token=${encodeURIComponent(token)}`)).json(); } catch (error) { names = { error: "The page's server did not answer." }; }
  if (!Array.isArray(names) || !names.length) { await ask("Nothing to add", names.error || "Every learner of the portfolio is in the race.", "Very well"); return; }
  const choice = make("select", undefined, { "aria-label": "Learner" });
  choice.append(...names.map((name) => make("option", name, { value: name })));
  const name = await ask("Add a learner", "It begins with the first size.", "Add", choice);
  if (name) steer("add", name);
};
$("search").oninput = $("only").onchange = () => drawSlowly();
$("compare").onclick = () => detail([...picked]);
$("rows").onclick = () => { $("rows").dataset.all = $("rows").dataset.all ? "" : "1"; drawTable(); };
$("more").onclick = () => { all = !all; drawCards(); };
$("older").onclick = () => { $("older").dataset.all = "1"; $("log").dataset.newest = ""; drawLog(); };

function drawSlowly() {
  dirty = false;
  setRange();
  for (const name of stale) { if (rows.has(name)) fillRow(name); if (cards.has(name) && cards.get(name).isConnected) fillCard(name); }
  stale.clear();
  drawTable(); drawCards(); drawDetail();
  setTimeout(() => { drawAllocation(); drawLog(); drawWords(); }); // in a task of its own: the page stays smooth
}
setInterval(() => { if (dirty && !document.hidden) drawSlowly(); }, 700);
document.addEventListener("visibilitychange", () => { if (dirty && !document.hidden) drawSlowly(); });

drawColumns();
if ($("story")) tellStory(JSON.parse($("story").textContent));
else follow();

// A report holds its story, and there is nobody to steer.
function tellStory(story) {
  document.body.classList.add("report");
  take(story, true);
  $("about").hidden = false;
  for (const [title, facts] of Object.entries(story.about)) {
    const list = make("dl");
    for (const [term, words] of Object.entries(facts)) { const div = make("div"); div.append(make("dt", term), make("dd", String(words))); list.append(div); }
    $("about-body").append(make("h3", title), list);
  }
}
function follow() {
  const source = new EventSource(`/events?token=${encodeURIComponent(token)}`);
  source.addEventListener("snapshot", (event) => take(JSON.parse(event.data), true));
  source.addEventListener("changes", (event) => take(JSON.parse(event.data), false));
  source.onerror = () => { if (!OVER.includes(head.state)) setState(source.readyState === 2 ? "gone" : "lost"); }; // what has ended does not change
}
