// The browser's tab: its title and icon, and a notification at the end if the person allows it. Uses format.js, run.js.

const TINTS = { running: "#0b62b0", paused: "#7a5c00", finished: "#13703a", stopped: "#7a5c00", failed: "#b3261e" };

const tab = { going: false, wanted: false, icon: "" };

function drawTab() {
  const { verdict, state, going, over } = run.header;
  document.title = `${verdict.title} · ${byId("title").textContent} · pydaub`;
  drawIcon(state, verdict.fraction);
  byId("notify").hidden = !going || tab.wanted || !("Notification" in window) || Notification.permission === "denied";
  if (tab.going && over && tab.wanted) new Notification(`pydaub: ${verdict.title}`, { body: verdict.line });
  tab.going = going;
}

// A ring that fills up as the run goes on.
function drawIcon(state, fraction) {
  const tint = TINTS[state] ?? "#5b6670";
  const filled = (2 * Math.PI * 6 * (fraction ?? 0)).toFixed(1);
  const ring = `fill="none" stroke="${tint}" stroke-width="4" cx="8" cy="8" r="6"`;
  const icon = `<svg xmlns="${SVG}" viewBox="0 0 16 16"><circle ${ring} stroke-opacity=".3"/><circle ${ring} stroke-dasharray="${filled} 99" transform="rotate(-90 8 8)"/></svg>`;
  if (icon === tab.icon) return;
  tab.icon = icon;
  document.querySelector("link[rel=icon]").href = `data:image/svg+xml,${encodeURIComponent(icon)}`;
}

async function askToNotify() {
  tab.wanted = (await Notification.requestPermission()) === "granted";
  drawTab();
}
