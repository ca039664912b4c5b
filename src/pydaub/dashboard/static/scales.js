// From sizes and scores to places in a drawing. Uses run.js.

// Lowest and highest score of a drawing. Scores far below the others are left out and drawn at the edge.
function rangeOf(learners, withTraining) {
  const valid = Float64Array.from(learners.flatMap(({ points }) => points.map((point) => point[2]))).sort();
  if (!valid.length) return [0, 1];
  const quantile = (share) => valid[Math.floor(share * (valid.length - 1))];
  const largest = valid[valid.length - 1];
  const spread = Math.max(quantile(0.75) - quantile(0.25), (largest - quantile(0.5)) / 4);
  const low = spread > 0 ? Math.max(valid[0], quantile(0.25) - 2.5 * spread) : valid[0];
  let high = largest;
  if (withTraining)
    for (const { points } of learners) for (const [, train] of points) high = Math.max(high, train ?? high);
  const step = tickStep(low, high) / 2;
  const rounded = [Math.floor(low / step + 1e-9) * step, Math.ceil(high / step - 1e-9) * step];
  return rounded[0] === rounded[1] ? [rounded[0] - step, rounded[1] + step] : rounded;
}

// A round distance (1, 2 or 5 times a power of ten) for about five ticks.
function tickStep(low, high) {
  const rough = (high - low || Math.abs(high) / 10 || 0.1) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
}

function ticks([low, high]) {
  const step = tickStep(low, high);
  const digits = Math.min(12, Math.max(0, Math.ceil(-Math.log10(step) - 1e-9)));
  const found = [];
  for (let score = Math.ceil(low / step - 1e-9) * step; score <= high + step / 1e6; score += step) {
    found.push([score, score.toFixed(digits)]);
  }
  return found;
}

// Sizes go across by their logarithm, scores go up. `margins` are in the units of the drawing.
function scaleFor(learners, [low, high], { width, height, left, right, bottom }) {
  const full = run.header.full_size;
  const first = Math.min(run.header.sizes[0], ...learners.map(({ points }) => points[0]?.[0] ?? full));
  const floor = height - bottom;
  const x = (size) => left + ((width - left - right) * Math.log(size / first)) / (Math.log(full / first) || 1);
  const y = (score) => {
    const place = 5 + (floor - 10) * (1 - (score - low) / (high - low));
    return Math.max(2, Math.min(floor, place));
  };
  const line = (points) => points.map(([size, score]) => `${x(size).toFixed(1)},${y(score).toFixed(1)}`).join(" ");
  return { first, full, floor, low, x, y, line, left, right: width - right };
}
