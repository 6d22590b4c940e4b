import assert from "node:assert/strict";
import { test } from "node:test";
import {
  PAD,
  causalMask,
  combineMasks,
  formatFinding,
  attentionLayer,
  countNaN,
  padSentence,
  paddingMask,
  describePair,
  softmax,
} from "../../../explorer/labs/masks/components/masks/math.js";

const one = { padding: true, causal: true, fill: "infinite" };
const count = (mask) => mask.flat().filter(Boolean).length;
const eye = [
    [1, 0],
    [0, 1],
  ],
  matrices = { query: eye, key: eye, value: eye };
const vectors = (tokens) => tokens.map((token, i) => (token === PAD ? [0.5, -0.5] : [1, i]));

test("padding fills a row up, behind the words or before them", () => {
  assert.deepEqual(padSentence(["a", "b"], 4, "right"), ["a", "b", PAD, PAD]);
  assert.deepEqual(padSentence(["a", "b"], 4, "left"), [PAD, PAD, "a", "b"]);
});

test("nobody sees padding, nobody sees what comes later, and both together hide what either hides", () => {
  const tokens = ["a", "b", PAD];
  assert.deepEqual(paddingMask(tokens), Array(3).fill([true, true, false]));
  assert.deepEqual(causalMask(tokens), [
    [true, false, false],
    [true, true, false],
    [true, true, true],
  ]);
  assert.deepEqual(combineMasks(tokens, one), [
    [true, false, false],
    [true, true, false],
    [true, true, false],
  ]);
  assert.equal(count(combineMasks(tokens, { ...one, padding: false, causal: false })), 9);
});

test("a hidden pair has no weight, and the others share what there is", () => {
  const tokens = ["a", "b", PAD],
    { weights } = attentionLayer(vectors(tokens), matrices, combineMasks(tokens, one), "infinite");
  assert.deepEqual(weights[0], [1, 0, 0]);
  for (const line of weights) assert.ok(Math.abs(line.reduce((a, b) => a + b, 0) - 1) < 1e-12);
});

test("a row of which all is hidden comes to NaN, and the next layer spreads it over everybody", () => {
  const tokens = padSentence(["a", "b"], 4, "left"),
    mask = combineMasks(tokens, one);
  assert.ok(softmax([-Infinity, -Infinity]).every(Number.isNaN));
  const first = attentionLayer(vectors(tokens), matrices, mask, "infinite"),
    second = attentionLayer(first.out, matrices, mask, "infinite");
  assert.deepEqual([countNaN(first.out), countNaN(second.out)], [2, 4]);
  assert.match(
    formatFinding(tokens, mask, 2, 4),
    /^3 of 16 pairs are visible; the mask hides 13\. 2 rows have no visible key.* After a second layer it is 4 of 4/,
  );
});

test("a finite number instead, or a token that always sees itself, leaves numbers", () => {
  const tokens = padSentence(["a", "b"], 4, "left");
  for (const fill of ["finite", "self"]) {
    const mask = combineMasks(tokens, { ...one, fill }),
      { out, weights } = attentionLayer(vectors(tokens), matrices, mask, fill);
    assert.equal(countNaN(out), 0);
    assert.deepEqual(weights[0], fill === "self" ? [1, 0, 0, 0] : [0.25, 0.25, 0.25, 0.25]);
  }
  assert.match(
    formatFinding(tokens, combineMasks(tokens, { ...one, fill: "finite" }), 0, 0),
    /2 rows have no visible key, and attend equally/,
  );
});

test("without a mask nothing is hidden, and the sentence says so", () => {
  const tokens = ["a", "b"],
    none = { padding: false, causal: false, fill: "infinite" };
  assert.equal(formatFinding(tokens, combineMasks(tokens, none), 0, 0), "All 4 pairs are visible.");
});

test("a pair is told with its reasons", () => {
  const told = (tokens, options, q, k) =>
    describePair(
      tokens,
      options,
      attentionLayer(vectors(tokens), matrices, combineMasks(tokens, options), options.fill),
      q,
      k,
    );
  const right = ["a", "b", PAD],
    left = [PAD, "a", "b"];
  assert.match(
    told(right, one, 0, 1),
    /“a” \(1\) may not attend to “b” \(2\): it comes later.*weight e to the −∞ = 0\.$/,
  );
  assert.match(told(right, one, 1, 2), /it is padding, and it comes later/);
  assert.match(told(right, one, 1, 0), /^“b” \(2\) may attend to “a” \(1\)\. Score 0\.71, weight 0\.33\.$/);
  assert.match(told(left, one, 0, 0), /0 \/ 0 is NaN\.$/);
  assert.match(
    told(left, { ...one, fill: "self" }, 0, 0),
    /every token may attend to itself\. Score .*, weight 1\.00\.$/,
  );
  assert.match(told(left, { ...one, fill: "finite" }, 0, 2), /all are equal: weight 0\.33\.$/);
});
