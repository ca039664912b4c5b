// Pointing at the chart of all curves: hover to read, click to compare, drag to zoom.
// Uses format.js, run.js, address.js, overview.js and `pick` of ranking.js.

const NEAR = 30; // pixels
const DRAGGED = 6;

const pointing = { from: null, box: null };

function listenToOverview() {
  const picture = byId("picture");
  picture.onpointermove = pointerMoved;
  picture.onpointerleave = () => showTip(null);
  picture.onpointerdown = (event) => {
    if (event.button === 0 && isInPlane(spot(event))) pointing.from = spot(event);
  };
  addEventListener("pointerup", pointerReleased);
  picture.ondblclick = () => zoomTo(null);
  byId("zoom").onclick = () => zoomTo(overview.zoom ? null : EVERYTHING);
  byId("across").onchange = (event) => changeOverview("across", event.target.value === "log" ? "" : "linear");
  byId("up").onchange = (event) => changeOverview("up", event.target.value === "score" ? "" : "error");
  byId("with-training").onchange = (event) => changeOverview("training", event.target.checked ? "1" : "");
  byId("only-compared").onchange = (event) => changeOverview("only", event.target.checked ? "1" : "");
}

function changeOverview(key, value) {
  remember(key, value);
  zoomTo(null);
}

function zoomTo(view) {
  overview.zoom = view;
  drawOverview();
}

// Where in the drawing's own units the pointer is.
function spot(event) {
  const chart = byId("picture").querySelector("svg");
  if (!chart) return null;
  const drawn = chart.getBoundingClientRect();
  const times = chart.viewBox.baseVal.width / drawn.width;
  return { x: (event.clientX - drawn.left) * times, y: (event.clientY - drawn.top) * times };
}

function isInPlane(at) {
  const { scale } = overview;
  if (!at || !scale) return false;
  return at.x >= scale.left - 8 && at.x <= scale.right + 8 && at.y >= scale.top - 8 && at.y <= scale.bottom + 8;
}

function nearest({ x, y }) {
  let [found, least] = [null, NEAR ** 2];
  for (const place of overview.places) {
    const distance = (place.x - x) ** 2 + (place.y - y) ** 2;
    if (distance < least) [found, least] = [place, distance];
  }
  return found;
}

function pointerMoved(event) {
  const at = spot(event);
  if (!isInPlane(at)) {
    showTip(null);
    return;
  }
  if (pointing.from) drawBox(pointing.from, at);
  showTip(pointing.box ? null : nearest(at), at);
}

function drawBox(from, to) {
  if (Math.abs(from.x - to.x) < DRAGGED || Math.abs(from.y - to.y) < DRAGGED) return;
  if (!pointing.box) {
    pointing.box = draw("rect", { class: "zoom" });
    byId("picture").querySelector("svg").append(pointing.box);
  }
  const sides = { x: Math.min(from.x, to.x), y: Math.min(from.y, to.y) };
  filled(pointing.box, undefined, { ...sides, width: Math.abs(from.x - to.x), height: Math.abs(from.y - to.y) });
}

function pointerReleased(event) {
  const { from, box } = pointing;
  if (!from) return;
  Object.assign(pointing, { from: null, box: null });
  const at = spot(event);
  if (box && at) {
    const { scale } = overview;
    const byNumber = (a, b) => a - b;
    const sizes = [scale.sizeAt(from.x), scale.sizeAt(at.x)].sort(byNumber);
    const values = [scale.valueAt(from.y), scale.valueAt(at.y)].sort(byNumber);
    zoomTo({ sizes, values });
  } else if (at && nearest(at)) {
    const { name } = nearest(at);
    pick(name, !ranking.picked.has(name));
  }
}

// The learner under the pointer, with the numbers of the nearest size.
function showTip(place, at) {
  const tip = byId("tip");
  const learner = place && run.learners.get(place.name);
  tip.hidden = !learner;
  const line = byId("pointed");
  line?.setAttribute("d", learner ? curvePath(learner.points, 2, overview.scale, overview.axis) : "");
  if (!learner) return;
  const [size, train, valid] = learner.points.find(([rows]) => rows === place.size);
  const words = [
    `validation ${number(valid)} with ${count(size)} rows`,
    train === null ? "" : `training ${number(train)}`,
    learner.interval ? `with all rows ${learner.interval}` : "",
    marked(learner.status),
  ];
  tip.replaceChildren(
    make("b", fitted(place.name, 260, 13)),
    ...words.filter(Boolean).map((text) => make("span", text)),
  );
  const room = byId("overview").clientWidth;
  const share = at.x / byId("picture").querySelector("svg").viewBox.baseVal.width;
  tip.style.top = `${Math.max(0, (at.y * room) / (at.x / share) + 14)}px`;
  tip.style.left = share < 0.5 ? `${share * room + 14}px` : "auto";
  tip.style.right = share < 0.5 ? "auto" : `${(1 - share) * room + 14}px`;
}
