import assert from "node:assert/strict";
import { test } from "node:test";
import { describeCell, evenShare, tileSizes, toneOf } from "../../../explorer/labs/depth/components/multi_head/math.js";
import { cellAt } from "../../../explorer/static/shared/charts/heatmap.js";

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

test("a pointer finds a cell and stays inside", () => {
  const box = { left: 100, top: 50, width: 200, height: 200 };
  assert.deepEqual(cellAt({ clientX: 110, clientY: 249 }, box, { rows: 10, columns: 10 }), { row: 9, column: 0 });
  assert.deepEqual(cellAt({ clientX: 900, clientY: 0 }, box, { rows: 10, columns: 20 }), { row: 0, column: 19 });
});

test("who asks whom", () => {
  assert.equal(describeCell(["t", "h"], { row: 1, column: 0 }), "“h” at position 2 attends to “t” at position 1.");
});
