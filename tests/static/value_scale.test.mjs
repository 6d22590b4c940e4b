import assert from "node:assert/strict";
import { test } from "node:test";
import {
  linePath,
  mixColours,
  moveCell,
  scalePosition,
  spanOf,
  labelledColumns,
} from "../../explorer/static/shared/charts/value_scale.js";

test("a gate has a scale from 0 to 1, a state one around 0", () => {
  assert.deepEqual(
    [
      scalePosition(0.25, null),
      scalePosition(-3, null),
      scalePosition(0, 1),
      scalePosition(1, 2),
      scalePosition(-9, 2),
    ],
    [0.25, 0, 0.5, 0.75, 0],
  );
  assert.equal(spanOf([0.2, -0.9]), 1);
  assert.equal(spanOf([0.2, -3.14]), 3.1);
});

test("colours lie between their stops", () => {
  const stops = [
    [0, 0, 0],
    [100, 50, 0],
    [200, 50, 250],
  ];
  assert.deepEqual(
    [mixColours(stops, 0), mixColours(stops, 0.25), mixColours(stops, 1)],
    [
      [0, 0, 0],
      [50, 25, 0],
      [200, 50, 250],
    ],
  );
});

test("a line goes through the middles of its cells", () => {
  assert.equal(linePath([0, 1], 100, 44, null), "M25.0 42.0L75.0 2.0");
  assert.equal(linePath([0], 10, 44, 1), "M5.0 22.0");
});

test("as many symbols are written as have room, the last among them", () => {
  assert.deepEqual(labelledColumns(5, 500), [0, 1, 2, 3, 4]);
  const few = labelledColumns(200, 300);
  assert.deepEqual([few[0], few.at(-1)], [0, 199]);
  assert.ok(few.every((at, i) => i === 0 || (at - few[i - 1]) * (300 / 199) >= 14));
  assert.deepEqual(labelledColumns(1, 300), [0]);
});

test("arrows move inside the grid and other keys do not", () => {
  const at = { row: 0, column: 3 };
  assert.deepEqual(moveCell(at, "ArrowUp", 4, 5), at);
  assert.deepEqual(moveCell({ row: 3, column: 3 }, "ArrowUp", 5, 5), { row: 2, column: 3 });
  assert.deepEqual(moveCell({ row: 0, column: 0 }, "ArrowLeft", 5, 5), { row: 0, column: 0 });
  assert.deepEqual(moveCell(at, "ArrowDown", 4, 5), { row: 1, column: 3 });
  assert.deepEqual(moveCell(at, "End", 4, 5), { row: 0, column: 4 });
  assert.deepEqual(moveCell(at, "Home", 4, 5), { row: 0, column: 0 });
  assert.equal(moveCell(at, "x", 4, 5), null);
});
