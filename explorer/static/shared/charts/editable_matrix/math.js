/* The arithmetic of an editable matrix: texts, colours, arrow keys, parsing of typed numbers. No DOM. */

/** A number with a true minus and that many digits; large ones get fewer. */
export function formatNumber(value, digits = 2) {
  if (!Number.isFinite(value)) return value > 0 ? "∞" : value < 0 ? "−∞" : "";
  const text = value.toFixed(Math.abs(value) >= 1000 ? 0 : Math.abs(value) >= 100 ? Math.min(digits, 1) : digits);
  return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", "−");
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

/**
 * Return the cell that a key leads to, inside the table; null for a key that moves nothing.
 * @param {string} key
 * @param {number[]} cell row and column
 * @param {number} rows
 * @param {number} columns
 */
export function nextCell(key, [row, column], rows, columns) {
  const to = {
    ArrowUp: [row - 1, column],
    ArrowDown: [row + 1, column],
    ArrowLeft: [row, column - 1],
    ArrowRight: [row, column + 1],
    Home: [row, 0],
    End: [row, columns - 1],
  }[key];
  if (!to) return null;
  return [Math.max(0, Math.min(rows - 1, to[0])), Math.max(0, Math.min(columns - 1, to[1]))];
}
