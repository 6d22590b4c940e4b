/* The arithmetic of one LSTM cell and one GRU whose gates are set by hand. No DOM.

   A lane is the trace of one gate: one number per step. As text, for the URL, it is run-length encoded:
   "0x4,1,0" is four zeros, a one, and zeros to the end. */

import {
  formatCount,
  formatNumber,
  formatPercent,
  formatScientific,
} from "../../../../static/shared/runtime/format.js";

export const STEPS = 50;
export const LSTM = ["f", "i", "g", "o"],
  GRU = ["z", "r", "n"];
export const SIGNED = new Set(["g", "n"]); // candidates lie between -1 and 1, gates between 0 and 1

export function parseLane(text, steps = STEPS) {
  const values = [];
  for (const run of text.split(",")) {
    const [value, count] = run.split("x");
    for (let i = 0; i < Number(count ?? 1) && values.length < steps; i++) values.push(Number(value));
  }
  while (values.length < steps) values.push(values.at(-1));
  return values;
}

/** Format the trace of a gate as short as possible; the last run needs no count. */
export function formatLane(values) {
  const runs = [];
  for (const value of values) {
    if (runs.length && runs.at(-1)[0] === value) runs.at(-1)[1] += 1;
    else runs.push([value, 1]);
  }
  return runs
    .map(([value, count], at) => (count === 1 || at === runs.length - 1 ? `${value}` : `${value}x${count}`))
    .join(",");
}

/** The steps around `at` that hold the same value: the first, and the one after the last. */
export function runAround(values, at) {
  let from = at,
    to = at + 1;
  while (from > 0 && values[from - 1] === values[at]) from -= 1;
  while (to < values.length && values[to] === values[at]) to += 1;
  return [from, to];
}

/** Round a gate value to three digits and clamp it to the range of the gate. */
export function clampGate(name, value) {
  const low = SIGNED.has(name) ? -1 : 0;
  return Math.round(Math.max(low, Math.min(1, value)) * 1000) / 1000 + 0; // + 0: no negative zero
}

/** The candidate with weight u on the state: tanh(a + u s), where tanh(a) is the value set by the user; ±1 stays ±1. */
function candidateValue(gate, u, state) {
  return Math.abs(gate) === 1 ? gate : Math.tanh(Math.atanh(gate) + u * state);
}

/** c' = f c + i g, h' = o tanh(c'); g = tanh(a + u h). `full` is dc'/dc, also through h and the candidate. */
export function computeLstm({ f, i, g, o }, u = 0) {
  const c = [],
    h = [],
    content = [],
    straight = [],
    full = [];
  let cell = 0,
    state = 0;
  for (let t = 0; t < f.length; t++) {
    const candidate = candidateValue(g[t], u, state),
      outputSlope = t ? o[t - 1] * (1 - Math.tanh(cell) ** 2) : 0; // dh/dc of the step before
    straight.push(f[t]);
    full.push(f[t] + i[t] * (1 - candidate * candidate) * u * outputSlope);
    cell = f[t] * cell + i[t] * candidate;
    state = o[t] * Math.tanh(cell);
    c.push(cell);
    h.push(state);
    content.push(candidate);
  }
  return { c, h, content, straight, full };
}

/** h' = (1 - z) n + z h, n = tanh(a + r u h): z is what stays, as in explorer/models/gru.py. */
export function computeGru({ z, r, n }, u = 0) {
  const h = [],
    content = [],
    straight = [],
    full = [];
  let state = 0;
  for (let t = 0; t < z.length; t++) {
    const candidate = candidateValue(n[t], r[t] * u, state);
    straight.push(z[t]);
    full.push(z[t] + (1 - z[t]) * (1 - candidate * candidate) * r[t] * u);
    state = (1 - z[t]) * candidate + z[t] * state;
    h.push(state);
    content.push(candidate);
  }
  return { h, content, straight, full };
}

/** A plain RNN with one unit: h' = tanh(w h + x); dh'/dh = w (1 - h'²). */
export function computeRnn(x, w) {
  const h = [],
    straight = [];
  let state = 0;
  for (const input of x) {
    state = Math.tanh(w * state + input);
    h.push(state);
    straight.push(w * (1 - state * state));
  }
  return { h, straight };
}

/** From the factor of each step to what the last step's state owes to each: the product of all factors after it. */
export function straightPath(factors) {
  const products = new Array(factors.length).fill(1);
  for (let t = factors.length - 2; t >= 0; t--) products[t] = products[t + 1] * factors[t + 1];
  return products;
}

/** Steps after which half is left, where a share f stays at each: ln 2 / -ln f. */
export function halfLife(f) {
  if (f >= 1) return Infinity;
  return f <= 0 ? 0 : Math.LN2 / -Math.log(f);
}

export function computeCells(traces, u, w) {
  const long = computeLstm(traces, u),
    gated = computeGru(traces, u);
  const inputs = { lstm: traces.i.map((i, t) => i * traces.g[t]), gru: traces.z.map((z, t) => (1 - z) * traces.n[t]) };
  const plain = { lstm: computeRnn(inputs.lstm, w), gru: computeRnn(inputs.gru, w) };
  const paths = (one, beside) => ({
    straight: straightPath(one.straight),
    full: straightPath(one.full),
    rnn: straightPath(beside.straight),
  });
  return {
    lstm: { ...long, ...paths(long, plain.lstm), plain: plain.lstm.h },
    gru: { ...gated, ...paths(gated, plain.gru), plain: plain.gru.h },
  };
}

/* ---- words ---- */

/** Format a number: 1, 0.57, 0.0052, 3.2 × 10⁻⁹. Signs are true minuses. */
export function formatAmount(value) {
  const size = Math.abs(value);
  if (size === 0 || size === 1) return formatNumber(value, 0);
  if (size >= 9999.5 || size < 0.001) return formatScientific(value, 2);
  return formatNumber(value, size >= 100 ? 0 : size >= 0.1 ? 2 : size >= 0.01 ? 3 : 4);
}

export function formatShare(value) {
  const percent = Math.abs(value) * 100;
  if (value === 0) return "nothing";
  if (value === 1) return "all";
  if (percent < 0.1) return formatAmount(value);
  return formatPercent(value, percent < 10 || percent >= 100 ? 1 : percent >= 99.95 ? 2 : 0);
}

export const formatGate = (value) => formatNumber(value, Math.round(value * 1000) % 10 ? 3 : 2);

/** The name of each cell and the gate that keeps its state. */
export const KEEPS = { lstm: { name: "LSTM", gate: "f", lanes: LSTM }, gru: { name: "GRU", gate: "z", lanes: GRU } };

/** Return the first step, from 0, at which a cell writes something; the finding follows that value. */
export function firstWritingStep(which, traces) {
  const writtenAt = which === "lstm" ? (t) => traces.i[t] * traces.g[t] : (t) => (1 - traces.z[t]) * traces.n[t];
  return Math.max(
    0,
    traces.f.findIndex((_, t) => writtenAt(t) !== 0),
  );
}

/** Return the heading of a cell: how much of the written value is left at the end along the straight path. */
export function formatFinding(which, traces) {
  const { name, gate: letter } = KEEPS[which],
    from = firstWritingStep(which, traces),
    end = traces[letter].length;
  const later = traces[letter].slice(from + 1),
    closed = later.indexOf(0),
    remainder = later.reduce((product, value) => product * value, 1);
  const first = `step ${from + 1}`;
  if (!later.length) return `The ${name} first writes at step ${end}, the last: it has nothing to forget yet.`;
  if (closed >= 0)
    return `The ${name} keeps nothing of ${first} at step ${end}: its ${letter} was 0 at step ${from + closed + 2}.`;
  if (remainder === 1) return `With ${letter} = 1 the ${name} keeps all of ${first} until step ${end}.`;
  if (!later.every((value) => value === later[0]))
    return `The ${name} keeps ${formatShare(remainder)} of ${first} at step ${end}: the product of ${later.length} values of ${letter}.`;
  const better = 1 - (1 - later[0]) / 10; // a tenth of the leak
  return `With ${letter} = ${formatGate(later[0])} the ${name} keeps ${formatShare(remainder)} of ${first} at step ${end}; with ${formatGate(better)} it would be ${formatShare(better ** later.length)}.`;
}

/** Return the text below the heading: the half-life of the state and the gradient along the other paths. */
export function findingText(which, traces, cells, u, w) {
  const { gate: letter } = KEEPS[which],
    from = firstWritingStep(which, traces),
    later = traces[letter].slice(from + 1),
    one = cells[which];
  const first = `step ${from + 1}`,
    other = u
      ? ` With the path through the candidate, ${formatAmount(one.full[from])} of the gradient reaches ${first}.`
      : "";
  return `${describeHolding(letter, later)}${other} In a plain RNN with w = ${formatGate(w)} and the same input, ${formatAmount(one.rnn[from])} of the gradient reaches ${first}.`.trim();
}
function describeHolding(letter, values) {
  if (!values.length) return "";
  if (values.includes(0)) return "Where the gate is 0, the cell forgets everything.";
  const even = values.every((value) => value === values[0]);
  const mean = even ? values[0] : Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length),
    life = halfLife(mean);
  if (life === Infinity) return `At ${letter} = 1 the cell forgets nothing.`;
  const typical = even ? formatGate(mean) : formatAmount(mean),
    steps = life < 100 ? formatNumber(life, 1) : formatCount(life);
  return `Half-life at ${letter} = ${typical}${even ? "" : ", the geometric mean"}: ln 2 / −ln ${typical} = ${steps} steps.`;
}

export function describeStep(which, traces, cells, at) {
  const one = cells[which],
    { name, lanes: letters } = KEEPS[which];
  const gates = letters.map((letter) => `${letter} ${formatGate(traces[letter][at])}`).join(", ");
  const holds =
    which === "lstm"
      ? `c = ${formatAmount(one.c[at])}, h = ${formatAmount(one.h[at])}`
      : `h = ${formatAmount(one.h[at])}`;
  return `${name}, step ${at + 1}: ${gates}; ${holds}; the direct path from here to step ${traces.f.length} is ${formatAmount(one.straight[at])}.`;
}

/** Return the lower end of a logarithmic axis: a power of ten below all drawn values, from 10⁻³ to 10⁻¹⁶. */
export function floorOf(lines) {
  const sizes = lines
    .flat()
    .map(Math.abs)
    .filter((size) => size > 0);
  return Math.max(-16, Math.min(-3, Math.floor(Math.log10(Math.min(1, ...sizes)) + 1e-9)));
}
