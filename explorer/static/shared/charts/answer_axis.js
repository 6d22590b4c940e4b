/* The ends of the axis of an answer, with the unit. */
import { node } from "../runtime/dom.js";
import { formatRounded, withUnit } from "../runtime/format.js";

/** Write a number of the axis, which its author has rounded. */
const format = (value) =>
  Math.abs(value) >= 1e-3 && Math.abs(value) < 1e4
    ? String(Number(value.toPrecision(6))).replace("-", "−")
    : formatRounded(value);
export const formatEnd = (value, unit) => withUnit(format(value), unit);

/** The least and the largest value, at the ends of the axis. */
export const axisEnds = (low, high, unit) =>
  node("div.ends", { "aria-hidden": true }, node("span", formatEnd(low, unit)), node("span", formatEnd(high, unit)));
