/* Format numbers for the screen. No DOM. explorer/number_format.py has the same functions for pages;
   tests/number_format.json holds the cases that both must pass. */

/* Round an exact half to the even digit, as Python does; toFixed and toExponential round it up. */
function roundHalfEven(value, digits, method) {
  const tie = value[method](60).match(`^(-?\\d+${digits ? `\\.\\d{${digits}}` : "\\."})50*(e.+)?$`);
  const [, below, exponent = ""] = tie ?? [];
  return below && /[02468]\.?$/.test(below) ? below.replace(/\.$/, "") + exponent : value[method](digits);
}

const trueMinus = (text) => text.replace("-", "−");
const toFixed = (value, digits) => {
  const text = roundHalfEven(value, digits, "toFixed");
  return Number(text) === 0 ? text.replace("-", "") : trueMinus(text);
};
const separateThousands = (text) => text.replace(/\d+/, (whole) => Number(whole).toLocaleString("en"));

/** Format a number with that many decimals, a true minus and no negative zero; "–" for NaN. */
export function formatNumber(value, digits = 2) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "–" : value > 0 ? "∞" : "−∞";
  return toFixed(value, digits);
}

/** As `formatNumber`, with a plus if the number is positive as printed. */
export function formatSigned(value, digits = 2) {
  const text = formatNumber(value, digits);
  return value > 0 && Number(text) !== 0 ? `+${text}` : text;
}

/** Format a whole number with thousands separators. */
export const formatCount = (value) => separateThousands(toFixed(value, 0));

/** Format a count with its unit in the singular or plural: 1 token, 2,048 tokens. */
export const formatUnits = (count, unit) => `${formatCount(count)} ${unit}${count === 1 ? "" : "s"}`;

/** Write a formatted number with its unit, which is in the plural: 62 %, 12 steps, 1 step. */
export const withUnit = (text, unit) => `${text} ${text === "1" ? unit.replace(/(\w)s$/, "$1") : unit}`.trim();

/** Format a positive number with one decimal below ten, and as a whole number from there on. */
export const formatApproximate = (value) => (value < 9.95 ? formatNumber(value, 1) : formatCount(value));

/** Format a number with few digits; a whole one without decimals, a tiny one as a power of ten.
    As many decimals are added as show that a number is not whole: 99.98 is not 100. */
export function formatRounded(value) {
  const size = Math.abs(value);
  if (value && size < 1e-3) return formatScientific(value);
  if (Math.abs(value - Math.round(value)) < 1e-6 * Math.max(1, size)) return formatCount(value); // in single precision
  let digits = size >= 10 ? 1 : 2;
  while (digits < 4 && Number.isInteger(Number(value.toFixed(digits)))) digits += 1;
  return separateThousands(toFixed(value, digits));
}

/** Write a whole number in raised digits. */
export const superscript = (power) => String(power).replace(/[-\d]/g, (one) => (one === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[one]));

/** Format a number with that many significant digits and a power of ten: 4 × 10⁻¹⁷, and 10⁻³ for one 1. */
export function formatScientific(value, digits = 1) {
  const [mantissa, exponent] = roundHalfEven(value, digits - 1, "toExponential").split("e"),
    power = `10${superscript(Number(exponent))}`;
  if (mantissa === "1" || mantissa === "-1") return (value < 0 ? "−" : "") + power;
  return `${trueMinus(mantissa)}\u00a0×\u00a0${power}`; // non-breaking spaces
}

/** Format a number with two significant digits from 0.01 to 1,000, elsewhere with one and a power of ten. */
export function formatSignificant(value) {
  if (value === 0 || !Number.isFinite(value)) return formatNumber(value, 0);
  if (Math.abs(value) < 0.01 || Math.abs(value) >= 1000) return formatScientific(value);
  return trueMinus(String(Number(roundHalfEven(value, 1, "toExponential"))));
}

/** Format a share from 0 to 1 in percent; one above 0 never becomes 0: "< 0.1 %". */
export function formatPercent(share, digits = 1) {
  if (Number.isNaN(share)) return "–";
  const least = 10 ** -digits;
  const text = share > 0 && 100 * share < least / 2 ? `< ${toFixed(least, digits)}` : toFixed(100 * share, digits);
  return `${text}\u00a0%`;
}

/** Format a probability that a model gives; since a softmax is never 0 or 1, it is never printed as 0 or 1. */
export function formatProbability(p, digits = 2) {
  const least = 10 ** -digits;
  if (p < least / 2) return `<${toFixed(least, digits)}`;
  return p >= 1 - least / 2 ? `>${toFixed(1 - least, digits)}` : formatNumber(p, digits);
}

/** Format an attention weight, or a probability after truncation: these can be exactly 0 or 1, and only then are printed so. */
export const formatWeight = (weight, digits = 3) =>
  weight === 0 || weight === 1 ? toFixed(weight, digits) : formatProbability(weight, digits);

/** Join two printed numbers to a range; one of them if they are the same. */
export const joinRange = (low, high) => (low === high ? low : `${low} to ${high}`);

/** Format “0.12 to 0.34”, or one number if both look the same. */
export const formatRange = (low, high, digits = 2) => joinRange(formatNumber(low, digits), formatNumber(high, digits));

/** Format a mean or median with its interval: 0.20 (0.12 to 0.34); without one whose ends look the same. */
export function formatInterval(middle, low, high, digits = 2) {
  const text = formatNumber(middle, digits),
    interval = formatRange(low, high, digits);
  return interval.includes(" ") ? `${text} (${interval})` : text;
}

/** Format a time with the unit that fits: s, min or h. */
export function formatDuration(seconds) {
  if (seconds < 90) return `${formatApproximate(seconds)} s`;
  return seconds < 5400 ? `${toFixed(seconds / 60, 0)} min` : `${toFixed(seconds / 3600, 0)} h`;
}

/** The name of a head, counted from 1. */
export const headName = (layer, head) => `Layer ${layer + 1}, head ${head + 1}`;
