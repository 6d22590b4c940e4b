import assert from "node:assert/strict";
import { test } from "node:test";
import {
  formatChoices,
  ExactChoice,
  formatFinding,
  knownView,
  nearestRow,
  sharedPrefix,
  stepTemperature,
} from "../../../explorer/labs/generation/components/temperature/math.js";
import { tokenLabel, shortenToEnd } from "../../../explorer/static/shared/runtime/visible_text.js";
import {
  choose,
  truncate,
  distinctNgrams,
  entropy,
  sortByLogit,
  renormalise,
  repetition,
  softmax,
} from "../../../explorer/labs/generation/components/temperature/sampling.js";

const logs = (...p) => Float32Array.from(p, Math.log);
const kept = (logits, rules) => [...truncate(logits, rules)].flatMap((one, id) => (one ? [id] : []));
const near = (found, expected, by = 1e-6) => assert.ok(Math.abs(found - expected) < by, `${found} is not ${expected}`);

test("the order is that of the logits, and of equals the smaller id comes first", () => {
  assert.deepEqual([...sortByLogit(Float32Array.of(1, 3, 3, -Infinity, 2))], [1, 2, 4, 0, 3]);
});

test("at temperature 1 it is as learned, below it the likely gain, above it they lose, at 0 the likeliest has all", () => {
  const logits = logs(0.1, 0.6, 0.3);
  [0.1, 0.6, 0.3].forEach((p, id) => near(softmax(logits, 1)[id], p));
  near(softmax(logits, 0.5)[1], 0.36 / 0.46);
  near(softmax(logits, 2)[0], Math.sqrt(0.1) / (Math.sqrt(0.1) + Math.sqrt(0.6) + Math.sqrt(0.3)));
  assert.deepEqual([...softmax(logits, 0)], [0, 1, 0]);
  near(softmax(logits, 1e-6)[1], 1);
});

test("each rule cuts by the distribution at this temperature, and the likeliest always stays", () => {
  const logits = logs(0.1, 0.5, 0.25, 0.15);
  assert.deepEqual(kept(logits, { t: 1 }), [0, 1, 2, 3]);
  assert.deepEqual(kept(logits, { t: 1, top_k: 2 }), [1, 2]);
  assert.deepEqual(kept(logits, { t: 1, top_p: 0.76 }), [1, 2, 3]);
  assert.deepEqual(kept(logits, { t: 1, top_p: 0.74 }), [1, 2]);
  assert.deepEqual(kept(logits, { t: 0.5, top_p: 0.76 }), [1, 2]);
  assert.deepEqual(kept(logits, { t: 1, min_p: 0.29 }), [1, 2, 3]);
  assert.deepEqual(kept(logits, { t: 1, top_p: 0 }), [1]);
  assert.deepEqual(kept(logits, { t: 1, min_p: 1 }), [1]);
  assert.deepEqual(kept(Float32Array.of(1, 1, 1, 1), { t: 1, top_p: 0.5 }), [0, 1]); // reached, and no more
  assert.deepEqual(kept(Float32Array.of(0, 1, 1), { t: 1, min_p: 1 }), [1, 2]);
  assert.deepEqual(kept(logits, { t: 2, greedy: true }), [1]);
  assert.deepEqual(kept(logits, { t: 0, top_k: 3 }), [1]);
});

test("what is left keeps its proportions", () => {
  const p = renormalise(Float64Array.of(0.1, 0.5, 0.25, 0.15), Uint8Array.of(0, 1, 1, 0));
  assert.deepEqual(
    [...p].map((one) => Math.round(1e6 * one)),
    [0, 666667, 333333, 0],
  );
});

test("the dice choose among what is left, and at temperature 0 they do not count", () => {
  const logits = logs(0.1, 0.5, 0.25, 0.15),
    noise = Float32Array.of(9, 0, 0, 2);
  assert.equal(choose(logits, noise, { t: 1 }), 0);
  assert.equal(choose(logits, noise, { t: 1, top_k: 3 }), 3);
  assert.equal(choose(logits, noise, { t: 0.05 }), 1);
  assert.equal(choose(logits, noise, { t: 0 }), 1);
  assert.equal(choose(logits, noise, { t: 1, greedy: true }), 1);
});

test("the product is rounded with the sum, once, as a fused multiply-add does", () => {
  const [logit, noise, t] = [-1, 1 + 2 ** -23, 1 - 2 ** -24]; // the product is 1 + 2^-24 - …: rounded alone, it would be 1
  assert.equal(Math.fround(logit + noise * t) > 0, true);
  assert.equal(Math.fround(logit + Math.fround(noise * t)), 0);
  assert.equal(choose(Float32Array.of(0, logit), Float32Array.of(0, noise), { t }), 1);
});

test("entropy is in nats, and a sure thing has none", () => {
  near(entropy([0.5, 0.5]), Math.LN2);
  assert.equal(entropy([1, 0]), 0);
});

test("runs are counted as whole tokens, however many digits their ids have", () => {
  assert.equal(distinctNgrams([1, 11, 11, 1], 2), 1);
  assert.equal(distinctNgrams([1, 2, 1, 2, 1], 2), 0.5);
  assert.equal(distinctNgrams([1, 2], 3), NaN);
  assert.equal(repetition([1, 2, 1, 2, 1], 2), 0.5);
});

/* One text of two tokens at t = 0 and t = 2, of a vocabulary of three; logits as learned 0.1, 0.6, 0.3. */
const table = (rows, data) => ({ shape: [2, 2, ...rows], data });
function travelled(rules, hot = 2) {
  const logits = logs(0.1, 0.6, 0.3),
    spread = Math.log([0.1, 0.6, 0.3].reduce((sum, p) => sum + Math.sqrt(p), 0));
  const left = renormalise(softmax(logits, 2), truncate(logits, { t: 2, ...rules }));
  const four = (cold, warm) => [cold, cold, warm, warm];
  return {
    ids: table([], four(1, hot)),
    surprise: table([], four(-Math.log(0.6), -Math.log([0.1, 0.6, 0.3][hot]))),
    chosen: table([], four(1, left[hot])),
    entropy: table([], four(0, entropy(left))),
    spread: table([], four(0, spread)),
    top: table([3], [1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0]),
    top_surprise: table(
      [3],
      Array.from({ length: 4 }, () => [0.6, 0.3, 0.1].map((p) => Math.round(-2048 * Math.log(p)))).flat(),
    ),
  };
}

test("top-p counts only what top-k leaves", () => {
  // At t = 2 the probabilities are .47, .33 and .19: the first of two has .59 of them.
  const rules = { t: 2, top_k: 2, top_p: 0.55 },
    exact = new ExactChoice(logs(0.1, 0.6, 0.3), Float32Array.of(0, 0, 0));
  for (const view of [exact.viewAt(rules), knownView(travelled(rules, 1), 1, 1, rules, 3)])
    assert.deepEqual(
      view.rows.map(({ kept: stays }) => stays),
      [true, false, false],
    );
});

test("what travels with a text says the same of its places as their logits do", () => {
  const exact = new ExactChoice(logs(0.1, 0.6, 0.3), Float32Array.of(0, 0, 3));
  for (const rules of [{}, { top_k: 2 }, { min_p: 0.5 }, { top_p: 0.7 }]) {
    const there = exact.viewAt({ t: 2, ...rules }),
      here = knownView(travelled(rules), 1, 1, { t: 2, ...rules }, 3);
    assert.equal(there.sampled.id, 2);
    assert.deepEqual(
      here.rows.map(({ id, kept: stays }) => [id, stays]),
      there.rows.map(({ id, kept: stays }) => [id, stays]),
    );
    here.rows.forEach((row, i) => {
      near(row.p, there.rows[i].p, 1e-3);
      near(row.learned, there.rows[i].learned, 1e-3);
    });
    assert.deepEqual(
      [here.left, here.others.kept, here.others.cut, here.sampled.id, here.sampled.rank],
      [there.left, 0, 0, 2, 1],
    );
    near(here.entropy, there.entropy);
    near(here.sampled.p, there.sampled.p);
  }
  const cold = knownView(travelled({}), 0, 0, { t: 0 }, 3);
  assert.deepEqual(
    cold.rows.map(({ p, kept: stays }) => [p, stays]),
    [
      [1, true],
      [0, false],
      [0, false],
    ],
  );
});

test("beyond the likeliest twelve the rest is one number, and so is what the dice choose there", () => {
  const view = new ExactChoice(
    new Float32Array(40),
    Float32Array.from({ length: 40 }, (_, id) => +(id === 30)),
  ).viewAt({ t: 1, top_k: 35 });
  assert.equal(view.rows.length, 12);
  assert.deepEqual(view.others.kept, 23);
  assert.deepEqual(view.others.cut, 5);
  near(view.others.p, 23 / 35);
  assert.deepEqual([view.sampled.id, view.sampled.rank, view.left], [30, 30, 35]);
  near(view.sampled.p, 1 / 35);
});

test("texts are compared by their tokens, and the nearest temperature that may be is taken", () => {
  const ids = { shape: [3, 3], data: [1, 2, 3, 1, 2, 4, 9, 2, 3] };
  assert.deepEqual([sharedPrefix(ids, 0, 0), sharedPrefix(ids, 0, 1), sharedPrefix(ids, 0, 2)], [3, 2, 0]);
  assert.equal(nearestRow([0, 0.05, 0.1], 0.03), 1);
  assert.equal(nearestRow([0, 0.05, 0.1], 0.07), 1);
  assert.equal(nearestRow([0, 0.05, 0.1], 0.025), 0);
  assert.equal(
    nearestRow([0, 0.05, 0.1], 0.1, (row) => row < 2),
    1,
  );
});

test("arrow keys go to the next twentieth and stay on the scale", () => {
  assert.deepEqual(
    [
      stepTemperature(0.7, 1),
      stepTemperature(0.7, -1),
      stepTemperature(0.73, 1),
      stepTemperature(0.73, -1),
      stepTemperature(2, 1),
      stepTemperature(0, -1),
    ],
    [0.75, 0.65, 0.75, 0.7, 2, 0],
  );
  let t = 0;
  for (let i = 0; i < 40; i++) t = stepTemperature(t, 1);
  assert.equal(t, 2);
});

test("numbers and texts in words", () => {
  assert.deepEqual(
    [formatChoices(0), formatChoices(Math.log(3.24)), formatChoices(Math.log(9.96)), formatChoices(Math.log(12345))],
    ["1.0", "3.2", "10", "12,345"],
  );
  assert.deepEqual([tokenLabel(" a\n"), tokenLabel("")], ["␣a↵", "∅"]);
  assert.deepEqual(
    [shortenToEnd("to be or not to be "), shortenToEnd("a\nb"), shortenToEnd("12345678901234567")],
    ["…or not to be␣", "a↵b", "…2345678901234567"],
  );
});

test("the finding is made of the numbers on the screen", () => {
  const view = {
    t: 0.7,
    entropy: Math.log(3.2),
    learned: Math.log(4.8),
    left: 65,
    vocabulary: 65,
    rows: [{ learned: 0.3 }],
  };
  assert.equal(
    formatFinding(view, "letter"),
    "At 0.70 it chooses the next letter like a die with 3.2 sides; at 1.0 with 4.8.",
  );
  assert.equal(
    formatFinding({ ...view, left: 5 }, "letter", {}, "GRU"),
    "At 0.70, cut to 5 of 65, GRU chooses the next letter like a die with 3.2 sides; at 1.0 with 4.8.",
  );
  assert.equal(formatFinding({ ...view, t: 1 }, "token"), "At 1 it chooses the next token like a die with 3.2 sides.");
  assert.equal(formatFinding({ ...view, t: 0 }, "word"), "At 0 it is greedy: always the most probable word.");
  assert.equal(
    formatFinding({ ...view, learned: null }, "letter"),
    "At 0.70 it chooses the next letter like a die with 3.2 sides; at 1.0 the most probable one has 0.300.",
  );
  assert.match(formatFinding({ ...view, left: 1 }, "letter"), /only one letter of 65 is left/);
  assert.match(formatFinding(view, "letter", { greedy: true }), /^Greedy/);
});
