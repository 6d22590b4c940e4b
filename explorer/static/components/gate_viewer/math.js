/* Order the units of a gated network by how long they hold their state. No DOM. */

import { formatApproximate } from "../../shared/runtime/format.js";

/** Return the units by half-life, the longest first; networks without gates keep their order. */
export function orderByHalfLife(lives, count) {
  const units = Array.from({ length: count }, (_, unit) => unit);
  return lives ? units.sort((a, b) => lives[b] - lives[a] || a - b) : units;
}

/** Describe the half-life of a unit. */
export function describeHalfLife(life) {
  if (life === undefined || life === null) return "";
  if (!Number.isFinite(life)) return "keeps what it holds";
  return `keeps half for ${formatApproximate(life)} symbols`;
}
