/* Arithmetic of heat maps and lines: a value's place on its scale, its colour, which columns are labelled, where an arrow
   key leads. No DOM. */

/** Return the position of a value on its scale, 0 to 1: a gate from 0 to 1, a state from -span to span. */
export function scalePosition(value, span) {
  const at = span === null ? value : (value / span + 1) / 2;
  return Math.max(0, Math.min(1, at));
}

/** Return [red, green, blue] of a colour as the browser writes it. */
export const parseColour = (text) =>
  text
    .match(/[\d.]+/g)
    .slice(0, 3)
    .map(Number);

/** The colour of a share between evenly spaced stops, each [red, green, blue]. */
export function mixColours(stops, at) {
  const place = at * (stops.length - 1),
    low = Math.min(stops.length - 2, Math.floor(place)),
    part = place - low;
  return stops[low].map((from, c) => Math.round(from + (stops[low + 1][c] - from) * part));
}

/** The span of a scale that is symmetric around 0: 1, or what the values need, with two digits. */
export function spanOf(values) {
  let most = 1;
  for (const value of values) most = Math.max(most, Math.abs(value));
  return most === 1 ? 1 : Number(most.toPrecision(2));
}

/** A line through the middles of its cells, as a path in a box; `span` as in `share`. */
export function linePath(values, width, height, span) {
  const cell = width / values.length,
    edge = 2;
  const pointText = (value, i) =>
    `${((i + 0.5) * cell).toFixed(1)} ${(edge + (1 - scalePosition(value, span)) * (height - 2 * edge)).toFixed(1)}`;
  return `M${Array.from(values, pointText).join("L")}`;
}

/** Return the columns that get a label: all, or as many as fit, always with the first and the last. */
export function labelledColumns(count, width, least = 14) {
  if (count < 2) return [0];
  const step = Math.max(1, Math.ceil((least * (count - 1)) / width)),
    ticks = [];
  for (let i = 0; i < count - 1; i += step) if (count - 1 - i >= step) ticks.push(i);
  return [...ticks, count - 1];
}

const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
const KEYS = { ...ARROWS, Home: [0, -Infinity], End: [0, Infinity] };

/** Return the cell that an arrow key leads to, inside the grid; null for a key that moves nothing. */
export function moveCell({ row, column }, key, rows, columns) {
  if (!KEYS[key]) return null;
  const [down, right] = KEYS[key],
    clamp = (value, count) => Math.max(0, Math.min(count - 1, value));
  return { row: clamp(row + down, rows), column: clamp(column + right, columns) };
}

/** Return the index that a key leads to among `count` items in rows of `columns`, perhaps beyond them; null for other keys. */
export function moveIndex(key, at, count, columns = 1) {
  if (key === "Home") return 0;
  if (key === "End") return count - 1;
  const [down, right] = ARROWS[key] ?? [];
  return right === undefined ? null : at + down * columns + right;
}

/** Return the width of the branch to a candidate of probability `p`, in px. */
export const branchWidth = (p) => 0.75 + 5.25 * Math.min(1, Math.max(0, p));
