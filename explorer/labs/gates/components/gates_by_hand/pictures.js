/* Draw each cell as a diagram with its numbers, and the gate traces and lines over the same steps. */
import { SIGNED, formatAmount, formatGate } from "./math.js";
import { setTextIfChanged, svgNode } from "../../../../static/shared/runtime/dom.js";
import { superscript } from "../../../../static/shared/runtime/format.js";

export const LANE = 44,
  LINE = 56,
  GRADIENT = 132; // px high
const SUB = "₀₁₂₃₄₅₆₇₈₉";
const subscript = (count) => String(count).replace(/\d/g, (digit) => SUB[digit]);
const formatPx = (value) => value.toFixed(1);

/* ---- the diagrams ---- */

const svgText = (x, y, anchor = "middle", kind = "") => svgNode("text", { x, y, "text-anchor": anchor, class: kind });
const drawWire = (d, kind = "") => svgNode("path", { d, class: `wire ${kind}` });
function drawOperator(x, y, sign) {
  const word = svgText(x, y + 6);
  word.textContent = sign;
  return svgNode("g", { class: "node" }, svgNode("circle", { cx: x, cy: y, r: 14 }), word);
}
function drawBox(x, y, word) {
  const label = svgText(x, y + 5);
  label.textContent = word;
  return svgNode(
    "g",
    { class: "node" },
    svgNode("rect", { x: x - 24, y: y - 13, width: 48, height: 26, rx: 6 }),
    label,
  );
}
const diagramSvg = (label, ...parts) =>
  svgNode("svg", { class: "diagram", viewBox: "0 16 400 202", role: "img", "aria-label": label }, ...parts);
const setStrokeWidth = (path, share) => {
  path.style.strokeWidth = formatPx(1.5 + 6.5 * Math.min(1, Math.abs(share)));
};

/** Draw the LSTM: the cell state, which only f scales, the input added to it, and the output read from it. */
export function lstmDiagram() {
  const wireBefore = drawWire("M8 52H116"),
    forgetWire = drawWire("M144 52H221"),
    wireAfter = drawWire("M249 52H392"),
    inputWire = drawWire("M235 106V66");
  const t = {
    old: svgText(8, 34, "start"),
    now: svgText(392, 34, "end"),
    f: svgText(130, 104),
    i: svgText(176, 125, "end"),
    g: svgText(235, 176),
    o: svgText(376, 150, "start"),
    h: svgText(320, 212),
    u: svgText(118, 176),
  };
  const fed = drawWire("M148 171H200", "fed"),
    outputWire = drawWire("M320 164V194");
  const o = svgText(350, 132, "start");
  const diagram = diagramSvg(
    "",
    wireBefore,
    forgetWire,
    wireAfter,
    inputWire,
    drawWire("M130 90V66"),
    drawWire("M182 120H221"),
    drawWire("M235 160V134"),
    fed,
    drawWire("M320 52V83"),
    drawWire("M320 109V136"),
    drawWire("M372 150H334"),
    outputWire,
    drawOperator(130, 52, "×"),
    drawOperator(235, 52, "+"),
    drawOperator(235, 120, "×"),
    drawBox(320, 96, "tanh"),
    drawOperator(320, 150, "×"),
    ...Object.values(t).filter((one) => one !== t.o),
    o,
  );
  return {
    root: diagram,
    show(traces, one, at, u) {
      const old = at ? one.c[at - 1] : 0,
        f = traces.f[at],
        i = traces.i[at];
      setTextIfChanged(t.old, `c${subscript(at)} = ${formatAmount(old)}`);
      setTextIfChanged(t.now, `c${subscript(at + 1)} = ${formatAmount(one.c[at])}`);
      setTextIfChanged(t.f, `f = ${formatGate(f)}`);
      setTextIfChanged(t.i, `i = ${formatGate(i)}`);
      setTextIfChanged(t.g, `g = ${formatGate(one.content[at])}`);
      setTextIfChanged(o, `o = ${formatGate(traces.o[at])}`);
      setTextIfChanged(t.h, `h${subscript(at + 1)} = ${formatAmount(one.h[at])}`);
      setTextIfChanged(t.u, u ? `u h${subscript(at)} = ${formatAmount(u * (at ? one.h[at - 1] : 0))}` : "");
      fed.style.visibility = u ? "visible" : "hidden";
      setStrokeWidth(forgetWire, f);
      setStrokeWidth(inputWire, i);
      setStrokeWidth(outputWire, traces.o[at]);
      diagram.ariaLabel = `LSTM, step ${at + 1}: c before ${formatAmount(old)}, times f ${formatGate(f)}, plus i ${formatGate(i)} times g ${formatGate(one.content[at])}, is c ${formatAmount(one.c[at])}; o ${formatGate(traces.o[at])} times its tanh is h ${formatAmount(one.h[at])}.`;
    },
  };
}

/** Draw the GRU: one state, and one gate that both keeps the old content and admits the new. */
export function gruDiagram() {
  const keepWire = drawWire("M144 52H246"),
    inputWire = drawWire("M260 106V66");
  const t = {
    old: svgText(8, 34, "start"),
    now: svgText(392, 34, "end"),
    z: svgText(130, 104),
    rest: svgText(198, 125, "end"),
    n: svgText(260, 176),
    r: svgText(170, 176, "end"),
  };
  const fed = drawWire("M176 171H222", "fed");
  const diagram = diagramSvg(
    "",
    drawWire("M8 52H116"),
    keepWire,
    drawWire("M274 52H392"),
    inputWire,
    drawWire("M130 90V66"),
    drawWire("M204 120H246"),
    drawWire("M260 160V134"),
    fed,
    drawOperator(130, 52, "×"),
    drawOperator(260, 52, "+"),
    drawOperator(260, 120, "×"),
    ...Object.values(t),
  );
  return {
    root: diagram,
    show(traces, one, at, u) {
      const old = at ? one.h[at - 1] : 0,
        z = traces.z[at];
      setTextIfChanged(t.old, `h${subscript(at)} = ${formatAmount(old)}`);
      setTextIfChanged(t.now, `h${subscript(at + 1)} = ${formatAmount(one.h[at])}`);
      setTextIfChanged(t.z, `z = ${formatGate(z)}`);
      setTextIfChanged(t.rest, `1 − z = ${formatGate(1 - z)}`);
      setTextIfChanged(t.n, `n = ${formatGate(one.content[at])}`);
      setTextIfChanged(t.r, u ? `r u h${subscript(at)} = ${formatAmount(traces.r[at] * u * old)}` : "");
      fed.style.visibility = u ? "visible" : "hidden";
      setStrokeWidth(keepWire, z);
      setStrokeWidth(inputWire, 1 - z);
      diagram.ariaLabel = `GRU, step ${at + 1}: h before ${formatAmount(old)}, times z ${formatGate(z)}, plus 1 − z times n ${formatGate(one.content[at])}, is h ${formatAmount(one.h[at])}.`;
    },
  };
}

/* ---- lanes ---- */

/** Draw a gate over time as bars that the user can paint; a zero has the palest tile. */
export function gateTraceStrip(name, steps) {
  const tiles = Array.from({ length: steps }, () => svgNode("rect", { class: "tile", height: LANE }));
  const bars = Array.from({ length: steps }, () => svgNode("rect"));
  const mark = svgNode("rect", { class: "mark", y: -2.5, height: LANE + 5 }); // longer than a tile, so that it is visible on any colour
  const signed = SIGNED.has(name);
  const root = svgNode(
    "svg",
    { class: "lane", height: LANE, tabindex: 0, role: "slider", "aria-valuemin": signed ? -1 : 0, "aria-valuemax": 1 },
    ...tiles,
    ...bars,
    mark,
  );
  let width = 0;
  return {
    root,
    setWidth(newWidth) {
      width = newWidth;
      root.setAttribute("viewBox", `0 0 ${formatPx(width)} ${LANE}`);
      const cell = width / steps;
      [...tiles, ...bars].forEach((tile, k) => {
        tile.setAttribute("x", formatPx((k % steps) * cell + 0.5));
        tile.setAttribute("width", formatPx(Math.max(1, cell - 1)));
      });
      mark.setAttribute("width", formatPx(cell));
    },
    show(values, at, label) {
      values.forEach((value, t) => {
        const tall = Math.abs(value) * (signed ? LANE / 2 : LANE);
        bars[t].setAttribute("y", formatPx(signed ? (value > 0 ? LANE / 2 - tall : LANE / 2) : LANE - tall));
        bars[t].setAttribute("height", formatPx(tall));
        bars[t].style.fill =
          `var(--${signed ? `sign-${value > 0 ? 5 : 1}` : `amount-${Math.max(2, Math.round(6 * value))}`})`;
      });
      mark.setAttribute("x", formatPx((at * width) / steps));
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
  const line = svgNode("path", { class: "line" }),
    zero = svgNode("path", { class: "zero" }),
    dot = svgNode("circle", { r: 4.5, class: "dot" }),
    mark = svgNode("path", { class: "cursor" });
  const root = svgNode("svg", { class: "trace", height: high, role: "img" }, zero, mark, line, dot);
  return {
    root,
    show(values, at, width, span) {
      const x = (t) => ((t + 0.5) * width) / steps,
        y = (value) => high / 2 - (value / span) * (high / 2 - 5);
      root.setAttribute("viewBox", `0 0 ${formatPx(width)} ${high}`);
      zero.setAttribute("d", `M0 ${high / 2}H${formatPx(width)}`);
      line.setAttribute("d", linesPath([values.map((value, t) => [x(t), y(value)])]));
      mark.setAttribute("d", `M${formatPx(x(at))} 0V${high}`);
      dot.setAttribute("cx", formatPx(x(at)));
      dot.setAttribute("cy", formatPx(y(values[at])));
      root.ariaLabel = `${label}: ${formatAmount(values[at])} at step ${at + 1}, ${formatAmount(values.at(-1))} at step ${steps}.`;
    },
  };
}

/** Draw gradients on a logarithmic axis from 10^floor to 1 or their maximum; a zero leaves a gap in its line. */
export function gradientStrip(steps) {
  const grid = svgNode("g", { class: "grid" }),
    marks = svgNode("g", { class: "grid" }),
    mark = svgNode("path", { class: "cursor" });
  const lines = Object.fromEntries(
    ["rnn", "full", "straight"].map((kind) => [kind, svgNode("path", { class: `line ${kind}` })]),
  );
  const root = svgNode(
    "svg",
    { class: "trace", height: GRADIENT, role: "img" },
    grid,
    mark,
    ...Object.values(lines),
    marks,
  );
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
        ...ticks.map((power) => {
          const label = svgText(2, y(power) + (power === top ? 13 : -3), "start");
          label.textContent = power ? `10${superscript(power)}` : "1";
          return label;
        }),
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
export function drawableRuns(values, floor) {
  const runs = [[]];
  values.forEach((value, t) => {
    const power = Math.log10(Math.abs(value));
    if (power >= floor) runs.at(-1).push([t, power]);
    else if (runs.at(-1).length) runs.push([]);
  });
  return runs.filter((run) => run.length);
}

/** Four or five whole powers of ten between the ends of an axis. */
export function powerTicks(floor, top) {
  const stride = Math.max(1, Math.ceil((top - floor) / 4)),
    powers = [];
  for (let power = top; power >= floor; power -= stride) powers.push(power);
  return powers;
}
