import assert from "node:assert/strict";
import { test } from "node:test";
import { toCsv } from "../../explorer/static/shared/runtime/csv.js";
import { escapeInvisible, escapeInvisibleInXml } from "../../explorer/static/shared/runtime/visible_text.js";

test("one line a row, names first", () => {
  assert.equal(
    toCsv(
      ["series", "x", "y"],
      [
        ["RNN", 0, 0.5],
        ["RNN", 1, 0.98],
      ],
    ),
    "series,x,y\nRNN,0,0.5\nRNN,1,0.98\n",
  );
});

test("commas, quotes and line breaks are quoted, quotes doubled", () => {
  assert.equal(toCsv(["a"], [["x,y"], ['say "not"'], ["two\nlines"]]), 'a\n"x,y"\n"say ""not"""\n"two\nlines"\n');
});

test("a missing number is an empty cell, zero is not", () => {
  assert.equal(toCsv(["a", "b", "c", "d"], [[null, undefined, NaN, 0]]), "a,b,c,d\n,,,0\n");
});

test("a text that a spreadsheet would run gets an apostrophe, a number keeps its sign", () => {
  const first = (value) => toCsv(["a"], [[value]]).split("\n")[1];
  assert.equal(first("=1+1"), "'=1+1");
  assert.equal(first("@sum"), "'@sum");
  assert.equal(first("-preserve"), "'-preserve");
  assert.equal(first("+"), "'+");
  assert.equal(first("\t=1"), "'\t=1");
  assert.equal(first("=A1,B1"), '"\'=A1,B1"');
  assert.equal(first("＝1+1"), "'＝1+1");
  assert.equal(toCsv(["a"], [["\n=1"], ["\n"]]), 'a\n"\'\n=1"\n"\n"\n');
  assert.equal(first("-0.33"), "-0.33");
  assert.equal(first("+1.92"), "+1.92");
  assert.equal(first(-0.33), "-0.33");
  assert.equal(first("<BOS>"), "<BOS>");
});

test("bidirectional controls, zero-width characters and controls are escaped in saved files", () => {
  const hidden = "a\u202eb\u200b\u2066\u2028\u061c\u0007\u{e0001}\ud800";
  assert.equal(escapeInvisible(hidden), "a\\u202eb\\u200b\\u2066\\u2028\\u061c\\u0007\\u{e0001}\\ud800");
  assert.equal(escapeInvisible("größer 字 🎉\n\tx"), "größer 字 🎉\n\tx");
  assert.equal(toCsv(["a"], [["\u202e=1"]]), "a\n\\u202e=1\n");
  assert.equal(escapeInvisibleInXml("<text>a\u202e\u0007</text>"), "<text>a&#x202e;\\u0007</text>");
});
