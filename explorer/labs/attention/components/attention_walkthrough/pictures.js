/* Draw the pictures of the attention walkthrough: each is a list of shapes, drawn on a canvas or into a file.

   A shape is { rect: [x, y, wide, high] }, { line: [x, y, x, y] }, { way: [[x, y], ...] }, { dot: [x, y, radius] }, { text, at: [x, y] }
   or { tiles: { at(row, column), rows, columns }, box: [x, y, cell] }; `fill` and `stroke` are a colour of shared/base.css, or a number
   from -1 to 1 on the signed colour scale. Text on a rect of that scale has its value in `on`. */
import { KEYS, MASK, QUERY, SCALE, SCORES, SOFTMAX, VALUES, digitsOf, weightedValue, products } from "./math.js";
import { tokenLabel } from "../../../../static/shared/runtime/visible_text.js";
import { colourRamp, paintCells, rampColour } from "../../../../static/shared/charts/heatmap.js";
import { scalePosition } from "../../../../static/shared/charts/value_scale.js";
import { formatNumber, formatWeight } from "../../../../static/shared/runtime/format.js";

/**
 * One shape of a picture: the first property that is present says which (text, rect, line, way, dot or tiles).
 * @typedef {object} Shape
 * @property {string} [text]
 * @property {number[]} [at] place of a text
 * @property {number} [size] of a text, in px
 * @property {string} [align]
 * @property {boolean} [strong]
 * @property {boolean} [mono]
 * @property {boolean} [turned]
 * @property {number} [on] the share of the full colour behind a text
 * @property {number[]} [rect] left, top, width, height
 * @property {number[]} [line] x1, y1, x2, y2
 * @property {number[][]} [way] points of a line
 * @property {number[]} [dot] x, y, radius
 * @property {{at: (row: number, column: number) => number, rows: number, columns: number}} [tiles]
 * @property {number[]} [box]
 * @property {string} [fill] CSS variable
 * @property {string} [stroke] CSS variable
 * @property {number} [thick] px
 * @property {number[]} [dash]
 * @property {number} [faint] opacity
 */

const LEFT = 54,
  TOP = 3,
  GAP = 18; // px before the tiles of a line, above them, and between blocks of lines
const WIDEST = 76,
  NARROWEST = 36,
  LINES = 3,
  SMALLEST = 10.5;
const MASKED = 0.45;

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
  const column = Math.floor((x - LEFT) / cell),
    block = Math.floor((y - TOP) / (LINES * line + GAP));
  const place = block * columns + column;
  return column < 0 ||
    column >= columns ||
    block < 0 ||
    block >= blocks ||
    y - TOP - block * (LINES * line + GAP) > LINES * line ||
    place >= count
    ? -1
    : place;
}

/** The lines of tiles of a step: [letter, numbers, end of their scale of colour]. */
function linesOf(walk, step, key, scale) {
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

/** Return `compute(walk)`, computed once per walk. */
function memoize(compute) {
  const values = new WeakMap();
  return (walk) => {
    if (!values.has(walk)) values.set(walk, compute(walk) || 1);
    return values.get(walk);
  };
}
const largestValue = (vectors) =>
  vectors.reduce((top, vector) => vector.reduce((high, value) => Math.max(high, Math.abs(value)), top), 0);
/** The largest product of this query with any key. */
const productScale = memoize((walk) =>
  largestValue(Array.from({ length: walk.count }, (_, key) => products(walk, key))),
);
/** The largest number that is taken from any key, or of their sum. */
export const weightedScale = memoize((walk) =>
  largestValue([...walk.seen.map((key) => weightedValue(walk, key)), walk.mixed]),
);

/** The picture beside the keys. A scene is as in key_rows.js, with the `key` looked at and the `place` of the number, or -1. */
export function drawPicture({ walk, step, key, place, scale, size, given, arrays }, wide, high) {
  if (step >= SOFTMAX && !walk.seen.length) return [];
  if (step === SCALE) return drawScaling(walk, key, wide, high);
  if (step === MASK) return drawMatrix(walk, key, given.tokens, arrays, wide, high);
  if (step === SOFTMAX) return drawCurve(walk, key, wide, high);
  return drawVectors(walk, step, key, place, scale, wide, size.room);
}

function drawVectors(walk, step, key, place, scale, wide, room) {
  const lines = linesOf(walk, step, key, scale),
    { columns, cell, line } = tileGrid(walk.width, wide, room),
    shapes = [];
  lines.forEach(([letter, values, end], l) => {
    const most = digitsOf(Math.max(...Array.from(values, Math.abs).filter((value) => !Number.isNaN(value)), 0)),
      last = l === lines.length - 1 && step >= SCORES;
    let texts,
      size = 0;
    for (let digits = most; digits >= Math.min(most, 1) && size < SMALLEST; digits--) {
      // a number with one digit less is better than none
      texts = Array.from(values, (value) => formatNumber(value, digits));
      size = Math.min(20, line * 0.56, (cell - 5) / (Math.max(...texts.map((text) => text.length)) * 0.51));
    }
    texts.forEach((text, i) => {
      const x = LEFT + (i % columns) * cell,
        y = TOP + Math.floor(i / columns) * (LINES * line + GAP) + l * line + (last ? 4 : 0);
      if (i % columns === 0)
        shapes.push({
          text: letter,
          at: [LEFT - 12, y + line / 2],
          size: 18,
          align: "right",
          serif: true,
          fill: "--ink",
        });
      if (Number.isNaN(values[i])) return;
      const box = [x, y, cell - 2, line - 4];
      shapes.push({ rect: box, fill: Math.max(-1, Math.min(1, values[i] / end)) });
      if (step === QUERY)
        shapes.push(
          ...drawBar(
            values[i] / end,
            x + (cell - 2) / 2,
            y + line + 4,
            Math.min(26, cell * 0.5),
            (LINES - 1) * line - 8,
          ),
        );
      if (size >= SMALLEST)
        shapes.push({
          text,
          at: [x + cell / 2 - 1, y + line / 2 - 1],
          size,
          align: "center",
          on: values[i] / end,
          strong: last,
        });
    });
  });
  if (place >= 0) {
    const x = LEFT + (place % columns) * cell,
      y = TOP + Math.floor(place / columns) * (LINES * line + GAP);
    shapes.push({
      rect: [x - 2, y - 2, cell + 2, lines.length * line + (lines.length === LINES ? 4 : 0)],
      stroke: "--ink",
      thick: 2,
    });
  }
  return shapes;
}

/** Draw a number as a bar up or down, in the space of its key. */
function drawBar(t, x, y, wide, high) {
  const half = high / 2,
    long = Math.abs(t) * half;
  return [
    { rect: [x - wide / 2, t < 0 ? y + half : y + half - long, wide, long], fill: t < 0 ? "--sign-1" : "--sign-5" },
    { line: [x - wide, y + half, x + wide, y + half], stroke: "--soft" },
  ];
}

const isMasked = (walk, step, key) => step >= MASK && Number.isNaN(walk.weights[key]);
/** Return a function that maps numbers linearly to px. */
const linearScale = (low, high, from, to) => (value) =>
  high > low ? from + ((value - low) / (high - low)) * (to - from) : (from + to) / 2;

function drawScaling(walk, key, wide, high) {
  const low = Math.min(0, ...walk.raw),
    top = Math.max(0, ...walk.raw),
    x = linearScale(low, top, 34, wide - 40);
  const [above, below] = [high * 0.24, high * 0.74],
    shapes = [];
  const drawAxis = (y, words, side) => {
    shapes.push(
      { line: [x(low), y, x(top), y], stroke: "--soft" },
      { line: [x(0), y - 6, x(0), y + 6], stroke: "--soft" },
      { text: words, at: [10, y + side * 52], size: 15, fill: "--soft" },
      { text: "0", at: [x(0), y - side * 18], size: 14, align: "center", fill: "--soft" },
    );
  };
  for (let i = 0; i < walk.count; i++) {
    if (i !== key)
      shapes.push({ line: [x(walk.raw[i]), above, x(walk.scaled[i]), below], stroke: "--rule", thick: 1.5 });
  }
  drawAxis(above, "scores", -1);
  drawAxis(below, `divided by √${walk.width}`, 1);
  for (let i = 0; i < walk.count; i++) {
    if (i !== key)
      shapes.push(
        { dot: [x(walk.raw[i]), above, 5], fill: "--soft", faint: 0.6 },
        { dot: [x(walk.scaled[i]), below, 5], fill: "--soft", faint: 0.6 },
      );
  }
  const [from, to] = [x(walk.raw[key]), x(walk.scaled[key])],
    clampX = (at) => Math.max(34, Math.min(wide - 40, at));
  shapes.push(
    { line: [from, above, to, below], stroke: "--ink", thick: 2.5 },
    { dot: [from, above, 8], fill: "--ink" },
    { dot: [to, below, 8], fill: "--ink" },
    {
      text: formatNumber(walk.raw[key]),
      at: [clampX(from), above - 26],
      size: 20,
      align: "center",
      strong: true,
      fill: "--ink",
    },
    {
      text: formatNumber(walk.scaled[key]),
      at: [clampX(to), below + 26],
      size: 20,
      align: "center",
      strong: true,
      fill: "--ink",
    },
  );
  return shapes;
}

const matrices = new WeakMap();
/** The scaled scores of all that are queries, one look for as long as the arrays are the same. */
function scoreTiles({ scaled, weights }) {
  if (!matrices.has(scaled)) {
    let most = 0;
    scaled.data.forEach((value, i) => {
      if (!Number.isNaN(weights.data[i]) && Math.abs(value) > most) most = Math.abs(value);
    });
    const [rows, columns] = scaled.shape,
      end = most || 1,
      scoreAt = (i) => (Number.isNaN(weights.data[i]) ? NaN : scaled.data[i] / end);
    matrices.set(scaled, { rows, columns, end, at: (row, column) => scoreAt(row * columns + column) });
  }
  return matrices.get(scaled);
}
const FAR = 22,
  LETTER = 9.1; // px between the numbers of its places where names do not fit, and // px of a letter of its names
const shortenLabel = (text) => ([...text].length > 11 ? `${[...text].slice(0, 10).join("")}…` : text);

function drawMatrix(walk, key, tokens, arrays, wide, high) {
  const tiles = scoreTiles(arrays),
    texts = tokens.map((token) => shortenLabel(tokenLabel(token))),
    longest = Math.max(...texts.map((text) => [...text].length));
  const upright = longest < 2,
    names = Math.max(longest * LETTER, tokens.length > 30 ? 24 : 0) + 14,
    head = upright ? 24 : Math.min(names, 110);
  const cell = Math.min(64, (wide - names - 4) / tiles.columns, (high - head - 8) / tiles.rows),
    step = Math.ceil(13 / cell);
  /** @type {Shape[]} */
  const shapes = [{ tiles, box: [names, head, cell] }];
  const mono = { mono: true, size: Math.min(15, Math.max(11, cell * 0.72)) };
  const bottom = head + cell * tiles.rows,
    right = names + cell * tiles.columns;
  const every = [5, 10, 20, 50, 100].find((far) => far * cell >= FAR) ?? 200,
    hasLabel = (i, own) => step === 1 || own || i === 0 || (i + 1) % every === 0;
  texts.forEach((text, i) => {
    const [isQuery, isKey] = [i === walk.asked, i === key],
      across = names + (i + 0.5) * cell,
      labelText = (own) => (step === 1 || own ? text : String(i + 1));
    const isCrowded = (own, other) => !own && step > 1 && Math.abs(i - other) * cell < 14;
    const labelShape = (own) => ({ text: labelText(own), fill: own ? "--ink" : "--soft", strong: own, ...mono });
    if (i < tiles.rows && hasLabel(i, isQuery) && !isCrowded(isQuery, walk.asked))
      shapes.push({ ...labelShape(isQuery), at: [names - 8, head + (i + 0.5) * cell], align: "right" });
    if (!hasLabel(i, isKey) || isCrowded(isKey, key)) return;
    const placement = upright ? { at: [across, 12], align: "center" } : { at: [across, head - 6], turned: true };
    shapes.push({ ...labelShape(isKey), ...placement, faint: isMasked(walk, MASK, i) ? MASKED : 1 });
  });
  if (cell >= 44) {
    for (let row = 0; row < tiles.rows; row++) {
      for (let column = 0; column < tiles.columns; column++) {
        const t = tiles.at(row, column);
        if (Number.isNaN(t)) continue;
        shapes.push({
          text: formatNumber(t * tiles.end, 1),
          at: [names + (column + 0.5) * cell - 1, head + (row + 0.5) * cell],
          size: 15,
          align: "center",
          on: t,
        });
      }
    }
  }
  shapes.push(
    { rect: [names, head, right - names, bottom - head], stroke: "--rule", thick: 1 },
    { rect: [names - 2, head + walk.asked * cell - 2, right - names + 4, cell + 4], stroke: "--ink", thick: 2.5 },
    {
      line: [names + (key + 0.5) * cell, bottom + 1, names + (key + 0.5) * cell, bottom + 6],
      stroke: "--ink",
      thick: Math.min(cell, 12),
    },
  );
  return shapes;
}

function drawCurve(walk, key, wide, high) {
  const { seen: visibleKeys, scaled, weights, uniform } = walk,
    at = visibleKeys.map((i) => scaled[i]);
  const low = Math.min(...at),
    top = Math.max(...at),
    pad = top > low ? (top - low) * 0.04 : 1,
    most = Math.max(...visibleKeys.map((i) => weights[i]));
  const [left, bottom] = [58, high - 52],
    x = linearScale(low - pad, top + pad, left, wide - 16),
    y = linearScale(0, most * 1.12, bottom, 10);
  /** @type {Shape[]} */
  const shapes = [
    { line: [left, bottom, wide - 10, bottom], stroke: "--soft" },
    { line: [left, 10, left, bottom], stroke: "--soft" },
    { text: "share", at: [left + 8, 14], size: 15, fill: "--soft" },
    { text: "score", at: [wide - 10, bottom + 40], size: 15, align: "right", fill: "--soft" },
    { text: "0", at: [left - 8, bottom], size: 14, align: "right", fill: "--soft" },
    { text: formatWeight(most), at: [left - 8, y(most)], size: 14, align: "right", fill: "--soft" },
  ];
  const ends = top > low ? [low, top] : [low];
  const alignmentOf = (end) => (ends.length === 1 ? "center" : end === low ? "left" : "right");
  for (const end of ends)
    shapes.push({
      text: formatNumber(end),
      at: [x(end), bottom + 18],
      size: 14,
      align: alignmentOf(end),
      fill: "--soft",
    });
  const shareOf = (score) => (uniform ? most : Math.exp(score - walk.top) / walk.total);
  const steps = Array.from({ length: 121 }, (_, i) => low - pad + ((top - low + 2 * pad) * i) / 120);
  const way = [...steps, top]
    .sort((a, b) => a - b)
    .filter((score) => shareOf(score) <= most * 1.06)
    .map((score) => [x(score), y(shareOf(score))]);
  shapes.push({ way, stroke: "--rule", thick: 2.5 });
  for (const i of visibleKeys)
    if (i !== key) shapes.push({ dot: [x(scaled[i]), y(weights[i]), 5.5], fill: "--colour", faint: 0.65 });
  if (!isMasked(walk, SOFTMAX, key)) {
    const [px, py] = [x(scaled[key]), y(weights[key])],
      leftward = px > wide * 0.6;
    shapes.push(
      { line: [px, bottom, px, py], stroke: "--ink", thick: 1.5, dash: [4, 3] },
      { line: [left, py, px, py], stroke: "--ink", thick: 1.5, dash: [4, 3] },
      { dot: [px, py, 9], fill: "--colour", stroke: "--ink" },
      {
        text: formatWeight(weights[key]),
        at: [px + (leftward ? -16 : 16), Math.max(16, py - 20)],
        size: 22,
        align: leftward ? "right" : "left",
        strong: true,
        fill: "--ink",
      },
    );
  }
  return shapes;
}

/** Describe the number under the pointer, otherwise the colours. `place`: -1 for none. */
export function pictureCaption({ walk, step, key, place, scale, arrays }) {
  if (step === SCALE) return "Each line is a key.";
  if (step === MASK)
    return `Brown: below zero, teal: above, up to ${formatNumber(scoreTiles(arrays).end)}. Empty: cannot look.`;
  if (step === SOFTMAX)
    return walk.seen.length > 1 && !walk.uniform
      ? "Each point is a key. One score higher by 1 has a share 2.72 times as large."
      : "";
  if (step === VALUES && !walk.seen.length) return "";
  if (place < 0) {
    const third =
      step === SCORES
        ? `, of a product ${formatNumber(productScale(walk))}`
        : step === VALUES
          ? `, of a part and of the sum ${formatNumber(weightedScale(walk))}`
          : "";
    return `Brown: below zero, teal: above. Full colour: ${formatNumber(step === VALUES ? scale.telling : scale.asking)}${third}.`;
  }
  const [first, second, third] = linesOf(walk, step, key, scale).map(([, values]) => formatNumber(values[place])),
    number = `Number ${place + 1}`;
  if (step === QUERY) return `${number}: ${first}.`;
  if (step === KEYS) return `${number}: query ${first}, key ${second}.`;
  if (step === SCORES) return `${number}: ${first} × ${second} = ${third}.`;
  if (Number.isNaN(walk.weights[key])) return `${number}: hidden; the sum is ${third}.`;
  return `${number}: ${formatWeight(walk.weights[key])} × ${first} = ${second}; the sum over all is ${third}.`;
}

// Painting.

/** Return the position of a value from -1 to 1 on the signed colour scale; NaN: masked. */
const signPosition = (t) => (Number.isNaN(t) ? NaN : scalePosition(t, 1));

/** Return the current colours. `colour(name)` resolves a variable of shared/base.css. */
export function makePalette(colour, own) {
  const parseColour = (text) =>
    text
      .match(/[\d.]+/g)
      .slice(0, 3)
      .map(Number);
  const linearise = (c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = (rgb) => rgb.reduce((all, c, i) => all + linearise(c) * [0.2126, 0.7152, 0.0722][i], 0); // luminance of WCAG
  const contrastRatio = (a, b) =>
    (Math.max(luminance(a), luminance(b)) + 0.05) / (Math.min(luminance(a), luminance(b)) + 0.05);
  const shades = colourRamp(colour, "sign"),
    [ink, page] = [colour("--ink"), colour("--page")];
  const shadeIndex = (t) => Math.round(signPosition(t) * (shades.length - 1));
  const fills = Array.from(shades, (_, i) => rampColour(shades, i / (shades.length - 1))),
    inks = fills.map((fill) => {
      const [own, dark, light] = [fill, ink, page].map(parseColour);
      return contrastRatio(own, dark) >= contrastRatio(own, light) ? ink : page;
    });
  const names = new Map();
  const namedColour = (name) => {
    if (!names.has(name)) names.set(name, colour(name === "--colour" ? own : name));
    return names.get(name);
  };
  return {
    shades,
    of: (fill) => (typeof fill === "number" ? fills[shadeIndex(fill)] : namedColour(fill)),
    on: (t) => inks[shadeIndex(t)],
  };
}

const SANS = '"Source Sans", "Source Sans 3", "Source Sans Pro", sans-serif',
  SERIF = '"Source Serif", serif',
  MONO = '"Source Code", monospace';
const fontFamily = ({ serif, mono }) => (serif ? SERIF : mono ? MONO : SANS);
const shapeFont = (shape) =>
  `${shape.serif ? "italic " : ""}${shape.strong ? 600 : 400} ${shape.size}px ${fontFamily(shape)}`;
const pictureCache = new WeakMap(); // matrices as pictures

function tilesAsPicture(tiles, cell, look, ratio) {
  const cached = pictureCache.get(tiles),
    side = cell * ratio,
    gap = side >= 16 ? 2 * ratio : side >= 7 ? 1 : 0;
  if (cached?.side === side && cached.look === look) return cached.canvas;
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(side * tiles.columns));
  canvas.height = Math.max(1, Math.round(side * tiles.rows));
  const row = (r) => Float32Array.from({ length: tiles.columns }, (_, c) => signPosition(tiles.at(r, c)));
  paintCells(canvas, { rows: tiles.rows, columns: tiles.columns, row }, look.shades, gap);
  pictureCache.set(tiles, { side, look, canvas });
  return canvas;
}

const drawings = new WeakMap(); // of each canvas, what it shows

/** Paint shapes on a canvas at the resolution of the screen. */
export function paintShapes(canvas, shapes, look, wide, high) {
  const ratio = devicePixelRatio || 1,
    context = canvas.getContext("2d");
  const [across, down] = [Math.round(wide * ratio), Math.round(high * ratio)];
  if (canvas.width !== across || canvas.height !== down) {
    [canvas.width, canvas.height] = [across, down];
    [canvas.style.width, canvas.style.height] = [`${wide}px`, `${high}px`];
  }
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, across, down);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  drawings.set(canvas, { shapes, look });
  drawShapes(context, shapes, look, ratio);
}

/** Return what draws each canvas below an element again, for a saved file. */
export const redrawings = (root) =>
  new Map(
    [...root.querySelectorAll("canvas")]
      .filter((canvas) => drawings.has(canvas))
      .map((canvas) => {
        const { shapes, look } = drawings.get(canvas);
        return [canvas, (context) => drawShapes(context, shapes, look, devicePixelRatio || 1)];
      }),
  );

function drawShapes(context, shapes, look, ratio) {
  context.textBaseline = "middle";
  context.lineCap = "butt";
  let currentFont = "";
  for (const shape of shapes) {
    context.globalAlpha = shape.faint ?? 1;
    if (shape.fill !== undefined) context.fillStyle = look.of(shape.fill);
    if (shape.stroke !== undefined) {
      context.strokeStyle = look.of(shape.stroke);
      context.lineWidth = shape.thick ?? 1;
      context.setLineDash(shape.dash ?? []);
    }
    if (shape.tiles) {
      const [x, y, cell] = shape.box,
        { rows, columns } = shape.tiles;
      context.drawImage(tilesAsPicture(shape.tiles, cell, look, ratio), x, y, cell * columns, cell * rows);
    } else if (shape.text !== undefined) {
      if (shape.on !== undefined) context.fillStyle = look.on(shape.on);
      const font = shapeFont(shape);
      if (font !== currentFont) context.font = currentFont = font; // a font takes long to read
      context.textAlign = shape.align ?? "left";
      if (shape.turned) {
        context.save();
        context.translate(...shape.at);
        context.rotate(-Math.PI / 2);
        context.fillText(shape.text, 0, 0);
        context.restore();
      } else context.fillText(shape.text, ...shape.at);
    } else if (shape.rect) {
      if (shape.fill !== undefined) context.fillRect(...shape.rect);
      if (shape.stroke !== undefined) context.strokeRect(...shape.rect);
    } else {
      context.beginPath();
      if (shape.line) {
        context.moveTo(shape.line[0], shape.line[1]);
        context.lineTo(shape.line[2], shape.line[3]);
      }
      if (shape.way) shape.way.forEach((point) => context.lineTo(...point));
      if (shape.dot) context.arc(...shape.dot, 0, 2 * Math.PI);
      if (shape.fill !== undefined) context.fill();
      if (shape.stroke !== undefined) context.stroke();
    }
  }
  context.globalAlpha = 1;
}
