/* Order the units of a gated network by how long they hold their state. No DOM. */

/** Units from the one that holds longest; where nothing is gated, as they stand. */
export function orderByHalfLife(lives, count) {
  const units = Array.from({ length: count }, (_, unit) => unit);
  return lives ? units.sort((a, b) => lives[b] - lives[a] || a - b) : units;
}

/** How long a unit holds on, in words. */
export function describeHalfLife(life) {
  if (life === undefined || life === null) return "";
  if (!Number.isFinite(life)) return "keeps what it holds";
  return `keeps half for ${life < 9.95 ? life.toFixed(1) : Math.round(life).toLocaleString("en")} symbols`;
}
