import assert from "node:assert/strict";
import test from "node:test";

import { countErrors, formatAge, formatBytes } from "../../explorer/static/operator/page.js";

test("bytes have the unit in which they are short", () => {
  assert.deepEqual([0, 999, 1_000, 1_250_000, 77_400_000_000, 5e15].map(formatBytes), [
    "0 bytes",
    "999 bytes",
    "1.0 kB",
    "1.2 MB",
    "77 GB",
    "5,000 TB",
  ]);
});

test("an age is never negative", () => {
  assert.equal(formatAge(10_000, 10_400), "now");
  assert.equal(formatAge(10_000, 9_000), "now");
  assert.match(formatAge(0, 90_000), /ago$/);
});

test("equal errors are counted, the newest first", () => {
  const error = (time, source) => ({ time, source, exception: "KeyError" });
  const errors = [error("2026-01-03", "training"), error("2026-01-02", "page"), error("2026-01-01", "page")];
  assert.deepEqual(countErrors(errors), [
    { source: "training", exception: "KeyError", count: 1, time: "2026-01-03" },
    { source: "page", exception: "KeyError", count: 2, time: "2026-01-02" },
  ]);
});
