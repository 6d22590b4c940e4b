import assert from "node:assert/strict";
import { test } from "node:test";
import {
  drawPair,
  cosineRange,
  cosineMatrix,
  formatFinding,
  shiftLengths,
  rotatedCosine,
  scores,
  rowOf,
  sines,
  rotatePair,
  rotations,
  describeUnmoved,
  pairWavelength,
} from "../../../explorer/labs/positions/components/positions/math.js";

const near = (a, b, by = 1e-9) => assert.ok(Math.abs(a - b) < by, `${a} is not ${b}`);

test("sines are those of the paper, worked by hand", () => {
  const rows = sines(3, 4, 10_000);
  [0, 1, 0, 1].forEach((value, i) => near(rows[i], value));
  [Math.sin(2), Math.cos(2), Math.sin(0.02), Math.cos(0.02)].forEach((value, i) => near(rows[8 + i], value));
  assert.deepEqual([rotations(1, 2, 10)[0], rotations(1, 2, 10)[1]], [1, 0]);
  near(pairWavelength(0, 4, 10_000), 2 * Math.PI);
  near(pairWavelength(1, 4, 10_000), 200 * Math.PI);
});

test("between sines only the distance counts", () => {
  const square = cosineMatrix(sines(20, 16, 1000), 20);
  for (const distance of [0, 1, 7]) {
    const [low, high] = cosineRange(square, 20, distance);
    near(low, high);
  }
  near(square[3 * 20 + 3], 1);
  assert.equal(rowOf(square, 20, 4).length, 20);
});

test("a turned score keeps when both move on, whatever query and key are drawn", () => {
  for (const seed of [0, 1, 7]) {
    const pair = drawPair(8, seed);
    near(rotatedCosine(pair, 1000, 3, 9), rotatedCosine(pair, 1000, 13, 19));
    near(scores(pair, 1000, 5)[2 * 5 + 4], rotatedCosine(pair, 1000, 2, 4));
  }
  near(rotatedCosine(drawPair(8, 0), 1000, 4, 4), 1);
  assert.deepEqual(drawPair(8, 3), drawPair(8, 3));
  assert.notDeepEqual(drawPair(8, 3), drawPair(8, 4));
  assert.deepEqual(
    rotatePair([1, 0], Math.PI / 2).map((value) => Math.round(value)),
    [0, 1],
  );
});

test("what moved is measured place by place", () => {
  const shifts = shiftLengths([0, 0, 1, 1, 5, 5], [3, 4, 1, 1, 5, 6], 3);
  assert.deepEqual([...shifts], [5, 0, 1]);
  assert.match(describeUnmoved(shifts), /^1 of 3 vectors did not change/);
  assert.equal(describeUnmoved(Float64Array.of(1, 2)), "All of them moved.");
});

test("the sentence says what the squares say", () => {
  const even = cosineMatrix(sines(6, 8, 100), 6),
    uneven = Float64Array.from([1, 0.5, 0, 0.5, 1, -0.25, 0, -0.25, 1]);
  assert.match(formatFinding(even, null, 6), /^Sinusoidal neighbours have a cosine of 0\.\d\d at every position\.$/);
  assert.match(formatFinding(uneven, null, 3), /^Sinusoidal neighbours have a cosine of −0\.25 to 0\.50\.$/);
  const learned = { square: uneven, trained: 2, after: true };
  assert.match(formatFinding(uneven, learned, 3), /Learned neighbours have 0\.50 after training\.$/);
  assert.match(
    formatFinding(uneven, { ...learned, trained: 3, after: false }, 3),
    /have −0\.25 to 0\.50 before training, at random\.$/,
  );
});

test("numbers have a true minus and no negative zero", () => {});
