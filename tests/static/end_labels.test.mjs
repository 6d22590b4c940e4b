import assert from "node:assert/strict";
import { test } from "node:test";
import { placeEndLabels, placeHeights } from "../../explorer/static/shared/charts/end_labels.js";

const heights = (ends, low = 0, high = 200) =>
  placeHeights(
    ends.map((end) => ({ end, tall: 20 })),
    low,
    high,
  );

test("labels that are far enough apart stay where they are", () => {
  assert.deepEqual(heights([20, 80, 120]), [20, 80, 120]);
  assert.deepEqual(heights([]), []);
});

test("labels that would overlap each move as little as another, in their order", () => {
  assert.deepEqual(heights([100, 100]), [90, 110]);
  assert.deepEqual(heights([100, 104, 108, 180]), [84, 104, 124, 180]);
});

test("labels do not leave the figure, and too many share its height", () => {
  assert.deepEqual(heights([0, 0, 199]), [10, 30, 190]);
  const crowded = heights([50, 50, 50, 50], 0, 60);
  assert.ok(crowded.every((y, i) => y >= 6 && y <= 54 && (!i || y - crowded[i - 1] >= 14)));
});

test("a label moves away from a line that it would cover, except very far", () => {
  const label = (blocked) => placeHeights([{ end: 100, tall: 20, blocked }], 0, 200);
  assert.deepEqual(label([[95, 120]]), [95]);
  assert.deepEqual(label([[20, 180]]), [100]);
});

const WIDTH = 442,
  HEIGHT = 258; // axes of 300 by 200 px
const end = (text, x, y) => ({ text, x, y, xref: "paper", yref: "paper", xanchor: "left", font: { size: 10 } });
const layout = (annotations, shapes = []) => ({
  annotations,
  shapes,
  margin: { l: 8, r: 108, t: 12, b: 8 },
  xaxis: { range: [0, 10] },
  yaxis: { range: [0, 1] },
});
const line = (x, y) => ({ mode: "lines", x, y, line: { width: 3 } });
const place = (...all) => placeEndLabels(layout(...all[0]), all[1], WIDTH, HEIGHT, (text) => 6 * text.length);
const pixel = ({ y }) => Math.round((1 - y) * 200);

test("a line that ends early has its label there, beside a line that goes on", () => {
  const long = line([0, 10], [0.5, 0.5]),
    [early, late] = place(
      [[end("early", 0.4, 0.5), end("late", 1, 0.5)]],
      [line([0, 4], [0.5, 0.5]), long],
    ).annotations;
  assert.equal(pixel(late), 100);
  assert.ok(Math.abs(pixel(early) - 100) >= 8, "it would stand over the long line");
  assert.ok(early.x > 0.4 && early.x < 0.5);
});

test("a horizontal reference line is not covered either; on a logarithmic axis too", () => {
  const reference = { type: "line", xref: "paper", x0: 0, x1: 1, y0: 0.5, y1: 0.5 },
    [early] = place([[end("early", 0.4, 0.5)], [reference]], []).annotations;
  assert.ok(Math.abs(pixel(early) - 100) >= 8);
  const log = {
    ...layout([end("a", 0.4, 0.5)], [{ ...reference, y0: 10, y1: 10 }]),
    yaxis: { type: "log", range: [0, 2] },
  };
  assert.ok(Math.abs(pixel(placeEndLabels(log, [], WIDTH, HEIGHT, () => 20).annotations[0]) - 100) >= 8);
});

test("a label away from its end is joined to it; the others are not", () => {
  const { annotations, shapes } = place([[end("a", 1, 0.5), end("b", 1, 0.5), end("c", 1, 0.1)]], []);
  assert.deepEqual(annotations.map(pixel), [94, 106, 180]);
  assert.equal(shapes.length, 2);
  assert.ok(shapes.every(({ y0, x0, x1 }) => y0 === 0.5 && x0 >= 1 && x1 > x0));
});

test("other annotations stay", () => {
  const others = [
    { x: 0, y: 0.1, xref: "paper", yref: "y", xanchor: "left" },
    { x: 1, y: 0.1, xref: "paper", yref: "paper", xanchor: "right" },
  ];
  assert.deepEqual(place([others], []).annotations, others);
});
