/* The arithmetic of the token tree. No DOM; tested in tests/static/token_tree.test.mjs. */

import { formatWeight } from "../../../../static/shared/runtime/format.js";

export const SHOWN = 8; // candidates of a step at most

/** Return the rows of a step: its candidates, among them the token that was taken; where nothing is taken yet, none is. */
export const candidateRows = (step) =>
  step.candidates.map((row) => ({ ...row, taken: row.id === step.id, sampled: row.id === step.sampled }));

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
