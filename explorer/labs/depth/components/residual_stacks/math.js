/* The arithmetic of stacks of blocks: lines over the layers, their axes, and the sentences about them. No DOM. Heights of
   logarithmic panels are powers of ten; -Infinity is zero, NaN is above the stack. */
import { placeHeights } from "../../../../static/shared/charts/end_labels.js";
import { formatNumber, formatSignificant } from "../../../../static/shared/runtime/format.js";

const NORMS = { none: "no norm", post: "norm after", pre: "norm before" };
const KINDS = { layer: "LayerNorm", rms: "RMSNorm" };
const NUMBERS = "no one two three four five six seven eight nine ten eleven twelve".split(" ");
const SAME = 0.99; // a cosine from which two tokens count as one
const EQUAL = 0.02; // powers of ten: five in a hundred up or down is as much as before

/** Return the index of the selected combination; a stack without norms has no kind of norm. */
export function placeOf(combinations, { residual, norm, kind }) {
  return combinations.findIndex(
    (one) => one.residual === residual && one.norm === norm && (norm === "none" || one.kind === kind),
  );
}

/** Name a combination; `withKind: false` leaves out which norm it is. */
export function nameOf({ residual, norm, kind }, { withKind = true } = {}) {
  const which = withKind && norm !== "none" ? ` (${KINDS[kind]})` : "";
  return `${residual ? "residual" : "no residual"}, ${NORMS[norm]}${which}`;
}

/** The course of one combination over layers 0 to `height`: {low, mid, high} over the seeds at each. `shape` ends with
    (layers, seeds), and begins with (combinations, heights) where the numbers depend on the height of the stack. */
export function courseOf(array, combination, height) {
  return Array.from({ length: height + 1 }, (_, layer) => overSeeds(seedsAt(array, combination, height, layer)));
}

export function seedsAt({ data, shape }, combination, height, layer) {
  const [layers, seeds] = shape.slice(-2),
    index = shape.length === 4 ? combination * shape[1] + height - 1 : combination;
  return data.subarray((index * layers + layer) * seeds, (index * layers + layer + 1) * seeds);
}

export function overSeeds(values) {
  const sorted = Float64Array.from(values).sort(),
    count = sorted.length,
    half = count >> 1;
  const mid = count % 2 || sorted[half - 1] === sorted[half] ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  return { low: sorted[0], mid, high: sorted[count - 1] };
}

/** From where to where an axis goes: over all of the chosen course, over what the others need within `most` powers of
    ten, by whole powers where there are several. */
export function spanOf(chosen, others, most = 4) {
  const finiteValues = (course) => course.flatMap(({ low, mid, high }) => [low, mid, high]).filter(Number.isFinite);
  const own = finiteValues(chosen),
    rest = others.flatMap(finiteValues);
  let [low, high] = own.length ? [Math.min(...own), Math.max(...own)] : [-1, 1];
  for (const value of rest) {
    if (value > high) high = Math.min(value, Math.max(high, most));
    if (value < low) low = Math.max(value, Math.min(low, -most));
  }
  return high - low > 1
    ? [Math.floor(low), Math.ceil(high)]
    : [Math.floor(10 * low - 0.5) / 10, Math.ceil(10 * high + 0.5) / 10];
}

/** Return the axis range of cosines: from 0, or the lowest value of the selected stack, to 1. */
export function cosinesOf(chosen) {
  const lowest = Math.min(0, ...chosen.map(({ low }) => low).filter(Number.isFinite));
  return [Math.floor(10 * lowest - 0.2) / 10, 1.02];
}

/** Return the labels of a logarithmic axis: at powers of ten, or between them at 1, 2 and 5. */
export function ticksOf([low, high], most = 4) {
  const ticks = [];
  if (high - low >= 2) {
    const step = Math.max(1, Math.ceil((high - low) / most));
    for (let at = Math.ceil(low / step) * step; at <= high; at += step) ticks.push(at);
    return ticks;
  }
  const digits = high - low > 0.7 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9];
  for (let exponent = Math.floor(low); exponent <= high; exponent++)
    for (const digit of digits) {
      const at = exponent + Math.log10(digit);
      if (at >= low && at <= high) ticks.push(at);
    }
  return ticks;
}

/** Return a line as a path; `x` and `y` map a layer and a height to px. Values that are not finite leave a gap. */
export function linePath(heights, x, y) {
  let path = "",
    inside = false;
  heights.forEach((height, layer) => {
    if (Number.isFinite(height)) path += `${inside ? "L" : "M"}${x(layer).toFixed(1)} ${y(height).toFixed(1)}`;
    inside = Number.isFinite(height);
  });
  return path;
}

export function bandPath(course, x, y) {
  const bands = course
    .map((one, layer) => ({ ...one, layer }))
    .filter(({ low, high }) => Number.isFinite(low) && Number.isFinite(high));
  if (!bands.length) return "";
  const pointText = (layer, height) => `${x(layer).toFixed(1)} ${y(height).toFixed(1)}`;
  return `M${[...bands.map(({ layer, high }) => pointText(layer, high)), ...bands.reverse().map(({ layer, low }) => pointText(layer, low))].join("L")}Z`;
}

/** Labels at the ends of lines: [{y, text, kin, own}] sorted down the panel, those of one `kin` that lie closer than
    `gap` as one, each at the height `at` from `top` to `bottom`. */
export function placeLabels(ends, gap, top, bottom) {
  const labels = [];
  for (const end of [...ends].sort((a, b) => a.y - b.y)) {
    const same = labels.find((one) => one.kin === end.kin && Math.abs(one.y - end.y) < gap);
    if (!same) labels.push({ ...end, shared: false });
    else Object.assign(same, { shared: true, own: same.own || end.own });
  }
  const heights = placeHeights(
    labels.map(({ y }) => ({ end: y, tall: gap })),
    top - gap / 2,
    bottom + gap / 2,
  );
  return labels.map((label, i) => ({ ...label, at: heights[i] }));
}

export const formatPower = (height) =>
  height === -Infinity ? "0" : Number.isFinite(height) ? formatNearPower(height) : "none";

const formatNearPower = (height) => (height > -300 ? formatSignificant(10 ** height) : `10^${Math.round(height)}`);

export function formatInterval({ low, mid, high }) {
  const [from, to] = [formatPower(low), formatPower(high)];
  return from === to ? formatPower(mid) : `${formatPower(mid)} (${from} to ${to})`;
}

/* ---- what can be said ---- */

/** Describe the change of the residual stream; the powers of ten of its mean square at the beginning and at the end, over the seeds. */
export function describeGrowth(first, last) {
  const change = last.mid - first.mid;
  if (last.mid === -Infinity) return "the residual stream is zero";
  if (Math.abs(change) < EQUAL) return `the mean square of the residual stream stays at ${formatPower(last.mid)}`;
  return `the mean square of the residual stream ${change > 0 ? "grows" : "shrinks"} from ${formatPower(first.mid)} to ${formatPower(last.mid)}`;
}

/** Compare the gradient after the first block with that after the last; their ratio in powers of ten, over the seeds. */
export function compareGradients({ low, mid, high }) {
  if (!Number.isFinite(mid)) return "no gradient reaches the first block";
  if (Math.abs(mid) < EQUAL) return "the gradient norm is the same after the first and the last block";
  const usual = `the gradient norm after the first block is ${formatNearPower(mid)} times that after the last`;
  return low < 0 && high > 0 ? `${usual} (above 1 with some seeds, below with others)` : usual;
}

/** Describe how similar neighbouring tokens have become; cosines over the seeds at the beginning and at the end, and whether
    there are norms. */
export function describeCollapse(first, last, norm) {
  if (!Number.isFinite(last.mid)) return "All tokens are zero.";
  const [from, to] = [first.mid, last.mid].map((cosine) => formatNumber(cosine));
  if (last.mid > SAME)
    return `Neighbouring tokens, with a cosine of ${from} at first, have become equal (${to})${norm ? ": a norm keeps their size, not their difference" : ""}.`;
  return Math.abs(last.mid - first.mid) < 0.05
    ? `Neighbouring tokens stay as different as they were (cosine ${to}).`
    : `Neighbouring tokens become more alike: their cosine goes from ${from} to ${to}.`;
}

/** Compare the mean square with the expected range; heights over the seeds, and the two expected ones. */
export function describeScale(size, [low, high]) {
  if (low > -EQUAL && high < EQUAL) return `Expected is a mean square of 1; measured is ${formatInterval(size)}.`;
  const inside = size.mid >= low - EQUAL && size.mid <= high + EQUAL;
  return `Expected is a mean square between ${formatPower(low)} and ${formatPower(high)}; measured is ${formatInterval(size)}, ${inside ? "within" : "outside"} that.`;
}

/** Describe one combination: {head, rest}. `arrays`: as fetched. */
export function findingText(arrays, combination, place, height, expected) {
  const { size, stream, weights, similarity } = arrays,
    seeds = size.shape.at(-1);
  const formatChange = (array, upper, lower) => {
    const [a, b] = [upper, lower].map((layer) => seedsAt(array, place, height, layer));
    return overSeeds(Array.from(a, (value, seed) => value - b[seed]));
  };
  const name = nameOf(combination),
    blocks = height === 1 ? "One block" : `${height} blocks`;
  const gradientText = height > 1 ? compareGradients(formatChange(stream, 1, height)) : "";
  const bothEnds = (array) => [0, height].map((layer) => courseOf(array, place, height)[layer]);
  const rest = gradientText ? [`${gradientText[0].toUpperCase()}${gradientText.slice(1)}.`] : [];
  rest.push(describeCollapse(...bothEnds(similarity), combination.norm !== "none"));
  if (expected)
    rest.push(
      describeScale(
        courseOf(size, place, height)[height],
        expected.map((line) => line[height]),
      ),
    );
  if (height > 1)
    rest.push(
      `The gradient of the weights: ${formatInterval(courseOf(weights, place, height)[1])} in the first block, ${formatInterval(courseOf(weights, place, height)[height])} in the last.`,
    );
  rest.push(`Median of ${NUMBERS[seeds] ?? seeds} random initializations; in brackets the lowest and the highest.`);
  const isAlike = bothEnds(similarity)[1].mid > SAME,
    found = isAlike ? "all tokens have become equal" : describeGrowth(...bothEnds(size));
  return { head: `${blocks}, ${name}: ${found}.`, rest: rest.join(" ") };
}
