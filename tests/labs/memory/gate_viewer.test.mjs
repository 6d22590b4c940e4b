import assert from "node:assert/strict";
import { test } from "node:test";
import { describeHalfLife, orderByHalfLife } from "../../../explorer/labs/memory/components/gate_viewer/math.js";

test("the unit that holds longest comes first, and without gates they stand as they are", () => {
  assert.deepEqual(orderByHalfLife([1, 22, Infinity, 22], 4), [2, 1, 3, 0]);
  assert.deepEqual(orderByHalfLife(null, 3), [0, 1, 2]);
});

test("half-lives are said in symbols", () => {
  assert.equal(describeHalfLife(0.83), "keeps half for 0.8 symbols");
  assert.equal(describeHalfLife(234.4), "keeps half for 234 symbols");
  assert.equal(describeHalfLife(Infinity), "keeps half for more than 1,000 symbols");
  assert.equal(describeHalfLife(undefined), "");
});
