import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.document = { createElement: () => ({ getContext: () => null }) }; // text_metrics.js measures labels with a canvas
const {
  evaluatedSteps: moments,
  updateStep: settled,
  shownEvaluation: shownAt,
  describeStep: standing,
  samplesCsv: table,
  allTexts: told,
  describeEvaluation: words,
} = await import("../../../explorer/labs/text/components/text_samples/view.js");

const gru = { name: "gru", title: "GRU", steps: [0, 100, 200], losses: [4.17, 2.5, null], texts: ["a", "b", "c"] };
const rnn = { name: "rnn", title: "RNN", steps: [50, 1200], losses: [3, 1.834], texts: ["x", "=y"] };
const ngram = { name: "ngram", title: "n-gram", steps: [1], losses: [1.61], texts: ["n"], counted: true };

test("the slider has every step at which any model was evaluated, once and in order", () => {
  assert.deepEqual(moments([gru, rnn]), [0, 50, 100, 200, 1200]);
  assert.deepEqual(moments([gru, gru]), [0, 100, 200]);
  assert.deepEqual(moments([gru, ngram]), [0, 100, 200]);
  assert.deepEqual(moments([ngram]), [1]);
  assert.deepEqual(moments([]), []);
});

test("a model shows its last evaluation until then, and counts from the start", () => {
  assert.deepEqual(
    [0, 99, 100, 5000].map((step) => shownAt(gru, step)),
    [0, 0, 1, 2],
  );
  assert.deepEqual(
    [0, 50, 1199].map((step) => shownAt(rnn, step)),
    [-1, 0, 0],
  );
  assert.equal(shownAt(ngram, 0), 0);
  assert.equal(shownAt({ steps: [], texts: [] }, 0), -1);
  assert.equal(shownAt({ ...ngram, steps: [], texts: [] }, 0), -1);
});

test("before any evaluation of what is trained, counts have a text and the others say that they have none", () => {
  assert.equal(standing(ngram, null), "n");
  assert.match(standing({ ...gru, steps: [], texts: [] }, null), /No text yet/);
  assert.match(standing(rnn, 10), /Nothing yet at step 10\./);
  assert.equal(standing(rnn, 60), "x");
});

test("the newest evaluation is followed until the visitor goes to another one", () => {
  const first = settled({ step: null, following: true }, [0, 100], true);
  assert.deepEqual(first, { step: 100, following: true });
  assert.deepEqual(settled(first, [0, 100, 200], false), { step: 200, following: true });
  assert.deepEqual(settled({ step: 100, following: false }, [0, 100, 200], false), { step: 100, following: false });
});

test("where the visitor's step is gone it is the one before, and a new training is followed again", () => {
  assert.deepEqual(settled({ step: 150, following: false }, [0, 100, 200], false), { step: 100, following: false });
  assert.deepEqual(settled({ step: 10, following: false }, [50, 100], false), { step: 50, following: false });
  assert.deepEqual(settled({ step: 100, following: false }, [0], true), { step: 0, following: true });
  assert.deepEqual(settled({ step: 100, following: false }, [], true), { step: null, following: true });
});

test("it is said where each model stands", () => {
  assert.equal(words(rnn, 1), "step 1,200 · 1.83 nats");
  assert.equal(words(gru, 2), "step 200");
  assert.equal(words(ngram, 0), "counted · 1.61 nats");
  assert.equal(words(gru, -1), "");
});

test("saved is every text as a table, or what is on the screen as a text", () => {
  assert.equal(
    table([rnn, ngram]),
    "model,step,loss in nats a token,text\nRNN,50,3,x\nRNN,1200,1.834,'=y\nn-gram,1,1.61,n\n",
  );
  assert.equal(
    told([gru, rnn], 0),
    "GRU · step 0 · 4.17 nats\n\na\n\n\nRNN\n\nNo text yet: the first evaluation writes one.\n",
  );
});
