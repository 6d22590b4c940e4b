/* The arithmetic of an opened Transformer block: how a number was computed from its inputs. No DOM.

   A `model` is {flows: {name: {made, ins, parameters, offset, shape, data}}, parameters: {name: {shape, data}}}. A position is
   [row, column], or inside attention [head, row, column]. The operations are those of inspection/transformer/block.py. */
import { formatEntry } from "../../../../static/shared/charts/editable_matrix/math.js";

const SHOWN = 4; // terms of a sum that are told one by one
const EPSILON = 1e-5; // of the norms, as in models/layers.py

export const formatValue = (value) => formatEntry(value, Math.abs(value) < 0.0995 && value !== 0 ? 4 : 3);

export function numberAt(tensor, ...place) {
  return tensor.data[place.reduce((index, step, axis) => index * tensor.shape[axis] + step, 0)];
}

/** Return a row of a tensor as the next product reads it: with the attention heads concatenated. */
export function rowOf(tensor, r) {
  const width = tensor.shape.at(-1);
  if (tensor.shape.length === 2) return Array.from({ length: width }, (_, c) => numberAt(tensor, r, c));
  return Array.from({ length: tensor.shape[0] * width }, (_, i) =>
    numberAt(tensor, Math.floor(i / width), r, i % width),
  );
}

const headRow = (tensor, h, r) => Array.from({ length: tensor.shape.at(-1) }, (_, c) => numberAt(tensor, h, r, c));
const weightRow = (weight, r) => Array.from({ length: weight.shape[1] }, (_, c) => numberAt(weight, r, c));
const sumOf = (values) => values.reduce((total, value) => total + value, 0);

/** Mean, variance (over all of the row, as a norm takes it) and length of the numbers that are finite. */
export function statistics(values) {
  const mean = sumOf(values) / values.length;
  return {
    mean,
    variance: sumOf(values.map((value) => (value - mean) ** 2)) / values.length,
    norm: Math.hypot(...values),
  };
}

/** erf, to seven digits (Abramowitz & Stegun 1964, 7.1.26). */
function erf(x) {
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  return Math.sign(x) * (1 - poly * Math.exp(-x * x));
}

/** The largest terms of a sum, and what the others come to. */
export function largestTerms(terms) {
  const order = terms
    .map((term, i) => ({ ...term, i }))
    .sort((a, b) => Math.abs(b.value) - Math.abs(a.value) || a.i - b.i);
  const first = order.slice(0, SHOWN),
    rest = order.slice(SHOWN);
  const parts = first.map(({ words, value }) => `${words} = ${formatValue(value)}`);
  return rest.length ? [...parts, `${rest.length} more: ${formatValue(sumOf(rest.map(({ value }) => value)))}`] : parts;
}

/** A product in words: its value, and the largest terms of its sum. */
function explainProduct(left, right, names = null) {
  const terms = left.map((value, i) => ({
    value: value * right[i],
    words: `${names ? names[i] : `no. ${i}`}: ${formatValue(value)} · ${formatValue(right[i])}`,
  }));
  return { value: sumOf(terms.map(({ value }) => value)), steps: largestTerms(terms) };
}

/** How a number came about: the formula, its value, and what was computed step by step. */
const explanation = (formula, value, ...steps) => ({ formula, steps, value });
const formatBracketed = (value) => (value < 0 ? `(${formatValue(value)})` : formatValue(value));

function explainSoftmax(values, c, formula) {
  const top = Math.max(...values.filter(Number.isFinite)),
    powers = values.map((value) => Math.exp(value - top)),
    total = sumOf(powers),
    exponent = values[c] === -Infinity ? "−∞" : formatValue(values[c] - top),
    places = values.length === 1 ? "one place" : `all ${values.length} places`;
  return explanation(
    formula,
    powers[c] / total,
    `the largest of the row, ${formatValue(top)}, is taken from all: no weight changes by that`,
    `e to the power of ${exponent} = ${formatValue(powers[c])}`,
    `the same over ${places}, summed: ${formatValue(total)}`,
  );
}

const explainActivation = (formula, compute) => (get, place) => {
  const x = numberAt(get.in(0), ...place);
  return explanation(formula, compute(x), `x = ${formatValue(x)}`);
};

const LAWS = {
  lookup(get, [r, c]) {
    const id = numberAt(get.in(0), r, 0),
      value = numberAt(get.parameter(0), id, c);
    return explanation("x = E[token]", value, `token ${id} has row ${id} of the table`, `its number ${c}`);
  },
  place(get, [r, c]) {
    const x = numberAt(get.in(0), r, c),
      p = numberAt(get.parameter(0), r, c);
    return explanation("x + P[place]", x + p, `${formatValue(x)} of the token`, `${formatValue(p)} of place ${r}`);
  },
  sines(get, [r, c]) {
    const x = numberAt(get.in(0), r, c),
      angle = r / 10_000 ** ((c - (c % 2)) / get.in(0).shape[1]),
      p = c % 2 ? Math.cos(angle) : Math.sin(angle),
      wave = `${c % 2 ? "cos" : "sin"}(${formatValue(angle)}) = ${formatValue(p)} of place ${r}`;
    return explanation("x + PE(place, c)", x + p, `${formatValue(x)} of the token`, wave);
  },
  layernorm(get, [r, c]) {
    const values = rowOf(get.in(0), r),
      { mean, variance } = statistics(values),
      deviation = Math.sqrt(variance + EPSILON),
      g = get.parameter(0).data[c],
      b = get.parameter(1)?.data[c],
      normal = (values[c] - mean) / deviation;
    return explanation(
      `(x − mean) / deviation · g${b === undefined ? "" : " + b"}`,
      normal * g + (b ?? 0),
      `mean of the token’s ${values.length} numbers: ${formatValue(mean)}`,
      `variance: ${formatValue(variance)}, standard deviation: ${formatValue(deviation)}`,
      `(${formatValue(values[c])} − ${formatBracketed(mean)}) / ${formatValue(deviation)} = ${formatValue(normal)}`,
      `· ${formatValue(g)}${b === undefined ? "" : `, + ${formatBracketed(b)}`} (learned)`,
    );
  },
  rmsnorm(get, [r, c]) {
    const values = rowOf(get.in(0), r),
      root = Math.sqrt(sumOf(values.map((value) => value * value)) / values.length + EPSILON),
      g = get.parameter(0).data[c];
    return explanation(
      "x / root of the mean square · g",
      (values[c] / root) * g,
      `root of the mean square of ${values.length} numbers: ${formatValue(root)}`,
      `${formatValue(values[c])} / ${formatValue(root)} = ${formatValue(values[c] / root)}`,
      `· ${formatValue(g)} (learned)`,
    );
  },
  project(get, [h, r, c], flow) {
    const line = flow.offset + h * flow.shape[2] + c,
      { value, steps } = explainProduct(rowOf(get.in(0), r), weightRow(get.parameter(0), line));
    return explanation("Σ x · W", value, `row ${line} of W, times the token’s vector:`, ...steps);
  },
  turn(get, [h, r, c], flow) {
    const first = c - (c % 2),
      angle = r * 1_000 ** (-first / flow.shape[2]),
      [a, b] = [first, first + 1].map((i) => numberAt(get.in(0), h, r, i)),
      [sin, cos] = [Math.sin(angle), Math.cos(angle)];
    return explanation(
      c % 2 ? "a · sin(angle) + b · cos(angle)" : "a · cos(angle) − b · sin(angle)",
      c % 2 ? a * sin + b * cos : a * cos - b * sin,
      `numbers ${first} and ${first + 1} are a point: a = ${formatValue(a)}, b = ${formatValue(b)}`,
      `at place ${r} it is turned by ${formatValue(angle)} radians`,
    );
  },
  scores(get, [h, r, c]) {
    const q = headRow(get.in(0), h, r),
      { value, steps } = explainProduct(q, headRow(get.in(1), h, c)),
      root = Math.sqrt(q.length),
      division = `/ √${q.length} = ${formatValue(root)}`;
    return explanation("q · k / √d", value / root, ...steps, `q · k = ${formatValue(value)}`, division);
  },
  mask(get, [r, c], flow) {
    const value = numberAt(flow, r, c),
      isSeen = "it may look here: nothing is added to the score",
      isLater = "it comes later: the score becomes −∞, the weight 0";
    return explanation("0, or −∞ where nobody may look", value, value === 0 ? isSeen : isLater);
  },
  weights(get, [h, r, c]) {
    const sums = headRow(get.in(0), h, r).map((value, k) => value + numberAt(get.in(1), r, k));
    return explainSoftmax(sums, c, "softmax(score + mask)");
  },
  mixed(get, [h, r, c]) {
    const values = get.in(1),
      column = Array.from({ length: values.shape[1] }, (_, k) => numberAt(values, h, k, c)),
      product = explainProduct(headRow(get.in(0), h, r), column, get.names(get.inName(1)));
    return { formula: "Σ weight · value", ...product };
  },
  linear(get, [r, c]) {
    const { value, steps } = explainProduct(rowOf(get.in(0), r), weightRow(get.parameter(0), c)),
      b = get.parameter(1)?.data[c];
    if (b === undefined) return explanation("Σ x · W", value, ...steps);
    return explanation("Σ x · W + b", value + b, ...steps, `+ ${formatBracketed(b)}, the bias`);
  },
  relu: explainActivation("max(0, x)", (x) => Math.max(0, x)),
  relu2: explainActivation("max(0, x)²", (x) => Math.max(0, x) ** 2),
  gelu: explainActivation("x · Φ(x)", (x) => (x * (1 + erf(x / Math.SQRT2))) / 2),
  sum(get, [r, c]) {
    const [a, b] = [0, 1].map((i) => numberAt(get.in(i), r, c)),
      steps = [`${formatValue(a)} stays of the stream`, `${formatValue(b)} is added`];
    return explanation("x + contribution", a + b, ...steps);
  },
  softmax: (get, [r, c]) => explainSoftmax(rowOf(get.in(0), r), c, "softmax(logits)"),
};

/** Explain how a number is computed: {formula, steps, value}; null if its inputs are not on the screen. */
export function explain(model, name, place) {
  const flow = model.flows[name];
  if (!LAWS[flow.made]) return null;
  const get = {
    in: (i) => model.flows[flow.ins[i]],
    inName: (i) => flow.ins[i],
    parameter: (i) => model.parameters[flow.parameters[i]],
    names: (flowName) => model.names?.[model.flows[flowName].rows] ?? null,
  };
  return LAWS[flow.made](get, place, flow);
}

/** Return whether a value is masked and therefore gets no tile. */
export function isHidden(model, name, h, r, c) {
  const flow = model.flows[name];
  if (flow.made === "mask") return numberAt(flow, r, c) === -Infinity;
  return flow.made === "weights" && numberAt(model.flows[flow.ins[1]], r, c) === -Infinity;
}

/** The axes of a tensor in words: “batch 1 × heads 4 × tokens 12 × width 64”. */
export function shapeWords({ shape, columns, made }) {
  const names = { width: "width", hidden: "hidden units", head: "width of a head", answers: "answers", id: "number" };
  const last = names[columns] ?? "key tokens",
    heads = shape.length === 3 ? [`heads ${shape[0]}`] : [];
  const batch = made === "mask" ? [] : ["batch 1"];
  return [...batch, ...heads, `tokens ${shape.at(-2)}`, `${last} ${shape.at(-1)}`].join(" × ");
}

/** The largest finite size of some numbers; 1 where all are zero. */
export function largestMagnitude(values) {
  let most = 0;
  for (const value of values) if (Number.isFinite(value)) most = Math.max(most, Math.abs(value));
  return most || 1;
}
