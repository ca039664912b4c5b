// What the page remembers in its address, after the "#": a reload or a copied address shows the same. Uses nothing.

const remembered = new URLSearchParams(location.hash.slice(1));

const recalled = (key) => remembered.get(key) ?? "";

const recalledAll = (key) => remembered.getAll(key);

function remember(key, ...values) {
  remembered.delete(key);
  remembered.delete("token"); // it was taken out of the address, and stays out
  for (const value of values) if (value !== "" && value !== false) remembered.append(key, value);
  try {
    history.replaceState(history.state, "", `#${remembered}`);
  } catch {
    // In the frame of a notebook there is no address to change.
  }
}
