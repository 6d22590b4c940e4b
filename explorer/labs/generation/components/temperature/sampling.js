/* Sample the next token and measure a text: the same arithmetic as explorer/generation/sampling.py and measures.py, so
   that the temperature can be dragged without the server. test_sampling_parity.py compares both.

   `logits` and `noise` are Float32Arrays over the vocabulary; `rules` is { t, greedy, top_k, top_p, min_p }, of which
   only t is required. `falling` is order(logits): it does not change with the temperature, so a caller can pass it in. */

/** The ids, the likeliest first; of equally likely tokens the one with the smaller id counts as the likelier. */
export function sortByLogit(logits) {
  return Uint32Array.from(logits.keys()).sort((a, b) => logits[b] - logits[a] || a - b);
}

/** softmax(logits / t). At t = 0 everything is on the likeliest token. */
export function softmax(logits, t) {
  const p = new Float64Array(logits.length);
  let best = 0;
  for (let i = 1; i < logits.length; i++) if (logits[i] > logits[best]) best = i;
  if (t === 0) p[best] = 1;
  else {
    let sum = 0;
    // The likeliest is subtracted first, in 32 bits as the server does it: a tiny temperature divides 0 and what is below.
    for (let i = 0; i < p.length; i++) sum += p[i] = Math.exp(Math.fround(logits[i] - logits[best]) / t);
    for (let i = 0; i < p.length; i++) p[i] /= sum;
  }
  return p;
}

/**
 * 1 for each token that may be chosen. The rules apply one after the other to the distribution at this temperature,
 * p1 >= p2 >= …, each to what the one before it leaves: top-k (i <= k), then top-p (p1 + … + p(i-1) < top_p, as a share of
 * the first k), then min-p (pi >= min_p p1).
 */
export function truncate(
  logits,
  { t, greedy = false, top_k = 0, top_p = 1, min_p = 0 },
  falling = sortByLogit(logits),
  p = softmax(logits, t),
) {
  const keep = new Uint8Array(logits.length);
  const most = greedy || t === 0 ? 1 : Math.min(top_k || logits.length, logits.length);
  const nucleus = top_p * falling.subarray(0, most).reduce((sum, id) => sum + p[id], 0);
  let cumulative = 0;
  for (let rank = 0; rank < most; rank++) {
    const own = p[falling[rank]];
    if (rank && ((top_p < 1 && cumulative >= nucleus) || (min_p > 0 && own < min_p * p[falling[0]]))) break;
    keep[falling[rank]] = 1;
    cumulative += own;
  }
  return keep;
}

export function renormalise(p, keep) {
  let sum = 0;
  for (let i = 0; i < p.length; i++) if (keep[i]) sum += p[i];
  return p.map((own, i) => (keep[i] ? own / sum : 0));
}

/**
 * The token that comes next, by the Gumbel-max trick: the largest logit + t · noise among those that may be chosen.
 * The server computes in 32 bits and rounds once (a fused multiply-add). So do we: the product of two such numbers is
 * exact in 64 bits, and the sum is rounded to 32.
 */
export function choose(logits, noise, rules, falling = sortByLogit(logits), keep = truncate(logits, rules, falling)) {
  if (rules.greedy || rules.t === 0) return falling[0];
  const t = Math.fround(rules.t);
  let best = -1,
    highest = -Infinity;
  for (let i = 0; i < logits.length; i++) {
    if (!keep[i]) continue;
    const score = Math.fround(logits[i] + noise[i] * t);
    if (best < 0 || score > highest) [best, highest] = [i, score]; // of equals the first, as argmax has it
  }
  return best;
}

/** In nats. */
export function entropy(p) {
  let sum = 0;
  for (const own of p) if (own > 0) sum -= own * Math.log(own);
  return sum;
}

/** Different runs of n tokens, as a share of all such runs (distinct-n, Li et al. 2016). NaN where the text is shorter. */
export function distinctNgrams(ids, n) {
  const all = ids.length - n + 1,
    distinct = new Set();
  for (let i = 0; i < all; i++) distinct.add(ids.slice(i, i + n).join());
  return all > 0 ? distinct.size / all : NaN;
}

/** The share of runs of n tokens that stood earlier in the text (Welleck et al. 2020, seq-rep-n). */
export const repetition = (ids, n = 8) => 1 - distinctNgrams(ids, n);
