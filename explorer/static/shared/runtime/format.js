/* Format numbers and the names of heads. No DOM. */

const RAISED = { "-": "⁻", ...Object.fromEntries([..."⁰¹²³⁴⁵⁶⁷⁸⁹"].map((digit, i) => [i, digit])) };

/** A number of any size: plain where it is near one, otherwise with a power of ten; 4.2e-17 is 4 × 10⁻¹⁷. */
export function formatScientific(value) {
  if (value === 0 || !Number.isFinite(value)) return String(value);
  if (Math.abs(value) >= 0.01 && Math.abs(value) < 1000) return String(Number(value.toPrecision(2))).replace("-", "−");
  const [digits, exponent] = value.toExponential(0).split("e");
  return `${digits.replace("-", "−")} × 10${[...String(Number(exponent))].map((sign) => RAISED[sign]).join("")}`;
}

/** The name of a head, counted from 1. */
export const headName = (layer, head) => `Layer ${layer + 1}, head ${head + 1}`;

/** Format a number with two digits, a true minus and no minus zero. */
export function formatSigned(value, digits = 2) {
  const text = value.toFixed(digits);
  return Number(text) === 0 ? (0).toFixed(digits) : text.replace("-", "−");
}
