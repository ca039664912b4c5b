// Numbers as text, and elements made and put in order. Uses nothing from the other files.

const SVG = "http://www.w3.org/2000/svg";

// A symbol beside each word, so that colour is never the only difference.
const MARKS = {
  training: "▶",
  next: "◔",
  waiting: "…",
  "ruled out": "↓",
  "has all rows": "●",
  failed: "✕",
  dropped: "⊘",
  selected: "★",
  "best so far": "★",
  running: "▶",
  paused: "❚❚",
  finished: "✓",
  stopped: "■",
  killed: "✕",
  lost: "⚠",
  refused: "⚠",
  full: "⚠",
};

const byId = (id) => document.getElementById(id);

const marked = (word, text = word) => (MARKS[word] ? `${MARKS[word]} ${text}` : text);

// The same digits as `score_text` in records.py.
function number(value) {
  if (value === null) return "";
  const size = Math.abs(value);
  if (size >= 1e15 || (size > 0 && size < 1e-4)) {
    const [digits, power] = Number(value.toPrecision(3)).toExponential().split("e");
    return `${digits}e${power[0]}${power.slice(1).padStart(2, "0")}`;
  }
  if (size >= 1e4) return count(value);
  if (size > 0 && size < 1e-3) return String(Number(value.toPrecision(3)));
  if (size < 1 && 1 - size < 1e-3) return fixed(value, Math.min(1 - Math.floor(Math.log10(1 - size)), 12));
  return fixed(value, 4);
}

// Rounds halves to the even digit, as Python does. Halves are the odd multiples of 1 / 2 ** (digits + 1).
function fixed(value, digits) {
  const isHalf = Math.abs((value * 2 ** (digits + 1)) % 2) === 1;
  const text = value.toFixed(digits);
  return isHalf && text.at(-1) % 2 ? (value * (1 - Number.EPSILON)).toFixed(digits) : text;
}

const count = (value) => Number(fixed(value, 0)).toLocaleString("en");

const capitalised = (word) => word[0].toUpperCase() + word.slice(1);

const megabytes = (value) => (value === null ? "" : `${count(value)} MB`);

const milliseconds = (value) => (value === null ? "" : `${value < 10 ? fixed(value, 1) : count(value)} ms`);

const pen = document.createElement("canvas").getContext("2d");

// The text with its middle left out where it is wider than `room` pixels: names that a grid makes differ at their ends.
function fitted(text, room, size = 11) {
  pen.font = `${size}px system-ui, sans-serif`;
  const width = (length) => pen.measureText(cut(text, length)).width;
  if (width(text.length) <= room) return text;
  let [fits, most] = [1, text.length];
  while (most - fits > 1) {
    const middle = (fits + most) >> 1;
    if (width(middle) <= room) fits = middle;
    else most = middle;
  }
  return cut(text, fits);
}

function cut(text, length) {
  if (length >= text.length) return text;
  return `${text.slice(0, Math.ceil(length / 2))}…${text.slice(text.length - Math.floor(length / 2))}`;
}

// The same words as `duration` in views/summary.py.
function duration(seconds) {
  if (seconds < 120) return `${fixed(seconds, seconds < 10 ? 1 : 0)} s`;
  const minutes = Math.floor(seconds / 60);
  if (seconds < 7200) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  return `${count(Math.floor(minutes / 60))} h ${minutes % 60} min`;
}

// Names and messages are always set as text, never as markup.
function make(tag, text, attributes = {}) {
  return filled(document.createElement(tag), text, attributes);
}

function draw(tag, attributes, text) {
  return filled(document.createElementNS(SVG, tag), text, attributes);
}

function filled(element, text, attributes) {
  if (text !== undefined) element.textContent = text;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

function within(parent, ...children) {
  parent.append(...children);
  return parent;
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function termsAndWords(pairs) {
  return pairs.map(([term, words]) => within(make("div"), make("dt", term), within(make("dd"), make("bdi", words))));
}

// A button in running text that opens the details of a learner.
function link(text, open) {
  const button = make("button", undefined, { type: "button", class: "link", title: text });
  button.onclick = open;
  return within(button, make("bdi", text));
}

// Bring the children into this order without touching those that are in place: moving many elements is slow.
function arrange(parent, wanted) {
  const focused = document.activeElement;
  const scrolled = parent.parentElement;
  const top = scrolled.scrollTop;
  const keep = new Set(wanted);
  for (const child of [...parent.children]) if (!keep.has(child)) child.remove();
  let here = parent.firstElementChild;
  for (const child of wanted) {
    if (here && child === here.nextElementSibling) {
      here.remove(); // it belongs further down
      here = child;
    }
    if (child === here) here = here.nextElementSibling;
    else parent.insertBefore(child, here);
  }
  if (scrolled.scrollTop !== top) scrolled.scrollTop = top;
  if (focused !== document.activeElement && parent.contains(focused)) focused.focus({ preventScroll: true });
}
