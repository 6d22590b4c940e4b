/* The arithmetic of attention maps: read the packed weights of a head, compute its scores, write the sentence about it.

   Rows are query tokens, columns are key tokens. A weight is an unsigned 16-bit number, 65535 = 1. A causal model sends
   the lower triangle row by row, any other model all cells; no query attends to the keys in `masked`. */

import { formatNumber, formatSigned, formatWeight } from "../../shared/runtime/format.js";

export const FULL = 65535; // the unsigned 16-bit number that stands for a weight of 1

/** The measured scores, in the order in which they are shown. */
export const SCORES = ["previous", "itself", "first", "same", "after_same"];

/** Return the scores of a kind of attention: in cross-attention, no key is the query or stands before it. */
export const scoreNames = (cross) => (cross ? ["first"] : SCORES);

/** Return the number of stored weights of one head. */
export const weightCount = ({ causal, queries, keys = queries }) =>
  causal ? (queries * (queries + 1)) / 2 : queries * keys;

/**
 * A way into the packed `data`; `from` is where its first head begins (a snapshot lies behind the others). Where tokens look
 * at one another, masked tokens are padding and do not attend to anything either. `cross`: the keys are tokens of another
 * text than the queries.
 */
export function indexWeights(
  data,
  { layers, heads, causal, queries, keys = queries, masked = [], from = 0, cross = false },
) {
  const size = weightCount({ causal, queries, keys }),
    hidden = Uint8Array.from({ length: keys }, (_, key) => Number(masked.includes(key))),
    silent = !cross && keys === queries ? hidden : new Uint8Array(queries);
  const row = (layer, head, query) =>
    from + (layer * heads + head) * size + (causal ? (query * (query + 1)) / 2 : query * keys);
  const reach = (query) => (silent[query] ? 0 : causal ? query + 1 : keys);
  return {
    ...{ data, layers, heads, causal, cross, queries, keys, hidden, silent },
    row, // where the row of a query begins in `data`
    reach, // the number of keys from there on that belong to the query; some may be hidden
    at: (layer, head, query, key) =>
      key < reach(query) && !hidden[key] ? data[row(layer, head, query) + key] / FULL : NaN,
  };
}

/**
 * The weights that a page sent, as view.js takes them: `array` = { shape, data }. Snapshots, of which `snapshot` is one, are
 * of the unchanged model: they always have its causal mask, also when the intervention at the shown step removes it.
 */
export function readWeights(
  array,
  /** @type {any} */ { layers, heads, causal, can, tokens, keys, masked },
  snapshot = null,
) {
  const cross = Boolean(keys),
    shape = { layers, heads, queries: tokens.length, keys: (keys ?? tokens).length, masked, cross };
  const triangle =
    !cross &&
    Boolean(snapshot === null ? causal : causal || can?.mask) &&
    array.shape.at(-1) === weightCount({ ...shape, causal: true });
  return indexWeights(array.data, {
    ...shape,
    causal: triangle,
    from: (snapshot ?? 0) * layers * heads * weightCount({ ...shape, causal: triangle }),
  });
}

/** Return the weight that gets the full colour: 1, or the largest of its row if each row has its own scale. */
export function fullColourWeight(view, layer, head, query, scale) {
  if (scale !== "row") return FULL;
  const row = view.row(layer, head, query),
    reach = view.reach(query);
  let most = 0;
  for (let key = 0; key < reach; key++)
    if (!view.hidden[key] && view.data[row + key] > most) most = view.data[row + key];
  return most || FULL;
}

/** Return the weights of a head as the grid of a heat map; masked cells are empty. */
export function headCells(view, layer, head, scale) {
  const shares = new Float32Array(view.keys);
  const row = (query) => {
    const start = view.row(layer, head, query),
      reach = view.reach(query),
      full = fullColourWeight(view, layer, head, query, scale);
    shares.fill(NaN);
    for (let key = 0; key < reach; key++) if (!view.hidden[key]) shares[key] = view.data[start + key] / full;
    return shares;
  };
  return { rows: view.queries, columns: view.keys, row };
}

/** The keys a query attends to, the strongest first: [key, weight]. */
export function strongestKeys(view, layer, head, query, most, least = 0) {
  const strongest = [];
  for (let key = 0; key < view.reach(query); key++) {
    const weight = view.at(layer, head, query, key);
    if (weight >= least) strongest.push([key, weight]);
  }
  return strongest.sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, most);
}

/**
 * What a head does with this text, as explorer/inspection/attention/head_scores.py measures it: mean shares of the attention of those queries
 * that could do it (NaN if there is none), the mean entropy in nats, and the mean share at every distance (tokens back;
 * negative: ahead). `room` is the entropy of uniform attention, as an effective number of tokens.
 */
export function headScores(view, layer, head, ids) {
  const { data, hidden, queries, keys } = view;
  const sum = Object.fromEntries(SCORES.map((name) => [name, 0])),
    could = { ...sum };
  const ahead = view.causal ? 0 : keys - 1,
    total = new Float64Array(ahead + queries),
    reached = new Float64Array(ahead + queries);
  let entropy = 0,
    room = 0,
    asking = 0,
    looksAhead = false;
  for (let query = 0; query < queries; query++) {
    const row = view.row(layer, head, query),
      reach = view.reach(query);
    const own = { previous: NaN, itself: NaN, first: NaN, same: NaN, after_same: NaN };
    const addWeight = (name, weight) => {
      own[name] = (own[name] || 0) + weight;
    };
    let visibleKeys = 0;
    for (let key = 0; key < reach; key++) {
      if (hidden[key]) continue;
      const weight = data[row + key] / FULL;
      visibleKeys++;
      if (weight > 0) entropy -= weight * Math.log(weight);
      total[ahead + query - key] += weight;
      reached[ahead + query - key]++;
      if (key > query) looksAhead = true;
      if (key === 0) addWeight("first", weight);
      if (view.cross) continue;
      if (key === query - 1) addWeight("previous", weight);
      if (key === query) addWeight("itself", weight);
      if (key < query && ids[key] === ids[query]) addWeight("same", weight);
      if (key > 0 && key <= query && ids[key - 1] === ids[query]) addWeight("after_same", weight);
    }
    if (!visibleKeys) continue;
    asking++;
    room += Math.log(visibleKeys);
    for (const name of SCORES) {
      if (Number.isNaN(own[name])) continue;
      sum[name] += own[name];
      could[name]++;
    }
  }
  const safeMean = (sum, count) => (count ? sum / count : NaN);
  const from = looksAhead ? 0 : ahead;
  return {
    ...Object.fromEntries(SCORES.map((name) => [name, safeMean(sum[name], could[name])])),
    cases: could,
    entropy: safeMean(entropy, asking),
    spread: Math.exp(safeMean(entropy, asking)),
    room: Math.exp(safeMean(room, asking)),
    distances: Array.from(total.subarray(from), (_, i) => i + from - ahead),
    distance: Array.from(total.subarray(from), (sum, i) => safeMean(sum, reached[from + i])),
  };
}

const MIN_CASES = 3; // queries of a text that could follow a pattern, for a number or a sentence about it
/** Return whether enough queries of the text could have a score. */
export const hasCases = (scores, name) =>
  name === "first" || name === "spread" || (scores.cases?.[name] ?? MIN_CASES) >= MIN_CASES;
const TARGETS = {
  previous: (unit) => `the ${unit} before`,
  itself: (unit) => `the ${unit} itself`,
  first: (unit) => `the first ${unit}`,
  same: (unit) => `the same ${unit} earlier`,
  after_same: (unit) => `the ${unit} that followed the same ${unit} earlier`,
};

/** Describe a head by its scores in one sentence. `unit` is "letter", "token" or "word". */
export function describeHead(scores, unit) {
  if (scores.room < 1.001) return `There is only one ${unit} to attend to.`;
  const formatCount = (number) => `${formatNumber(number, 1)} ${unit}s`;
  if (scores.spread >= 0.95 * scores.room)
    return `It attends to all ${unit}s equally: ${formatCount(scores.spread)} on average, of ${formatNumber(scores.room, 1)} possible.`;
  const shares = SCORES.filter((name) => scores[name] >= 0.3 && hasCases(scores, name)).sort(
      (a, b) => scores[b] - scores[a],
    ),
    [name, second] = shares;
  if (!name) return `It has no simple pattern: it attends to ${formatCount(scores.spread)} on average.`;
  const pair = [name, second].every((one) => one === "previous" || one === "itself"),
    condition = name.endsWith("same") ? ", where there is one" : "";
  if (pair)
    return `It attends to ${TARGETS[name](unit)} (${formatNumber(scores[name])}) and to ${TARGETS[second](unit)} (${formatNumber(scores[second])}).`;
  return `It attends ${scores[name] >= 0.5 ? "mostly" : "partly"} to ${TARGETS[name](unit)}${condition}: ${formatNumber(scores[name])} of its attention.`;
}

/** Describe what one token attends to. */
export function describeQuery(view, layer, head, query, named, asking = named) {
  const strongest = strongestKeys(view, layer, head, query, 3),
    shown = strongest.filter(([, weight], i) => !i || weight >= 0.05);
  if (!shown.length) return `${asking(query)} attends to nothing: all keys are masked.`;
  const weights = shown.map(([key, weight]) => `${named(key)} ${formatWeight(weight, 2)}`),
    last = weights.pop();
  return `${asking(query)} attends to ${weights.length ? `${weights.join(", ")} and ` : ""}${last}.`;
}

export const CHANCE = 2.5; // standard errors that chance rarely exceeds; the same value as in attention_findings.py
const TRIFLE = 1e-4; // a change of the loss that three digits do not show

/** Describe the importance of a head: the loss without it minus the loss with it. */
export function describeImportance(rise, error, unit, textName = "held-out text") {
  const amount = `${formatNumber(Math.abs(rise), 3)}\u00a0${unit}`.trim(),
    about = error ? ` (±\u00a0${formatNumber(error, 3)})` : "";
  if (Math.abs(rise) <= Math.max(CHANCE * (error || 0), TRIFLE))
    return `Without it the loss on ${textName} hardly changes: ${formatSigned(rise, 3)} ${unit}${about}.`;
  return `Without it the loss on ${textName} ${rise < 0 ? "falls" : "rises"} by ${amount}${about}.`;
}

/** The weights of one head as rows of a table; layers, heads and tokens are counted from 1, a masked cell is empty. */
export const COLUMNS = ["layer", "head", "query", "query_token", "key", "key_token", "weight"];
export function weightRows(view, tokens, keys, layer, head) {
  const format = (weight) => (Number.isNaN(weight) ? "" : weight.toFixed(5)),
    row = (token, from, key, to) => [
      layer + 1,
      head + 1,
      from + 1,
      token,
      to + 1,
      key,
      format(view.at(layer, head, from, to)),
    ];
  return tokens.flatMap((token, from) => keys.map((key, to) => row(token, from, key, to)));
}

/** Return the heads as [layer, head] in sorted order. Heads without a measured value come last. */
export function sortHeads(layers, heads, value) {
  const all = Array.from({ length: layers * heads }, (_, i) => [Math.floor(i / heads), i % heads]);
  if (!value) return all;
  const valueOfHead = new Map(all.map((place) => [place, value(...place)]));
  const scoreOf = (place) => (Number.isNaN(valueOfHead.get(place)) ? -Infinity : valueOfHead.get(place));
  return all.sort((a, b) => scoreOf(b) - scoreOf(a) || 0);
}

export const MOST_SORTED = 64; // heads; more of them stay in their layers and are drawn smaller

/**
 * Return the layout of a large grid: `blocks` side by side, each with `rows` layers, and the side of a tile in px, the
 * largest for which all layers fit into `width` and `height`. A tile is never smaller than `least` for the height.
 */
export function layoutBlocks({ layers, heads, width, height, names, between, gap, least }) {
  const layouts = Array.from({ length: Math.min(4, layers) }, (_, i) => {
    const blocks = i + 1,
      rows = Math.ceil(layers / blocks),
      room = width - blocks * names - (blocks - 1) * between;
    const side = Math.min(Math.floor(room / (blocks * heads)) - gap, Math.max(least, Math.floor(height / rows) - gap));
    return { blocks, rows, side };
  });
  return layouts.reduce((best, layout) => (layout.side > best.side ? layout : best));
}

/** Return y at x on the line through points, constant beyond its ends. */
function interpolate(xs, ys, x) {
  const next = xs.findIndex((each) => x <= each);
  if (next < 1) return (next < 0 ? ys.at(-1) : ys[0]) ?? NaN;
  const share = (x - xs[next - 1]) / (xs[next] - xs[next - 1]);
  return ys[next - 1] + share * (ys[next] - ys[next - 1]);
}

/** Return the position (0 to 1) of a step on an axis with evenly spaced snapshots, so early steps get enough room. */
export const snapshotPosition = (steps, step) =>
  steps.length < 2
    ? 0
    : interpolate(
        steps,
        steps.map((_, i) => i / (steps.length - 1)),
        step,
      );

/** Return the loss at a step, interpolated linearly. */
export const lossAt = ({ steps, losses }, step) => interpolate(steps, losses, step);

/** Test whether a head is in a list of [layer, head], and return the list with the head added or removed. */
export const includesHead = (list, layer, head) => list.some(([l, h]) => l === layer && h === head);
export const toggleHead = (list, layer, head) =>
  includesHead(list, layer, head) ? list.filter(([l, h]) => l !== layer || h !== head) : [...list, [layer, head]];

/** Switch all heads of a layer off, or on again if they are off. */
export function toggleLayer(list, layer, heads) {
  const all = Array.from({ length: heads }, (_, head) => [layer, head]);
  const others = list.filter(([l]) => l !== layer);
  return all.every(([l, h]) => includesHead(list, l, h)) ? others : [...others, ...all];
}

/** Describe the interventions; "" if there are none. */
export function describeInterventions({ off, flat, unmasked, unplaced }) {
  const countHeads = ({ length }, words) => length && `${length} head${length > 1 ? "s" : ""} ${words}`;
  const parts = [
    countHeads(off, "switched off"),
    countHeads(flat, "uniform"),
    unmasked && "causal mask removed",
    unplaced && "positions removed",
  ].filter(Boolean);
  return parts.length ? `Intervention: ${parts.join(", ")}.` : "";
}
