/* The arithmetic of the token tree. No DOM; tested in tests/static/token_tree.test.mjs. */

import { formatWeight } from "../../../../static/shared/runtime/format.js";

export const SHOWN = 8; // candidates of a step, likeliest first

/**
 * Return the rows of a step: its candidates, and last the token that was taken, if it is none of them.
 * A row = {id, piece, p, learned, taken, sampled, cut}; the last column, where nothing is taken yet, has no id.
 */
export function candidateRows(step, temperature) {
  const listed = step.candidates.slice(0, SHOWN);
  const missing = step.id !== undefined && !listed.some(({ id }) => id === step.id);
  const all = missing ? [...listed, { id: step.id, piece: step.piece, p: step.p, learned: step.learned }] : listed;
  return all.map((row) => ({
    ...row,
    taken: row.id === step.id,
    sampled: row.id === step.sampled,
    cut: row.cut ?? isCut(row, step.candidates[0], temperature),
  }));
}

/**
 * Whether a rule took this token away, if the page does not say so. A probability may be 0 also because it is tiny and
 * was rounded: without a cut it would be that of the likeliest, times the ratio of what was learned to the power 1/temperature.
 */
export function isCut({ p, learned }, likeliest, temperature) {
  if (p > 0 || !likeliest?.learned) return false;
  return likeliest.p * (learned / likeliest.learned) ** (1 / temperature) > 0.0005;
}

/** Return the label of a candidate. Without truncation and above temperature 0 no candidate is impossible. */
export function formatCandidate({ p, cut }, temperature) {
  if (cut) return "cut";
  return formatWeight(p === 0 && temperature > 0 ? Number.MIN_VALUE : p, 2);
}

/** The probability of all that is not in the rows, and whether the sampling noise selects one of those. */
export function remainder(all, sampledId) {
  const p = 1 - all.reduce((sum, row) => sum + row.p, 0);
  return {
    p: p < 0.0005 ? 0 : p,
    sampled: sampledId !== undefined && sampledId !== null && !all.some(({ id }) => id === sampledId),
  };
}

export const totalSurprisal = (steps) => steps.reduce((sum, { surprise }) => sum + surprise, 0);

/**
 * Queue an action while the page has not answered yet: presses of one button are merged, and taking a
 * candidate replaces them. An action = ["next", n], ["back", n] or ["go", {at, id}].
 */
export function addAction(waiting, action) {
  const last = waiting.at(-1),
    [name, value] = action;
  if (name === "go") return [action];
  return last?.[0] === name ? [...waiting.slice(0, -1), [name, last[1] + value]] : [...waiting, action];
}

/** Return the first queued action that is still valid for a path of this length, and the rest of the queue. */
export function nextAction(waiting, length, most) {
  const [action, ...behind] = waiting;
  if (!action) return { action: null, behind };
  const [name, value] = action;
  const n = name === "next" ? Math.min(value, most - length) : name === "back" ? Math.min(value, length) : 0;
  if (name === "go")
    return value.at <= Math.min(length, most - 1) ? { action, behind } : nextAction(behind, length, most);
  return n > 0 ? { action: [name, n], behind } : nextAction(behind, length, most);
}

/** Return what the page is asked for: the ids of a path, and how many tokens to sample after it. */
export function pathAfter([name, value], ids) {
  if (name === "go") return { path: [...ids.slice(0, value.at), value.id], more: 0 };
  return name === "next" ? { path: ids, more: value } : { path: ids.slice(0, ids.length - value), more: 0 };
}
