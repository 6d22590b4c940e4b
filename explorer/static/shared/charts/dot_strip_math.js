/* Place measured and predicted numbers on a line and stack dots that overlap. No DOM. */

const MANY = 1000; // times; a wider span of positive numbers is drawn by its powers of ten

/** Return an axis from low to high that contains all these numbers too: its ends, and the position of a number on it,
    0 to 1. With `powers` it is drawn by its powers of ten. */
export function makeAxis(numbers, low = null, high = null, powers = false) {
  const finite = numbers.filter(Number.isFinite),
    positive = finite.length > 0 && finite.every((n) => n > 0);
  const least = Math.min(...finite, low ?? Infinity),
    most = Math.max(...finite, high ?? -Infinity);
  if (powers || (positive && low === null && high === null && most / least >= MANY)) {
    const from = Math.floor(Math.log10(least)),
      to = Math.ceil(Math.log10(most));
    return {
      low: 10 ** from,
      high: 10 ** to,
      powers: true,
      positionOf: (n) => Math.max(0, (Math.log10(n) - from) / (to - from || 1)), // 0 is at the lower end
    };
  }
  const [from, to] = least < most ? [low ?? Math.min(least, least > 0 ? 0 : least), most] : [least - 0.5, most + 0.5];
  return { low: from, high: to, powers: false, positionOf: (n) => (n - from) / (to - from) };
}

/** Return the row of each dot, 0 for the lowest, so that dots of this size (px) do not overlap. */
export function stackDots(places, size) {
  const rows = [];
  return places
    .map((place, i) => [place, i])
    .sort(([a], [b]) => a - b)
    .map(([place, i]) => {
      let row = rows.findIndex((last) => place - last >= size);
      if (row < 0) row = rows.push(-Infinity) - 1;
      rows[row] = place;
      return [i, row];
    })
    .sort(([a], [b]) => a - b)
    .map(([, row]) => row);
}

/** Count how often each choice was made, by name. */
export function countChoices(names, answers) {
  const counts = Object.fromEntries(Array.from(names, (name) => [name, 0]));
  for (const name of answers) if (Object.hasOwn(counts, name)) counts[name] += 1;
  return counts;
}

/** Milliseconds until an unanswered message is sent again. */
export const retryDelay = (failures) => Math.min(8000, 500 * 2 ** Math.max(0, failures - 1));
