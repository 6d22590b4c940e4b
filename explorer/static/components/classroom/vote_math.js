/* Count the answers of a class and place them on a scale. No DOM; tested in tests/static/vote_math.test.mjs. */
import { formatRounded, withUnit as joinUnit } from "../../shared/runtime/format.js";

const MOST_COLUMNS = 40;

/** Return the share of the class that gave an answer, 0 to 1; `size` is the number of students. */
export const shareOfClass = (count, size) => Math.min(1, count / Math.max(1, size, count));

/** Return a count with its share in words: "12 of 24 (50 %)". */
export const describeShare = (count, size) =>
  `${count} of ${Math.max(size, count)} (${Math.round(100 * shareOfClass(count, size))} %)`;

/**
 * Return the columns of a scale, one per step if these are few: how many there are, the column of a number, and the
 * position of a column or of a number on the scale, 0 to 1.
 */
export function scaleColumns({ low, high, step }) {
  const last = Math.max(1, Math.min(MOST_COLUMNS, Math.round((high - low) / step)));
  const positionOf = (number) => Math.min(1, Math.max(0, (number - low) / (high - low)));
  return { count: last + 1, positionOf, columnOf: (number) => Math.round(positionOf(number) * last) };
}

/** Return how many numbers are in each column; numbers outside the scale are not counted. */
export function countColumns(numbers, scale) {
  const { count, columnOf } = scaleColumns(scale),
    counts = new Array(count).fill(0);
  for (const number of numbers) if (number >= scale.low && number <= scale.high) counts[columnOf(number)] += 1;
  return counts;
}

/** Return the different sentences with their counts, the one that arrived last first; a repeated one stays in its place. */
export function countSentences(given) {
  const counts = new Map();
  for (const sentence of given) counts.set(sentence, (counts.get(sentence) ?? 0) + 1);
  return [...counts].reverse();
}

/** Return the median of numbers, or null if there is none. */
export function medianOf(numbers) {
  if (!numbers.length) return null;
  const sorted = [...numbers].sort((a, b) => a - b),
    middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Return a number with the unit of its scale: "62 %", "1 token". */
export const withUnit = (number, { unit }) => joinUnit(formatRounded(number).replace(/(\.\d*[1-9])0+$/, "$1"), unit);

/** Return the numbers that are written under a scale: its ends, and round ones between them. */
export function scaleTicks({ low, high, step }) {
  const quarter = (high - low) / 4,
    power = 10 ** Math.floor(Math.log10(quarter)),
    between = [1, 2, 2.5, 5, 10]
      .map((each) => each * power)
      .find((each) => each >= quarter && (step < 1 || each % 1 === 0));
  const inside = [];
  for (let i = Math.ceil(low / between); i * between < high; i += 1) inside.push(i * between);
  const isFarFromEnds = (tick) => Math.min(tick - low, high - tick) > (high - low) / 10;
  return [low, ...inside.filter(isFarFromEnds), high];
}
