import assert from "node:assert/strict";
import { test } from "node:test";
import { layOut, focusOrder } from "../../../explorer/labs/block/components/block_diagram/layout.js";
import {
  explain,
  isHidden,
  largestTerms,
  shapeWords,
  largestMagnitude,
  statistics,
} from "../../../explorer/labs/block/components/block_diagram/math.js";

const tensor = (shape, data, more = {}) => ({ shape, data, ...more });

test("a norm worked by hand", () => {
  const model = {
    flows: {
      x: tensor([1, 2], [1, 3]),
      y: tensor([1, 2], [0, 0], { made: "layernorm", ins: ["x"], parameters: ["g", "b"] }),
    },
    parameters: { g: tensor([2], [2, 2]), b: tensor([2], [0.5, 0.5]) },
  };
  const { value, steps } = explain(model, "y", [0, 1]); // (3 - 2) / 1 · 2 + 0.5
  assert.ok(Math.abs(value - 2.5) < 1e-4);
  assert.match(steps[0], /mean of the token’s 2 numbers: 2\.000/);
  assert.match(steps[1], /variance: 1\.000/);
});

test("what the mask hides has weight 0 and no tile", () => {
  const model = {
    flows: {
      s: tensor([1, 2, 2], [1, 9, 1, 1]),
      m: tensor([2, 2], [0, -Infinity, 0, 0], { made: "mask", ins: [] }),
      w: tensor([1, 2, 2], [1, 0, 0.5, 0.5], { made: "weights", ins: ["s", "m"] }),
    },
    parameters: {},
  };
  assert.equal(explain(model, "w", [0, 0, 1]).value, 0);
  assert.equal(explain(model, "w", [0, 1, 1]).value, 0.5);
  assert.ok(isHidden(model, "w", 0, 0, 1) && isHidden(model, "m", 0, 0, 1) && !isHidden(model, "w", 0, 1, 1));
  assert.match(explain(model, "m", [0, 1]).steps[0], /comes later/);
});

test("of a sum the largest terms are told, and what the others come to", () => {
  const terms = [1, -5, 2, 0.5, 3, 4].map((value) => ({ value, words: "a" }));
  assert.deepEqual(largestTerms(terms), ["a = −5.000", "a = 4.000", "a = 3.000", "a = 2.000", "2 more: 1.500"]);
  assert.equal(largestTerms(terms.slice(0, 2)).length, 2);
});

test("statistics, spans and shapes", () => {
  assert.deepEqual(statistics([3, -3]), { mean: 0, variance: 9, norm: Math.hypot(3, 3) });
  assert.equal(largestMagnitude([-2, 1, -Infinity]), 2);
  assert.equal(largestMagnitude([0]), 1);
  assert.equal(
    shapeWords({ shape: [4, 5, 5], columns: "text", made: "weights" }),
    "batch 1 × heads 4 × tokens 5 × key tokens 5",
  );
  assert.equal(shapeWords({ shape: [5, 5], columns: "text", made: "mask" }), "tokens 5 × key tokens 5");
  assert.equal(
    explain({ flows: { i: tensor([1, 1], [3], { made: "ids", ins: [] }) }, parameters: {} }, "i", [0, 0]),
    null,
  );
});

const BOXES = [
  { name: "e", column: 0, row: 1 },
  { name: "s", column: 0, row: 2, kind: "sum" },
  { name: "d", column: 1, row: 1 },
  { name: "c", column: 1, row: 2 },
];
const ARROWS = [
  { flow: "i", start: "", end: "e", way: "up" },
  { flow: "x", start: "e", end: "s", way: "up" },
  { flow: "x", start: "e", end: "s", way: "residual" },
  { flow: "y", start: "s", end: "c", way: "cross" },
  { flow: "z", start: "c", end: "", way: "up" },
];

test("boxes stand inside the drawing, apart, and arrows lead upwards", () => {
  for (const width of [300, 358, 480]) {
    const { boxes, arrows, height } = layOut(BOXES, ARROWS, width);
    for (const { x, y, w, h } of Object.values(boxes))
      assert.ok(x - w / 2 >= 0 && x + w / 2 <= width && y - h / 2 >= 0 && y + h / 2 <= height);
    assert.ok(boxes.e.x + boxes.e.w / 2 < boxes.d.x - boxes.d.w / 2);
    assert.ok(boxes.s.y + boxes.s.h / 2 < boxes.e.y - boxes.e.h / 2);
    const [, from, to] = arrows[1].d.match(/M\S+ (\S+)V(\S+)/).map(Number);
    assert.ok(from > to);
    const [, side] = arrows[2].d.match(/H(\S+?)V/).map(Number);
    assert.ok(side > 0 && side < boxes.e.x - boxes.e.w / 2, "the residual goes around the box");
  }
});

test("keys go from the bottom to the top, column by column", () => {
  const order = focusOrder(layOut(BOXES, ARROWS, 400), BOXES, ARROWS).map(({ kind, i }) =>
    kind === "box" ? BOXES[i].name : `${ARROWS[i].flow}${ARROWS[i].way[0]}`,
  );
  assert.deepEqual(order, ["iu", "e", "xu", "xr", "s", "d", "yc", "c", "zu"]);
});
