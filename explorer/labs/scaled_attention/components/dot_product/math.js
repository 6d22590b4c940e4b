/* The arithmetic of scaled dot-product attention, softmax(Q Kᵀ / √d_k) V (Vaswani et al. 2017, eq. 1), and the sentence
   about each of its cells. No DOM. */
import { formatEntry } from "../../../../static/shared/charts/editable_matrix/math.js";

export const LEAST = 2,
  MOST = 6; // tokens, and dimensions
const TERMS = 6; // of a sum that are written out

/** Four words whose queries ask for what the keys of others offer: noun, verb, article, place. */
const STORY = {
  q: ["1.5 0 0 0.5", "0 0.5 2 0", "2 0 0.5 0.5", "0 2 0 0.5"].map(parseRow),
  k: ["0 0 2 0", "2 0 0 1", "0 2 0 1", "0 1 0 -1"].map(parseRow),
  v: ["0.2 0 1 0", "1 0.5 0 0", "0 1 0 0.5", "-0.5 0.5 0 1"].map(parseRow),
};
function parseRow(text) {
  return text.split(" ").map(Number);
}

function hashText(...parts) {
  let h = 0x9e3779b9;
  for (const part of parts) {
    h = Math.imul(h ^ (part + 1), 0x85ebca6b);
    h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
    h ^= h >>> 16;
  }
  return (h >>> 0) / 2 ** 32;
}

/** Draw a number from N(0, 1) for one cell, with two digits; it depends on the seed, the table and the cell alone. */
export function randomNumber(seed, table, row, column) {
  const [a, b] = [0, 1].map((part) => hashText(seed, "qkv".indexOf(table), row, column, part));
  return Number((Math.sqrt(-2 * Math.log(1 - a)) * Math.cos(2 * Math.PI * b)).toFixed(2));
}

/** Return a table of this size: the user's numbers, otherwise random ones, or the example if the seed is 0. */
export function makeTable(name, numbers, rows, width, seed) {
  const story = seed === 0 ? STORY[name] : [];
  const entry = (r, c) => numbers[r * width + c] ?? story[r]?.[c] ?? randomNumber(seed || 1, name, r, c);
  return Array.from({ length: rows }, (_, r) => Array.from({ length: width }, (_, c) => entry(r, c)));
}

export const dot = (a, b) => a.reduce((sum, value, c) => sum + value * b[c], 0);

/** softmax of the scores that are not hidden (null); where all are, there is none. */
export function softmax(row) {
  const visibleScores = row.filter((score) => score !== null),
    top = Math.max(...visibleScores),
    total = visibleScores.reduce((sum, score) => sum + Math.exp(score - top), 0);
  return row.map((score) => (score === null ? null : Math.exp(score - top) / total));
}

/** Compute every step of attention. `hidden[i][j]`: token i may not attend to j. Fully masked rows become null. */
export function attend(q, k, v, divide, hidden) {
  const root = Math.sqrt(q[0].length);
  const scores = q.map((one) => k.map((other) => dot(one, other)));
  const scaled = scores.map((row) => row.map((score) => (divide ? score / root : score)));
  const masked = scaled.map((row, i) => row.map((score, j) => (hidden[i][j] ? null : score)));
  const weights = masked.map(softmax);
  const out = weights.map((row) =>
    v[0].map((_, c) =>
      row.every((weight) => weight === null) ? null : row.reduce((sum, weight, j) => sum + (weight ?? 0) * v[j][c], 0),
    ),
  );
  return { scores, scaled, masked, weights, out };
}

/** Return the mask, true for hidden keys: later tokens (causal mask) or padding (padding mask). */
export const hiddenBy = (mask, count, padding) =>
  Array.from({ length: count }, (_, i) =>
    Array.from({ length: count }, (_, j) => (mask === "causal" ? j > i : mask === "padding" && padding.includes(j))),
  );

/** The largest difference between two tables of weights; where both see nothing there is none, where one does, it is 1. */
export function largestDifference(one, other) {
  const differences = one.flatMap((row, i) =>
    row.map((value, j) => {
      const pair = [value, other[i][j] ?? null];
      return pair.includes(null) ? Math.max(...pair) : Math.abs(pair[0] - pair[1]); // null counts as 0
    }),
  );
  return Math.max(0, ...differences);
}

const joinSigned = (text, first) => (first ? text : text.startsWith("−") ? ` − ${text.slice(1)}` : ` + ${text}`);

/** Write out a sum of products, "0.5·1 + 2·0.25"; of a long sum only the first terms. */
export function formatProducts(a, b, digits = 2) {
  const few = a.length > TERMS ? TERMS - 1 : a.length;
  const formatFactor = (value) =>
    digits === 2 && Number.isInteger(value) ? formatEntry(value, 0) : formatEntry(value, digits);
  const products = a.slice(0, few).map((value, c) => {
    const one = formatFactor(value),
      other = formatFactor(b[c]);
    return joinSigned(`${one}·${other.startsWith("−") ? `(${other})` : other}`, c === 0);
  });
  return products.join("") + (few < a.length ? ` + … (${a.length - few} more)` : "");
}

const quoteWord = (word) => `“${word}”`;

/** Explain one cell of the five tables by the numbers from which it is computed. */
export function explainCell(step, i, j, { tokens, q, k, v, divide, found }) {
  const width = q[0].length,
    from = quoteWord(tokens[i]),
    to = quoteWord(tokens[j] ?? ""),
    root = formatEntry(Math.sqrt(width));
  const { scores, scaled, masked, weights, out } = found;
  if (step === "scores") return `q(${from}) · k(${to}) = ${formatProducts(q[i], k[j])} = ${formatEntry(scores[i][j])}`;
  if (step === "scaled")
    return divide
      ? `${formatEntry(scores[i][j])} / √${width} = ${formatEntry(scores[i][j])} / ${root} = ${formatEntry(scaled[i][j])}`
      : `It is not divided: ${formatEntry(scaled[i][j])} stays. Divided by √${width} = ${root} it would be ${formatEntry(scores[i][j] / Math.sqrt(width))}.`;
  if (step === "masked")
    return masked[i][j] === null
      ? `${from} may not attend to ${to}: its score becomes −∞, and e to the −∞ is 0.`
      : `${from} may attend to ${to}: ${formatEntry(masked[i][j])} stays.`;
  if (step === "weights") {
    if (masked[i].every((score) => score === null))
      return `${from} has no visible key: softmax is 0 / 0. Make a token visible.`;
    if (weights[i][j] === null) return `${to} is hidden from ${from}: its weight is 0.`;
    const visibleScores = masked[i].filter((score) => score !== null),
      top = Math.max(...visibleScores);
    if (Math.abs(top) > 20)
      return `e^(${formatEntry(masked[i][j])}) over the sum of e to the scores of the row = ${formatEntry(weights[i][j])}`;
    const powers = visibleScores.map((score, c) => joinSigned(formatEntry(Math.exp(score)), c === 0)),
      more = powers.length > TERMS ? ` + … (${powers.length - TERMS} more)` : "",
      total = powers.slice(0, TERMS).join("") + more;
    return `e^${formatEntry(masked[i][j])} / sum of the row = ${formatEntry(Math.exp(masked[i][j]))} / (${total}) = ${formatEntry(weights[i][j])}`;
  }
  if (out[i][j] === null) return `${from} has no visible key, so there is no output.`;
  const visible = weights[i].flatMap((weight, at) => (weight === null ? [] : [at])),
    factors = [visible.map((at) => weights[i][at]), visible.map((at) => v[at][j])],
    sum = `${formatProducts(factors[0], factors[1])} = ${formatEntry(out[i][j])}`;
  return `Output ${j + 1} of ${from}: its weights times number ${j + 1} of each value = ${sum}`;
}

/** The pair with the largest weight, of the tokens that see more than one; null where nobody does. */
export function strongestPair(weights) {
  const isVisible = (weight) => weight !== null,
    rows = weights.map((row) => (row.filter(isVisible).length < 2 ? [] : row)),
    most = Math.max(...rows.flat().filter(isVisible)),
    i = rows.findIndex((row) => row.includes(most));
  return i < 0 ? null : [i, rows[i].indexOf(most)];
}

/** The finding: who looks hardest at whom, and what the division has to do with it. `other` is the same without it, or with. */
export function formatFinding(tokens, width, divide, result, other) {
  const pair = strongestPair(result.weights);
  if (!pair) return "No token sees more than one token, so all weights are 1.";
  const [i, j] = pair,
    weight = formatEntry(result.weights[i][j]),
    otherWeight = formatEntry(other.weights[i][j]);
  const whom = i === j ? "itself" : quoteWord(tokens[j]),
    root = `√${width} = ${formatEntry(Math.sqrt(width))}`;
  const otherwise = divide ? `Not divided by ${root} it would give` : `Divided by ${root} it would give`;
  return `${quoteWord(tokens[i])} gives ${weight} of its weight to ${whom}. ${otherwise} ${weight === otherWeight ? "as much, to two digits" : otherWeight}.`;
}

/** Which cells made this one: [table, row, column] of each, with the cell itself in every step it goes through. */
export function sourceCells(step, i, j, count, width, tables) {
  const row = (name, r, wide) => Array.from({ length: wide }, (_, c) => [name, r, c]),
    column = (name, c) => Array.from({ length: count }, (_, r) => [name, r, c]);
  if (step === "q") return row("scores", i, count);
  if (step === "k") return column("scores", i);
  if (step === "v") return column("out", j);
  if (step === "out") return [...row("weights", i, count), ...column("v", j)];
  const factors = [...row("q", i, width), ...row("k", j, width)];
  if (step === "weights") return [...factors, ...row("masked", i, count)];
  const others = tables.filter((name) => name !== step && ["scores", "scaled", "masked", "weights"].includes(name));
  return [...factors, ...others.map((name) => [name, i, j])];
}
