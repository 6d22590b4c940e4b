/* Write a drawing as an SVG file without external styles. */
import { svgNode, node } from "./dom.js";
import { FONT } from "./text_metrics.js";

/** Resolve colour variables to their current values, light or dark: a saved file has no access to them. */
export function resolveColours(place) {
  const probe = place.appendChild(node("span", { hidden: "" }));
  const colours = {};
  const style = getComputedStyle(probe);
  const resolveColour = (name) => {
    probe.style.color = `var(${name})`;
    return style.color;
  };
  for (const name of ["--ink", "--soft", "--rule", "--page", "--panel"]) colours[name] = resolveColour(name);
  return { get: (name) => (colours[name] ??= resolveColour(name)), done: () => probe.remove() };
}

/** Return a drawing as the text of an SVG file. */
export function svgFile(width, height, page, ...children) {
  const root = svgNode(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, width, height, "font-family": FONT },
    svgNode("rect", { width, height, fill: page }),
    ...children,
  );
  return new XMLSerializer().serializeToString(root);
}
