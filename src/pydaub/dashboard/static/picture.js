// The chart of all curves as a file: SVG or PNG, with the colours that it has on the page. Uses format.js.

const LOOKS = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin",
  "stroke-opacity", "opacity", "font-size", "font-family", "font-weight",
]; // prettier-ignore
const FINER = 2; // pixels of a PNG for each on the page

// The drawing on its own: style sheets do not travel with it.
function pictureText() {
  const chart = byId("picture").querySelector("svg");
  const copy = chart.cloneNode(true);
  const originals = [...chart.querySelectorAll("*")];
  [...copy.querySelectorAll("*")].forEach((element, place) => {
    const look = getComputedStyle(originals[place]);
    for (const name of LOOKS) element.setAttribute(name, look.getPropertyValue(name));
    element.removeAttribute("class");
  });
  const { width, height } = chart.viewBox.baseVal;
  const paper = { width, height, fill: getComputedStyle(byId("picture").closest("section")).backgroundColor };
  copy.prepend(draw("rect", paper));
  filled(copy, undefined, { xmlns: SVG, width, height });
  return { text: new XMLSerializer().serializeToString(copy), width, height };
}

function savePicture(kind) {
  if (!byId("picture").querySelector("svg")) return;
  const { text, width, height } = pictureText();
  const name = `${byId("title").textContent} curves.${kind}`;
  if (kind === "svg") {
    saveFile(new Blob([text], { type: "image/svg+xml" }), name);
    return;
  }
  const image = new Image();
  image.onload = () => {
    const canvas = make("canvas", undefined, { width: width * FINER, height: height * FINER });
    canvas.getContext("2d").drawImage(image, 0, 0, width * FINER, height * FINER);
    canvas.toBlob((blob) => saveFile(blob, name));
  };
  image.src = `data:image/svg+xml,${encodeURIComponent(text)}`;
}

function saveFile(blob, name) {
  const url = URL.createObjectURL(blob);
  make("a", undefined, { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
