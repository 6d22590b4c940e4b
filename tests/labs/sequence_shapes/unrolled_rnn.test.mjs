import assert from "node:assert/strict";
import { test } from "node:test";
import {
  gridOf,
  describeMatrix,
  moveStep,
  formatPercent,
  rowsOf,
  describeStep,
} from "../../../explorer/labs/sequence_shapes/components/unrolled_rnn/math.js";

const STEP = {
  input: "not",
  used: true,
  top: [
    ["sustain", 0.73],
    ["collapse", 0.27],
  ],
  state: [0.5, -1],
  fed_back: false,
};

test("every unit has a tile, and no row stays empty", () => {
  for (const units of [1, 2, 24, 32, 64, 384]) {
    const { columns, rows } = gridOf(units, 48, 64);
    assert.ok(columns * rows >= units && columns * (rows - 1) < units);
  }
  assert.deepEqual(gridOf(24, 48, 64), { columns: 4, rows: 6 });
});

test("a probability is never rounded to certainty", () => {
  assert.deepEqual([0.9999, 0.73, 0.0001].map(formatPercent), ["> 99\u00a0%", "73\u00a0%", "< 1\u00a0%"]);
});

test("a step says what it reads and whether anybody asks", () => {
  assert.equal(describeStep(STEP, 3), "Step 3 reads “not”, and answers “sustain”, 73\u00a0%.");
  assert.match(describeStep({ ...STEP, used: false }, 3), /would answer “sustain”, 73\u00a0%; this output is not used/);
  assert.match(describeStep({ ...STEP, fed_back: true }, 3), /its own output of the step before/);
  assert.match(describeStep({ ...STEP, top: [] }, 1), /It has no output/);
});

test("arrows stay inside; other keys move nothing", () => {
  assert.equal(moveStep(0, "ArrowLeft", 4), 0);
  assert.equal(moveStep(3, "ArrowRight", 4), 3);
  assert.equal(moveStep(1, "End", 4), 3);
  assert.equal(moveStep(1, "r", 4), null);
});

test("a matrix is told by its letter, index, shape and parameters", () => {
  const told = describeMatrix({ name: "W_hh", half: "reads", rows: 1152, columns: 384, count: 443520 });
  assert.deepEqual(told, {
    letter: "W",
    index: "hh",
    half: "reads",
    words: "1,152 × 384",
    count: "443,520 parameters",
  });
});

test("the table has a row for each step with all its units", () => {
  assert.deepEqual(rowsOf([STEP]), [[1, "not", false, true, "sustain", 0.73, 0.5, -1]]);
});
