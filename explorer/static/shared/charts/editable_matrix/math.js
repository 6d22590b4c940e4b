/* The arithmetic of an editable matrix: texts, colours, arrow keys, parsing of typed numbers. No DOM. */

import { formatNumber } from "../../runtime/format.js";

/** Format the number of a cell with that many decimals; large ones get fewer, and what is not a number is empty. */
export function formatEntry(value, digits = 2) {
  const size = Math.abs(value);
  return Number.isNaN(value) ? "" : formatNumber(value, size >= 1000 ? 0 : size >= 100 ? Math.min(digits, 1) : digits);
}

/** Parse a number, also with a decimal comma or a true minus; null if the text is not a number. */
export function parseNumber(text) {
  const plain = text
    .trim()
    .replace("−", "-")
    .replace(/^([^.,]*),([^.,]*)$/, "$1.$2");
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?$/i.test(plain) && Number.isFinite(Number(plain))
    ? Number(plain)
    : null;
}

/** Change a number by one step of an arrow key, a tenth or a one, without rounding errors. */
export const stepValue = (value, change) => Number((Math.round((value + change) * 1e4) / 1e4).toFixed(4));

/** Return the value with the strongest colour: 1 for amounts, the largest magnitude for signed values. */
export function colourLimit(values, scale) {
  if (scale !== "sign") return 1;
  let most = 0;
  for (const row of values) for (const value of row) if (Number.isFinite(value)) most = Math.max(most, Math.abs(value));
  return most || 1;
}

/** Return the position of a value among the seven stops of its scale, 0 to 6; null where there is no tile. */
export function colourStop(value, scale, most) {
  if (value === null || value === undefined || Number.isNaN(value) || scale === "none") return null;
  const share = scale === "sign" ? (value / most + 1) / 2 : value / most;
  return 6 * Math.max(0, Math.min(1, share));
}

/** Return the two colour stops around a position on the scale and the share of the second, in percent. */
export function neighbouringStops(at) {
  const low = Math.min(5, Math.floor(at));
  return [low, low + 1, Math.round(100 * (at - low))];
}

const INK = ["#1D2327", "#ECEAE4"]; // --ink, light and dark

/** The colours of a number on its tile in the light and in the dark theme: at least 4.5 to 1 on every shade of it. */
export function textColours(at, scale) {
  const far = scale === "sign" ? Math.abs(at - 3) : at;
  const [blacken, whiten, lighten, darken] =
    scale === "sign" ? [1.85, at < 3 ? 2.37 : 2.245, 1.15, 1.52] : [3.4, 3.97, 2.7, 3.23];
  return [
    far < blacken ? INK[0] : far < whiten ? "#000" : "#fff",
    far < lighten ? INK[1] : far < darken ? "#fff" : "#000",
  ];
}

/** Whether all numbers can be read in cells of this width, in px. */
export const numbersFit = (texts, cell) => Math.max(1, ...texts.map((text) => text.length)) * 7.3 + 6 <= cell;

/** Return the colours of a tile and of the number on it as CSS, with variables of shared/base.css that follow the theme. */
export function tileColours(at, scale) {
  const [low, high, part] = neighbouringStops(at),
    [light, dark] = textColours(at, scale);
  return {
    fill: `color-mix(in srgb, var(--${scale}-${low}) ${100 - part}%, var(--${scale}-${high}))`,
    ink: `light-dark(${light}, ${dark})`,
  };
}
