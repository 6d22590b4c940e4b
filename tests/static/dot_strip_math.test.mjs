import assert from "node:assert/strict";
import { test } from "node:test";
import { makeAxis, retryDelay, stackDots, countChoices } from "../../explorer/static/shared/charts/dot_strip_math.js";
import { formatRounded } from "../../explorer/static/shared/runtime/format.js";

test("an axis holds all its numbers, and what could be guessed", () => {
  const line = makeAxis([12, 40], 0, 100);
  assert.deepEqual(
    [line.low, line.high, line.powers, line.positionOf(0), line.positionOf(50), line.positionOf(100)],
    [0, 100, false, 0, 0.5, 1],
  );
  assert.deepEqual([makeAxis([3, 5]).low, makeAxis([3, 5]).high], [0, 5]);
  assert.deepEqual([makeAxis([120], 0, 100).high, makeAxis([-2, 3]).low], [120, -2]);
  const one = makeAxis([0]);
  assert.ok(one.positionOf(0) > 0 && one.positionOf(0) < 1);
});

test("numbers that span many powers of ten are drawn by them", () => {
  const line = makeAxis([3e-18, 7e-13]);
  assert.ok(line.powers && Math.abs(line.low / 1e-18 - 1) < 1e-9 && Math.abs(line.high / 1e-12 - 1) < 1e-9);
  assert.ok(Math.abs(line.positionOf(1e-15) - 0.5) < 1e-9);
  assert.ok(!makeAxis([0, 1]).powers && !makeAxis([1, 900]).powers);
});

test("dots that would touch stand above each other", () => {
  assert.deepEqual(stackDots([10, 10, 10], 8), [0, 1, 2]);
  assert.deepEqual(stackDots([30, 10, 20], 10), [0, 0, 0]);
  assert.deepEqual(stackDots([10, 14, 20], 8), [0, 1, 0]);
});

test("choices are counted, and what is none is not", () => {
  assert.deepEqual(countChoices(["a", "b"], ["a", "a", "b", "c", "toString"]), { a: 2, b: 1 });
});

test("numbers read as the server writes them", () => {
  const texts = {
    0: "0",
    3: "3",
    62.99999952: "63",
    88.329: "88.3",
    99.98: "99.98",
    0.998: "0.998",
    1234: "1,234",
    0.13: "0.13",
  };
  for (const [number, text] of Object.entries(texts)) assert.equal(formatRounded(Number(number)), text);
  assert.deepEqual(
    [formatRounded(-0.5), formatRounded(5.6e-15), formatRounded(1e-18)],
    ["−0.50", "6 × 10⁻¹⁵", "10⁻¹⁸"],
  );
});

test("who gets no answer waits longer each time, up to eight seconds", () => {
  assert.deepEqual([1, 2, 3, 9].map(retryDelay), [500, 1000, 2000, 8000]);
});
