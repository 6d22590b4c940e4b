/* Order the units of a gated network by how long they hold their state. No DOM. */

import { formatApproximate, formatCount } from "../../../../static/shared/runtime/format.js";

const LONGEST = 1000; // symbols: no network is tested on longer sequences

/** Return the units by half-life, the longest first; networks without gates keep their order. */
export function orderByHalfLife(lives, count) {
  const units = Array.from({ length: count }, (_, unit) => unit);
  return lives ? units.sort((a, b) => lives[b] - lives[a] || a - b) : units;
}

export function describeHalfLife(life) {
  if (life === undefined || life === null) return "";
  if (life > LONGEST) return `keeps half for more than ${formatCount(LONGEST)} symbols`;
  return `keeps half for ${formatApproximate(life)} symbols`;
}
