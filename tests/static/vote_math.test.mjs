import assert from "node:assert/strict";
import { test } from "node:test";
import {
  countColumns,
  countSentences,
  describeShare,
  medianOf,
  scaleColumns,
  scaleTicks,
  shareOfClass,
  withUnit,
} from "../../explorer/static/components/classroom/vote_math.js";
import { innerName, keyOf, slugOf } from "../../explorer/static/components/presentation/controls.js";

test("a bar is a share of the class, whose size may be smaller than the number of answers for a moment", () => {
  assert.deepEqual([shareOfClass(12, 24), shareOfClass(0, 0), shareOfClass(3, 2), shareOfClass(1, 1)], [0.5, 0, 1, 1]);
  assert.equal(describeShare(12, 24), "12 of 24 (50 %)");
  assert.equal(describeShare(0, 0), "0 of 0 (0 %)");
  assert.equal(describeShare(3, 2), "3 of 3 (100 %)");
});

test("a sentence is listed once with its count, the one that arrived last first", () => {
  const given = ["a", "__proto__", "a", "b"];
  assert.deepEqual(countSentences(given), [
    ["b", 1],
    ["__proto__", 1],
    ["a", 2],
  ]);
});

test("every number has a column on the whole scale", () => {
  const few = { low: 0, high: 8, step: 1, unit: "" },
    many = { low: -50, high: 50, step: 0.1, unit: "%" };
  assert.equal(scaleColumns(few).count, 9);
  assert.deepEqual(countColumns([0, 8, 8, 3, 9, -1], few), [1, 0, 0, 1, 0, 0, 0, 0, 2]);
  const numbers = Array.from({ length: 101 }, (_, i) => i - 50),
    counts = countColumns(numbers, many);
  assert.equal(counts.length, 41);
  assert.equal(
    counts.reduce((sum, count) => sum + count),
    numbers.length,
  );
  assert.deepEqual([scaleColumns(many).positionOf(-900), scaleColumns(many).positionOf(900)], [0, 1]);
  assert.equal(scaleColumns({ low: 0, high: 1, step: 5 }).count, 2);
  assert.deepEqual(scaleTicks(many), [-50, -25, 0, 25, 50]);
  assert.equal(withUnit(62.04, many), "62.04 %");
  assert.deepEqual(scaleTicks({ low: 1, high: 60, step: 1 }), [1, 20, 40, 60]);
  assert.deepEqual(scaleTicks({ low: 0, high: 10, step: 1 }), [0, 5, 10], "no half tokens");
  assert.deepEqual(scaleTicks({ low: 0, high: 1, step: 0.01 }), [0, 0.25, 0.5, 0.75, 1]);
  assert.deepEqual(
    [1, 2.5].map((number) => withUnit(number, { unit: "tokens" })),
    ["1 token", "2.5 tokens"],
  );
});

test("the median of answers", () => {
  assert.deepEqual([medianOf([]), medianOf([7]), medianOf([9, 1, 2]), medianOf([4, 1, 2, 3])], [null, 7, 2, 2.5]);
});

test("a control inside a component is named by its component and its label", () => {
  assert.equal(slugOf("Step size (T)"), "step-size-t");
  assert.equal(innerName("masks", "causal mask"), "masks--in--causal-mask");
  assert.equal(innerName("masks", "→"), "", "a label without letters names nothing");
  const long = innerName("k".repeat(90), "label ".repeat(20));
  assert.ok(long.length <= 80 && /^[A-Za-z0-9_-]+$/.test(long));
  assert.equal(keyOf(["a", "st-key-masks--in--causal-mask", "st-key-seed--v12"]), "seed");
  assert.equal(keyOf(["stButton"]), "");
});
