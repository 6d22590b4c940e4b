import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.document = { createElement: () => ({ getContext: () => null }) }; // text_metrics.js measures labels with a canvas
const { chooseKeys: choose, sortRows: ordered } = await import("../../explorer/static/components/table/view.js");

const row = (key, a) => ({ key, cells: { a } });
const keys = (rows) => rows.map(({ key }) => key).join("");

test("rows are sorted by what their cells say, numbers as numbers", () => {
  const rows = [row("x", { text: "run 10" }), row("y", { text: "run 9" }), row("z", { text: "Run 1" })];
  assert.equal(keys(ordered(rows, "a")), "zyx");
  assert.equal(keys(ordered(rows, "-a")), "xyz");
  assert.equal(keys(ordered(rows, null)), "xyz");
  assert.equal(keys(rows), "xyz");
});

test("or by what is meant, and equals keep their order", () => {
  const rows = [
    row("x", { text: "1 h ago", sort: 5 }),
    row("y", { text: "2 min ago", sort: 50 }),
    row("z", { text: "1 h", sort: 5 }),
  ];
  assert.equal(keys(ordered(rows, "a")), "xzy");
  assert.equal(keys(ordered(rows, "-a")), "yxz");
});

test("what is empty stands last, whichever way", () => {
  const rows = [row("x", { text: "" }), row("y", { sort: 0 }), row("z", undefined), row("w", { sort: 1 })];
  assert.equal(keys(ordered(rows, "a")), "ywxz");
  assert.equal(keys(ordered(rows, "-a")), "wyxz");
});

test("what is chosen stands in the order of the rows, what is not shown stays chosen", () => {
  const rows = ["a", "b", "c"];
  assert.deepEqual(choose(["c", "z"], rows, ["a"], true), ["a", "c", "z"]);
  assert.deepEqual(choose(["a", "c", "z"], rows, rows, false), ["z"]);
  assert.deepEqual(choose([], rows, rows, true), rows);
});

test("no more than may be", () => {
  assert.deepEqual(choose(["c"], ["a", "b", "c"], ["a", "b", "c"], true, 2), ["a", "c"]);
  assert.deepEqual(choose(["a", "c"], ["a", "b", "c"], ["b"], true, 2), ["a", "c"]);
});
