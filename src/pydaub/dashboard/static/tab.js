// The browser's tab: its title and icon, and a notification at the end if the person allows it.
// Uses format.js, run.js and net.js.

const TINTS = { running: "#0b62b0", paused: "#7a5c00", finished: "#13703a", stopped: "#7a5c00", lost: "#8a8f94" };

const tab = { going: false, icon: "" };

function drawTab() {
  const { verdict, state, going, over } = run.header;
  if (!verdict || connection.state === "none") return; // nothing is known, or it is a report
  const lost = isLost() && !over;
  const title = `${lost ? "connection lost" : verdict.title} · ${byId("title").textContent} · pydaub`;
  if (document.title !== title) document.title = title;
  drawIcon(lost ? "lost" : state, verdict.fraction);
  byId("notify").hidden = !going || !canNotify() || wantsNotice();
  if (lost) return;
  if (tab.going && !going && canNotify() && wantsNotice()) {
    new Notification(`pydaub: ${verdict.title}`, { body: verdict.line, tag: location.href });
  }
  tab.going = going;
}

// A ring that fills up as the run goes on.
function drawIcon(state, fraction) {
  const tint = TINTS[state] ?? "#b3261e";
  const filled = (2 * Math.PI * 6 * (fraction ?? 0)).toFixed(1);
  const ring = `fill="none" stroke="${tint}" stroke-width="4" cx="8" cy="8" r="6"`;
  const icon = `<svg xmlns="${SVG}" viewBox="0 0 16 16"><circle ${ring} stroke-opacity=".3"/><circle ${ring} stroke-dasharray="${filled} 99" transform="rotate(-90 8 8)"/></svg>`;
  if (icon === tab.icon) return;
  tab.icon = icon;
  document.querySelector("link[rel=icon]").href = `data:image/svg+xml,${encodeURIComponent(icon)}`;
}

const canNotify = () => "Notification" in window && isSecureContext && Notification.permission !== "denied";

// The browser remembers that it may, and this tab, reloaded or not, that it should.
const wantsNotice = () => Notification.permission === "granted" && sessionStorage.getItem("notify") === "yes";

async function askToNotify() {
  if ((await Notification.requestPermission()) === "granted") sessionStorage.setItem("notify", "yes");
  drawTab();
}
