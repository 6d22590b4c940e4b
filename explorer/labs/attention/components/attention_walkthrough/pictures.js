/* Draw the pictures of the attention walkthrough as lists of SVG elements.

   A scene is the data of view.js with { arrays, walk: see math.js, step, scale, size, shades: pixels of the signed colour
   scale, key: which is looked at, place: the number of the vectors that is framed, or -1 }. */
import { KEYS, MASK, QUERY, SCALE, SCORES, SOFTMAX, VALUES, digitsOf, largestMagnitude } from "./math.js";
import { products, weightedValue } from "./math.js";
import { tokenLabel } from "../../../../static/shared/runtime/visible_text.js";
import { paintPixels } from "../../../../static/shared/charts/heatmap.js";
import { colourStop, tileColours } from "../../../../static/shared/charts/editable_matrix/math.js";
import { scalePosition } from "../../../../static/shared/charts/value_scale.js";
import { svgNode } from "../../../../static/shared/runtime/dom.js";
import { formatNumber, formatWeight } from "../../../../static/shared/runtime/format.js";

const LEFT = 54,
  TOP = 3,
  GAP = 18; // px before the tiles of a line, above them, and between blocks of lines
const WIDEST = 76,
  NARROWEST = 36,
  LINES = 3,
  SMALLEST = 10.5;
const [INK, SOFT, RULE] = ["var(--ink)", "var(--soft)", "var(--rule)"];

const drawText = (words, x, y, size, more = {}) =>
  svgNode("text", { x, y, dy: "0.35em", "font-size": size, fill: SOFT, ...more }, words);
const drawLine = (x1, y1, x2, y2, stroke = SOFT, width = 1, more = {}) =>
  svgNode("line", { x1, y1, x2, y2, stroke, "stroke-width": width, ...more });
const drawDot = (cx, cy, r, fill = SOFT, more = {}) => svgNode("circle", { cx, cy, r, fill, ...more });
const drawFrame = (x, y, width, height, stroke = INK, thick = 2) =>
  svgNode("rect", { x, y, width, height, fill: "none", stroke, "stroke-width": thick });
const STRONG = { fill: INK, "font-weight": 600 };
const MIDDLE = { "text-anchor": "middle" },
  END = { "text-anchor": "end" };

/** How `count` numbers lie on lines of tiles that are `wide` px and better not higher than `high`. */
export function tileGrid(count, wide, high) {
  const room = wide - LEFT - TOP,
    fillsLines = (columns) => count % columns === 0 || columns === 8;
  const sizes = Array.from({ length: count }, (_, i) => i + 1).filter(
    (columns) => columns >= Math.min(count, 8) && fillsLines(columns),
  );
  const cellWidth = (columns) => Math.min(columns < 8 ? 2 * WIDEST : WIDEST, Math.floor(room / columns));
  const leastHeight = (columns) => Math.ceil(count / columns) * (LINES * 30 + GAP) - GAP;
  const legible = sizes.filter((columns) => cellWidth(columns) >= NARROWEST);
  const columns =
    legible.find((one) => leastHeight(one) <= high) ??
    legible.at(-1) ??
    Math.min(count, Math.max(1, Math.floor(room / NARROWEST)));
  const blocks = Math.ceil(count / columns),
    line = Math.max(30, Math.min(56, Math.floor((high - (blocks - 1) * GAP) / blocks / LINES)));
  return { columns, cell: cellWidth(columns), line, blocks, high: TOP + blocks * (LINES * line + GAP) };
}

/** Which number of the vectors lies at a point of the picture; -1: none. */
export function placeAt({ columns, cell, line, blocks }, count, x, y) {
  const pitch = LINES * line + GAP,
    column = Math.floor((x - LEFT) / cell),
    block = Math.floor((y - TOP) / pitch),
    place = block * columns + column,
    isOnTile =
      column >= 0 && column < columns && block >= 0 && block < blocks && y - TOP - block * pitch <= LINES * line;
  return isOnTile && place < count ? place : -1;
}

/** The lines of tiles of a step: [letter, numbers, end of their scale of colour]. */
function linesOf({ walk, step, key, scale }) {
  const queryRow = ["q", walk.query, scale.asking],
    keyRow = ["k", walk.key(key), scale.asking];
  if (step === QUERY) return [queryRow];
  if (step === KEYS) return [queryRow, keyRow];
  if (step === SCORES) return [queryRow, keyRow, ["q × k", products(walk, key), productScale(walk)]];
  return [
    ["v", walk.value(key), scale.telling],
    ["w × v", weightedValue(walk, key), weightedScale(walk)],
    ["o", walk.mixed, weightedScale(walk)],
  ];
}
const largestOf = (vectors) => Math.max(...vectors.map(largestMagnitude)) || 1;
/** The largest product of this query with any key. */
const productScale = (walk) => largestOf(Array.from({ length: walk.count }, (_, key) => products(walk, key)));
/** The largest number that is taken from any key, or of their sum. */
export const weightedScale = (walk) => largestOf([...walk.seen.map((key) => weightedValue(walk, key)), walk.mixed]);

export function drawPicture(scene, wide, high) {
  const { walk, step } = scene;
  if (step >= SOFTMAX && !walk.seen.length) return [];
  const draw = { [SCALE]: drawScaling, [MASK]: drawMatrix, [SOFTMAX]: drawCurve }[step] ?? drawVectors;
  return draw(scene, wide, high);
}

/** Numbers in the size at which they fit, with one digit less rather than none: { texts, size }. */
function fitNumbers(values, line, cell) {
  const most = digitsOf(largestMagnitude(values.filter((value) => !Number.isNaN(value))));
  for (let digits = most; ; digits--) {
    const texts = Array.from(values, (value) => formatNumber(value, digits)),
      size = Math.min(20, line * 0.56, (cell - 5) / (Math.max(...texts.map((text) => text.length)) * 0.51));
    if (size >= SMALLEST || digits <= Math.min(most, 1)) return { texts, size };
  }
}

function drawVectors(scene, wide) {
  const { walk, step, place, size: sizes } = scene,
    lines = linesOf(scene),
    { columns, cell, line } = tileGrid(walk.width, wide, sizes.room),
    corner = (i) => [LEFT + (i % columns) * cell, TOP + Math.floor(i / columns) * (LINES * line + GAP)];
  const shapes = lines.flatMap(([letter, values, end], l) => {
    const isLast = l === lines.length - 1 && step >= SCORES,
      { texts, size } = fitNumbers(values, line, cell);
    return texts.flatMap((text, i) => {
      const x = corner(i)[0],
        y = corner(i)[1] + l * line + (isLast ? 4 : 0),
        serif = { fill: INK, "font-family": '"Source Serif", serif', "font-style": "italic", ...END },
        name = i % columns ? [] : [drawText(letter, LEFT - 12, y + line / 2, 18, serif)];
      if (Number.isNaN(values[i])) return name;
      const { fill, ink } = tileColours(colourStop(values[i], "sign", end), "sign"),
        letters = { fill: ink, "font-weight": isLast ? 600 : null, ...MIDDLE };
      return [
        ...name,
        svgNode("rect", { x, y, width: cell - 2, height: line - 4, fill }),
        ...(step === QUERY
          ? drawBar(values[i] / end, x + cell / 2 - 1, y + line + 4, cell, (LINES - 1) * line - 8)
          : []),
        size >= SMALLEST ? drawText(text, x + cell / 2 - 1, y + line / 2 - 1, size, letters) : null,
      ];
    });
  });
  if (place < 0) return shapes;
  const [x, y] = corner(place);
  return [...shapes, drawFrame(x - 2, y - 2, cell + 2, lines.length * line + (lines.length === LINES ? 4 : 0))];
}

/** Draw a number as a bar up or down, in the space of its key. */
function drawBar(t, x, y, cell, high) {
  const wide = Math.min(26, cell * 0.5),
    zero = y + high / 2,
    long = (Math.abs(t) * high) / 2;
  const box = { x: x - wide / 2, y: t < 0 ? zero : zero - long, width: wide, height: long };
  return [
    svgNode("rect", { ...box, fill: t < 0 ? "var(--sign-1)" : "var(--sign-5)" }),
    drawLine(x - wide, zero, x + wide, zero),
  ];
}

const linearScale = (low, high, from, to) => (value) =>
  high > low ? from + ((value - low) / (high - low)) * (to - from) : (from + to) / 2;

function drawScaling({ walk, key }, wide, high) {
  const low = Math.min(0, ...walk.raw),
    top = Math.max(0, ...walk.raw),
    x = linearScale(low, top, 34, wide - 40);
  const [above, below] = [high * 0.24, high * 0.74],
    others = Array.from(walk.raw.keys()).filter((i) => i !== key);
  const drawAxis = (y, words, side) => [
    drawLine(x(low), y, x(top), y),
    drawLine(x(0), y - 6, x(0), y + 6),
    drawText(words, 10, y + side * 52, 15),
    drawText("0", x(0), y - side * 18, 14, MIDDLE),
  ];
  const [from, to] = [x(walk.raw[key]), x(walk.scaled[key])],
    drawNumber = (value, y) =>
      drawText(formatNumber(value), Math.max(34, Math.min(wide - 40, x(value))), y, 20, { ...STRONG, ...MIDDLE });
  return [
    ...others.map((i) => drawLine(x(walk.raw[i]), above, x(walk.scaled[i]), below, RULE, 1.5)),
    ...drawAxis(above, "scores", -1),
    ...drawAxis(below, `divided by √${walk.width}`, 1),
    ...others.flatMap((i) => [
      drawDot(x(walk.raw[i]), above, 5, SOFT, { opacity: 0.6 }),
      drawDot(x(walk.scaled[i]), below, 5, SOFT, { opacity: 0.6 }),
    ]),
    drawLine(from, above, to, below, INK, 2.5),
    drawDot(from, above, 8, INK),
    drawDot(to, below, 8, INK),
    drawNumber(walk.raw[key], above - 26),
    drawNumber(walk.scaled[key], below + 26),
  ];
}

/** The largest score of all pairs that are not masked. */
function largestScore({ scaled, weights }) {
  return largestMagnitude(scaled.data.filter((_, i) => !Number.isNaN(weights.data[i]))) || 1;
}

/** The tiles of all scores as a picture with one pixel for each, with lines between them where there is room. */
function drawTiles({ arrays: { scaled, weights }, shades }, end, x, y, cell) {
  const [rows, columns] = scaled.shape,
    canvas = document.createElement("canvas");
  const position = (i) => (Number.isNaN(weights.data[i]) ? NaN : scalePosition(scaled.data[i], end)),
    row = (r) => Float32Array.from({ length: columns }, (_, c) => position(r * columns + c));
  paintPixels(canvas, { rows, columns, row }, shades);
  const box = { x, y, width: cell * columns, height: cell * rows, preserveAspectRatio: "none" },
    across = Array.from({ length: columns }, (_, c) => `M${x + (c + 1) * cell - 1} ${y}v${cell * rows}`),
    down = Array.from({ length: rows }, (_, r) => `M${x} ${y + (r + 1) * cell - 1}h${cell * columns}`),
    gaps = { d: [...across, ...down].join(""), stroke: "var(--page)", "stroke-width": cell >= 16 ? 2 : 1 };
  return [
    svgNode("image", { ...box, href: canvas.toDataURL(), style: "image-rendering: pixelated" }),
    cell >= 7 ? svgNode("path", gaps) : null,
  ];
}

const FAR = 22,
  LETTER = 9.1; // px between the numbers of its places where names do not fit, and of a letter of its names
const shortenLabel = (text) => ([...text].length > 11 ? `${[...text].slice(0, 10).join("")}…` : text);

function drawMatrix(scene, wide, high) {
  const { walk, key, tokens, arrays } = scene,
    [rows, columns] = arrays.scaled.shape,
    end = largestScore(arrays),
    texts = tokens.map((token) => shortenLabel(tokenLabel(token))),
    longest = Math.max(...texts.map((text) => [...text].length));
  const upright = longest < 2,
    names = Math.max(longest * LETTER, tokens.length > 30 ? 24 : 0) + 14,
    head = upright ? 24 : Math.min(names, 110);
  const cell = Math.min(64, (wide - names - 4) / columns, (high - head - 8) / rows),
    step = Math.ceil(13 / cell),
    bottom = head + cell * rows,
    right = names + cell * columns,
    middle = (i, from) => from + (i + 0.5) * cell;
  const every = [5, 10, 20, 50, 100].find((far) => far * cell >= FAR) ?? 200;
  /** The name of a place, or its number where names do not fit; nothing where `chosen` or the others leave no room. */
  const drawName = (i, chosen, x, y, more) => {
    const own = i === chosen,
      hasLabel = step === 1 || own || i === 0 || (i + 1) % every === 0,
      isCrowded = !own && step > 1 && Math.abs(i - chosen) * cell < 14,
      mono = { "font-family": '"Source Code", monospace', ...(own ? STRONG : {}), ...more };
    if (!hasLabel || isCrowded) return null;
    return drawText(step === 1 || own ? texts[i] : String(i + 1), x, y, Math.min(15, Math.max(11, cell * 0.72)), mono);
  };
  const turn = (x) => (upright ? MIDDLE : { transform: `rotate(-90 ${x} ${head - 6})` });
  const drawScore = (row, column) => {
    const i = row * columns + column,
      score = arrays.scaled.data[i];
    if (Number.isNaN(arrays.weights.data[i])) return null;
    const { ink } = tileColours(colourStop(score, "sign", end), "sign");
    return drawText(formatNumber(score, 1), middle(column, names) - 1, middle(row, head), 15, { fill: ink, ...MIDDLE });
  };
  const count = (length) => Array.from({ length }, (_, i) => i);
  return [
    ...drawTiles(scene, end, names, head, cell),
    ...count(rows).map((i) => drawName(i, walk.asked, names - 8, middle(i, head), END)),
    ...count(columns).map((i) => {
      const faint = { opacity: Number.isNaN(walk.weights[i]) ? 0.45 : null };
      return drawName(i, key, middle(i, names), upright ? 12 : head - 6, { ...faint, ...turn(middle(i, names)) });
    }),
    ...(cell >= 44 ? count(rows).flatMap((row) => count(columns).map((column) => drawScore(row, column))) : []),
    drawFrame(names, head, right - names, bottom - head, RULE, 1),
    drawFrame(names - 2, head + walk.asked * cell - 2, right - names + 4, cell + 4, INK, 2.5),
    drawLine(middle(key, names), bottom + 1, middle(key, names), bottom + 6, INK, Math.min(cell, 12)),
  ];
}

function drawCurve({ walk, key }, wide, high) {
  const { seen, scaled, weights, uniform } = walk,
    scores = seen.map((i) => scaled[i]),
    low = Math.min(...scores),
    top = Math.max(...scores),
    pad = top > low ? (top - low) * 0.04 : 1,
    most = Math.max(...seen.map((i) => weights[i]));
  const [left, bottom] = [58, high - 52],
    x = linearScale(low - pad, top + pad, left, wide - 16),
    y = linearScale(0, most * 1.12, bottom, 10);
  const ends = top > low ? [low, top] : [low],
    anchorOf = (end) => (ends.length === 1 ? "middle" : end === low ? "start" : "end");
  const shareOf = (score) => (uniform ? most : Math.exp(score - walk.top) / walk.total),
    steps = Array.from({ length: 121 }, (_, i) => low - pad + ((top - low + 2 * pad) * i) / 120);
  const points = [...steps, top]
    .sort((a, b) => a - b)
    .filter((score) => shareOf(score) <= most * 1.06)
    .map((score) => `${x(score)},${y(shareOf(score))}`);
  const shapes = [
    drawLine(left, bottom, wide - 10, bottom),
    drawLine(left, 10, left, bottom),
    drawText("share", left + 8, 14, 15),
    drawText("score", wide - 10, bottom + 40, 15, END),
    drawText("0", left - 8, bottom, 14, END),
    drawText(formatWeight(most), left - 8, y(most), 14, END),
    ...ends.map((end) => drawText(formatNumber(end), x(end), bottom + 18, 14, { "text-anchor": anchorOf(end) })),
    svgNode("polyline", { points: points.join(" "), fill: "none", stroke: RULE, "stroke-width": 2.5 }),
    ...seen
      .filter((i) => i !== key)
      .map((i) => drawDot(x(scaled[i]), y(weights[i]), 5.5, "var(--colour)", { opacity: 0.65 })),
  ];
  if (Number.isNaN(weights[key])) return shapes;
  const [px, py] = [x(scaled[key]), y(weights[key])],
    isRight = px > wide * 0.6,
    dashes = { "stroke-dasharray": "4 3" };
  return [
    ...shapes,
    drawLine(px, bottom, px, py, INK, 1.5, dashes),
    drawLine(left, py, px, py, INK, 1.5, dashes),
    drawDot(px, py, 9, "var(--colour)", { stroke: INK }),
    drawText(formatWeight(weights[key]), px + (isRight ? -16 : 16), Math.max(16, py - 20), 22, {
      ...STRONG,
      ...(isRight ? END : {}),
    }),
  ];
}

export function pictureCaption(scene) {
  const { walk, step, key, place, scale, arrays } = scene;
  if (step === SCALE) return "Each line is a key.";
  if (step === MASK)
    return `Brown: below zero, teal: above, up to ${formatNumber(largestScore(arrays))}. Empty: cannot look.`;
  if (step === SOFTMAX)
    return walk.seen.length > 1 && !walk.uniform
      ? "Each point is a key. One score higher by 1 has a share 2.72 times as large."
      : "";
  if (step === VALUES && !walk.seen.length) return "";
  if (place < 0) {
    const products = step === SCORES ? `, of a product ${formatNumber(productScale(walk))}` : "",
      sums = step === VALUES ? `, of a part and of the sum ${formatNumber(weightedScale(walk))}` : "",
      first = formatNumber(step === VALUES ? scale.telling : scale.asking);
    return `Brown: below zero, teal: above. Full colour: ${first}${products}${sums}.`;
  }
  const [first, second, third] = linesOf(scene).map(([, values]) => formatNumber(values[place])),
    weight = walk.weights[key];
  const text = {
    [QUERY]: `${first}.`,
    [KEYS]: `query ${first}, key ${second}.`,
    [SCORES]: `${first} × ${second} = ${third}.`,
    [VALUES]: Number.isNaN(weight)
      ? `hidden; the sum is ${third}.`
      : `${formatWeight(weight)} × ${first} = ${second}; the sum over all is ${third}.`,
  }[step];
  return `Number ${place + 1}: ${text}`;
}
