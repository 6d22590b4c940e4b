/* Numbers as they are written on the screen. */

const RAISED = { "-": "⁻", ...Object.fromEntries([..."⁰¹²³⁴⁵⁶⁷⁸⁹"].map((digit, i) => [i, digit])) };

/** A number of any size: plain where it is near one, otherwise with a power of ten; 4.2e-17 is 4 × 10⁻¹⁷. */
export function power(value) {
  if (value === 0 || !Number.isFinite(value)) return String(value);
  if (Math.abs(value) >= 0.01 && Math.abs(value) < 1000) return String(Number(value.toPrecision(2))).replace("-", "−");
  const [digits, exponent] = value.toExponential(0).split("e");
  return `${digits.replace("-", "−")} × 10${[...String(Number(exponent))].map((sign) => RAISED[sign]).join("")}`;
}
