/* Draw the alignment viewer as SVG with its colours written in, for the screen and for saved files.

   `look` = { colour(name, alpha), tint: the model's variable, signed: scores instead of weights, span: their scale,
   given: marks of the target tokens, written: whether the rows are target tokens } */
import { VISIBLE_WEIGHT, strongestColumns, LABELLED_WEIGHT } from "./math.js";
import { cellRects, colourRamp } from "../../../../static/shared/charts/heatmap.js";
import { scalePosition } from "../../../../static/shared/charts/value_scale.js";
import { tokenLabel } from "../../../../static/shared/runtime/visible_text.js";
import { svgNode } from "../../../../static/shared/runtime/dom.js";
import { formatNumber } from "../../../../static/shared/runtime/format.js";

const MONO = '"Source Code", monospace';
const VALUES = 12; // values beside the names of a drawing of lines

const svgText = (words, attributes) => {
  const label = svgNode("text", { "dominant-baseline": "central", ...attributes });
  label.textContent = words;
  return label;
};
/** Draw the token of a row, and after a wrong token the correct one. */
function rowName(look, view, row, x, y) {
  const { right, wanted } = look.written ? look.given[row] : { right: null };
  const name = svgText(tokenLabel(view.asks[row]), {
    x,
    y,
    "font-size": 14,
    "font-family": MONO,
    fill: look.colour("--ink"),
  });
  if (right !== false) return [name];
  const textEnd = x + 8.4 * [...tokenLabel(view.asks[row])].length + 3;
  return [
    name,
    svgText(`≠${wanted === null ? "" : tokenLabel(wanted === "<EOS>" ? "∎" : wanted)}`, {
      x: textEnd,
      y,
      "font-size": 13,
      "font-weight": 600,
      "font-family": MONO,
      fill: look.colour("--ink"),
    }),
  ];
}

/** Draw every cell in its colour; a masked cell has no tile. */
export function drawHeatMap(view, box, look) {
  const soft = look.colour("--soft"),
    partAt = (at) => scalePosition(look.signed ? view.scores[at] : view.weights[at], look.signed ? look.span : null);
  const rowParts = (row) =>
    Array.from({ length: view.columns }, (_, c) => (c < view.reach(row) ? partAt(row * view.columns + c) : NaN));
  const shapes = cellRects(
    { rows: view.rows, columns: view.columns, row: rowParts },
    colourRamp(look.colour, look.signed ? "sign" : "amount"),
    box,
  );
  for (let row = 0; row < view.rows; row++) {
    const y = box.top + (row + 0.5) * box.high;
    shapes.push(...rowName(look, view, row, 6, y));
    for (let column = 0; column < view.reach(row); column++) {
      const at = row * view.columns + column,
        value = look.signed ? view.scores[at] : view.weights[at];
      const part = partAt(at);
      if (!box.values || (!look.signed && value < LABELLED_WEIGHT)) continue;
      const strong = look.signed ? Math.abs(part - 0.5) > 0.3 : part > 0.6;
      shapes.push(
        svgText(formatNumber(value, look.signed ? 1 : 2), {
          x: box.left + column * box.cell + (box.cell - box.gap) / 2,
          y: y - box.gap / 2,
          "font-size": 12,
          "text-anchor": "middle",
          fill: look.colour(strong ? "--page" : "--ink"),
        }),
      );
    }
  }
  view.answers.forEach((token, column) => {
    if (column % box.every) return;
    const x = box.left + (column + 0.5) * box.cell - box.gap / 2,
      name = tokenLabel(token);
    const place =
      box.turned && [...name].length > 1
        ? { x: 0, y: 0, transform: `translate(${x} ${box.top - 6}) rotate(-90)` }
        : { x, y: box.top - 11, "text-anchor": "middle" };
    shapes.push(
      svgText(name, {
        ...place,
        "font-size": Math.min(14, Math.max(11, box.cell + 1)),
        "font-family": MONO,
        fill: soft,
      }),
    );
  });
  return shapes;
}

/** Draw the mark of the hovered or selected row and column of the heat map. */
export function heatMark(view, box, look, { row, column }, isSelected) {
  const frame = { fill: "none", stroke: look.colour("--ink") };
  const wide = box.cell * view.reach(row) - box.gap + 3;
  const shapes = [
    svgNode("rect", {
      ...frame,
      x: box.left - 1.5,
      y: box.top + row * box.high - 1.5,
      width: wide,
      height: box.high - box.gap + 3,
      rx: 2,
      "stroke-width": isSelected ? 2.5 : 1.5,
    }),
  ];
  if (column !== null)
    shapes.push(
      svgNode("rect", {
        ...frame,
        x: box.left + column * box.cell - 1,
        y: box.top - 1,
        width: box.cell - box.gap + 2,
        height: box.high * view.rows - box.gap + 2,
        "stroke-width": 1,
        "stroke-opacity": 0.5,
      }),
    );
  return shapes;
}

const curvePath = (box, from, to) => {
  const bend = 0.42 * (box.right - box.left),
    [a, b] = [(from + 0.5) * box.high, (to + 0.5) * box.step].map((y) => box.top + y);
  return `M${box.left} ${a}C${box.left + bend} ${a} ${box.right - bend} ${b} ${box.right} ${b}`;
};
const lineWidth = (weight, high) => 0.6 + weight * Math.min(6, high * 0.3);

/** Draw lines from the queries, left, to the keys, right. */
export function drawLines(view, box, look) {
  const soft = look.colour("--soft"),
    shapes = [];
  for (let row = 0; row < view.rows; row++) {
    for (const { column, weight } of strongestColumns(view, row, view.columns, VISIBLE_WEIGHT)) {
      shapes.push(
        svgNode("path", {
          d: curvePath(box, row, column),
          fill: "none",
          stroke: soft,
          "stroke-opacity": (0.1 + 0.42 * weight).toFixed(3),
          "stroke-width": lineWidth(weight, box.high).toFixed(2),
        }),
      );
    }
  }
  const drawName = (token, x, y, anchor) =>
    svgText(tokenLabel(token), {
      x,
      y: box.top + y,
      "text-anchor": anchor,
      "font-size": 14,
      "font-family": MONO,
      fill: look.colour("--ink"),
    });
  view.asks.forEach((token, row) => shapes.push(drawName(token, box.left - 6, (row + 0.5) * box.high, "end")));
  view.answers.forEach((token, column) =>
    shapes.push(drawName(token, box.right + 6, (column + 0.5) * box.step, "start")),
  );
  return shapes;
}

/** Draw the lines of one row with their values at the end of each line. */
export function lineMark(view, box, look, { row }) {
  const tint = look.colour(look.tint),
    visibleWeights = strongestColumns(view, row, view.columns, VISIBLE_WEIGHT),
    shapes = [],
    valueLabels = [];
  for (const { column, weight } of visibleWeights) {
    shapes.push(
      svgNode("path", {
        d: curvePath(box, row, column),
        fill: "none",
        stroke: tint,
        "stroke-opacity": Math.min(1, 0.35 + 0.75 * weight),
        "stroke-width": lineWidth(weight, box.high) + 0.6,
      }),
    );
    if (valueLabels.length < VALUES && weight >= 0.045) valueLabels.push({ column, weight });
  }
  for (const { column, weight } of valueLabels) {
    shapes.push(
      svgText(formatNumber(weight), {
        x: box.width - 2,
        y: box.top + (column + 0.5) * box.step,
        "text-anchor": "end",
        "font-size": 13,
        "font-weight": 600,
        fill: look.colour("--ink"),
      }),
    );
  }
  return shapes;
}

/** Numbers from −1 to 1 side by side. */
export function drawStrip(values, wide, high, look) {
  const cell = wide / values.length,
    gap = cell >= 5 ? 1 : 0,
    grid = { rows: 1, columns: values.length, row: () => Array.from(values, (value) => scalePosition(value, 1)) };
  return cellRects(grid, colourRamp(look.colour, "sign"), { left: 0, top: 0, cell, high: high + gap, gap });
}

/** Draw how far the context vector moves, one bar per source token. */
export function drawBars(tokens, moved, wide, high, look, pointed) {
  const cell = wide / tokens.length,
    most = Math.max(...moved),
    every = Math.ceil(11 / cell),
    below = 26,
    above = 22;
  const showsEveryValue = cell >= 34,
    best = moved.indexOf(most);
  return tokens.flatMap((token, i) => {
    const tall = most > 0 ? ((high - below - above) * moved[i]) / most : 0,
      x = (i + 0.5) * cell,
      isPointed = i === pointed;
    return [
      svgNode("rect", {
        x: x - Math.min(20, 0.35 * cell),
        y: high - below - tall,
        width: Math.min(40, 0.7 * cell),
        height: Math.max(1, tall),
        fill: look.colour(look.tint),
        "fill-opacity": pointed === null || isPointed ? 1 : 0.55,
      }),
      showsEveryValue || isPointed || (pointed === null && i === best)
        ? svgText(formatNumber(moved[i]), {
            x,
            y: high - below - tall - 11,
            "text-anchor": "middle",
            "font-size": 13,
            fill: look.colour("--ink"),
          })
        : null,
      i % every && !isPointed
        ? null
        : svgText(tokenLabel(token), {
            x,
            y: high - 12,
            "text-anchor": "middle",
            "font-size": 14,
            "font-family": MONO,
            "font-weight": isPointed ? 600 : 400,
            fill: look.colour("--ink"),
          }),
    ].filter(Boolean);
  });
}
