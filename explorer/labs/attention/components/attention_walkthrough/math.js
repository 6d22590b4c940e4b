/* Compute one head of attention for one query token, step by step: its numbers, and each step in words and as a formula
   with these numbers filled in. No DOM; tested in tests/static/attention_walkthrough.test.mjs.

   The steps are those of Attention(Q, K, V) = softmax(Q K^T / sqrt(d) + mask) V (Vaswani et al. 2017, eq. 1). All numbers
   are the model's own; only products, exponentials and spans are computed here. A masked key has the weight NaN.

   A formula is a list of parts: texts, { v } a letter of the formula, { sub }, { sup }, { over: [above, below] }, { root },
   { result } the number it equals. What they hold are parts again. */

import { quoteToken } from "../../../../static/shared/runtime/visible_text.js";
import {
  formatCount,
  formatNumber,
  formatScientific,
  formatUnits,
  formatWeight,
} from "../../../../static/shared/runtime/format.js";

export const STEPS = ["Query", "Keys", "Scores", "Scale", "Mask", "Softmax", "Values"];
export const [QUERY, KEYS, SCORES, SCALE, MASK, SOFTMAX, VALUES] = STEPS.keys();
const MINUS = "−",
  INFINITE = "∞",
  FEW = 3; // terms that are written out before the dots
const UNIFORM = 1e-4; // how far shares may be from those of the softmax before they are another's

// Numbers.

/** Digits after the point with which numbers up to `largest` are written. */
export const digitsOf = (largest) =>
  largest >= 1000 ? 0 : largest >= 100 ? 1 : largest >= 0.1 || largest === 0 ? 2 : largest >= 0.01 ? 3 : 4;

export function formatThreeDigits(value) {
  if (value === 0) return "0";
  if (value >= 1e6 || value < 1e-3) return formatScientific(value, 2);
  return value >= 1000
    ? formatCount(value)
    : formatNumber(value, value >= 100 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : 3);
}

export const largestMagnitude = (values) =>
  values.reduce((most, value) => (Math.abs(value) > most ? Math.abs(value) : most), 0);
const minAndMax = (values) => [Math.min(...values), Math.max(...values)];

// The prefix of the query token.

/** The largest number among the queries and keys, and among the values: the ends of the scales of colour. */
export const colourScales = ({ queries, keys, values }) => ({
  asking: Math.max(largestMagnitude(queries.data), largestMagnitude(keys.data)) || 1,
  telling: largestMagnitude(values.data) || 1,
});

/** Return the intermediate results of one head for one query token, see explorer/inspection/attention/logit_lens.py. */
export function walkOf(arrays, query) {
  const { queries, keys, values, raw, scaled, weights, mixed } = arrays,
    [count, width] = keys.shape,
    asked = Math.max(0, Math.min(query, queries.shape[0] - 1));
  const rowOf = ({ data, shape }, i) => data.subarray(i * shape[1], (i + 1) * shape[1]);
  const shares = rowOf(weights, asked),
    scores = rowOf(scaled, asked),
    all = Array.from(shares.keys()),
    seen = all.filter((key) => !Number.isNaN(shares[key]));
  const top = seen.reduce((most, key) => Math.max(most, scores[key]), -Infinity),
    total = seen.reduce((sum, key) => sum + Math.exp(scores[key] - top), 0);
  return {
    ...{ asked, count, width, seen },
    hidden: all.filter((key) => Number.isNaN(shares[key])),
    uniform: seen.some((key) => Math.abs(Math.exp(scores[key] - top) / total - shares[key]) > UNIFORM),
    off: seen.length > 0 && mixed.data.every((value) => value === 0) && largestMagnitude(values.data) > 0,
    query: rowOf(queries, asked),
    key: (i) => rowOf(keys, i),
    value: (i) => rowOf(values, i),
    raw: rowOf(raw, asked),
    scaled: scores,
    weights: shares,
    mixed: rowOf(mixed, asked),
    ...{ top, total }, // the highest score that it sees, and the sum of exp(score - top)
  };
}

/** Keys, the strongest first: by their score, from the mask on by their share. */
export function strongestKeys(walk, step, most = walk.count) {
  const values = step >= SOFTMAX ? walk.weights : walk.scaled;
  const keys = step >= MASK ? walk.seen : Array.from(values.keys());
  return [...keys].sort((a, b) => values[b] - values[a] || a - b).slice(0, most);
}

/** Return the key with the largest weight; the query's own key if all are masked. */
export const largestKey = (walk) =>
  walk.seen.reduce((best, key) => (walk.weights[key] > walk.weights[best] ? key : best), walk.seen[0] ?? walk.asked);

/** Number by number: query times key. Their sum is the raw score. */
export const products = (walk, key) => walk.query.map((value, i) => value * walk.key(key)[i]);

/** Return a value times its weight. The sum over all keys is the output of the head, unless it is ablated. */
export const weightedValue = (walk, key) =>
  walk.value(key).map((value) => (Number.isNaN(walk.weights[key]) ? NaN : value * walk.weights[key]));

/** Return the numbers that a step shows per key, and their axis: { values, low, high, ghost: previous values }. */
export function barScale(walk, step) {
  const barAxis = (values, among) => {
    const [low, high] = among.length ? minAndMax(among.map((key) => values[key])) : [0, 1];
    return { values, low: Math.min(0, low), high: Math.max(0, high) || (low < 0 ? 0 : 1) };
  };
  const all = Array.from(walk.raw.keys());
  if (step === SCORES) return barAxis(walk.raw, all);
  if (step === SCALE) return { ...barAxis(walk.raw, all), values: walk.scaled, ghost: walk.raw };
  const visible = walk.scaled.map((score, key) => (Number.isNaN(walk.weights[key]) ? NaN : score));
  if (step === MASK) return barAxis(visible, walk.seen);
  const top = Math.max(0, ...walk.seen.map((key) => walk.weights[key]));
  return { values: walk.weights, low: 0, high: [0.1, 0.2, 0.5].find((end) => top <= end) ?? 1 };
}

/** The number of the answer that its formula takes: the largest. */
export const largestComponent = (walk) =>
  walk.mixed.reduce((best, value, i) => (Math.abs(value) > Math.abs(walk.mixed[best]) ? i : best), 0);

// In words.

/** Describe a step in one sentence. `tokens` by place; `unit` is "letter", "token" or "word". */
export function describeStep(walk, step, key, { tokens, unit, layer, head }) {
  const { count, width, seen, hidden, asked } = walk,
    name = quoteToken(tokens[asked]),
    other = quoteToken(tokens[key]),
    numbers = formatUnits(width, "number");
  if (step === QUERY) return `Layer ${layer + 1}, head ${head + 1} computes the query of ${name}: ${numbers}.`;
  if (step === KEYS)
    return count === 1
      ? `The only ${unit} has a key: ${numbers}.`
      : `Every ${unit} has a key: ${count} times ${numbers}.`;
  if (step === SCORES)
    return `Query times key, number by number, all added up: ${other} scores ${formatNumber(walk.raw[key])}.`;
  if (step === SCALE) {
    const division = `divided by √${width} = ${formatRoot(width)}`,
      [before, after] = [walk.raw, walk.scaled].map(([only]) => formatNumber(only));
    if (count === 1) return `The score is ${division}: ${before} becomes ${after}.`;
    const [wide, narrow] = [walk.raw, walk.scaled].map((values) => {
      const [low, high] = minAndMax(Array.from(values));
      return formatNumber(high - low, 1);
    });
    return `Every score is ${division}: they lay ${wide} apart, now ${narrow}.`;
  }
  if (!seen.length) return `${name} attends to nothing, because all keys are masked. Choose another ${unit} above.`;
  if (step === MASK && !hidden.length)
    return count === 1
      ? `Nothing is hidden: there is only ${name} itself.`
      : `Nothing is hidden here: ${name} may attend to all ${formatUnits(count, unit)}.`;
  if (step === MASK) {
    const isOne = hidden.length === 1,
      becomes = `${hidden.length} of ${count} scores become${isOne ? "s" : ""} ${MINUS}${INFINITE}`;
    if (hidden.every((i) => i > asked) && hidden.length === count - 1 - asked)
      return `${name} cannot attend to later tokens: ${becomes}.`;
    const kinds = [...new Set(hidden.map((i) => quoteToken(tokens[i])))],
      names = `${kinds.slice(0, 2).join(", ")}${kinds.length > 2 ? " and others" : ""}`;
    return `${names} ${isOne ? "is" : "are"} hidden from ${name}: ${becomes}.`;
  }
  if (step === SOFTMAX) {
    const first = largestKey(walk),
      whom = first === asked ? "itself" : quoteToken(tokens[first]);
    if (walk.uniform)
      return `This head was made uniform: whatever the scores, each of ${formatUnits(seen.length, unit)} gets ${formatWeight(walk.weights[seen[0]])}.`;
    if (seen.length === 1) return `There is one ${unit} to attend to: it gets all of the attention.`;
    return `Softmax turns the scores into weights that sum to 1: ${name} attends to ${whom} most, with ${formatWeight(walk.weights[first])}.`;
  }
  if (walk.off) return `The head is switched off: instead of this sum, ${width} zeros go on from ${name}.`;
  return `The sum of all values, each times its weight: ${numbers} go on from ${name}.`;
}

export function describePicture(walk, step, key, { tokens }) {
  const name = quoteToken(tokens[walk.asked]),
    other = quoteToken(tokens[key]);
  const pair = key === walk.asked ? `query of ${name}, key of itself` : `query of ${name}, key of ${other}`;
  return [
    `The query of ${name}`,
    pair,
    pair,
    "Every score before and after",
    "Rows: query token, columns: key token",
    "From score to share",
    `From ${other} to ${key === walk.asked ? "itself" : name}, and the sum`,
  ][step];
}

// As a formula.

const letter = (v) => ({ v }),
  sub = (...parts) => ({ sub: parts }),
  withSubscript = (name, key) => [letter(name), sub(String(key + 1))],
  [q, k, j, s, w] = [letter("q"), letter("k"), sub(letter("j")), letter("s"), letter("w")];
const formatBracketed = (value, digits) => {
  const text = formatNumber(value, digits);
  return text.startsWith(MINUS) ? `(${text})` : text;
};
const formatRoot = (width) => formatNumber(Math.sqrt(width), Number.isInteger(Math.sqrt(width)) ? 0 : 2);

/** The first terms, dots, and what they come to. */
function sumOfTerms(terms, all) {
  const shownTerms = terms.length > FEW + 1 ? terms.slice(0, FEW) : terms,
    sum = shownTerms.flatMap((term, i) => (i ? [" + ", ...term] : term));
  return shownTerms.length < all ? [...sum, " + …"] : sum;
}

const formatVector = (values, digits) => {
  const list = Array.from(values, (value) => formatNumber(value, digits));
  return `(${(list.length > FEW + 2 ? [...list.slice(0, FEW), "…", list.at(-1)] : list).join(", ")})`;
};

/** Return the general formula of a step. `turned`: whether positions rotate queries and keys; undefined: unknown. */
export function generalFormula(walk, step, { turned = undefined } = {}) {
  const { width } = walk,
    isKnown = turned !== undefined,
    rotation = (place) => (turned ? [letter("R"), sub(place), " "] : []),
    projection = (name, place) =>
      isKnown
        ? [" = ", ...rotation(place), letter("W"), sub(name), " ", letter("x")]
        : [" ∈ ℝ", { sup: [String(width)] }];
  const product = (place) => [q, sub(String(place)), k, sub(letter("j"), String(place))];
  return [
    [q, ...projection("Q", String(walk.asked + 1))],
    [k, j, ...projection("K", letter("j")), ...(isKnown ? [j] : [])],
    [q, " · ", k, j, " = ", ...product(1), ...(width > 1 ? [" + … + ", ...product(width)] : [])],
    [s, j, " = ", q, " · ", k, j, " / ", { root: [letter("d")] }],
    [s, j, " + ", letter("m"), j, ",  ", letter("m"), j, ` = 0 or ${MINUS}${INFINITE}`],
    walk.uniform ? [w, j, " = 1 / ", letter("n")] : [w, j, " = exp ", s, j, " / ∑ exp ", s],
    [letter("o"), " = ∑ ", w, j, " ", letter("v"), j],
  ][step];
}

/** Whether the powers of e of the scores would be too large or too small to read. */
const isExtreme = ({ top }) => top > 7 || top < -3;

/** Return the formula with the numbers of this head: for the shown key, and for element `place` of the output. */
export function filledFormula(walk, step, key, place) {
  const { query, raw, scaled, weights, width, seen } = walk,
    keys = walk.key(key),
    number = formatNumber(raw[key]),
    score = formatNumber(scaled[key]),
    isHidden = Number.isNaN(weights[key]),
    digits = digitsOf(Math.max(largestMagnitude(query), largestMagnitude(keys)));
  const result = (text) => ({ result: [text] }),
    over = (above, below) => ({ over: [[above].flat(), [below].flat()] });
  if (step === QUERY) return [q, " = ", formatVector(query, digits)];
  if (step === KEYS) return [...withSubscript("k", key), " = ", formatVector(keys, digits)];
  if (step === SCORES) {
    const factors = (value, i) => [`${formatBracketed(value, digits)} · ${formatBracketed(keys[i], digits)}`],
      terms = sumOfTerms(Array.from(query, factors), width);
    return [q, " · ", ...withSubscript("k", key), " = ", ...terms, " = ", result(number)];
  }
  if (step === SCALE) {
    const [exact, rounded] = [{ root: [String(width)] }, formatRoot(width)].map((below) => over(number, below));
    return [...withSubscript("s", key), " = ", exact, " = ", rounded, " = ", result(score)];
  }
  if (step === MASK) {
    const added = isHidden ? `(${MINUS}${INFINITE})` : "0",
      sum = isHidden ? MINUS + INFINITE : score;
    return [...withSubscript("s", key), ` + ${added} = ${score} + ${added} = `, result(sum)];
  }
  if (!seen.length) return ["no weights"];
  if (step === SOFTMAX) {
    const left = [...withSubscript("w", key), " = "],
      weight = result(formatWeight(weights[key]));
    if (isHidden) return [...left, "exp(", MINUS + INFINITE, ") / … = ", result("0"), ": hidden"];
    if (walk.uniform) return [...left, over("1", String(seen.length)), " = ", weight];
    // Larger scores make e^score unreadable; subtracting the highest score leaves the weights unchanged.
    const less = isExtreme(walk) ? walk.top : 0,
      power = (i) => ["e", { sup: [formatNumber(scaled[i] - less)] }],
      powers = sumOfTerms(strongestKeys(walk, SOFTMAX, FEW + 2).map(power), seen.length),
      [own, sum] = [Math.exp(scaled[key] - less), walk.total * Math.exp(walk.top - less)].map(formatThreeDigits);
    return [...left, over(power(key), powers), " = ", over(own, sum), " = ", weight];
  }
  const first = [...new Set([...(isHidden ? [] : [key]), ...strongestKeys(walk, VALUES, FEW + 2)])],
    fine = digitsOf(largestMagnitude(first.map((i) => walk.value(i)[place])));
  const terms = first.map((i) => [`${formatWeight(weights[i])} · ${formatBracketed(walk.value(i)[place], fine)}`]),
    answer = seen.reduce((all, i) => all + weights[i] * walk.value(i)[place], 0);
  const end = walk.off
    ? [formatNumber(answer, fine), ", switched off: ", result("0")]
    : [result(formatNumber(walk.mixed[place], fine))];
  return [...withSubscript("o", place), " = ", ...sumOfTerms(terms, seen.length), " = ", ...end];
}

export function stepNote(walk, step, { turned = undefined } = {}) {
  if (step === QUERY)
    return turned
      ? "x is the input of this layer at this position; R rotates it by position."
      : turned === false
        ? "x is the input of this layer at this position."
        : "";
  if (step === SOFTMAX && walk.seen.length && !walk.uniform && isExtreme(walk)) {
    return `The highest score, ${formatNumber(walk.top)}, is subtracted from all scores first: the weights stay the same, and the powers stay small.`;
  }
  return "";
}

/** A formula as one line of text. */
export function formulaText(parts) {
  const formatParts = (list) => {
    const text = formulaText(list);
    return /^√?[\p{L}\d.,−∞<>–]+$/u.test(text) ? text : `(${text})`;
  };
  return parts
    .map((part) => {
      if (typeof part === "string") return part;
      if (part.v) return part.v;
      if (part.result) return formulaText(part.result);
      if (part.sub) return `_${formatParts(part.sub)}`;
      if (part.sup) return `^${formatParts(part.sup)}`;
      if (part.root) return `√${formatParts(part.root)}`;
      return part.over.map(formatParts).join(" / ");
    })
    .join("");
}

/** All numbers of the walk as rows of a table: COLUMNS, then one column for each number of a vector. */
export const COLUMNS = ["what", "place", "token", "raw score", "scaled score", "share"];
export function walkCsv(walk, tokens) {
  const all = Array.from({ length: walk.count }, (_, i) => i);
  const tableRow = (title, i, vector, ...scores) => [
    title,
    i + 1,
    tokens[i],
    ...scores,
    ...Array(3 - scores.length).fill(null),
    ...vector,
  ];
  return [
    tableRow("query", walk.asked, walk.query),
    ...all.map((i) => tableRow("key", i, walk.key(i), walk.raw[i], walk.scaled[i], walk.weights[i])),
    ...all.map((i) => tableRow("value", i, walk.value(i))),
    tableRow("sum", walk.asked, walk.mixed),
  ];
}
