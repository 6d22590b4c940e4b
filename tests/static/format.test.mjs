import assert from "node:assert/strict";
import { test } from "node:test";
import { formatScientific } from "../../explorer/static/shared/runtime/format.js";

test("near one a number stands as it is, with two digits", () => {
  assert.deepEqual([0, 1, 0.0764, -0.5, 123.4, 0.01].map(formatScientific), ["0", "1", "0.076", "−0.5", "120", "0.01"]);
});

test("far from one it stands with a power of ten", () => {
  assert.deepEqual([4.2e-17, 0.0011, 25e9, -3e-120].map(formatScientific), [
    "4 × 10⁻¹⁷",
    "1 × 10⁻³",
    "3 × 10¹⁰",
    "−3 × 10⁻¹²⁰",
  ]);
  assert.equal(formatScientific(9.6e-5), "1 × 10⁻⁴"); // rounded up into the next power
});
