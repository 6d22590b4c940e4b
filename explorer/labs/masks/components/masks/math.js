/* The arithmetic of masks: which query attends to which key, what softmax gives, and what a fully masked row gives. No DOM.
   A mask is rows of booleans, true where attention is allowed: [query][key]. */

import { formatNumber, formatWeight } from "../../../../static/shared/runtime/format.js";

export const PAD = "<PAD>";
const FINITE = -1e9; // what many programs write instead of minus infinity

/** Words as a row of the batch: padding fills it up to `length`, behind the words or before them. */
export function padSentence(words, length, side) {
  const fill = Array(length - words.length).fill(PAD);
  return side === "left" ? [...fill, ...words] : [...words, ...fill];
}

export const paddingMask = (tokens) => tokens.map(() => tokens.map((key) => key !== PAD));

export const causalMask = (tokens) => tokens.map((_, query) => tokens.map((_, key) => key <= query));

/** The mask of a layer: both, one of them or none; where nothing is left, `self` lets a token see itself. */
export function combineMasks(tokens, { padding, causal, fill }) {
  const [pad, past] = [paddingMask(tokens), causalMask(tokens)];
  return tokens.map((_, query) =>
    tokens.map(
      (_, key) =>
        ((!padding || pad[query][key]) && (!causal || past[query][key])) || (fill === "self" && query === key),
    ),
  );
}

const multiplyRow = (vector, matrix) =>
  matrix[0].map((_, c) => vector.reduce((sum, value, i) => sum + value * matrix[i][c], 0));
const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);

/** q(i) · k(j) / √d for all pairs. */
export function attentionScores(vectors, query, key) {
  const keys = vectors.map((vector) => multiplyRow(vector, key));
  return vectors.map((vector) => keys.map((one) => dot(multiplyRow(vector, query), one) / Math.sqrt(one.length)));
}

export const maskScores = (scores, mask, fill) =>
  scores.map((line, query) =>
    line.map((value, key) => (mask[query][key] ? value : fill === "finite" ? FINITE : -Infinity)),
  );

/** softmax; a row of nothing but minus infinity has no largest score to begin with, and comes to NaN. */
export function softmax(line) {
  const most = Math.max(...line),
    powers = line.map((value) => Math.exp(value - most)),
    sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((value) => value / sum);
}

export function attentionLayer(vectors, { query, key, value }, mask, fill) {
  const unmasked = attentionScores(vectors, query, key),
    under = maskScores(unmasked, mask, fill),
    weights = under.map(softmax);
  const values = vectors.map((vector) => multiplyRow(vector, value));
  const out = weights.map((line) =>
    values[0].map((_, c) => line.reduce((sum, weight, i) => sum + weight * values[i][c], 0)),
  );
  return { scores: unmasked, under, weights, out };
}

export const countNaN = (vectors) => vectors.filter((vector) => vector.some(Number.isNaN)).length;

const formatCount = (count, one, many = `${one}s`) => `${count} ${count === 1 ? one : many}`;

/** The sentence above the matrices: how many pairs are left, and what becomes of rows without any. */
export function formatFinding(tokens, mask, first, second) {
  const all = tokens.length ** 2,
    left = mask.flat().filter(Boolean).length,
    bare = mask.filter((line) => !line.some(Boolean)).length;
  const start =
    left === all
      ? `All ${all} pairs are visible.`
      : `${left} of ${all} pairs are visible; the mask hides ${all - left}.`;
  if (first) {
    const spread =
      second > first ? ` After a second layer it is ${second} of ${tokens.length}, because 0 · NaN is NaN.` : "";
    return `${start} ${formatCount(bare, "row has", "rows have")} no visible key: softmax gives NaN.${spread}`;
  }
  if (bare)
    return `${start} ${formatCount(bare, "row has", "rows have")} no visible key, and ${bare === 1 ? "attends" : "attend"} equally to all hidden ones.`;
  return start;
}

/** Describe whether a query attends to a key, and why not, with the numbers of the pair. */
export function describePair(tokens, { padding, causal, fill }, result, q, k) {
  const quoteToken = (at) => `“${tokens[at]}” (${at + 1})`,
    nanOr = (value, format) => (Number.isNaN(value) ? "NaN" : format(value, 2));
  const reasons = [];
  if (padding && tokens[k] === PAD) reasons.push("it is padding");
  if (causal && k > q) reasons.push("it comes later, and is not there yet in generation");
  const saved = fill === "self" && q === k,
    score = nanOr(result.scores[q][k], formatNumber),
    weight = result.weights[q][k];
  if (reasons.length && !saved) {
    const power = fill === "finite" ? "−10⁹" : "−∞",
      description = `${quoteToken(q)} may not attend to ${quoteToken(k)}: ${reasons.join(", and ")}.`;
    if (Number.isNaN(weight))
      return `${description} Its score ${score} becomes ${power}, as all of this row do: e to the ${power} is 0 everywhere, and 0 / 0 is NaN.`;
    if (weight > 0)
      return `${description} Its score ${score} becomes ${power}, but all of this row do, so all are equal: weight ${nanOr(weight, formatWeight)}.`;
    return `${description} Its score ${score} becomes ${power}, and its weight e to the ${power} = 0.`;
  }
  const excuse =
    saved && reasons.length ? ", though it is hidden: every token may attend to itself" : q === k ? ", itself" : "";
  return `${quoteToken(q)} may attend to ${quoteToken(k)}${excuse}. Score ${score}, weight ${nanOr(weight, formatWeight)}.`;
}
