/* Write the gates by hand as one SVG that looks like the screen. */
import { svgOf } from "../../shared/runtime/export_menu.js";
import { svgNode } from "../../shared/runtime/dom.js";
import { resolveColours, svgFile } from "../../shared/runtime/svg_file.js";

const EDGE = 16;
const TEXTS = "h2, h3, .told, .none, .head > :not(input), .key, .axis span";

export function figureSvg(place, cells) {
  const colours = resolveColours(place),
    sections = Object.values(cells)
      .map(({ root }) => root)
      .filter((root) => root.clientWidth);
  const boxes = sections.map((root) => root.getBoundingClientRect()),
    left = Math.min(...boxes.map((box) => box.left)),
    top = Math.min(...boxes.map((box) => box.top));
  const width = Math.max(...boxes.map((box) => box.right)) - left,
    height = Math.max(...boxes.map((box) => box.bottom)) - top;
  const shapes = sections.flatMap((root) => [...copyDrawings(root, left, top), ...copyTexts(root, left, top)]);
  const file = svgFile(width + 2 * EDGE, height + 2 * EDGE, colours.get("--page"), ...shapes);
  colours.done();
  return file;
}

function* copyDrawings(root, left, top) {
  for (const svg of root.querySelectorAll("svg")) {
    const box = svg.getBoundingClientRect(),
      copy = new DOMParser().parseFromString(svgOf(svg), "image/svg+xml").documentElement;
    copy.setAttribute("x", String(box.left - left + EDGE));
    copy.setAttribute("y", String(box.top - top + EDGE));
    yield copy;
  }
}

/** Return words line by line, as the browser wraps them. */
function* copyTexts(root, left, top) {
  for (const element of root.querySelectorAll(TEXTS)) {
    const words = element.firstChild;
    if (words?.nodeType !== 3) continue;
    const style = getComputedStyle(element);
    for (const [line, box] of wrappedLines(words)) {
      const label = svgNode("text", {
        x: box.left - left + EDGE,
        y: box.top - top + EDGE + box.height / 2,
        fill: style.color,
        "dominant-baseline": "central",
        "font-size": parseFloat(style.fontSize),
        "font-weight": style.fontWeight,
        "font-family": style.fontFamily,
      });
      label.textContent = line;
      yield label;
    }
  }
}

function wrappedLines(words) {
  const range = document.createRange(),
    lines = [];
  for (const { 0: word, index } of words.data.matchAll(/\S+\s*/g)) {
    range.setStart(words, index);
    range.setEnd(words, index + word.length);
    const box = range.getClientRects()[0],
      last = lines.at(-1);
    if (!box) continue;
    if (last && Math.abs(last[1].top - box.top) < 2) last[0] += word;
    else lines.push([word, box]);
  }
  return lines;
}
