/* What our components share: making nodes, one life cycle, colours and text widths for drawings. */

function furnish(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value != null && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

/** An HTML element; strings among the children become text, never markup. */
export const node = (tag, attributes = {}, ...children) =>
  furnish(document.createElement(tag), attributes, children);

/** An SVG element. */
export const draw = (tag, attributes = {}, ...children) =>
  furnish(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

/** An element that paints with one of base.css's variables, read as `var(--colour)` in the styles. */
export function tinted(element, colour) {
  if (colour) element.style.setProperty("--colour", `var(${colour})`);
  return element;
}

/**
 * The component function of an instrument. Streamlit calls it again with the same element for new
 * data, so what `build(place)` makes is kept: it shows each `component` and is closed at unmount.
 */
export function instrument(build) {
  const views = new WeakMap();
  return (component) => {
    const root = component.parentElement;
    if (!views.has(root)) views.set(root, build(root.querySelector(".lineage")));
    views.get(root).show(component.data, component);
    return () => {
      views.get(root)?.close?.();
      views.delete(root);
    };
  };
}

/** How high a drawing may be that could be of any height, in px: where it has a projector's screen to itself, no higher. */
export const tallest = (usual) => (document.body.classList.contains("lineage-screened") ? Math.min(usual, 400) : usual);

/** What a colour variable is just now, light or dark: a saved file cannot look variables up. */
export function colours(place) {
  const probe = place.appendChild(node("span", { hidden: "" }));
  const seen = {};
  const style = getComputedStyle(probe);
  const resolve = (name) => {
    probe.style.color = `var(${name})`;
    return style.color;
  };
  for (const name of ["--ink", "--soft", "--rule", "--page", "--panel"]) seen[name] = resolve(name);
  return {
    get: (name) => (seen[name] ??= resolve(name)),
    done: () => probe.remove(),
  };
}

const FONT = '"Source Sans", "Source Sans 3", "Source Sans Pro", sans-serif';

/** A drawing as the text of a file that stands alone. */
export function svgFile(width, height, page, ...children) {
  const root = draw(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, width, height, "font-family": FONT },
    draw("rect", { width, height, fill: page }),
    ...children,
  );
  return new XMLSerializer().serializeToString(root);
}

const pen = document.createElement("canvas").getContext("2d");

/** Width in px of a label as the browser will set it. */
export function measure(text, size, weight = 400) {
  pen.font = `${weight} ${size}px ${FONT}`;
  return pen.measureText(text).width;
}

/** The label, shortened until it fits. */
export function fit(text, width, size, weight = 400) {
  if (measure(text, size, weight) <= width) return text;
  let kept = text;
  while (kept.length > 1 && measure(`${kept}…`, size, weight) > width) kept = kept.slice(0, -1);
  return `${kept}…`;
}
