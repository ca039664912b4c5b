// Menus that open below their summary: Escape and a click elsewhere close them, and one is open at a time.
// Uses format.js.

function listenToMenus() {
  const menus = () => [...document.querySelectorAll("details.menu[open]")];
  addEventListener("keydown", (event) => {
    const open = menus().at(-1);
    if (event.key !== "Escape" || !open || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    open.open = false;
    open.querySelector("summary").focus();
  });
  addEventListener("click", (event) => {
    for (const menu of menus()) {
      const chosen = menu.contains(event.target) && event.target.closest("button, a");
      if (!menu.contains(event.target) || chosen) menu.open = false;
    }
  });
  for (const menu of document.querySelectorAll("details.menu")) menu.addEventListener("toggle", () => placeMenu(menu));
}

// What a menu shows stays within the window, and below it scrolls.
function placeMenu(menu) {
  const content = menu.querySelector("div");
  content.style.translate = "";
  if (!menu.open) return;
  const { left, right, top } = content.getBoundingClientRect();
  const over = Math.max(0, right - document.documentElement.clientWidth + 8);
  content.style.translate = `${-Math.min(over, Math.max(0, left - 8))}px`;
  content.style.maxHeight = `${Math.max(160, innerHeight - top - 12)}px`;
}

// The focus goes to an element if it is still there and in sight, else to the menu or heading above it.
function focusNear(element) {
  const near = element?.isConnected && element.checkVisibility() ? element : element?.closest("details.menu");
  const target = near?.matches?.("details") ? near.querySelector("summary") : near;
  (target ?? document.querySelector("#aside summary") ?? byId("skip"))?.focus();
}
