/* Create HTML and SVG elements and change their attributes and texts. */

import { prose } from "./glossary.js";

const PROSE = ["p", "h2", "h3"]; // elements whose technical terms are marked

/**
 * Set an attribute. `false`, null and undefined remove it, but for "aria-…", where false is a value. ".NAME" is a class that
 * the element has while the value is true, "--NAME" a variable of its style.
 */
function setAttribute(element, name, value) {
  const isAria = name.startsWith("aria-");
  if (name.startsWith(".")) element.classList.toggle(name.slice(1), Boolean(value));
  else if (name.startsWith("--")) element.style.setProperty(name, value);
  else if (name === "value" && element.type === "range") moveSlider(element, value);
  else if (["checked", "indeterminate", "value"].includes(name))
    element[name] = value; // the user changes it, too
  else if (value == null || (value === false && !isAria)) element.removeAttribute(name);
  else {
    const text = value === true && !isAria ? "" : String(value);
    if (element.getAttribute(name) !== text) element.setAttribute(name, text);
  }
}

/**
 * Return a function (tag, attributes, ...children) that makes elements; the attributes can be left out, and "p.note" is a p
 * of the class note. An attribute "on…" is the handler of an event. Other functions among the attributes and children, and
 * children with a method `attach`, follow a state (view_state.js): `follow` gets the function that reads it again. Strings
 * become text, never markup, and those of paragraphs and headings have their terms marked; null and false are no children.
 */
export const elementMaker =
  (create, follow = /** @type {(update: () => void) => void} */ (() => {})) =>
  (tag, ...rest) => {
    const [name, ...classes] = tag.split("."),
      first = rest[0],
      hasAttributes = first && Object.getPrototypeOf(first) === Object.prototype && !first.attach,
      { value, ...others } = hasAttributes ? rest.shift() : {},
      element = create(name);
    if (classes.length) element.setAttribute("class", classes.join(" "));
    for (const child of rest.flat()) {
      if (child?.attach) child.attach(element);
      else if (typeof child === "function") {
        const text = element.appendChild(PROSE.includes(name) ? create("span") : document.createTextNode(""));
        follow(() => {
          const words = String(child());
          if (text.textContent === words) return;
          if (PROSE.includes(name)) text.replaceChildren(...prose(words));
          else text.textContent = words;
        });
      } else if (PROSE.includes(name) && typeof child === "string") element.append(...prose(child));
      else if (child != null && child !== false) element.append(child);
    }
    // The value comes last: it depends on the limits of a slider and on the options of a menu.
    for (const [key, to] of Object.entries(value === undefined ? others : { ...others, value })) {
      if (key.startsWith("on"))
        element[key] = to && ((event) => to(event) || undefined); // false would cancel the event
      else if (typeof to === "function") follow(() => setAttribute(element, key, to()));
      else setAttribute(element, key, to);
    }
    return element;
  };

export const createHtml = (name) => document.createElement(name);
export const createSvg = (name) => document.createElementNS("http://www.w3.org/2000/svg", name);
export const node = elementMaker(createHtml);
export const svgNode = elementMaker(createSvg);

/** Give an element one of base.css's colour variables, which the styles read as `var(--colour)`. */
export function tint(element, colour) {
  if (colour) element.style.setProperty("--colour", `var(${colour})`);
  return element;
}

/** Move a slider to `value`, and fill its track up to there. */
function moveSlider(slider, value) {
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

export const icon = (name) => node("span.lineage-icon", { "aria-hidden": "true" }, name);

/** Create a button with an icon and words. */
export const iconButton = (symbol, words, onclick) =>
  node("button.lineage-button", { type: "button", onclick }, icon(symbol), node("span", words));
