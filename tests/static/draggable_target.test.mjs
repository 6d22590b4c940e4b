import assert from "node:assert/strict";
import { test } from "node:test";
import {
  firstReach,
  dragValue,
  sortByReach,
  roundValue,
} from "../../explorer/static/components/plot_frame/draggable_target.js";
import { withUnit } from "../../explorer/static/shared/runtime/format.js";

const rise = { x: [0, 1, 2, 3], y: [0, 0.5, 0.75, 0.5] };
const fall = { x: [0, 10, 20], y: [1, 0.5, 0.1] };

test("a target is reached on the straight way between two points, the first time only", () => {
  assert.equal(firstReach(rise, 0.25, true), 0.5);
  assert.equal(firstReach(rise, 0.5, true), 1);
  assert.equal(firstReach(rise, 0.75, true), 2);
  assert.equal(firstReach(fall, 0.75, false), 5);
});

test("who starts beyond it is there at once, who never gets there is nowhere", () => {
  assert.equal(firstReach(rise, -1, true), 0);
  assert.equal(firstReach(rise, 0.76, true), null);
  assert.equal(firstReach(fall, 0, false), null);
  assert.equal(firstReach({ x: [], y: [] }, 1, true), null);
});

test("a gap is not bridged", () => {
  assert.equal(firstReach({ x: [0, 1, 2, 3], y: [0, null, 1, 1] }, 0.5, true), 2);
  assert.equal(firstReach({ x: [0, 1], y: [null, null] }, 0.5, true), null);
});

test("the first comes first, those that never get there last and in their own order", () => {
  const slow = { x: [0, 100], y: [0, 1] },
    never = { x: [0, 1], y: [0, 0.1] };
  const lines = [3, 0, 2, 1].map((trace) => ({ trace, title: "abcd"[trace] }));
  const found = sortByReach(lines, [slow, rise, never], 0.5, true);
  assert.deepEqual(
    found.map(({ title, x }) => [title, x]),
    [
      ["b", 1],
      ["a", 50],
      ["d", null],
      ["c", null],
    ],
  );
  assert.deepEqual(
    sortByReach(lines, [slow, rise, never], 0.5, true, 20).map(({ title }) => title),
    ["b", "d", "a", "c"],
  );
});

test("a key moves by a share of the range and not out of it", () => {
  const range = { low: 0, high: 10 };
  assert.equal(dragValue(5, 0.01, range), 5.1);
  assert.equal(dragValue(9.5, 0.1, range), 10);
  assert.equal(dragValue(5, -1, range), 0);
  assert.ok(Math.abs(dragValue(1, 0.5, { low: 0.01, high: 100 }, true) - 100) < 1e-9);
  assert.ok(Math.abs(dragValue(1, -0.25, { low: 0.01, high: 100 }, true) - 0.1) < 1e-9);
});

test("as many digits as a hand can mean", () => {
  assert.equal(roundValue(0.94837, { low: 0, high: 1 }), 0.948);
  assert.equal(roundValue(0.94837, { low: 0.9, high: 1 }), 0.9484);
  assert.equal(roundValue(48.37, { low: 0, high: 1000 }), 48);
  assert.equal(roundValue(0.0012345, { low: 0.001, high: 1 }, true), 0.00123);
  assert.equal(roundValue(123.45, { low: 1, high: 1000 }, true), 123);
  assert.equal(roundValue(2, { low: 0, high: 1 }), 1);
  assert.equal(roundValue(0, { low: 0, high: 0 }), 0);
});

test("one step is a step, and one second keeps its sign", () => {
  assert.deepEqual(
    [withUnit("12", "steps"), withUnit("1", "steps"), withUnit("1", "s"), withUnit("0.5", "")],
    ["12 steps", "1 step", "1 s", "0.5"],
  );
});
