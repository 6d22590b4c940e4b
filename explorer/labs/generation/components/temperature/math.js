/* Describe one next-token choice: the most likely tokens with their probabilities, what truncation keeps, which token the
   sampling noise selects, and the entropy. No DOM; tested in tests/static/temperature.test.mjs.

   A view is { t, rows: [{ id, learned, p, kept }], the most likely first, at most MOST; p: at this temperature, after truncation
   if the token is kept, before it if not, sampled: the sampled token { id, p, rank (null: beyond the known ones) },
   others: { kept, cut (how many; null: not known), p }, entropy: nats, of the tokens that are kept, learned: nats, at
   temperature 1 or null, left: number of tokens that are kept or null, vocabulary }. */
import { choose, truncate, entropy, sortByLogit, renormalise, softmax } from "./sampling.js";
import {
  formatApproximate,
  formatCount,
  formatNumber,
  formatProbability,
} from "../../../../static/shared/runtime/format.js";

export const MOST = 12;
const FIXED = 2048; // steps of a nat in which `top_surprise` is stored

/** A choice whose logits are loaded: exact at every temperature. What does not depend on the temperature is computed once. */
export class ExactChoice {
  constructor(logits, noise) {
    this.logits = logits;
    this.noise = noise;
    this.falling = sortByLogit(logits);
    this.learned = softmax(logits, 1);
    this.openness = entropy(this.learned);
  }

  viewAt(rules) {
    const { logits, noise, falling, learned } = this,
      vocabulary = logits.length,
      untruncated = softmax(logits, rules.t),
      keep = truncate(logits, rules, falling, untruncated),
      p = renormalise(untruncated, keep),
      left = keep.reduce((sum, one) => sum + one, 0),
      id = choose(logits, noise, rules, falling, keep);
    const makeRow = (id) => ({ id, learned: learned[id], p: keep[id] ? p[id] : untruncated[id], kept: keep[id] === 1 }),
      rows = Array.from(falling.subarray(0, MOST), makeRow),
      rest = falling.subarray(rows.length).reduce((sum, id) => sum + p[id], 0);
    return {
      ...{ t: rules.t, rows, left, vocabulary, learned: this.openness, entropy: entropy(p) },
      sampled: { id, p: p[id], rank: falling.indexOf(id) },
      others: countOthers(rows, left, vocabulary, rest),
    };
  }
}

/** How many tokens that are not among the rows are kept and cut, if that is known, and their probability. */
function countOthers(rows, left, vocabulary, p) {
  const keptRows = rows.filter(({ kept }) => kept).length;
  if (left === null) return { kept: null, cut: null, p };
  const kept = left - keptRows;
  return { kept, cut: vocabulary - left - (rows.length - keptRows), p: kept ? p : 0 };
}

/** Return the view of a position of a generated text from the stored values: exact at that text's temperature `rules.t`. */
export function knownView(arrays, row, at, rules, vocabulary) {
  const tokens = arrays.ids.shape[1],
    cell = row * tokens + at,
    width = arrays.top.shape[2],
    { t, greedy = false, top_k = 0, top_p = 1, min_p = 0 } = rules,
    [id, spread, chosen, surprise, entropy] = ["ids", "spread", "chosen", "surprise", "entropy"].map(
      (name) => arrays[name].data[cell],
    );
  const beforeCut = (surprisal) => Math.exp(-surprisal / t - spread),
    total = t ? beforeCut(surprise) / chosen : 1, // what the cut leaves: it divided by this the probability that was chosen with
    most = greedy || !t ? 1 : top_k || vocabulary,
    hasNucleus = top_p < 1 || min_p > 0; // the number of tokens that are left depends on probabilities
  const surprisals = Array.from({ length: width }, (_, i) => arrays.top_surprise.data[cell * width + i] / FIXED),
    ofTopK = most < vocabulary && t ? surprisals.slice(0, most).reduce((sum, one) => sum + beforeCut(one), 0) : 1;
  let cumulative = 0,
    isOpen = true;
  const top = surprisals.map((surprisal, i) => {
    const before = t ? beforeCut(surprisal) : +!i,
      first = t ? beforeCut(surprisals[0]) : 1,
      // The probability of the first k is not known if more of them are kept than are stored; what is left of it all is.
      nucleus = most > width && most < vocabulary ? total - before / 2 : top_p * ofTopK;
    isOpen &&= i < most && (!i || !((top_p < 1 && cumulative >= nucleus) || (min_p > 0 && before < min_p * first)));
    cumulative += before;
    const p = isOpen ? Math.min(1, before / total) : before;
    return { id: arrays.top.data[cell * width + i], learned: Math.exp(-surprisal), p, kept: isOpen };
  });
  const count = top.filter(({ kept }) => kept).length,
    isCounted = count < width || width === vocabulary || most <= width,
    isUncut = most === vocabulary && !hasNucleus && t > 0,
    left = isUncut ? vocabulary : isCounted ? count : hasNucleus ? null : most;
  const rows = top.slice(0, MOST),
    sum = rows.reduce((all, { kept, p }) => all + (kept ? p : 0), 0),
    rank = top.findIndex((one) => one.id === id);
  return {
    ...{ t, rows, left, vocabulary, entropy, learned: null },
    sampled: { id, p: chosen, rank: rank < 0 ? null : rank },
    others: countOthers(rows, left, vocabulary, Math.max(0, 1 - sum)),
  };
}

export function sharedPrefix({ shape: [, tokens], data }, a, b) {
  let same = 0;
  while (same < tokens && data[a * tokens + same] === data[b * tokens + same]) same++;
  return same;
}

/**
 * Return the row whose temperature is nearest.
 * @param {ArrayLike<number> & { forEach: Function }} temperatures
 * @param {number} t
 * @param {(row: number) => boolean} allowed may exclude rows
 */
export function nearestRow(temperatures, t, allowed = () => true) {
  let best = -1;
  temperatures.forEach((own, row) => {
    if (allowed(row) && (best < 0 || Math.abs(own - t) < Math.abs(temperatures[best] - t) - 1e-9)) best = row;
  });
  return best;
}

/** The temperature after an arrow key: the next multiple of `step` in that direction. */
export function stepTemperature(t, direction, step = 0.05, most = 2) {
  const next = direction > 0 ? Math.floor(t / step + 1e-6) + 1 : Math.ceil(t / step - 1e-6) - 1;
  return Math.min(most, Math.max(0, Math.round(next * step * 100) / 100));
}

/* ---- in words ---- */

/** Format exp(entropy), the effective number of choices: 1 to the size of the vocabulary. */
export const formatChoices = (nats) => formatApproximate(Math.exp(nats));

/** Describe in one sentence what the temperature and the truncation do at a position; `who` is the subject: "it", or the name of the model if there are several. */
export function formatFinding(
  { t, entropy: now, learned, left, vocabulary, rows },
  unit,
  { greedy = false } = {},
  who = "it",
) {
  const at = `At ${formatNumber(t)}`,
    formatDie = (n) => `chooses the next ${unit} like a die with ${n} side${n === "1.0" ? "" : "s"}`;
  if (greedy) return "Greedy: always the most probable token, at every temperature.";
  if (t === 0) return `At 0 it is greedy: always the most probable ${unit}.`;
  const trimmed =
    left !== null && left < vocabulary ? `, cut to ${formatCount(left)} of ${formatCount(vocabulary)},` : "";
  if (left === 1) return `${at} only one ${unit} of ${formatCount(vocabulary)} is left.`;
  if (t === 1 && !trimmed && (left !== null || learned === null))
    return `At 1 ${who} ${formatDie(formatChoices(now))}.`;
  const comparison =
    learned === null
      ? `; at 1.0 the most probable one has ${formatProbability(rows[0].learned, 3)}`
      : `; at 1.0 with ${formatChoices(learned)}`;
  return `${at}${trimmed} ${who} ${formatDie(formatChoices(now))}${comparison}.`;
}
