import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.document = { createElement: () => ({ getContext: () => null }) }; // text_metrics.js measures labels with a canvas
const { csvRows: rows, showSpaces: shown } =
  await import("../../../explorer/labs/memory/components/generated_errors/view.js");

test("a space that is a slip can be seen", () => {
  assert.equal(shown(" "), "␣");
  assert.equal(shown("<b>"), "<b>");
});

test("the saved table has every piece of every text, and why a slip is one", () => {
  const texts = [
    {
      title: "one",
      first: "a",
      runs: [
        { text: "bc", why: null },
        { text: " ", why: "after “abc”" },
      ],
    },
    { title: "two", first: "x", runs: [] },
  ];
  assert.deepEqual(rows({ texts }), [
    ["one", "a", ""],
    ["one", "bc", ""],
    ["one", " ", "after “abc”"],
    ["two", "x", ""],
  ]);
});
