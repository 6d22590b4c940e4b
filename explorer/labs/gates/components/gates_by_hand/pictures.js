/* Draw each cell as a diagram with its numbers, and the gate traces and lines over the same steps. */
import { SIGNED, formatAmount, formatGate } from "./math.js";
import { svgNode } from "../../../../static/shared/runtime/dom.js";
import { LiveElements } from "../../../../static/shared/runtime/view_state.js";
import { superscript } from "../../../../static/shared/runtime/format.js";

export const LINE = 56;
const LANE = 44,
  GRADIENT = 132; // px high
const SUB = "₀₁₂₃₄₅₆₇₈₉";
const subscript = (count) => String(count).replace(/\d/g, (digit) => SUB[digit]);
const formatPx = (value) => value.toFixed(1);
const setPx = (element, values) =>
  Object.entries(values).forEach(([name, value]) => element.setAttribute(name, formatPx(value)));

/* ---- the diagrams ---- */

const svgText = (x, y, words, anchor = "middle") => svgNode("text", { x, y, "text-anchor": anchor, class: "" }, words);
const drawOperator = (x, y, sign) =>
  svgNode("g.node", svgNode("circle", { cx: x, cy: y, r: 14 }), svgText(x, y + 6, sign));
const drawBox = (x, y, word) => {
  const box = svgNode("rect", { x: x - 24, y: y - 13, width: 48, height: 26, rx: 6 });
  return svgNode("g.node", box, svgText(x, y + 5, word));
};

/**
 * Return a diagram of a cell. `wires`: a path of constant width; `widths`: paths with what their width shows, a function of
 * the step; `fed`: the path by which the state reaches the candidate; `texts`: [x, y, function of the step, anchor].
 */
function cellDiagram({ wires, widths, fed, nodes, texts, describe }) {
  const { svg, update } = new LiveElements();
  let step = null; // {traces, one, at, u}: what the functions read
  const strokeWidth = (share) => `stroke-width: ${formatPx(1.5 + 6.5 * Math.min(1, Math.abs(share(step))))}`,
    visibility = () => `visibility: ${step.u ? "visible" : "hidden"}`;
  const root = svg(
    "svg.diagram",
    { viewBox: "0 16 400 202", role: "img", "aria-label": () => describe(step) },
    svgNode("path.wire", { d: wires }),
    ...widths.map(([d, share]) => svg("path", { d, class: "wire ", style: () => strokeWidth(share) })),
    svg("path.wire.fed", { d: fed, style: visibility }),
    ...nodes,
    ...texts.map(([x, y, words, anchor = "middle"]) => {
      return svg("text", { x, y, "text-anchor": anchor, class: "" }, () => words(step));
    }),
  );
  return {
    root,
    show(traces, one, at, u) {
      step = { traces, one, at, u };
      update();
    },
  };
}
const before = (values, at) => (at ? values[at - 1] : 0);

/** Draw the LSTM: the cell state, which only f scales, the input added to it, and the output read from it. */
export const lstmDiagram = () =>
  cellDiagram({
    wires: "M8 52H116M249 52H392M130 90V66M182 120H221M235 160V134M320 52V83M320 109V136M372 150H334",
    widths: [
      ["M144 52H221", ({ traces, at }) => traces.f[at]],
      ["M235 106V66", ({ traces, at }) => traces.i[at]],
      ["M320 164V194", ({ traces, at }) => traces.o[at]],
    ],
    fed: "M148 171H200",
    nodes: [
      drawOperator(130, 52, "×"),
      drawOperator(235, 52, "+"),
      drawOperator(235, 120, "×"),
      drawBox(320, 96, "tanh"),
      drawOperator(320, 150, "×"),
    ],
    texts: [
      [8, 34, ({ one, at }) => `c${subscript(at)} = ${formatAmount(before(one.c, at))}`, "start"],
      [392, 34, ({ one, at }) => `c${subscript(at + 1)} = ${formatAmount(one.c[at])}`, "end"],
      [130, 104, ({ traces, at }) => `f = ${formatGate(traces.f[at])}`],
      [176, 125, ({ traces, at }) => `i = ${formatGate(traces.i[at])}`, "end"],
      [235, 176, ({ one, at }) => `g = ${formatGate(one.content[at])}`],
      [320, 212, ({ one, at }) => `h${subscript(at + 1)} = ${formatAmount(one.h[at])}`],
      [118, 176, ({ one, at, u }) => (u ? `u h${subscript(at)} = ${formatAmount(u * before(one.h, at))}` : "")],
      [350, 132, ({ traces, at }) => `o = ${formatGate(traces.o[at])}`, "start"],
    ],
    describe: ({ traces: { f, i, o }, one, at }) =>
      `LSTM, step ${at + 1}: c before ${formatAmount(before(one.c, at))}, times f ${formatGate(f[at])}, plus i ${formatGate(i[at])} times g ${formatGate(one.content[at])}, is c ${formatAmount(one.c[at])}; o ${formatGate(o[at])} times its tanh is h ${formatAmount(one.h[at])}.`,
  });

/** Draw the GRU: one state, and one gate that both keeps the old content and admits the new. */
export const gruDiagram = () =>
  cellDiagram({
    wires: "M8 52H116M274 52H392M130 90V66M204 120H246M260 160V134",
    widths: [
      ["M144 52H246", ({ traces, at }) => traces.z[at]],
      ["M260 106V66", ({ traces, at }) => 1 - traces.z[at]],
    ],
    fed: "M176 171H222",
    nodes: [drawOperator(130, 52, "×"), drawOperator(260, 52, "+"), drawOperator(260, 120, "×")],
    texts: [
      [8, 34, ({ one, at }) => `h${subscript(at)} = ${formatAmount(before(one.h, at))}`, "start"],
      [392, 34, ({ one, at }) => `h${subscript(at + 1)} = ${formatAmount(one.h[at])}`, "end"],
      [130, 104, ({ traces, at }) => `z = ${formatGate(traces.z[at])}`],
      [198, 125, ({ traces, at }) => `1 − z = ${formatGate(1 - traces.z[at])}`, "end"],
      [260, 176, ({ one, at }) => `n = ${formatGate(one.content[at])}`],
      [
        170,
        176,
        ({ traces, one, at, u }) =>
          u ? `r u h${subscript(at)} = ${formatAmount(traces.r[at] * u * before(one.h, at))}` : "",
        "end",
      ],
    ],
    describe: ({ traces: { z }, one, at }) =>
      `GRU, step ${at + 1}: h before ${formatAmount(before(one.h, at))}, times z ${formatGate(z[at])}, plus 1 − z times n ${formatGate(one.content[at])}, is h ${formatAmount(one.h[at])}.`,
  });

/* ---- lanes ---- */

/** Draw a gate over time as bars that the user can paint; a zero has the palest tile. */
export function gateTraceStrip(name, steps) {
  const tiles = Array.from({ length: steps }, () => svgNode("rect.tile", { height: LANE }));
  const bars = Array.from({ length: steps }, () => svgNode("rect"));
  const mark = svgNode("rect.mark", { y: -2.5, height: LANE + 5 }); // longer than a tile, so that it is visible on any colour
  const signed = SIGNED.has(name),
    range = { tabindex: 0, role: "slider", "aria-valuemin": signed ? -1 : 0, "aria-valuemax": 1 };
  const root = svgNode("svg", { class: "lane", height: LANE, ...range }, ...tiles, ...bars, mark);
  let placed = 0; // the width for which the tiles are placed
  return {
    root,
    show(values, at, label, width) {
      const cell = width / steps;
      if (width !== placed) {
        placed = width;
        root.setAttribute("viewBox", `0 0 ${formatPx(width)} ${LANE}`);
        tiles.concat(bars).forEach((tile, k) => {
          setPx(tile, { x: (k % steps) * cell + 0.5, width: Math.max(1, cell - 1) });
        });
      }
      values.forEach((value, t) => {
        const height = Math.abs(value) * (signed ? LANE / 2 : LANE),
          top = signed ? (value > 0 ? LANE / 2 - height : LANE / 2) : LANE - height,
          colour = signed ? `sign-${value > 0 ? 5 : 1}` : `amount-${Math.max(2, Math.round(6 * value))}`;
        setPx(bars[t], { y: top, height });
        bars[t].style.fill = `var(--${colour})`;
      });
      setPx(mark, { x: at * cell, width: cell });
      root.ariaValueNow = values[at];
      root.ariaValueText = `${label} at step ${at + 1}: ${formatGate(values[at])}`;
    },
  };
}

/* ---- lines ---- */

const linesPath = (points) =>
  points.map((run) => `M${run.map(([x, y]) => `${formatPx(x)} ${formatPx(y)}`).join("L")}`).join("");

/** Draw values over the steps around a zero line, with a dot at the selected step. */
export function lineStrip(high, steps, label) {
  const line = svgNode("path.line"),
    zero = svgNode("path.zero"),
    dot = svgNode("circle.dot", { r: 4.5 }),
    mark = svgNode("path.cursor");
  const root = svgNode("svg.trace", { height: high, role: "img" }, zero, mark, line, dot);
  return {
    root,
    show(values, at, width, span) {
      const x = (t) => ((t + 0.5) * width) / steps,
        y = (value) => high / 2 - (value / span) * (high / 2 - 5);
      root.setAttribute("viewBox", `0 0 ${formatPx(width)} ${high}`);
      zero.setAttribute("d", `M0 ${high / 2}H${formatPx(width)}`);
      line.setAttribute("d", linesPath([values.map((value, t) => [x(t), y(value)])]));
      mark.setAttribute("d", `M${formatPx(x(at))} 0V${high}`);
      setPx(dot, { cx: x(at), cy: y(values[at]) });
      root.ariaLabel = `${label}: ${formatAmount(values[at])} at step ${at + 1}, ${formatAmount(values.at(-1))} at step ${steps}.`;
    },
  };
}

/** Draw gradients on a logarithmic axis from 10^floor to 1 or their maximum; a zero leaves a gap in its line. */
export function gradientStrip(steps) {
  const grid = svgNode("g.grid"),
    marks = svgNode("g.grid"),
    mark = svgNode("path.cursor");
  const lines = Object.fromEntries(
    ["rnn", "full", "straight"].map((kind) => [kind, svgNode("path", { class: `line ${kind}` })]),
  );
  const parts = [grid, mark, ...Object.values(lines), marks],
    root = svgNode("svg.trace", { height: GRADIENT, role: "img" }, ...parts);
  return {
    root,
    show(one, at, width, floor, top, label) {
      const x = (t) => ((t + 0.5) * width) / steps,
        y = (power) => 8 + ((top - power) / (top - floor)) * (GRADIENT - 18);
      root.setAttribute("viewBox", `0 0 ${formatPx(width)} ${GRADIENT}`);
      const ticks = powerTicks(floor, top);
      grid.replaceChildren(
        ...ticks.map((power) => svgNode("path", { d: `M0 ${formatPx(y(power))}H${formatPx(width)}` })),
      );
      marks.replaceChildren(
        ...ticks.map((power) =>
          svgText(2, y(power) + (power === top ? 13 : -3), power ? `10${superscript(power)}` : "1", "start"),
        ),
      );
      mark.setAttribute("d", `M${formatPx(x(at))} 0V${GRADIENT}`);
      for (const [kind, line] of Object.entries(lines))
        line.setAttribute(
          "d",
          linesPath(drawableRuns(one[kind] ?? [], floor).map((run) => run.map(([t, power]) => [x(t), y(power)]))),
        );
      root.ariaLabel = label;
    },
  };
}

/** Split a line, given in powers of ten, at zeros and at values below the axis. */
function drawableRuns(values, floor) {
  const runs = [[]];
  values.forEach((value, t) => {
    const power = Math.log10(Math.abs(value));
    if (power >= floor) runs.at(-1).push([t, power]);
    else if (runs.at(-1).length) runs.push([]);
  });
  return runs.filter((run) => run.length);
}

/** Four or five whole powers of ten between the ends of an axis. */
function powerTicks(floor, top) {
  const stride = Math.max(1, Math.ceil((top - floor) / 4)),
    powers = [];
  for (let power = top; power >= floor; power -= stride) powers.push(power);
  return powers;
}
