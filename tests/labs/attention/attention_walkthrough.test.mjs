import assert from "node:assert/strict";
import { test } from "node:test";
import {
  KEYS,
  MASK,
  QUERY,
  SCALE,
  SCORES,
  SOFTMAX,
  VALUES,
  describePicture,
  barScale,
  digitsOf,
  largestKey,
  filledFormula,
  generalFormula,
  largestComponent,
  weightedValue,
  formulaText,
  products,
  stepNote,
  colourScales,
  describeStep,
  formatThreeDigits,
  strongestKeys,
  walkCsv,
  walkOf,
} from "../../../explorer/labs/attention/components/attention_walkthrough/math.js";
import { quoteToken } from "../../../explorer/static/shared/runtime/visible_text.js";

const near = (a, b, by = 1e-5) => assert.ok(Math.abs(a - b) <= by, `${a} is not ${b}`);
const array = (rows) => ({ shape: [rows.length, rows[0].length], data: Float32Array.from(rows.flat()) });
const TOKENS = ["a", "b", " ", "a"],
  SAID = { tokens: TOKENS, unit: "letter", layer: 2, head: 0 };

/** A head from its vectors, as a model would compute it. `may(query, key)`: whether one may look at the other. */
function head({ queries, keys, values }, may = () => true, { off = false, flat = false } = {}) {
  const width = queries[0].length,
    raw = queries.map((q) => keys.map((k) => q.reduce((all, x, i) => all + x * k[i], 0)));
  const scaled = raw.map((row) => row.map((score) => score / Math.sqrt(width)));
  const weights = scaled.map((row, i) => {
    const powers = row.map((score, j) => (may(i, j) ? Math.exp(flat ? 0 : score) : NaN)),
      sum = powers.reduce((all, x) => all + (x || 0), 0);
    return powers.map((power) => power / sum);
  });
  const mixed = weights.map((row) =>
    values[0].map((_, n) => (off ? 0 : row.reduce((all, w, j) => all + (w || 0) * values[j][n], 0))),
  );
  return Object.fromEntries(
    Object.entries({ queries, keys, values, raw, scaled, weights, mixed }).map(([name, rows]) => [name, array(rows)]),
  );
}

const VECTORS = {
  queries: [
    [0.5, 0.25, 0, -1],
    [1, 2, 0.5, -0.5],
    [2, 0, 0, 0],
    [-1, 1, 1, 1],
  ],
  keys: [
    [1, 1, 0, 0],
    [0.5, 1.5, 1, -1],
    [-2, 0, 0, 0],
    [1, 3, 1, 0],
  ],
  values: [
    [1, 0, 0, 2],
    [0, 3, 0, -1],
    [4, 0, 1, 0],
    [0, 0, 0, 9],
  ],
};
const causal = (query, key) => key <= query;
const plan = (walk, step, key = largestKey(walk), place = 0) => formulaText(filledFormula(walk, step, key, place));

test("a walk takes the numbers of the one who asks, and sees what it may", () => {
  const walk = walkOf(head(VECTORS, causal), 1);
  assert.deepEqual([walk.count, walk.width, walk.seen, walk.hidden], [4, 4, [0, 1], [2, 3]]);
  assert.deepEqual(Array.from(walk.query), [1, 2, 0.5, -0.5]);
  assert.deepEqual(Array.from(walk.raw), [3, 4.5, -2, 7.5]);
  assert.deepEqual(Array.from(walk.scaled), [1.5, 2.25, -1, 3.75]);
  near(walk.weights[1], 1 / (1 + Math.exp(-0.75)));
  assert.equal(largestKey(walk), 1);
  assert.deepEqual([walk.uniform, walk.off], [false, false]);
  assert.equal(walkOf(head(VECTORS), 9).asked, 3);
});

test("products add up to the score, and shares of values to the answer", () => {
  const walk = walkOf(head(VECTORS, causal), 1),
    add = (values) => values.reduce((all, value) => all + value, 0);
  near(add(products(walk, 1)), walk.raw[1]);
  const columns = [0, 1].map((key) => weightedValue(walk, key));
  for (let i = 0; i < 4; i++) near(columns[0][i] + columns[1][i], walk.mixed[i]);
  assert.ok(weightedValue(walk, 2).every(Number.isNaN));
});

test("the strongest go by score, and from the mask on without the hidden", () => {
  const walk = walkOf(head(VECTORS, causal), 1);
  assert.deepEqual(strongestKeys(walk, SCORES, 2), [3, 1]);
  assert.deepEqual(strongestKeys(walk, MASK, 2), [1, 0]);
  assert.deepEqual(strongestKeys(walk, SOFTMAX), [1, 0]);
});

test("the axis holds zero and all that is drawn", () => {
  const walk = walkOf(head(VECTORS, causal), 1);
  assert.deepEqual([barScale(walk, SCORES).low, barScale(walk, SCORES).high], [-2, 7.5]);
  assert.equal(barScale(walk, SCALE).high, 7.5); // the same axis, so that one sees them shrink
  assert.deepEqual(Array.from(barScale(walk, SCALE).ghost), [3, 4.5, -2, 7.5]);
  const masked = barScale(walk, MASK);
  assert.deepEqual([masked.low, masked.high], [0, 2.25]);
  assert.ok(Number.isNaN(masked.values[3]) && masked.values[0] === 1.5);
  assert.equal(barScale(walk, SOFTMAX).high, 1);
  assert.deepEqual(
    barScale(
      walkOf(
        head(VECTORS, () => true, { flat: true }),
        1,
      ),
      SOFTMAX,
    ).high,
    0.5,
  );
});

test("every step is told with the numbers of this head", () => {
  const walk = walkOf(head(VECTORS, causal), 1),
    say = (step, key = 1) => describeStep(walk, step, key, SAID);
  assert.equal(say(QUERY), "Layer 3, head 1 computes the query of “b”: 4 numbers.");
  assert.equal(say(KEYS), "Every letter has a key: 4 times 4 numbers.");
  assert.equal(say(SCORES, 2), "Query times key, number by number, all added up: “␣” scores −2.00.");
  assert.equal(say(SCALE), "Every score is divided by √4 = 2: they lay 9.5 apart, now 4.8.");
  assert.equal(say(MASK), "“b” cannot attend to later tokens: 2 of 4 scores become −∞.");
  assert.equal(
    say(SOFTMAX),
    "Softmax turns the scores into weights that sum to 1: “b” attends to itself most, with 0.679.",
  );
  assert.equal(say(VALUES), "The sum of all values, each times its weight: 4 numbers go on from “b”.");
  assert.equal(describePicture(walk, SCORES, 1, SAID), "query of “b”, key of itself");
  assert.equal(describePicture(walk, SCORES, 0, SAID), "query of “b”, key of “a”");
});

test("the formulas come to what the model computed", () => {
  const walk = walkOf(head(VECTORS, causal), 1);
  assert.equal(plan(walk, QUERY), "q = (1.00, 2.00, 0.50, −0.50)");
  assert.equal(plan(walk, KEYS), "k_2 = (0.50, 1.50, 1.00, −1.00)");
  assert.equal(plan(walk, SCORES), "q · k_2 = 1.00 · 0.50 + 2.00 · 1.50 + 0.50 · 1.00 + (−0.50) · (−1.00) = 4.50");
  assert.equal(plan(walk, SCALE), "s_2 = 4.50 / √4 = 4.50 / 2 = 2.25");
  assert.equal(plan(walk, MASK), "s_2 + 0 = 2.25 + 0 = 2.25");
  assert.equal(plan(walk, MASK, 3), "s_4 + (−∞) = 3.75 + (−∞) = −∞");
  assert.equal(plan(walk, SOFTMAX), "w_2 = (e^2.25) / (e^2.25 + e^1.50) = 9.49 / 14.0 = 0.679");
  assert.equal(plan(walk, SOFTMAX, 3), "w_4 = exp(−∞) / … = 0: hidden");
  assert.equal(plan(walk, VALUES, 1, 1), "o_2 = 0.679 · 3.00 + 0.321 · 0.00 = 2.04");
  assert.equal(plan(walk, VALUES, 3, 1), plan(walk, VALUES, 1, 1)); // what is hidden adds nothing
  assert.equal(largestComponent(walk), 1);
});

test("long vectors and many keys are cut short, not their sums", () => {
  const wide = (n) => Array.from({ length: 16 }, (_, i) => (i + n) / 10),
    rows = Array.from({ length: 8 }, (_, i) => wide(i));
  const walk = walkOf(head({ queries: rows, keys: rows, values: rows }), 0);
  assert.equal(plan(walk, SCORES, 0), "q · k_1 = 0.00 · 0.00 + 0.10 · 0.10 + 0.20 · 0.20 + … = 12.40");
  assert.equal(plan(walk, KEYS, 1), "k_2 = (0.10, 0.20, 0.30, …, 1.60)");
  assert.match(
    plan(walk, SOFTMAX),
    /^w_8 = \(e\^5\.20\) \/ \(e\^5\.20 \+ e\^4\.90 \+ e\^4\.60 \+ …\) = 181 \/ 636 = 0\.285$/,
  );
  assert.match(plan(walk, VALUES, 2, 15), /^o_16 = 0\.064 · 1\.70 \+ 0\.285 · 2\.20 \+ 0\.211 · 2\.10 \+ … = 1\.99$/);
});

test("powers too large or too small to read are taken less the highest score, and that is said", () => {
  const far = (by) => ({ ...VECTORS, queries: VECTORS.queries.map((row) => row.map((x) => by * x)) });
  const high = walkOf(head(far(8), causal), 1);
  assert.equal(plan(high, SOFTMAX), "w_2 = (e^0.00) / (e^0.00 + e^−6.00) = 1.00 / 1.00 = 0.998");
  assert.match(stepNote(high, SOFTMAX), /highest score, 18\.00/);
  assert.equal(stepNote(walkOf(head(VECTORS, causal), 1), SOFTMAX), "");
});

test("nothing hidden, padding hidden, all hidden", () => {
  const all = walkOf(head(VECTORS), 1),
    few = walkOf(
      head(VECTORS, (q, k) => k !== 2 && q !== 2),
      1,
    ),
    none = walkOf(
      head(VECTORS, (q, k) => k !== 2 && q !== 2),
      2,
    );
  const pad = { ...SAID, tokens: ["a", "b", "<PAD>", "c"], unit: "word" };
  assert.equal(describeStep(all, MASK, 0, SAID), "Nothing is hidden here: “b” may attend to all 4 letters.");
  assert.equal(describeStep(few, MASK, 0, pad), "“<PAD>” is hidden from “b”: 1 of 4 scores becomes −∞.");
  const first = walkOf(
    head(VECTORS, (q, k) => k !== 0),
    2,
  ); // as many as lie ahead, but not these
  assert.equal(describeStep(first, MASK, 1, SAID), "“a” is hidden from “␣”: 1 of 4 scores becomes −∞.");
  for (const step of [MASK, SOFTMAX, VALUES])
    assert.equal(
      describeStep(none, step, 2, pad),
      "“<PAD>” attends to nothing, because all keys are masked. Choose another word above.",
    );
  assert.equal(plan(none, SOFTMAX), "no weights");
  assert.equal(largestKey(none), 2);
  assert.deepEqual([none.off, none.uniform, barScale(none, MASK).high], [false, false, 1]);
});

test("a head that is off gives zeros, one made uniform does not ask its scores", () => {
  const off = walkOf(head(VECTORS, causal, { off: true }), 1),
    flat = walkOf(head(VECTORS, causal, { flat: true }), 1);
  assert.ok(off.off && !off.uniform);
  assert.equal(
    describeStep(off, VALUES, 1, SAID),
    "The head is switched off: instead of this sum, 4 zeros go on from “b”.",
  );
  assert.equal(plan(off, VALUES, 1, 1), "o_2 = 0.679 · 3.00 + 0.321 · 0.00 = 2.04, switched off: 0");
  assert.ok(flat.uniform && !flat.off);
  assert.equal(
    describeStep(flat, SOFTMAX, 0, SAID),
    "This head was made uniform: whatever the scores, each of 2 letters gets 0.500.",
  );
  assert.equal(plan(flat, SOFTMAX, 0), "w_1 = 1 / 2 = 0.500");
  assert.equal(formulaText(generalFormula(flat, SOFTMAX)), "w_j = 1 / n");
});

test("one token alone", () => {
  const alone = walkOf(head({ queries: [[1, 2]], keys: [[3, 4]], values: [[5, 6]] }), 0),
    said = { ...SAID, tokens: ["t"] },
    say = (step) => describeStep(alone, step, 0, said);
  assert.equal(say(KEYS), "The only letter has a key: 2 numbers.");
  assert.equal(say(SCALE), "The score is divided by √2 = 1.41: 11.00 becomes 7.78.");
  assert.equal(say(MASK), "Nothing is hidden: there is only “t” itself.");
  assert.equal(say(SOFTMAX), "There is one letter to attend to: it gets all of the attention.");
  assert.equal(plan(alone, SOFTMAX), "w_1 = (e^0.00) / (e^0.00) = 1.00 / 1.00 = 1.000");
  assert.equal(plan(alone, VALUES, 0, 1), "o_2 = 1.000 · 6.00 = 6.00");
});

test("where a query comes from is said only where it is known", () => {
  const walk = walkOf(head(VECTORS, causal), 1);
  assert.equal(formulaText(generalFormula(walk, QUERY)), "q ∈ ℝ^4");
  assert.equal(formulaText(generalFormula(walk, QUERY, { turned: false })), "q = W_Q x");
  assert.equal(formulaText(generalFormula(walk, KEYS, { turned: true })), "k_j = R_j W_K x_j");
  assert.equal(
    formulaText(generalFormula(walk, SCORES)),
    "q · k_j = q_1k_(j1) + … + q_4k_(j4)".replaceAll("(", "").replaceAll(")", ""),
  );
});

test("numbers are written as one reads them", () => {
  assert.deepEqual([0, 0.02, 0.5, 30, 300, 3000].map(digitsOf), [2, 3, 2, 2, 1, 0]);
  assert.deepEqual([1.5, 0.0123, 12345.6, 420].map(formatThreeDigits), ["1.50", "0.012", "12,346", "420"]);
  assert.equal(formatThreeDigits(0.0000123), "1.2\u00a0×\u00a010⁻⁵");
  assert.deepEqual(
    [quoteToken("\n"), quoteToken(""), quoteToken("abcdefghijklmnopqrs")],
    ["“↵”", "“∅”", "“abcdefghijklmno…”"],
  );
});

test("the ends of the scales, and the table with every number", () => {
  const numbers = head(VECTORS, causal),
    walk = walkOf(numbers, 1),
    rows = walkCsv(walk, TOKENS);
  assert.deepEqual(colourScales(numbers), { asking: 3, telling: 9 });
  assert.deepEqual(
    rows.map(([what]) => what),
    ["query", ..."key ".repeat(4).trim().split(" "), ..."value ".repeat(4).trim().split(" "), "sum"],
  );
  assert.ok(rows.every((row) => row.length === 10));
  assert.deepEqual(rows[1].slice(0, 5), ["key", 1, "a", 3, 1.5]);
  assert.deepEqual(rows.at(-2).slice(3), [null, null, null, 0, 0, 0, 9]);
});
