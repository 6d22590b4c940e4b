/* The axis of an answer: its ends with the unit, and the axis without data that a step shows before the prediction. */
import { makeAxis } from "./dot_strip_math.js";
import { node, svgNode } from "../runtime/dom.js";
import { formatRounded, withUnit } from "../runtime/format.js";

const [WIDTH, HEIGHT] = [420, 34]; // px

/** Write a number of the axis, which its author has rounded. */
const format = (value) =>
  Math.abs(value) >= 1e-3 && Math.abs(value) < 1e4
    ? String(Number(value.toPrecision(6))).replace("-", "−")
    : formatRounded(value);
const formatEnd = (value, unit) => withUnit(format(value), unit);

/** The least and the largest value, at the ends of the axis. */
export const axisEnds = (low, high, unit) =>
  node("div.ends", { "aria-hidden": true }, node("span", formatEnd(low, unit)), node("span", formatEnd(high, unit)));

/** Draw an axis without data; `edges` are the limits of the choices. */
export function drawEmptyAxis({ low, high, unit, powers }, edges) {
  const line = makeAxis([], low, high, powers),
    inside = edges.filter((edge) => line.positionOf(edge) > 0.02 && line.positionOf(edge) < 0.98),
    x = (value) => 10 + (WIDTH - 20) * line.positionOf(value),
    makeTick = (edge) => svgNode("line.ground", { x1: x(edge), x2: x(edge), y1: HEIGHT - 12, y2: HEIGHT }),
    makeLabel = (edge) => svgNode("text.edge", { x: x(edge), y: HEIGHT - 18, "text-anchor": "middle" }, format(edge)),
    label = `The answer is between ${formatEnd(low, unit)} and ${formatEnd(high, unit)}.`;
  const picture = svgNode(
    "svg.strip",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label },
    svgNode("line.ground", { x1: 0, x2: WIDTH, y1: HEIGHT - 6, y2: HEIGHT - 6 }),
    [low, ...inside, high].map(makeTick),
    inside.map(makeLabel),
  );
  return node("div.empty-axis", picture, axisEnds(low, high, unit));
}
