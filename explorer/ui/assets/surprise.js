/* How surprised a model was by a token, as a colour, as odds and in words: the arithmetic of tree.js, writing.js and
   token_text.js. It knows no browser and is tested in tests/ui/tree.test.mjs.
   Surprise = −log of the probability that the model had learned, in nats. */

import { visible } from "./readable.js";

export const FULL = 8 * Math.LN2; // where the page says nothing else, the colour is full at 8 bits, one in 256
const STRONGEST = 85; // percent of the colour, so that ink on it can be read
const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";

export const bits = (nats) => nats / Math.LN2;
export const count = (value) => value.toLocaleString("en");
export const units = (n, unit) => `${count(n)} ${unit}${n === 1 ? "" : "s"}`;

/** How much of the colour stands behind a token, in percent: as many as its surprise has, up to the strongest. */
export const strength = (surprise, full) => Math.round(10 * STRONGEST * Math.min(1, Math.max(0, surprise) / (full || FULL))) / 10;

/** "1 in 812": the odds of something of this surprise. Above one in two odds say little, so it is the probability. */
export function odds(surprise) {
  if (surprise === Infinity) return "never";
  if (surprise < Math.LN2) return probability(Math.exp(-surprise));
  const times = Math.exp(surprise);
  if (times < 9.95) return oneIn(times.toFixed(1));
  if (times < 999_500) return oneIn(count(Number(times.toPrecision(3))));
  const exponent = Math.floor(surprise / Math.LN10), first = Math.exp(surprise - exponent * Math.LN10).toFixed(1);
  const [factor, power] = first === "10.0" ? ["1.0", exponent + 1] : [first, exponent]; // 9.97 is written 10.0
  return oneIn(`${factor} × 10${[...String(power)].map((digit) => RAISED[digit]).join("")}`);
}

/* Numbers that belong together stay on one line. */
const oneIn = (times) => `1 in ${times}`.replaceAll(" ", "\u00a0");

/** Two digits, and never 0 or 1 for what is not. */
export function probability(p) {
  if (p > 0 && p < 0.005) return "<0.01";
  if (p < 1 && p >= 0.995) return ">0.99";
  return p.toFixed(2);
}

/** A piece that stands alone, with its white space made visible. One that completes no character has only its id. */
export const readable = (piece, id) => (piece === "" ? `#${id}` : visible(piece));

/** A piece in a sentence. */
export const quoted = (piece, id) => (piece === "" ? `a token without a letter (#${id})` : `“${readable(piece, id)}”`);

/** A piece where it stands in a text: one part for each line it is on; `ends`: the line ends behind the part. */
export function parts(piece) {
  const all = piece.split("\n").map((text, i, lines) => ({ text, ends: i < lines.length - 1 }));
  return all.length > 1 && all.at(-1).text === "" ? all.slice(0, -1) : all;
}
