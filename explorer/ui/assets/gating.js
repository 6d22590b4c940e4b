/* The arithmetic of the gates: the order of units, colours of values, lines, words. It knows no browser. */

/** Units from the one that holds longest; where nothing is gated, as they stand. */
export function ordered(lives, count) {
  const units = Array.from({ length: count }, (_, unit) => unit);
  return lives ? units.sort((a, b) => lives[b] - lives[a] || a - b) : units;
}

/** Where a value stands on its scale, 0 to 1: a gate from 0 to 1, a state from -span to span. */
export function share(value, span) {
  const at = span === null ? value : (value / span + 1) / 2;
  return Math.max(0, Math.min(1, at));
}

/** The colour of a share between evenly spaced stops, each [red, green, blue]. */
export function mixed(stops, at) {
  const place = at * (stops.length - 1), low = Math.min(stops.length - 2, Math.floor(place)), part = place - low;
  return stops[low].map((from, c) => Math.round(from + (stops[low + 1][c] - from) * part));
}

/** The span of a scale that is symmetric around 0: 1, or what the values need, with two digits. */
export function spanOf(values) {
  let most = 1;
  for (const value of values) most = Math.max(most, Math.abs(value));
  return most === 1 ? 1 : Number(most.toPrecision(2));
}

/** A line through the middles of its cells, as a path in a box; `span` as in `share`. */
export function line(values, width, height, span) {
  const cell = width / values.length, edge = 2;
  const point = (value, i) => `${((i + 0.5) * cell).toFixed(1)} ${(edge + (1 - share(value, span)) * (height - 2 * edge)).toFixed(1)}`;
  return `M${Array.from(values, point).join("L")}`;
}

/** Which symbols are written below: all, or as many as have room, always the first and the last. */
export function written(count, width, least = 14) {
  if (count < 2) return [0];
  const step = Math.max(1, Math.ceil((least * (count - 1)) / width)), kept = [];
  for (let i = 0; i < count - 1; i += step) if (count - 1 - i >= step) kept.push(i);
  return [...kept, count - 1];
}

/** How long a unit holds on, in words. */
export function holding(life) {
  if (life === undefined || life === null) return "";
  if (!Number.isFinite(life)) return "keeps what it holds";
  return `keeps half for ${life < 9.95 ? life.toFixed(1) : Math.round(life).toLocaleString("en")} symbols`;
}

/** A place in the grid after a key, kept inside; null for a key that moves nothing. */
export function moved({ row, time }, key, rows, times) {
  const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [0, -Infinity], End: [0, Infinity] }[key];
  if (!by) return null;
  const within = (value, count) => Math.max(0, Math.min(count - 1, value));
  return { row: within(row + by[0], rows), time: within(time + by[1], times) };
}

export const number = (value) => value.toFixed(2).replace("-", "−");
