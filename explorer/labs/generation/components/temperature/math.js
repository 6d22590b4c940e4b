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
    const { logits, noise, falling, learned } = this;
    const untruncated = softmax(logits, rules.t),
      keep = truncate(logits, rules, falling, untruncated),
      p = renormalise(untruncated, keep);
    const makeRow = (id) => ({ id, learned: learned[id], p: keep[id] ? p[id] : untruncated[id], kept: keep[id] === 1 });
    const rows = Array.from(falling.subarray(0, MOST), makeRow);
    const id = choose(logits, noise, rules, falling, keep),
      left = keep.reduce((sum, one) => sum + one, 0);
    const keptRows = rows.filter(({ kept }) => kept).length;
    const others = { kept: left - keptRows, cut: logits.length - left - (rows.length - keptRows), p: 0 };
    for (let rank = rows.length; rank < falling.length; rank++) others.p += p[falling[rank]];
    const sampled = { id, p: p[id], rank: falling.indexOf(id) };
    return {
      t: rules.t,
      rows,
      sampled,
      others,
      entropy: entropy(p),
      learned: this.openness,
      left,
      vocabulary: logits.length,
    };
  }
}

/** Return the view of a position of a generated text from the stored values: exact at that text's temperature `rules.t`. */
export function knownView(arrays, row, at, rules, vocabulary) {
  const tokens = arrays.ids.shape[1],
    cell = row * tokens + at,
    width = arrays.top.shape[2];
  const storedValue = (name) => arrays[name].data[cell];
  const { t, greedy = false, top_k = 0, top_p = 1, min_p = 0 } = rules;
  const spread = storedValue("spread"),
    ids = storedValue("ids");
  const probabilityBeforeCut = (surprisal) => Math.exp(-surprisal / t - spread); // before the cut
  const total = t ? probabilityBeforeCut(storedValue("surprise")) / storedValue("chosen") : 1; // what the cut leaves, for it made of this the probability that was chosen with
  const most = greedy || !t ? 1 : top_k || vocabulary;
  const top = [];
  let cumulative = 0,
    open = true,
    rank = null;
  for (let i = 0; i < width; i++) {
    const id = arrays.top.data[cell * width + i],
      surprisal = arrays.top_surprise.data[cell * width + i] / FIXED;
    const p = t ? probabilityBeforeCut(surprisal) : +!i;
    open &&= i < most && (!i || !((top_p < 1 && cumulative >= top_p) || (min_p > 0 && p < min_p * top[0].before)));
    if (id === ids) rank = i;
    top.push({ id, learned: Math.exp(-surprisal), before: p, kept: open });
    cumulative += p;
  }
  const keptCount = top.filter((one) => one.kept).length,
    ended = keptCount < width || width === vocabulary || most <= width;
  const none = most === vocabulary && top_p === 1 && min_p === 0 && t > 0;
  const left = none ? vocabulary : ended ? keptCount : top_p === 1 && min_p === 0 ? most : null;
  const rows = top
    .slice(0, MOST)
    .map(({ id, learned, before: p, kept: stays }) => ({
      id,
      learned,
      p: stays ? Math.min(1, p / total) : p,
      kept: stays,
    }));
  const sum = rows.reduce((all, one) => all + (one.kept ? one.p : 0), 0),
    keptRows = rows.filter((one) => one.kept).length;
  const others = {
    kept: left === null ? null : left - keptRows,
    cut: left === null ? null : vocabulary - left - (rows.length - keptRows),
    p: Math.max(0, 1 - sum),
  };
  if (others.kept === 0) others.p = 0;
  return {
    t,
    rows,
    sampled: { id: ids, p: storedValue("chosen"), rank },
    others,
    entropy: storedValue("entropy"),
    learned: null,
    left,
    vocabulary,
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
    formatAmong = (n) => `${n} ${unit}${n === "1.0" ? "" : "s"}`;
  if (greedy) return "Greedy: always the most probable token, at every temperature.";
  if (t === 0) return `At 0 it is greedy: always the most probable ${unit}.`;
  const trimmed =
    left !== null && left < vocabulary ? `, cut to ${formatCount(left)} of ${formatCount(vocabulary)},` : "";
  if (left === 1) return `${at} only one ${unit} of ${formatCount(vocabulary)} is left.`;
  if (t === 1 && !trimmed && (left !== null || learned === null))
    return `At 1 ${who} is effectively choosing among ${formatAmong(formatChoices(now))}.`;
  const comparison =
    learned === null
      ? `; at 1.0 the most probable one has ${formatProbability(rows[0].learned, 3)}`
      : `; at 1.0 among ${formatChoices(learned)}`;
  return `${at}${trimmed} ${who} is effectively choosing among ${formatAmong(formatChoices(now))}${comparison}.`;
}
