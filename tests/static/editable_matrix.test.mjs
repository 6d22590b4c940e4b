import assert from "node:assert/strict";
import { test } from "node:test";
import {
  neighbouringStops,
  textColours,
  colourLimit,
  numbersFit,
  stepValue,
  colourStop,
  parseNumber,
  formatEntry,
} from "../../explorer/static/shared/charts/editable_matrix/math.js";

test("numbers have a true minus, zero has none, and large ones fewer digits", () => {
  assert.deepEqual(
    [-0.331, -0.001, 0.5, 123.456, -20480].map((value) => formatEntry(value)),
    ["−0.33", "0.00", "0.50", "123.5", "−20480"],
  );
  assert.deepEqual(
    [Infinity, -Infinity, NaN].map((value) => formatEntry(value)),
    ["∞", "−∞", ""],
  );
});

test("a number is read however it is typed, and nothing else is", () => {
  assert.deepEqual(
    ["1.5", " -2 ", "−0,25", ".5", "3.", "1e-2", "+4"].map(parseNumber),
    [1.5, -2, -0.25, 0.5, 3, 0.01, 4],
  );
  for (const text of ["", "-", "abc", "1,000.5", "NaN", "Infinity", "1e999", "0x10", "1 2"])
    assert.equal(parseNumber(text), null, text);
});

test("steps leave no dust behind", () => {
  assert.equal(stepValue(0.2, 0.1), 0.3);
  assert.equal(stepValue(-0.1, 0.1), 0);
  assert.equal(stepValue(1.25, -1), 0.25);
});

test("amounts end at one, signed values at the largest", () => {
  assert.equal(colourLimit([[0.2, null]], "amount"), 1);
  assert.equal(
    colourLimit(
      [
        [0.2, -3],
        [null, NaN],
      ],
      "sign",
    ),
    3,
  );
  assert.equal(colourLimit([[0, null]], "sign"), 1);
});

test("a value finds its place among the stops; what is masked has none, and zero has the palest", () => {
  assert.deepEqual([colourStop(0, "amount", 1), colourStop(0.5, "amount", 1), colourStop(9, "amount", 1)], [0, 3, 6]);
  assert.deepEqual([colourStop(0, "sign", 2), colourStop(-2, "sign", 2), colourStop(1, "sign", 2)], [3, 0, 4.5]);
  assert.deepEqual(
    [colourStop(null, "sign", 2), colourStop(0.3, "none", 1), colourStop(NaN, "amount", 1)],
    [null, null, null],
  );
  assert.deepEqual(
    [neighbouringStops(0), neighbouringStops(2.25), neighbouringStops(6)],
    [
      [0, 1, 0],
      [2, 3, 25],
      [5, 6, 100],
    ],
  );
});

test("a number can be read on every shade of its tile, in both themes", () => {
  const scales = {
    amount: [
      ["#EDF2F6", "#D0E2F0", "#A3C9E3", "#63A3CF", "#2479B4", "#0B5187", "#08325A"],
      ["#1F2830", "#1B3A55", "#1A5180", "#2170AC", "#4E9AD3", "#92C4E8", "#E2F0FA"],
    ],
    sign: [
      ["#7A4A0B", "#B67C2E", "#E0BD86", "#F4F4F1", "#92CDC2", "#2E8F82", "#00594E"],
      ["#F0C27B", "#C08A3C", "#6B4A1C", "#24292E", "#1D5C55", "#35A294", "#8FE0D2"],
    ],
  };
  const parts = (hex) =>
    (hex.length === 4 ? [...hex.slice(1)].map((h) => h + h) : hex.slice(1).match(/../g)).map((h) => parseInt(h, 16));
  const light = (rgb) =>
    rgb
      .map((c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4))
      .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  for (const [scale, themes] of Object.entries(scales))
    themes.forEach((stops, theme) => {
      for (let at = 0; at <= 6; at += 0.01) {
        const [low, high, part] = neighbouringStops(at),
          mixed = parts(stops[low]).map((c, i) => c + ((parts(stops[high])[i] - c) * part) / 100);
        const found = contrast(light(mixed), light(parts(textColours(at, scale)[theme])));
        assert.ok(found >= 4.5, `${scale}, theme ${theme}, ${at.toFixed(2)}: ${found.toFixed(2)}`);
      }
    });
});

test("numbers are written where they have room", () => {
  assert.ok(numbersFit(["0.50", "−0.33"], 44));
  assert.ok(!numbersFit(["0.50", "−0.33"], 36));
  assert.ok(numbersFit([], 20));
});
