import assert from "node:assert/strict";
import { test } from "node:test";
import { spreadEndLabels } from "../../explorer/static/shared/charts/end_labels.js";

const label = (y) => ({ x: 1, y, xref: "paper", yref: "paper", xanchor: "left", font: { size: 15 } });
const heights = (labels, px) => spreadEndLabels(labels, px).map(({ y }) => y);

test("labels that are far enough apart stay where they are", () => {
  assert.deepEqual(heights([0.5, 0.1, 0.2].map(label), 400), [0.5, 0.1, 0.2]);
  assert.deepEqual(spreadEndLabels([], 400), []);
});

test("in a low figure they are moved up, in their order, by the height of a line", () => {
  const [high, low, middle] = heights([0.3, 0.1, 0.2].map(label), 160);
  assert.equal(low, 0.1);
  assert.ok(Math.abs(middle - 0.28) < 1e-9 && Math.abs(high - 0.46) < 1e-9);
});

test("they do not leave the figure at its top", () => {
  const [low, middle, high] = heights([0.8, 0.85, 0.9].map(label), 160);
  assert.equal(high, 1);
  assert.ok(Math.abs(middle - 0.82) < 1e-9 && Math.abs(low - 0.64) < 1e-9);
});

test("labels of lines that end together are moved apart wherever that is", () => {
  const early = [0.1, 0.1].map((y) => ({ ...label(y), x: 0.4 }));
  const [first, second, late] = heights([...early, label(0.1)], 160);
  assert.ok(Math.abs(second - first - 0.18) < 1e-9);
  assert.equal(late, 0.1);
});

test("other annotations stay", () => {
  const others = [
    { x: 0, y: 0.1, xref: "paper", yref: "paper", xanchor: "left" },
    { x: 1, y: 0.1, xref: "paper", yref: "y", xanchor: "left" },
  ];
  assert.deepEqual(spreadEndLabels([...others, label(0.1)], 100), [...others, label(0.1)]);
});
