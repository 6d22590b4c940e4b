/* Write the surprisal of a token as a colour, as odds and in words. No DOM; tested in tests/static/token_tree.test.mjs.
   Surprisal = -log of the model's probability at temperature 1, in nats. */

import { showSpaces } from "../runtime/visible_text.js";
import { formatNumber, formatRounded, formatWeight, superscript } from "../runtime/format.js";

const STRONGEST = 85; // percent of the colour, so that ink on it can be read

export const toBits = (nats) => nats / Math.LN2;

/** Return the strength of a token's background in percent, linear in its surprisal up to the strongest. */
export const colourStrength = (surprisal, full) =>
  Math.round(10 * STRONGEST * Math.min(1, Math.max(0, surprisal) / full)) / 10;

/** "1 in 812": the odds of something of this surprisal. Above one in two odds say little, so it is the probability. */
export function formatOdds(surprisal) {
  if (surprisal === Infinity) return "never";
  if (surprisal < Math.LN2) return formatWeight(Math.exp(-surprisal), 2);
  const times = Math.exp(surprisal);
  if (times < 999_500)
    return formatOneIn(times < 9.95 ? formatNumber(times, 1) : formatRounded(Number(times.toPrecision(3))));
  const exponent = Math.floor(surprisal / Math.LN10),
    first = formatNumber(Math.exp(surprisal - exponent * Math.LN10), 1);
  const [factor, power] = first === "10.0" ? ["1.0", exponent + 1] : [first, exponent]; // 9.97 is written 10.0
  return formatOneIn(`${factor} × 10${superscript(power)}`);
}

/* Numbers that belong together stay on one line. */
const formatOneIn = (times) => `1 in ${times}`.replaceAll(" ", "\u00a0");

/** Format a piece on its own, with visible white space. A piece without a complete character is shown by its id. */
export const pieceLabel = (piece, id) => (piece === "" ? `#${id}` : showSpaces(piece));

/** A piece in a sentence. */
export const quotePiece = (piece, id) =>
  piece === "" ? `a token without a letter (#${id})` : `“${pieceLabel(piece, id)}”`;

/** Split a piece into one part per line; `ends`: the line ends after the part. */
export function splitLines(piece) {
  const all = piece.split("\n").map((text, i, lines) => ({ text, ends: i < lines.length - 1 }));
  return all.length > 1 && all.at(-1).text === "" ? all.slice(0, -1) : all;
}
