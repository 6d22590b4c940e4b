/* The arithmetic of the alignment viewer: the number in each cell, which labels fit, the sentences. No DOM. */
import { spanOf } from "../../../../static/shared/charts/value_scale.js";
import { quoteToken } from "../../../../static/shared/runtime/visible_text.js";
import { formatNumber, formatWeight } from "../../../../static/shared/runtime/format.js";

export const LABELLED_WEIGHT = 0.15; // weights from here on carry their value
export const VISIBLE_WEIGHT = 0.02; // the weakest line that is drawn
const ATTENTION_KINDS = { transformer: ["source", "encoder", "decoder"], additive: ["source"], vector: [] };

export const attentionKinds = (kind) => ATTENTION_KINDS[kind];

/** Return the attention matrix of one head: query rows, key columns. `at` = { look, layer, head }. */
export function headMatrix(data, arrays, { look, layer, head }) {
  const {
    shape: [, heads, rows, columns],
    data: weights,
  } = arrays[look];
  const first = (layer * heads + head) * rows * columns;
  const sliceHead = (all) => all.subarray(first, first + rows * columns);
  return {
    rows,
    columns,
    weights: sliceHead(weights),
    scores: sliceHead(arrays[`${look}_scores`].data),
    asks: look === "encoder" ? data.source : data.target,
    answers: look === "decoder" ? ["<BOS>", ...data.target.slice(0, -1)] : data.source,
    reach: (row) => (look === "decoder" ? row + 1 : columns), // everything after it is masked
  };
}

/** The largest score of the cells that are not masked, at least 1: a scale that is symmetric around 0. */
export const scoreLimit = ({ columns, scores, reach }) =>
  spanOf(scores.filter((_, i) => i % columns < reach(Math.floor(i / columns))));

/** Sizes in px of a heat map in so much room, `wrong` where a row is: gutters for names, cells, and how many names are left out. */
export function heatMapSizes(width, view, wrong = false) {
  const longestToken = (tokens) => Math.max(...tokens.map((token) => [...token].length));
  const left = 14 + 8.4 * longestToken(view.asks) + (wrong ? 30 : 0); // a token, followed by the correct one where any is wrong
  const cell = Math.max(3, Math.min(60, (width - left - 2) / view.columns)),
    high = Math.max(16, Math.min(34, cell));
  const turned = longestToken(view.answers) > 1 && cell < 46;
  return {
    width,
    left,
    cell,
    high,
    turned,
    top: turned ? 54 : 24,
    bottom: (turned ? 54 : 24) + high * view.rows,
    every: Math.ceil(11 / cell),
    values: cell >= 27,
    gap: cell >= 14 ? 2 : cell >= 6 ? 1 : 0,
  };
}

/** Return the cell at a point of the heat map, or the nearest cell if the point is outside. */
export function cellAt(box, view, x, y) {
  const clampIndex = (value, count) => Math.max(0, Math.min(count - 1, Math.floor(value)));
  return {
    row: clampIndex((y - box.top) / box.high, view.rows),
    column: clampIndex((x - box.left) / box.cell, view.columns),
  };
}

/** The lines beside a heat map of such a box: its rows again, the columns as a list of about the same height, and what lies between. */
export function gapBetween(width, view, { top, high }) {
  const wide = (tokens) => 10 + 8.4 * Math.max(...tokens.map((token) => [...token].length));
  const step = view.columns > view.rows ? Math.max(14, (high * view.rows) / view.columns) : high;
  return {
    width,
    left: wide(view.asks),
    right: width - wide(view.answers) - 40,
    top,
    high,
    step,
    bottom: top + Math.max(high * view.rows, step * view.columns),
  };
}

/** Return y of a line at x: a cubic Bézier curve that is horizontal at both ends, with control points at 0.42 and 0.58. */
export function heightAt(box, from, to, x) {
  const share = Math.max(0, Math.min(1, (x - box.left) / (box.right - box.left)));
  const heightAlong = (t) => 3 * 0.42 * t * (1 - t) ** 2 + 3 * 0.58 * t ** 2 * (1 - t) + t ** 3;
  let low = 0,
    high = 1;
  for (let i = 0; i < 24; i++) {
    const middle = (low + high) / 2;
    if (heightAlong(middle) < share) low = middle;
    else high = middle;
  }
  const part = low * low * (3 - 2 * low); // the same cubic, with both bends at the height of their ends
  const start = (from + 0.5) * box.high,
    end = (to + 0.5) * box.step;
  return box.top + start + (end - start) * part;
}

/** The row whose line is nearest to a point; only lines of at least 0.1 count. */
export function nearestRow(box, view, x, y) {
  let best = Infinity,
    nearest = Math.max(0, Math.min(view.rows - 1, Math.floor((y - box.top) / box.high)));
  if (x <= box.left) return nearest;
  for (let row = 0; row < view.rows; row++) {
    for (let column = 0; column < view.reach(row); column++) {
      if (view.weights[row * view.columns + column] < 0.1) continue;
      const away = Math.abs(heightAt(box, row, column, x) - y);
      if (away < best) [best, nearest] = [away, row];
    }
  }
  return nearest;
}

/** The columns of a row by weight, the strongest first, none below `least`. */
export function strongestColumns(view, row, most, least = 0.005) {
  return Array.from({ length: view.reach(row) }, (_, column) => ({
    column,
    weight: view.weights[row * view.columns + column],
  }))
    .filter(({ weight }) => weight >= least)
    .sort((a, b) => b.weight - a.weight || a.column - b.column)
    .slice(0, most);
}

export function likeliestTokens({ shape: [, size], data }, vocabulary, step, most = 5) {
  return Array.from({ length: size }, (_, id) => ({ token: vocabulary[id], p: data[step * size + id] }))
    .sort((a, b) => b.p - a.p)
    .slice(0, most);
}

/** Compare each generated token with the correct one; `right` is null where there is no correct answer. */
export const markTokens = (target, right) =>
  target.map((token, i) => ({ token, right: right ? token === right[i] : null, wanted: right?.[i] ?? null }));

/* ---- in words ---- */

export function rowWords(view, look, place, tokens) {
  const { row } = place,
    keysRead = strongestColumns(view, row, 4).map(
      ({ column, weight }) => `${quoteToken(view.answers[column])} (position ${column + 1}) ${formatWeight(weight, 2)}`,
    );
  const subject =
    look === "encoder"
      ? `${quoteToken(view.asks[row])}, token ${row + 1} of the source,`
      : `Writing ${stepWords(tokens, row)}, the model`;
  return `${subject} attends to ${keysRead.join(", ")}.`;
}

export function stepWords(tokens, step) {
  const { token, right, wanted } = tokens[step];
  const truth =
    right === null
      ? ""
      : right
        ? " (right)"
        : ` (wrong: ${wanted === null ? "there should be no token" : `${quoteToken(wanted)} is right`})`;
  return `${quoteToken(token)}, token ${step + 1} of ${tokens.length}${truth}`;
}

export function cellWords(view, { row, column }, score) {
  if (column === null) return "";
  if (column >= view.reach(row))
    return ` ${quoteToken(view.answers[column])} at position ${column + 1} is masked: it comes later.`;
  const at = row * view.columns + column;
  return ` Here: ${quoteToken(view.answers[column])} at position ${column + 1}, ${score} ${formatNumber(view.scores[at])}, weight ${formatWeight(view.weights[at])}.`;
}

export function stripWords(name, values) {
  const low = Math.min(...values),
    high = Math.max(...values),
    length = Math.hypot(...values);
  return `${name}: ${values.length} numbers from ${formatNumber(low)} to ${formatNumber(high)}, as a vector of length ${formatNumber(length)}`;
}
