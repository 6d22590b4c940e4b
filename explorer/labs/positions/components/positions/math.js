/* The arithmetic of position encodings: sinusoids, rotated pairs, and the similarity of two positions. No DOM. The vectors
   of all positions are in one array, a row per position; a square of cosines has a row and a column per position. */

import { formatRange } from "../../../../static/shared/runtime/format.js";

/** Radians that the pair moves on at each position: base^(-2j / width) (Vaswani et al. 2017, section 3.5). */
export const angularSpeed = (pair, width, base) => base ** ((-2 * pair) / width);

export const pairWavelength = (pair, width, base) => (2 * Math.PI) / angularSpeed(pair, width, base);

/** sin in the even columns, cos of the same angle in the odd ones. */
export function sines(count, width, base) {
  const rows = new Float64Array(count * width);
  for (let place = 0; place < count; place++) {
    for (let at = 0; at < width; at++) {
      const angle = place * angularSpeed(Math.floor(at / 2), width, base);
      rows[place * width + at] = at % 2 ? Math.cos(angle) : Math.sin(angle);
    }
  }
  return rows;
}

/** Return the same angles for rotary positions: cos in the even columns, sin in the odd ones. */
export function rotations(count, width, base) {
  const rows = sines(count, width, base);
  for (let at = 0; at < rows.length; at += 2) [rows[at], rows[at + 1]] = [rows[at + 1], rows[at]];
  return rows;
}

/** Cosine of the angle between the vectors of every two positions. */
export function cosineMatrix(vectors, count) {
  const width = vectors.length / count,
    cosines = new Float64Array(count * count),
    lengths = new Float64Array(count);
  const dot = (a, b) => {
    let sum = 0;
    for (let i = 0; i < width; i++) sum += vectors[a * width + i] * vectors[b * width + i];
    return sum;
  };
  for (let place = 0; place < count; place++) lengths[place] = Math.sqrt(dot(place, place));
  for (let a = 0; a < count; a++)
    for (let b = 0; b < count; b++) cosines[a * count + b] = dot(a, b) / (lengths[a] * lengths[b]);
  return cosines;
}

/** A number from 0 to 1 at each call, the same for the same seed (mulberry32). */
function randomGenerator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** A query and a key: pairs of numbers, N(0, 1); with seed 0 both are (1, 0) in every pair. */
export function drawPair(width, seed) {
  const roll = randomGenerator(seed),
    pairs = width / 2;
  const drawNormal = () => Math.sqrt(-2 * Math.log(1 - roll())) * Math.cos(2 * Math.PI * roll());
  const drawVector = () => Array.from({ length: pairs }, () => (seed ? [drawNormal(), drawNormal()] : [1, 0]));
  return { query: drawVector(), key: drawVector() };
}

/** A pair of numbers, read as a point of the plane, turned by an angle (Su et al. 2021, eq. 13). */
export const rotatePair = ([x, y], angle) => [
  x * Math.cos(angle) - y * Math.sin(angle),
  x * Math.sin(angle) + y * Math.cos(angle),
];

/** Cosine of a turned query at one position and a turned key at another: all that is left of both positions is their distance. */
export function rotatedCosine({ query, key }, base, at, other) {
  const width = 2 * query.length,
    vectorLength = (vector) => Math.sqrt(vector.reduce((sum, [x, y]) => sum + x * x + y * y, 0));
  const sum = query.reduce((total, one, pair) => {
    const angle = angularSpeed(pair, width, base),
      [a, b] = rotatePair(one, at * angle),
      [c, d] = rotatePair(key[pair], other * angle);
    return total + a * c + b * d;
  }, 0);
  return sum / (vectorLength(query) * vectorLength(key));
}

export function scores(pair, base, count) {
  const cosines = new Float64Array(count * count);
  for (let a = 0; a < count; a++)
    for (let b = 0; b < count; b++) cosines[a * count + b] = rotatedCosine(pair, base, a, b);
  return cosines;
}

/** Lowest and highest cosine of two positions that are so far apart, from one position to another. */
export function cosineRange(square, count, distance, from = 0, to = count) {
  let low = Infinity,
    high = -Infinity;
  for (let a = from; a + distance < to; a++) {
    const value = square[(a + distance) * count + a];
    [low, high] = [Math.min(low, value), Math.max(high, value)];
  }
  return [low, high];
}

export function shiftLengths(before, after, count) {
  const width = before.length / count;
  return Float64Array.from({ length: count }, (_, place) => {
    let sum = 0;
    for (let i = place * width; i < (place + 1) * width; i++) sum += (after[i] - before[i]) ** 2;
    return Math.sqrt(sum);
  });
}

export const rowOf = (square, count, place) => square.subarray(place * count, (place + 1) * count);

/** @param {number[]} interval */
const isConstant = ([low, high]) => high - low < 5e-3;

/** Describe the similarity matrices. `learned`: its matrix, at how many positions it was trained, whether this is after training. */
export function formatFinding(sinusoidal, learned, count) {
  const near = cosineRange(sinusoidal, count, 1);
  const first = `Sinusoidal neighbours have a cosine of ${formatRange(...near)}${isConstant(near) ? " at every position" : ""}.`;
  if (!learned) return first;
  const own = formatRange(...cosineRange(learned.square, count, 1, 0, learned.trained));
  return `${first} Learned neighbours have ${own}${learned.after ? " after training" : " before training, at random"}.`;
}

export function describeUnmoved(shifts) {
  const unchanged = shifts.filter((shift) => shift === 0).length;
  return unchanged
    ? `${unchanged} of ${shifts.length} vectors did not change: no training row was that long.`
    : "All of them moved.";
}
