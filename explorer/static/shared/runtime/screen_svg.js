/* Write what an element shows on the screen as an SVG file: texts as they are wrapped, inline drawings, canvases,
   backgrounds, borders, rings and outlines, the numbers of editable matrices. What scrolls is laid out in full. Controls
   are left out, and icons but those of SIGNS. */
import { svgNode } from "./dom.js";
import { colourAround, plainColours, svgOf } from "./export_menu.js";
import { FONT, textWidth } from "./text_metrics.js";
import { mixColours, parseColour } from "../charts/value_scale.js";

const EDGE = 16; // px around the picture
const SKIPPED =
  ".lineage-save, .lineage-button .lineage-icon, .frame-probe, input:not(.matrix input), textarea, option";
const SIGNS = { check: "✓", close: "✗", casino: "⚄" };
const isVisible = (colour) => colour !== "transparent" && !/[,/] 0\)$/.test(colour);

/**
 * @param {HTMLElement} root
 * @param {object} [more]
 * @param {string} [more.title] a heading above the picture
 * @param {string} [more.skip] selector of elements that are left out
 * @param {Map<Element, SVGElement>} [more.drawings] what is saved in place of an element
 */
export function screenSvg(root, { title = "", skip = "", drawings = new Map() } = {}) {
  const unfolded = unfold(root),
    origin = root.getBoundingClientRect(),
    scale = origin.width / root.offsetWidth || 1; // presentation mode enlarges pages
  const bounds = { left: Infinity, top: Infinity, right: 0, bottom: 0 }; // of what is drawn
  const place = (box) => {
    const [x, y] = [(box.left - origin.left) / scale, (box.top - origin.top) / scale],
      [width, height] = [box.width / scale, box.height / scale];
    bounds.left = Math.min(bounds.left, x);
    bounds.top = Math.min(bounds.top, y);
    bounds.right = Math.max(bounds.right, x + width);
    bounds.bottom = Math.max(bounds.bottom, y + height);
    return { x, y, width, height };
  };
  const shapes = copyElement(root, { place, drawings, skipped: skip ? `${SKIPPED}, ${skip}` : SKIPPED });
  for (const restore of unfolded) restore();
  const top = EDGE + (title ? 36 : 0),
    width = Math.max(bounds.right - bounds.left, title ? textWidth(title, 22) : 0) + 2 * EDGE,
    height = bounds.bottom - bounds.top + top + EDGE,
    font = { "font-size": 20, "font-weight": 600, "font-family": '"Source Serif", serif' };
  const file = svgNode(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, width, height, "font-family": FONT },
    svgNode("rect", { width, height, fill: colourAround(root, "--page") }),
    title && svgNode("text", { x: EDGE, y: 36, fill: colourAround(root, "--ink"), ...font }, title),
    svgNode("g", { transform: `translate(${EDGE - bounds.left} ${top - bounds.top})` }, shapes),
  );
  return new XMLSerializer().serializeToString(file);
}

/** Lay out in full what scrolls; return functions that undo it. */
function unfold(root) {
  const scrollers = [root, ...root.querySelectorAll("*")].filter(
    (element) => element instanceof HTMLElement && /auto|scroll/.test(getComputedStyle(element).overflow),
  );
  return scrollers.map((element) => {
    const { scrollTop, scrollLeft, style } = element,
      { cssText } = style;
    for (const each of ["overflow: visible", "height: auto", "max-height: none", "contain: none"])
      style.cssText += `; ${each} !important`;
    return () => {
      style.cssText = cssText;
      Object.assign(element, { scrollTop, scrollLeft });
    };
  });
}

function copyElement(element, copier) {
  const style = getComputedStyle(element),
    drawing = copier.drawings.get(element);
  if (element.matches(copier.skipped) || style.display === "none" || Number(style.opacity) === 0) return [];
  if (element.checkVisibility && !element.checkVisibility({ visibilityProperty: true })) return [];
  if (element.matches(".lineage-icon")) return copySign(element, style, copier);
  if (drawing) return [placeDrawing(drawing, element, copier)];
  if (element instanceof SVGElement) {
    const copy = new DOMParser().parseFromString(svgOf(element), "image/svg+xml").documentElement;
    copy.firstElementChild.remove(); // its background
    return fade([placeDrawing(document.importNode(copy, true), element, copier)], style);
  }
  const children = [...element.childNodes].sort((a, b) => layerOf(a) - layerOf(b));
  const inner = children.flatMap((child) => copyChild(child, copier));
  return fade([...copyBox(element, style, copier), ...inner, ...copyGenerated(element, copier)], style);
}

const fade = (shapes, { opacity }) =>
  Number(opacity) < 1 && shapes.length ? [svgNode("g", { opacity }, shapes)] : shapes;
const layerOf = (child) => (child instanceof Element && Number(getComputedStyle(child).zIndex)) || 0;
function copyChild(child, copier) {
  if (child.nodeType === Node.TEXT_NODE) return copyText(child, copier);
  return child.nodeType === Node.ELEMENT_NODE ? copyElement(child, copier) : [];
}

/** Put a drawing where an element is. */
function placeDrawing(svg, element, { place }) {
  const box = { ...place(element.getBoundingClientRect()), overflow: "visible" };
  for (const [name, value] of Object.entries(box)) svg.setAttribute(name, value);
  return svg;
}

function copyBox(element, style, { place }) {
  const wrapped = style.display === "inline" ? [...element.getClientRects()] : [element.getBoundingClientRect()],
    shapes = wrapped.filter(({ width, height }) => width && height).flatMap((box) => copyBackground(box, style, place)),
    screenBox = element.getBoundingClientRect();
  if (element instanceof HTMLInputElement && element.value) shapes.push(textIn(place(screenBox), style, element.value)); // the number of a cell that can be edited
  if (element instanceof HTMLCanvasElement && element.width && element.height && screenBox.width && screenBox.height) {
    const look = { preserveAspectRatio: "none", style: "image-rendering:pixelated" };
    shapes.push(svgNode("image", { ...place(screenBox), href: element.toDataURL(), ...look }));
  }
  if (style.outlineStyle !== "none" && !element.matches(":focus-visible"))
    for (const box of wrapped)
      shapes.push(svgNode("rect", { ...place(box), fill: "none", ...strokeOf(style, "outline") }));
  return shapes;
}

function copyBackground(screenBox, style, place) {
  const radius = Math.min(parseFloat(style.borderTopLeftRadius) || 0, screenBox.height / 2),
    fill = isVisible(style.backgroundColor) && plainColours(style.backgroundColor);
  return [
    ...(fill ? [svgNode("rect", { ...place(screenBox), rx: radius, fill })] : []),
    ...copyGradients(screenBox, style, place),
    ...copyBorder(screenBox, style, place, radius),
    ...copyRing(screenBox, style, place, radius),
  ];
}

/** A shadow that is a ring of one colour around an element, or inside it. */
function copyRing(screenBox, style, place, radius) {
  const [, stroke, spread, inset] =
    plainColours(style.boxShadow).match(/^(rgba?\([^)]*\)) 0px 0px 0px ([\d.]+)px( inset)?$/) ?? [];
  if (!stroke) return [];
  const { x, y, width, height } = place(screenBox),
    out = (inset ? -1 : 1) * (Number(spread) / 2);
  const box = { x: x - out, y: y - out, width: width + 2 * out, height: height + 2 * out, rx: radius };
  return [svgNode("rect", { ...box, fill: "none", stroke, "stroke-width": spread })];
}

/** Write a text in the middle of a box, or at another share of its width. */
const textIn = ({ x, y, width, height }, style, text, anchor = "middle") =>
  svgNode("text", { x: x + SHARES[anchor] * width, y: y + height / 2, "text-anchor": anchor, ...fontOf(style) }, text);
const SHARES = { start: 0, middle: 0.5, end: 1 };

function copySign(element, style, { place }) {
  const sign = SIGNS[element.textContent];
  if (!sign) return [];
  const text = textIn(place(element.getBoundingClientRect()), style, sign);
  text.removeAttribute("font-family");
  return [text];
}

/** Texts of ::before and ::after: at the beginning, at the end, or alone in the middle. */
function copyGenerated(element, { place }) {
  return ["::before", "::after"].flatMap((name) => {
    const style = getComputedStyle(element, name),
      text = style.content.match(/^"(.+)"$/)?.[1],
      screenBox = [...element.getClientRects()].at(name === "::before" ? 0 : -1);
    if (!text || !screenBox) return [];
    const anchor = !element.textContent ? "middle" : name === "::before" ? "start" : "end";
    return [textIn(place(screenBox), style, text, anchor)];
  });
}

const fontOf = (style) => ({
  fill: plainColours(style.color),
  "dominant-baseline": "central",
  "font-size": parseFloat(style.fontSize),
  "font-weight": style.fontWeight,
  "font-style": style.fontStyle === "normal" ? null : style.fontStyle,
  "font-family": style.fontFamily,
  "text-decoration": style.textDecorationLine === "none" ? null : style.textDecorationLine,
});

const strokeOf = (style, side) => ({
  stroke: plainColours(style[`${side}Color`]),
  "stroke-width": parseFloat(style[`${side}Width`]),
  "stroke-dasharray": style[`${side}Style`] === "dashed" ? "4 3" : null,
});

function copyBorder(screenBox, style, place, radius) {
  const sides = ["borderTop", "borderRight", "borderBottom", "borderLeft"].filter(
    (side) => style[`${side}Style`] !== "none" && parseFloat(style[`${side}Width`]) && isVisible(style[`${side}Color`]),
  );
  if (!sides.length) return [];
  const { x, y, width, height } = place(screenBox);
  if (sides.length === 4)
    return [svgNode("rect", { x, y, width, height, rx: radius, fill: "none", ...strokeOf(style, sides[0]) })];
  const lines = {
    borderTop: `M${x} ${y}h${width}`,
    borderRight: `M${x + width} ${y}v${height}`,
    borderBottom: `M${x} ${y + height}h${width}`,
    borderLeft: `M${x} ${y}v${height}`,
  };
  return sides.map((side) => svgNode("path", { d: lines[side], ...strokeOf(style, side) }));
}

/** Gradients from left to right, and bars: layers of one colour with a width of their own. */
function copyGradients(screenBox, style, place) {
  const sizes = style.backgroundSize.split(",");
  const layers = plainColours(style.backgroundImage)
    .split(/,\s*(?=linear-gradient)/)
    .map((image, i) => {
      const colours = gradientColours(image);
      if (!colours.length) return [];
      const { x, y, width, height } = place(screenBox),
        size = sizes[i % sizes.length].trim(),
        share = /^[\d.]+%/.test(size) ? parseFloat(size) / 100 : 1,
        step = (width * share) / colours.length,
        overlap = colours.length > 1 ? 0.5 : 0;
      return colours.map((fill, k) => svgNode("rect", { x: x + k * step, y, width: step + overlap, height, fill }));
    });
  return layers.reverse().flat(); // the first layer is on top
}

/** The colours of a gradient from left to right, evenly spaced; of one colour all over, that colour. */
function gradientColours(image) {
  const stops = (image.match(/rgba?\([^)]*\)/g) ?? []).map(parseColour);
  if (!image.startsWith("linear-gradient(") || stops.length < 2) return [];
  if (stops.every((stop) => String(stop) === String(stops[0]))) return [`rgb(${stops[0]})`];
  if (!/^linear-gradient\((to right|90deg)/.test(image)) return [];
  return Array.from({ length: 60 }, (_, i) => `rgb(${mixColours(stops, i / 59)})`);
}

/** Return words line by line, as the browser wraps them. */
function copyText(text, { place }) {
  const style = getComputedStyle(text.parentElement),
    preserved = /pre/.test(style.whiteSpace);
  if (!parseFloat(style.fontSize)) return [];
  return wrappedLines(text).map(([line, screenBox]) => {
    const { x, y, height } = place(screenBox),
      shown = style.textOverflow === "ellipsis" ? shortenToBox(line, screenBox, text.parentElement) : line;
    const space = { "xml:space": preserved ? "preserve" : null };
    return svgNode("text", { x, y: y + height / 2, ...fontOf(style), ...space }, preserved ? shown : shown.trim());
  });
}

/** Shorten a line as far as the browser does. */
function shortenToBox(line, screenBox, element) {
  const room = (element.getBoundingClientRect().right - screenBox.left) / screenBox.width,
    fitting = Math.floor(line.length * Math.min(1, room)) - 1; // one for the dots
  return element.scrollWidth <= element.clientWidth ? line : `${line.slice(0, Math.max(1, fitting))}…`;
}

/** Return the lines of a text with their boxes: what is as high as the letter before, or takes no room, is in its line. */
function wrappedLines(text) {
  const range = document.createRange(),
    lines = [];
  for (const { 0: letter, index } of text.data.matchAll(/./gsu)) {
    range.setStart(text, index);
    range.setEnd(text, index + letter.length);
    const [box] = range.getClientRects(),
      last = lines.at(-1);
    if (!box?.width) {
      if (last) last[0] += letter;
    } else if (last && Math.abs(last[1].top - box.top) < 2) {
      const left = Math.min(last[1].left, box.left);
      last[0] += letter;
      last[1] = new DOMRect(left, last[1].top, Math.max(last[1].right, box.right) - left, box.height);
    } else lines.push([letter, box]);
  }
  return lines;
}
