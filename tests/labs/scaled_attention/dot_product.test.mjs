import assert from "node:assert/strict";
import { test } from "node:test";
import {
  largestDifference,
  attend,
  randomNumber,
  explainCell,
  formatFinding,
  hiddenBy,
  sourceCells,
  softmax,
  strongestPair,
  makeTable,
  formatProducts,
} from "../../../explorer/labs/scaled_attention/components/dot_product/math.js";

const near = (a, b) => assert.ok(Math.abs(a - b) < 1e-9, `${a} is not ${b}`);
const none = (count) => hiddenBy("none", count, []);
const Q = [
    [1, 2],
    [0, -1],
  ],
  K = [
    [3, 0],
    [1, 1],
  ],
  V = [
    [10, 0],
    [0, 1],
  ];

test("each step is the formula, worked by hand", () => {
  const { scores, scaled, weights, out } = attend(Q, K, V, true, none(2));
  assert.deepEqual(scores, [
    [3, 3],
    [0, -1],
  ]);
  near(scaled[0][0], 3 / Math.SQRT2);
  near(weights[0][1], 0.5);
  near(weights[1][0], 1 / (1 + Math.exp(-1 / Math.SQRT2)));
  near(out[0][0], 5);
  assert.deepEqual(attend(Q, K, V, false, none(2)).scaled, scores);
});

test("what is hidden gets nothing, the rest shares all; who sees nobody takes nothing", () => {
  assert.deepEqual(hiddenBy("causal", 2, []), [
    [false, true],
    [false, false],
  ]);
  assert.deepEqual(hiddenBy("padding", 2, [1]), [
    [false, true],
    [false, true],
  ]);
  const { weights, out } = attend(Q, K, V, true, hiddenBy("padding", 2, [1]));
  assert.deepEqual(weights, [
    [1, null],
    [1, null],
  ]);
  assert.deepEqual(out[1], [10, 0]);
  const blind = attend(Q, K, V, true, hiddenBy("padding", 2, [0, 1]));
  assert.deepEqual(
    [blind.weights[0], blind.out[0]],
    [
      [null, null],
      [null, null],
    ],
  );
  assert.match(
    explainCell("weights", 0, 0, { tokens: ["a", "b"], q: Q, k: K, v: V, divide: true, found: blind }),
    /no visible key/,
  );
  assert.equal(strongestPair(blind.weights), null);
});

test("softmax stands large scores", () => {
  assert.deepEqual(softmax([1000, 1000, null]), [0.5, 0.5, null]);
  assert.deepEqual(softmax([-1e6, 0]), [0, 1]);
});

test("numbers are drawn the same for the same seed, and stay when others come", () => {
  assert.equal(randomNumber(3, "q", 1, 2), randomNumber(3, "q", 1, 2));
  const small = makeTable("q", [], 2, 2, 5),
    large = makeTable("q", [], 6, 6, 5);
  assert.deepEqual(
    small,
    large.slice(0, 2).map((row) => row.slice(0, 2)),
  );
  assert.notDeepEqual(makeTable("k", [], 2, 2, 5), small);
  assert.notDeepEqual(makeTable("q", [], 2, 2, 6), small);
  const many = Array.from({ length: 4000 }, (_, i) => randomNumber(1, "v", i, i % 5)),
    mean = many.reduce((a, b) => a + b) / 4000;
  const spread = Math.sqrt(many.reduce((sum, x) => sum + (x - mean) ** 2, 0) / 4000);
  assert.ok(Math.abs(mean) < 0.06 && Math.abs(spread - 1) < 0.06, `${mean} ${spread}`);
});

test("what was typed counts before what is drawn", () => {
  assert.deepEqual(makeTable("q", [9, 8, 7, 6], 3, 2, 0), [
    [9, 8],
    [7, 6],
    [2, 0],
  ]);
});

test("a cell is explained by the two vectors that made it", () => {
  const found = attend(Q, K, V, true, none(2)),
    all = { tokens: ["the", "cat"], q: Q, k: K, v: V, divide: true, found };
  assert.equal(explainCell("scores", 1, 1, all), "q(“cat”) · k(“cat”) = 0·1 − 1·1 = −1.00");
  assert.equal(explainCell("scaled", 0, 0, all), "3.00 / √2 = 3.00 / 1.41 = 2.12");
  assert.match(
    explainCell("scaled", 0, 0, { ...all, divide: false, found: attend(Q, K, V, false, none(2)) }),
    /not divided: 3\.00 stays\. Divided by √2 = 1\.41 it would be 2\.12/,
  );
  assert.equal(explainCell("weights", 0, 1, all), "e^2.12 / sum of the row = 8.34 / (8.34 + 8.34) = 0.50");
  assert.equal(
    explainCell("out", 0, 0, all),
    "Output 1 of “the”: its weights times number 1 of each value = 0.50·10 + 0.50·0 = 5.00",
  );
  const causal = attend(Q, K, V, true, hiddenBy("causal", 2, []));
  assert.match(explainCell("masked", 0, 1, { ...all, found: causal }), /may not attend to “cat”/);
});

test("of a long sum the first terms are written", () => {
  assert.equal(formatProducts([1, -2], [0.5, -1]), "1·0.50 − 2·(−1)");
  assert.match(formatProducts(Array(32).fill(1), Array(32).fill(1)), /^1·1 \+ .* … \(27 more\)$/);
});

test("the finding follows the numbers, and turns with them", () => {
  const words = ["a", "b"],
    make = (divide, q = Q) => attend(q, K, V, divide, none(2));
  assert.equal(
    formatFinding(words, 2, true, make(true), make(false)),
    "“b” gives 0.67 of its weight to “a”. Not divided by √2 = 1.41 it would give 0.73.",
  );
  assert.match(formatFinding(words, 2, false, make(false), make(true)), /gives 0\.73 .* Divided by .* 0\.67/);
  const alike = [
    [0, 0],
    [0, 0],
  ];
  assert.match(formatFinding(words, 2, true, make(true, alike), make(false, alike)), /0\.50 .*to itself.* as much/);
  const alone = attend(Q, K, V, true, [
    [false, true],
    [true, false],
  ]);
  assert.match(formatFinding(words, 2, true, alone, alone), /No token sees more than one/);
});

test("pointing leads to what made a cell", () => {
  const steps = ["scores", "scaled", "masked", "weights", "out"],
    of = (step, i, j) => sourceCells(step, i, j, 3, 2, steps).map(([name, r, c]) => `${name}${r}${c}`);
  assert.deepEqual(of("scores", 0, 2), ["q00", "q01", "k20", "k21", "scaled02", "masked02", "weights02"]);
  assert.deepEqual(of("out", 1, 0), ["weights10", "weights11", "weights12", "v00", "v10", "v20"]);
  assert.deepEqual(of("k", 2, 0), ["scores02", "scores12", "scores22"]);
});

test("two tables of weights are compared where either sees something", () => {
  near(largestDifference([[0.5, 0.5]], [[0.4, 0.6]]), 0.1);
  assert.equal(largestDifference([[1, null]], [[1, null]]), 0);
  near(largestDifference([[0.7, 0.3]], [[1, null]]), 0.3);
});
