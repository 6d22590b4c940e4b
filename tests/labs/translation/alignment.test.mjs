import assert from "node:assert/strict";
import { test } from "node:test";
import {
  gapBetween,
  likeliestTokens,
  cellAt,
  cellWords,
  heightAt,
  attentionKinds,
  markTokens,
  headMatrix,
  nearestRow,
  scoreLimit,
  rowWords,
  heatMapSizes,
  stepWords,
  stripWords,
  strongestColumns,
} from "../../../explorer/labs/translation/components/alignment/math.js";

const data = { source: ["3", "1", "4"], target: ["4", "1", "<EOS>"] };
const counted = (layers, heads, rows, columns) => ({
  shape: [layers, heads, rows, columns],
  data: Float32Array.from({ length: layers * heads * rows * columns }, (_, i) => i),
});

test("a head is its own part of the array, with the names of its rows and columns", () => {
  const arrays = {
    decoder: counted(2, 2, 3, 3),
    decoder_scores: counted(2, 2, 3, 3),
    encoder: counted(1, 1, 3, 3),
    encoder_scores: counted(1, 1, 3, 3),
  };
  const view = headMatrix(data, arrays, { look: "decoder", layer: 1, head: 0 });
  assert.deepEqual([...view.weights], [18, 19, 20, 21, 22, 23, 24, 25, 26]);
  assert.deepEqual([view.asks, view.answers], [data.target, ["<BOS>", "4", "1"]]);
  assert.deepEqual([0, 1, 2].map(view.reach), [1, 2, 3]);
  const own = headMatrix(data, arrays, { look: "encoder", layer: 0, head: 0 });
  assert.deepEqual([own.asks, own.answers, own.reach(0)], [data.source, data.source, 3]);
  assert.deepEqual(
    [attentionKinds("vector"), attentionKinds("additive"), attentionKinds("transformer").length],
    [[], ["source"], 3],
  );
});

const view = (weights, columns, causal = false) => ({
  rows: weights.length / columns,
  columns,
  weights: Float32Array.from(weights),
  scores: Float32Array.from(weights, (w) => 10 * w - 4),
  asks: ["4", "1", "<EOS>"].slice(0, weights.length / columns),
  answers: ["3", "1", "4"].slice(0, columns),
  reach: (row) => (causal ? row + 1 : columns),
});

test("the scale of scores is symmetric and knows nothing of masked cells", () => {
  assert.equal(scoreLimit(view([0.4, 0.5, 0.45, 0.5], 2)), 1);
  assert.equal(scoreLimit(view([0, 9, 0.5, 0.5], 2, true)), 4);
  assert.equal(scoreLimit(view([0, 9, 0.5, 0.5], 2)), 86);
});

test("cells take the room there is, values are written where they fit", () => {
  const few = heatMapSizes(600, view([0.1, 0.9, 0, 0.5, 0.5, 0], 3)),
    many = heatMapSizes(340, { rows: 51, columns: 50, asks: ["<EOS>"], answers: Array(50).fill("1") });
  assert.deepEqual([few.cell, few.high, few.values, few.every, few.turned], [60, 34, true, 1, false]);
  assert.ok(many.left + 50 * many.cell <= 340 && many.every >= 2 && !many.values && many.high === 16);
  assert.equal(heatMapSizes(300, { rows: 1, columns: 10, asks: ["4"], answers: Array(10).fill("<BOS>") }).turned, true);
});

test("a point is in a cell, and beside all of them in the nearest", () => {
  const one = view([0.1, 0.9, 0, 0.5, 0.5, 0], 3),
    box = heatMapSizes(600, one);
  assert.deepEqual(cellAt(box, one, box.left + 1.5 * box.cell, box.top + 1.5 * box.high), { row: 1, column: 1 });
  assert.deepEqual(cellAt(box, one, 0, 9_999), { row: 1, column: 0 });
});

test("a line is level at its ends, half way up in the middle, and found by whoever points at it", () => {
  const one = view([0, 0, 1, 1, 0, 0], 3),
    box = gapBetween(400, one, { top: 24, high: 30 }),
    middle = (box.left + box.right) / 2;
  assert.ok(Math.abs(heightAt(box, 0, 2, box.left) - (box.top + 15)) < 0.01);
  assert.ok(Math.abs(heightAt(box, 0, 2, box.right) - (box.top + 50)) < 0.01);
  assert.ok(Math.abs(heightAt(box, 0, 2, middle) - (box.top + 32.5)) < 0.01);
  const quarter = box.left + 0.274375 * (box.right - box.left); // where the cubic is at t = 1/4
  assert.ok(Math.abs(heightAt(box, 0, 2, quarter) - (box.top + 15 + 35 * 0.15625)) < 0.01);
  const wider = gapBetween(400, view([0, 0, 1], 3), { top: 24, high: 60 });
  assert.deepEqual([wider.step, wider.bottom], [20, 84]);
  assert.ok(
    Math.abs(heightAt(wider, 0, 2, wider.left) - 54) < 0.01 && Math.abs(heightAt(wider, 0, 2, wider.right) - 74) < 0.01,
  );
  assert.equal(nearestRow(box, one, box.right, box.top + 50), 0);
  assert.equal(nearestRow(box, one, box.right, box.top + 10), 1);
  assert.equal(nearestRow(box, one, 0, box.top + 30), 1);
});

test("the strongest come first, and nothing that is masked", () => {
  assert.deepEqual(strongestColumns(view([0.25, 0.75, 0.5, 0.5], 2), 0, 1), [{ column: 1, weight: 0.75 }]);
  assert.deepEqual(
    strongestColumns(view([1, 0, 0, 0.5, 0.5, 0, 0, 0, 1], 3, true), 1, 9).map(({ column }) => column),
    [0, 1],
  );
});

test("candidates are ranked, and each written token is held against the right one", () => {
  const said = { shape: [2, 3], data: Float32Array.from([0.2, 0.5, 0.3, 0, 0, 1]) };
  assert.deepEqual(
    likeliestTokens(said, ["a", "b", "c"], 0, 2).map(({ token }) => token),
    ["b", "c"],
  );
  assert.equal(likeliestTokens(said, ["a", "b", "c"], 1, 1)[0].token, "c");
  const given = markTokens(["4", "2", "<EOS>", "7"], ["4", "1", "<EOS>"]);
  assert.deepEqual(
    given.map(({ right }) => right),
    [true, false, true, false],
  );
  assert.deepEqual([given[1].wanted, given[3].wanted], ["1", null]);
  assert.deepEqual(markTokens(["4"], null), [{ token: "4", right: null, wanted: null }]);
});

test("rows and cells are said with their numbers", () => {
  const one = view([0.1, 0.9, 0, 0.5, 0.5, 0], 3),
    given = markTokens(["4", "1"], ["4", "3"]);
  assert.equal(
    rowWords(one, "source", { row: 0 }, given),
    "Writing “4”, token 1 of 2 (right), the model attends to “1” (position 2) 0.90, “3” (position 1) 0.10.",
  );
  assert.match(rowWords(one, "encoder", { row: 1 }, given), /^“1”, token 2 of the source, attends to/);
  assert.equal(stepWords(given, 1), "“1”, token 2 of 2 (wrong: “3” is right)");
  assert.equal(cellWords(one, { row: 0, column: 1 }, "energy"), " Here: “1” at position 2, energy 5.00, weight 0.900.");
  assert.match(cellWords(view([1, 0, 0.5, 0.5], 2, true), { row: 0, column: 1 }, "score"), /masked/);
  assert.equal(cellWords(one, { row: 0, column: null }, "energy"), "");
  assert.equal(stripWords("c", [0.6, -0.8]), "c: 2 numbers from −0.80 to 0.60, as a vector of length 1.00");
});
