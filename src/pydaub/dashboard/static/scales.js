// From sizes and scores to places in a drawing. Uses `count` of format.js.

const LEAST_ERROR = 1e-12;

// How scores are drawn: as they are, or as the distance from the best possible score on a logarithmic scale. `place`
// turns a score into a number for the axis, `ticks` returns numbers for the axis with their words.
function scoreAxis(kind, scores, top) {
  if (kind !== "error") {
    return { place: (score) => score, ticks, range: roomyRange(scores) };
  }
  const errors = scores.map((score) => top - score).filter((error) => error > LEAST_ERROR);
  const least = errors.reduce((low, error) => Math.min(low, error), Infinity);
  const place = (score) => Math.log10(Math.max(top - score, Number.isFinite(least) ? least / 2 : LEAST_ERROR));
  const [low, high] = extent(scores.map(place));
  const room = Math.max((high - low) * 0.04, 0.02);
  return { place, ticks: errorTicks, range: [low - room, high + room] };
}

function extent(values) {
  return values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
}

// The lowest and the highest score, with some room.
function roomyRange(scores) {
  const [low, high] = extent(scores);
  const room = (high - low) * 0.06 || Math.abs(high) * 0.02 || 0.02;
  return [low - room, high + room];
}

// A round distance (1, 2 or 5 times a power of ten) for about five ticks.
function tickStep(low, high) {
  const rough = (high - low || Math.abs(high) / 10 || 0.1) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.7);
}

function ticks([low, high]) {
  const step = tickStep(low, high);
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step / 1e6; at += 1) {
    found.push([at * step, tickWords(at * step, step)]);
  }
  return found;
}

// With as many digits as the step has; very small and very large numbers with a power of ten.
function tickWords(value, step) {
  if (Math.abs(value) < step / 2) return "0";
  const digits = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
  const large = Math.abs(value) >= 1e9;
  if (digits <= 6 && !large) {
    return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  }
  const more = Math.floor(Math.log10(Math.abs(value)) + 1e-9) - Math.floor(Math.log10(step) + 1e-9);
  return value.toExponential(Math.max(0, Math.min(more, 12)));
}

// 1, 2 and 5 times the powers of ten; round numbers where there are too few of these.
function errorTicks([low, high]) {
  const found = [];
  for (let power = Math.floor(low); power <= high; power += 1) {
    for (const factor of [1, 2, 5]) {
      const at = power + Math.log10(factor);
      const error = factor * 10 ** power;
      if (at >= low && at <= high) found.push([at, tickWords(error, error)]);
    }
  }
  if (found.length > 8) return found.filter(([, words]) => /1(e|$)|^1[^.]*$/.test(words));
  if (found.length > 2) return found;
  return ticks([10 ** low, 10 ** high])
    .filter(([error]) => error > 0)
    .map(([error, words]) => [Math.log10(error), words]);
}

// Places for sizes (across) and axis numbers (up) in a box, and back.
function scaleFor({ left, right, top, bottom }, [first, last], [low, high], linear) {
  const across = linear ? (size) => size : (size) => Math.log(size);
  const [from, to] = [across(first), across(last)];
  const wide = right - left;
  return {
    left,
    right,
    top,
    bottom,
    x: (size) => (from === to ? left + wide / 2 : left + (wide * (across(size) - from)) / (to - from)),
    y: (value) => top + (bottom - top) * (1 - (value - low) / (high - low)),
    sizeAt: (x) => {
      const at = from + ((to - from) * (x - left)) / wide;
      return linear ? at : Math.exp(at);
    },
    valueAt: (y) => low + (high - low) * (1 - (y - top) / (bottom - top)),
  };
}

// The sizes that have room for their number, from left to right; all rows always.
function sizeTicks(sizes, x, [first, last], room) {
  const inside = sizes.filter((size) => size >= first && size <= last);
  const end = inside[inside.length - 1];
  let before = -Infinity;
  return inside.filter((size) => {
    const fits = x(size) - before >= room && (size === end || x(end) - x(size) >= room);
    if (fits || size === end) before = x(size);
    return fits || size === end;
  });
}

const sizeWords = (size) =>
  size >= 1e6 ? `${(size / 1e6).toLocaleString("en", { maximumFractionDigits: 2 })}M` : count(size);
