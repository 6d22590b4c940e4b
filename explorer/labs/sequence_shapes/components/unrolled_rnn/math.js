/* The arithmetic of the unrolled network: grids of units, sentences, rows of its table. No DOM. */

import { formatCount } from "../../../../static/shared/runtime/format.js";

/** Return the columns and rows of units in a box of this width and height, so that each unit is about square. */
export function gridOf(units, width, height) {
  const columns = Math.max(1, Math.min(units, Math.round(Math.sqrt((units * width) / height))));
  return { columns, rows: Math.ceil(units / columns) };
}

/** Format a probability in percent; it is never rounded to 0 or 100 %. */
export function formatPercent(p) {
  return p > 0.995 ? "> 99\u00a0%" : p < 0.005 ? "< 1\u00a0%" : `${Math.round(100 * p)}\u00a0%`;
}

export function describeStep(step, number) {
  const from = step.fed_back ? ", its own output of the step before" : "";
  if (!step.top.length) return `Step ${number} reads “${step.input}”${from}. It has no output.`;
  const [label, p] = step.top[0];
  return `Step ${number} reads “${step.input}”${from}, and ${step.used ? "answers" : "would answer"} “${label}”, ${formatPercent(p)}${step.used ? "" : "; this output is not used"}.`;
}

/** Return the next step in the direction of a key; null if the key moves nothing. */
export function moveStep(at, key, count) {
  const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: count - 1 }[key];
  return to === undefined ? null : Math.max(0, Math.min(count - 1, to));
}

/** A matrix in words, such as "W_hh 24 × 24, 600 parameters". */
export function describeMatrix({ name, half, rows, columns, count }) {
  const [letter, index] = name.split("_");
  return {
    letter,
    index: index ?? "",
    half,
    words: `${formatCount(rows)} × ${formatCount(columns)}`,
    count: `${formatCount(count)} parameters`,
  };
}

/** Return all steps as table rows: step, input, fed back, used, answer, probability, then the units. */
export function rowsOf(steps) {
  return steps.map((step, i) => [
    i + 1,
    step.input,
    step.fed_back,
    step.used,
    step.top[0]?.[0] ?? "",
    step.top[0]?.[1] ?? "",
    ...step.state,
  ]);
}
