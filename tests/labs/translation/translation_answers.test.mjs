import assert from "node:assert/strict";
import { test } from "node:test";
import {
  moveToken,
  describeToken,
  answersTable,
} from "../../../explorer/labs/translation/components/translation_answers/math.js";
import { formatProbability } from "../../../explorer/static/shared/runtime/format.js";

const rows = [
  {
    title: "One vector",
    tokens: [
      { text: "9", p: 0.934, wanted: null },
      { text: "end", p: 0.4, wanted: "5" },
    ],
  },
  { title: "Untrained", tokens: [] },
  {
    title: "Transformer",
    tokens: [
      { text: "9", p: 1, wanted: null },
      { text: "5", p: 0.001, wanted: "end" },
      { text: "5", p: 0.5, wanted: "" },
    ],
  },
];
const lengths = rows.map(({ tokens }) => tokens.length);

test("a probability is never 0 or 1 for what is not", () => {
  assert.deepEqual(
    [0.001, 0.5, 0.9999].map((p) => formatProbability(p)),
    ["<0.01", "0.50", ">0.99"],
  );
});

test("arrows move among the tokens and leave out who wrote nothing", () => {
  const go = (at, ...keys) => keys.reduce((here, key) => moveToken(here, key, lengths), at);
  assert.deepEqual(go(null, "ArrowRight"), { row: 0, at: 0 });
  assert.deepEqual(go({ row: 0, at: 1 }, "ArrowDown"), { row: 2, at: 1 });
  assert.deepEqual(go({ row: 2, at: 2 }, "ArrowUp"), { row: 0, at: 1 });
  assert.deepEqual(go({ row: 2, at: 0 }, "End", "ArrowRight"), { row: 2, at: 2 });
  assert.deepEqual(go({ row: 2, at: 2 }, "Home", "ArrowLeft"), { row: 2, at: 0 });
  assert.equal(moveToken({ row: 0, at: 0 }, "x", lengths), null);
  assert.equal(moveToken(null, "ArrowRight", [0]), null);
});

test("a token is told with what would be right", () => {
  assert.equal(describeToken(rows, { row: 0, at: 0 }), "One vector, position 1 of 2: “9” with probability 0.93.");
  assert.equal(
    describeToken(rows, { row: 0, at: 1 }),
    "One vector, position 2 of 2: the end with probability 0.40; correct: “5”.",
  );
  assert.equal(
    describeToken(rows, { row: 2, at: 1 }),
    "Transformer, position 2 of 3: “5” with probability <0.01; correct: the end.",
  );
  assert.equal(
    describeToken(rows, { row: 2, at: 2 }),
    "Transformer, position 3 of 3: “5” with probability 0.50; correct: nothing.",
  );
  assert.equal(describeToken(rows, null), "");
});

test("the saved table has a row a token", () => {
  assert.deepEqual(answersTable(rows)[1], ["One vector", 2, "end", 0.4, "5"]);
  assert.equal(answersTable(rows).length, 5);
});
