import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as format from "../../explorer/static/shared/runtime/format.js";

// tests/test_number_format.py runs the same cases in Python
const CASES = JSON.parse(readFileSync(new URL("../number_format.json", import.meta.url), "utf8"));
const SPECIAL = { nan: NaN, inf: Infinity, "-inf": -Infinity };

for (const [name, cases] of Object.entries(CASES))
  test(`${name} formats numbers as the table says`, () => {
    const camelCase = name.replace(/_(.)/g, (_, letter) => letter.toUpperCase());
    for (const [values, text] of cases)
      assert.equal(format[camelCase](...values.map((value) => SPECIAL[value] ?? value)), text, `${values}`);
  });

test("a weight is 0 or 1 only if it is exactly that", () => {
  assert.deepEqual(
    [0, 1, 0.0004, 0.9996, 0.25].map((weight) => format.formatWeight(weight)),
    ["0.000", "1.000", "<0.001", ">0.999", "0.250"],
  );
});
