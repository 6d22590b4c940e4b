import assert from "node:assert/strict";
import { test } from "node:test";
import {
  describeNode,
  nodesByStep,
  finalNodes,
  headingText,
  formatLog,
  moveNode,
  pathToNode,
  sequenceText,
  readNodes,
} from "../../../explorer/labs/translation/components/beam_search/math.js";

// Tokens 0, 1 and the end; width 2. "1" overtakes "0" at the second step, and "0, end" is pushed out at the third.
const tokens = ["0", "1", "end"];
const rows = [
  [1, -1, 0, 1, 0, -0.5, -0.5],
  [1, -1, 1, 1, 0, -1.0, -1.0],
  [1, -1, 2, 0, 1, -4.0, -4.0],
  [2, 0, 0, 0, 0, -2.0, -2.5],
  [2, 0, 2, 1, 1, -1.5, -2.0],
  [2, 1, 1, 1, 0, -0.1, -1.1],
  [3, 5, 2, 1, 1, -0.1, -1.2],
  [3, 5, 0, 1, 0, -0.7, -1.8],
];
const packed = (given) => ({
  nodes: { data: Int32Array.from(given.flatMap((row) => row.slice(0, 5))) },
  logs: { data: Float32Array.from(given.flatMap((row) => row.slice(5))) },
});
const nodes = readNodes(packed([[1, -1, 9, 1, 0, -9, -9], ...rows]), [1, 1 + rows.length]);

test("the nodes of a width are taken out of all", () => {
  assert.equal(nodes.length, rows.length);
  assert.deepEqual(
    { ...nodes[4], log: 0, score: 0 },
    { step: 2, parent: 0, token: 2, kept: true, ended: true, log: 0, score: 0 },
  );
  assert.ok(Math.abs(nodes[5].score + 1.1) < 1e-6);
});

test("a step is ordered by the score of the sequence", () => {
  assert.deepEqual(nodesByStep(nodes), [
    [0, 1, 2],
    [5, 4, 3],
    [6, 7],
  ]);
});

test("paths lead back to the first token, and the end is no letter", () => {
  assert.deepEqual(pathToNode(nodes, 6), [1, 5, 6]);
  assert.equal(sequenceText(nodes, 6, tokens), "11");
  assert.equal(sequenceText(nodes, 7, tokens), "110");
});

test("at the end stands what was kept, then what was pushed out", () => {
  assert.deepEqual(finalNodes(nodes, [6, 7]), [
    { at: 6, pushed: false },
    { at: 7, pushed: false },
    { at: 4, pushed: true },
  ]);
  assert.deepEqual(finalNodes(nodes, [6, 7], 1), [{ at: 6, pushed: false }]);
});

test("arrows follow the branches and the ranks", () => {
  const steps = nodesByStep(nodes);
  const go = (at, ...keys) => keys.reduce((here, key) => moveNode(here, key, nodes, steps), at);
  assert.equal(go(null, "ArrowRight"), 0);
  assert.equal(go(0, "ArrowRight"), 4);
  assert.equal(go(0, "ArrowDown", "ArrowRight", "ArrowRight"), 6);
  assert.equal(go(6, "ArrowLeft", "ArrowLeft", "ArrowLeft"), 1);
  assert.equal(go(4, "ArrowRight"), 4);
  assert.equal(go(2, "ArrowDown"), 2);
  assert.deepEqual(
    [go(3, "Home"), go(3, "End"), moveNode(3, "x", nodes, steps), moveNode(null, "x", nodes, steps)],
    [0, 6, null, null],
  );
});

test("log-probabilities are short and have a true minus", () => {
  assert.deepEqual([-1.234, -0.0123, -0.0001, 0].map(formatLog), ["−1.23", "−0.012", "0", "0"]);
});

test("the finding says whether it is likelier and whether it is right", () => {
  const greedy = { text: "11", score: -1.2 };
  assert.equal(
    headingText(1, greedy, greedy, "10"),
    "Greedy decoding writes 11 at log-probability −1.20, which is wrong.",
  );
  assert.equal(
    headingText(3, greedy, greedy, "11"),
    "With width 3 beam search finds the same sequence as greedy decoding: 11, at log-probability −1.20, which is right.",
  );
  assert.equal(
    headingText(3, { text: "10", score: -0.9 }, greedy, "10"),
    "With width 3 beam search finds a more likely sequence than greedy decoding, 10: log-probability −0.90 against −1.20. It is right; that of greedy decoding is wrong.",
  );
  assert.equal(
    headingText(2, { text: "10", score: -1.9 }, greedy, "00"),
    "With width 2 beam search finds a less likely sequence than greedy decoding, 10: log-probability −1.90 against −1.20. Both are wrong.",
  );
  assert.equal(
    headingText(1, { text: "1".repeat(20), score: -3 }, greedy, null),
    "Greedy decoding ends at log-probability −3.00.",
  );
});

test("a node is told in words", () => {
  assert.equal(
    describeNode(nodes, 3, tokens, nodesByStep(nodes)[1]),
    "Step 2, rank 3: “0” after “0” has probability 0.14. Log-probability −2.00, of the whole sequence −2.50; dropped.",
  );
  assert.equal(
    describeNode(nodes, 4, tokens, nodesByStep(nodes)[1]).startsWith("Step 2, rank 2: the end after “0”"),
    true,
  );
});
