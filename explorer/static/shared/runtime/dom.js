/* Create HTML and SVG elements and change their text. */

/** Return the attributes and the children in the arguments of `node` that follow the tag. */
export const splitParts = (parts) => (parts[0]?.constructor === Object ? [parts[0], parts.slice(1)] : [{}, parts]);

function makeElement(namespace, tag, parts) {
  const [name, ...classes] = tag.split("."),
    [attributes, children] = splitParts(parts);
  /** @type {any} */
  const element = document.createElementNS(`http://www.w3.org/${namespace}`, name);
  if (classes.length) element.setAttribute("class", classes.join(" "));
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element[name] = value;
    else if (value != null && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

/** Create an HTML element: a tag with its classes ("span.label.wide"), attributes, which may be left out, and children.
    An attribute "on…" is the handler of an event. Strings among the children become text, never markup. */
export const node = (tag, ...parts) => makeElement("1999/xhtml", tag, parts);

/** Create an SVG element in the same way. */
export const svgNode = (tag, ...parts) => makeElement("2000/svg", tag, parts);

/** Give an element one of base.css's colour variables, which the styles read as `var(--colour)`. */
export function tint(element, colour) {
  if (colour) element.style.setProperty("--colour", `var(${colour})`);
  return element;
}

/** Move a slider to `value`, and fill its track up to there. */
export function moveSlider(slider, value) {
  slider.value = value;
  slider.style.setProperty("--at", (slider.value - slider.min) / (slider.max - slider.min || 1));
}

/** Wait for two frames: what the next frame requests is drawn in the one after it. */
export const nextFrames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));

/** Set the text of an element; an unchanged text causes no layout. */
export function setTextIfChanged(place, words) {
  if (place.textContent === words) return;
  if (place.firstChild?.nodeType === 3 && !place.firstChild.nextSibling) place.firstChild.data = words;
  else place.textContent = words;
}

export function element(tag, className = "", text = "") {
  const node = document.createElement(tag);
  node.className = className;
  node.textContent = text;
  return node;
}

/** Create a button with an icon and words. */
export const iconButton = (symbol, words, onclick) =>
  node("button", { type: "button", class: "lineage-button", onclick }, icon(symbol), node("span", {}, words));

export function icon(name) {
  const node = element("span", "lineage-icon", name);
  node.ariaHidden = "true";
  return node;
}
