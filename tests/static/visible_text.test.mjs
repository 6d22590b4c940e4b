import assert from "node:assert/strict";
import { test } from "node:test";
import { labelLength, quoteToken, tokenLabel } from "../../explorer/static/shared/runtime/visible_text.js";

test("a token that cannot be seen is an escape", () => {
  const labels = {
    " capital": "␣capital",
    "\n\t": "↵⇥",
    "": "∅",
    "\u0000": "\\u0000",
    "\r": "\\u000d",
    "\u00a0": "\\u00a0",
    "\u200d": "\\u200d",
    "\ud800": "\\ud800",
    "\u202eevil": "\\u202eevil",
    "\u{e0041}": "\\u{e0041}",
    "\u0301": "◌\u0301",
    "<b>": "<b>",
  };
  for (const [token, label] of Object.entries(labels)) assert.equal(tokenLabel(token), label);
});

test("joiners inside a word or an emoji stay", () => {
  for (const token of ["\u{1f469}\u200d\u{1f467}", "می\u200cخواهم"]) assert.equal(tokenLabel(token), token);
});

test("a quoted token is short, and right-to-left letters are isolated", () => {
  assert.equal(quoteToken(" x"), "“␣x”");
  assert.equal(quoteToken("x".repeat(256)), `“${"x".repeat(15)}…”`);
  assert.equal(quoteToken("שלום"), "“\u2068שלום\u2069”");
});

test("East Asian letters and emoji are two letters wide", () => {
  assert.deepEqual(["abc", "日本", "😀a", "é"].map(labelLength), [3, 4, 3, 1]);
});
