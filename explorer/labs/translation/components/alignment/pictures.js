/* Draw the alignment viewer as SVG.

   `look` = { isSigned: scores instead of weights, span: their scale, given: marks of the target tokens, isWritten: whether
   the rows are target tokens } */
import { VISIBLE_WEIGHT, strongestColumns, LABELLED_WEIGHT } from "./math.js";
import { tileColours } from "../../../../static/shared/charts/editable_matrix/math.js";
import { scalePosition } from "../../../../static/shared/charts/value_scale.js";
import { tokenLabel } from "../../../../static/shared/runtime/visible_text.js";
import { svgNode } from "../../../../static/shared/runtime/dom.js";
import { formatNumber } from "../../../../static/shared/runtime/format.js";

const MONO = '"Source Code", monospace';
const VALUES = 12; // values beside the names of a drawing of lines

const svgText = (words, x, y, size, more = {}) =>
  svgNode("text", { x, y, "dominant-baseline": "central", "font-size": size, fill: "var(--ink)", ...more }, words);
const tokenText = (token, x, y, more = {}) => svgText(tokenLabel(token), x, y, 14, { "font-family": MONO, ...more });
const CENTRED = { "text-anchor": "middle" };
/** A tile at a position from 0 to 1 on a scale of colours. */
const drawTile = (x, y, width, height, position, scale) =>
  svgNode("rect", { x, y, width: Math.max(0.5, width), height, fill: tileColours(6 * position, scale).fill });

/** Draw the token of a row, and after a wrong token the correct one. */
function rowName({ isWritten, given }, token, row, x, y) {
  const { right, wanted } = isWritten ? given[row] : { right: null, wanted: null },
    name = tokenText(token, x, y);
  if (right !== false) return [name];
  const correct = wanted === null ? "" : tokenLabel(wanted === "<EOS>" ? "∎" : wanted),
    bold = { "font-weight": 600, "font-family": MONO };
  return [name, svgText(`≠${correct}`, x + 8.4 * [...tokenLabel(token)].length + 3, y, 13, bold)];
}

/** Draw every cell in its colour; a masked cell has no tile. */
export function drawHeatMap(view, box, look) {
  const values = look.isSigned ? view.scores : view.weights,
    scale = look.isSigned ? "sign" : "amount";
  const drawCell = (row, column) => {
    const value = values[row * view.columns + column],
      position = scalePosition(value, look.isSigned ? look.span : null),
      [x, y] = [box.left + column * box.cell, box.top + row * box.high],
      [width, height] = [box.cell - box.gap, box.high - box.gap],
      isStrong = look.isSigned ? Math.abs(position - 0.5) > 0.3 : position > 0.6,
      colour = { fill: `var(--${isStrong ? "page" : "ink"})`, ...CENTRED };
    return [
      drawTile(x, y, width, height, position, scale),
      box.values && (look.isSigned || value >= LABELLED_WEIGHT)
        ? svgText(formatNumber(value, look.isSigned ? 1 : 2), x + width / 2, y + height / 2, 12, colour)
        : null,
    ];
  };
  const rows = view.asks.flatMap((token, row) => [
    ...rowName(look, token, row, 6, box.top + (row + 0.5) * box.high),
    ...Array.from({ length: view.reach(row) }, (_, column) => drawCell(row, column)).flat(),
  ]);
  const names = view.answers.map((token, column) => {
    if (column % box.every) return null;
    const x = box.left + (column + 0.5) * box.cell - box.gap / 2,
      isTurned = box.turned && [...tokenLabel(token)].length > 1,
      letters = { "font-size": Math.min(14, Math.max(11, box.cell + 1)), fill: "var(--soft)" };
    return isTurned
      ? tokenText(token, 0, 0, { transform: `translate(${x} ${box.top - 6}) rotate(-90)`, ...letters })
      : tokenText(token, x, box.top - 11, { ...letters, ...CENTRED });
  });
  return [...rows, ...names].filter(Boolean);
}

export function heatMark(view, box, { row, column }, isSelected) {
  const drawFrame = (x, y, width, height, more) =>
    svgNode("rect", { fill: "none", stroke: "var(--ink)", x, y, width, height, ...more });
  const [top, width] = [box.top + row * box.high, box.cell * view.reach(row)],
    shapes = [
      drawFrame(box.left - 1.5, top - 1.5, width - box.gap + 3, box.high - box.gap + 3, {
        ...{ rx: 2, "stroke-width": isSelected ? 2.5 : 1.5 },
      }),
    ];
  if (column === null) return shapes;
  const [left, height] = [box.left + column * box.cell, box.high * view.rows],
    thin = { "stroke-width": 1, "stroke-opacity": 0.5 };
  return [...shapes, drawFrame(left - 1, box.top - 1, box.cell - box.gap + 2, height - box.gap + 2, thin)];
}

/** Draw a line from a query to a key. */
function drawCurve(box, row, column, weight, stroke, opacity, more) {
  const bend = 0.42 * (box.right - box.left),
    [from, to] = [box.top + (row + 0.5) * box.high, box.top + (column + 0.5) * box.step],
    d = `M${box.left} ${from}C${box.left + bend} ${from} ${box.right - bend} ${to} ${box.right} ${to}`,
    width = 0.6 + weight * Math.min(6, box.high * 0.3) + more;
  return svgNode("path", {
    d,
    fill: "none",
    stroke,
    "stroke-opacity": opacity.toFixed(3),
    "stroke-width": width.toFixed(2),
  });
}
const visibleColumns = (view, row) => strongestColumns(view, row, view.columns, VISIBLE_WEIGHT);

/** Draw lines from the queries, left, to the keys, right. */
export function drawLines(view, box) {
  const { asks, answers } = view;
  return [
    ...asks.flatMap((_, row) =>
      visibleColumns(view, row).map(({ column, weight }) =>
        drawCurve(box, row, column, weight, "var(--soft)", 0.1 + 0.42 * weight, 0),
      ),
    ),
    ...asks.map((token, i) => tokenText(token, box.left - 6, box.top + (i + 0.5) * box.high, { "text-anchor": "end" })),
    ...answers.map((token, i) => tokenText(token, box.right + 6, box.top + (i + 0.5) * box.step)),
  ];
}

/** Draw the lines of one row with their values at the end of each line. */
export function lineMark(view, box, { row }) {
  const visible = visibleColumns(view, row),
    bold = { "text-anchor": "end", "font-weight": 600 };
  return [
    ...visible.map(({ column, weight }) =>
      drawCurve(box, row, column, weight, "var(--colour)", Math.min(1, 0.35 + 0.75 * weight), 0.6),
    ),
    ...visible
      .filter(({ weight }, i) => i < VALUES && weight >= 0.045)
      .map(({ column, weight }) =>
        svgText(formatNumber(weight), box.width - 2, box.top + (column + 0.5) * box.step, 13, bold),
      ),
  ];
}

/** Numbers from −1 to 1 side by side. */
export function drawStrip(values, wide, high) {
  const cell = wide / values.length,
    gap = cell >= 5 ? 1 : 0;
  return Array.from(values, (value, i) => drawTile(i * cell, 0, cell - gap, high, scalePosition(value, 1), "sign"));
}

/** Draw how far the context vector moves, one bar per source token. */
export function drawBars(tokens, moved, wide, high, pointed) {
  const cell = wide / tokens.length,
    most = Math.max(...moved),
    best = moved.indexOf(most),
    every = Math.ceil(11 / cell),
    below = 26,
    above = 22;
  return tokens.flatMap((token, i) => {
    const tall = most > 0 ? ((high - below - above) * moved[i]) / most : 0,
      top = high - below - tall,
      x = (i + 0.5) * cell,
      isPointed = i === pointed,
      hasValue = cell >= 34 || isPointed || (pointed === null && i === best),
      box = { x: x - Math.min(20, 0.35 * cell), y: top, width: Math.min(40, 0.7 * cell), height: Math.max(1, tall) };
    return [
      svgNode("rect", { ...box, fill: "var(--colour)", "fill-opacity": pointed === null || isPointed ? 1 : 0.55 }),
      hasValue ? svgText(formatNumber(moved[i]), x, top - 11, 13, CENTRED) : null,
      i % every && !isPointed
        ? null
        : tokenText(token, x, high - 12, { "font-weight": isPointed ? 600 : 400, ...CENTRED }),
    ].filter(Boolean);
  });
}
