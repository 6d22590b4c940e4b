import assert from "node:assert/strict";
import { test } from "node:test";
import {
  describeCell,
  cellAt,
  evenShare,
  moveCell,
  tileSizes,
  toneOf,
} from "../../explorer/static/components/multi_head/math.js";

test("tiles fit into their stage, however many and however narrow", () => {
  for (const width of [340, 358, 699, 700, 1300])
    for (const heads of [1, 2, 4, 8]) {
      const { side, columns } = tileSizes(width, heads),
        rows = Math.ceil(heads / columns),
        high = width >= 700 ? 440 : 390;
      assert.ok(columns * side + (columns - 1) * 12 <= width, `${heads} heads are too wide for ${width}`);
      assert.ok(rows * (side + 24) + (rows - 1) * 12 <= high, `${heads} heads are too high at ${width}`);
      assert.ok(side > 70);
    }
});

test("an even look is the middle of its scale, eight times of it the end", () => {
  assert.equal(evenShare(3), 0.25);
  assert.equal(toneOf(0.25, 3, "even"), 0.5);
  assert.equal(toneOf(1, 7, "even"), 1);
  assert.equal(toneOf(0, 3, "even"), 0);
  assert.ok(Math.abs(toneOf(0.125, 3, "even") - (0.5 - 1 / 6)) < 1e-12);
  assert.deepEqual([toneOf(0.3, 3, "shares"), toneOf(2, 0, "shares")], [0.3, 1]);
});

test("a pointer and the keys find a cell and stay inside", () => {
  const box = { left: 100, top: 50, width: 200, height: 200 };
  assert.deepEqual(cellAt({ clientX: 110, clientY: 249 }, box, 10), [9, 0]);
  assert.deepEqual(cellAt({ clientX: 900, clientY: 0 }, box, 10), [0, 9]);
  assert.deepEqual(moveCell([3, 3], "ArrowUp", 5), [2, 3]);
  assert.deepEqual(moveCell([0, 0], "ArrowLeft", 5), [0, 0]);
  assert.deepEqual(moveCell([2, 2], "End", 5), [2, 4]);
  assert.equal(moveCell([2, 2], "r", 5), null);
});

test("who asks whom", () => {
  assert.equal(describeCell(["t", "h"], [1, 0]), "“h” at place 2 looks at “t” at place 1.");
});
