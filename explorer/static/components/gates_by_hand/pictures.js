/* Draw each cell as a diagram with its numbers, and the gate traces and lines over the same steps. */
import { SIGNED, amount, gate, superscript } from "./math.js";
import { setTextIfChanged, svgNode } from "../../shared/runtime/dom.js";

export const LANE = 44,
  LINE = 56,
  GRADIENT = 132; // px high
const SUB = "₀₁₂₃₄₅₆₇₈₉";
const sub = (count) => String(count).replace(/\d/g, (digit) => SUB[digit]);
const px = (value) => value.toFixed(1);

/* ---- the diagrams ---- */

const text = (x, y, anchor = "middle", kind = "") => svgNode("text", { x, y, "text-anchor": anchor, class: kind });
const wire = (d, kind = "") => svgNode("path", { d, class: `wire ${kind}` });
function node(x, y, sign) {
  const word = text(x, y + 6);
  word.textContent = sign;
  return svgNode("g", { class: "node" }, svgNode("circle", { cx: x, cy: y, r: 14 }), word);
}
function box(x, y, word) {
  const said = text(x, y + 5);
  said.textContent = word;
  return svgNode("g", { class: "node" }, svgNode("rect", { x: x - 24, y: y - 13, width: 48, height: 26, rx: 6 }), said);
}
const svg = (label, ...parts) =>
  svgNode("svg", { class: "diagram", viewBox: "0 16 400 202", role: "img", "aria-label": label }, ...parts);
const wide = (path, share) => {
  path.style.strokeWidth = px(1.5 + 6.5 * Math.min(1, Math.abs(share)));
};

/** The LSTM: a belt that only f touches, what is written onto it, what is shown of it. */
export function lstmDiagram() {
  const before = wire("M8 52H116"),
    kept = wire("M144 52H221"),
    after = wire("M249 52H392"),
    written = wire("M235 106V66");
  const t = {
    old: text(8, 34, "start"),
    now: text(392, 34, "end"),
    f: text(130, 104),
    i: text(176, 125, "end"),
    g: text(235, 176),
    o: text(376, 150, "start"),
    h: text(320, 212),
    u: text(118, 176),
  };
  const fed = wire("M148 171H200", "fed"),
    shown = wire("M320 164V194");
  const o = text(350, 132, "start");
  const drawn = svg(
    "",
    before,
    kept,
    after,
    written,
    wire("M130 90V66"),
    wire("M182 120H221"),
    wire("M235 160V134"),
    fed,
    wire("M320 52V83"),
    wire("M320 109V136"),
    wire("M372 150H334"),
    shown,
    node(130, 52, "×"),
    node(235, 52, "+"),
    node(235, 120, "×"),
    box(320, 96, "tanh"),
    node(320, 150, "×"),
    ...Object.values(t).filter((one) => one !== t.o),
    o,
  );
  return {
    root: drawn,
    show(lanes, one, at, u) {
      const old = at ? one.c[at - 1] : 0,
        f = lanes.f[at],
        i = lanes.i[at];
      setTextIfChanged(t.old, `c${sub(at)} = ${amount(old)}`);
      setTextIfChanged(t.now, `c${sub(at + 1)} = ${amount(one.c[at])}`);
      setTextIfChanged(t.f, `f = ${gate(f)}`);
      setTextIfChanged(t.i, `i = ${gate(i)}`);
      setTextIfChanged(t.g, `g = ${gate(one.content[at])}`);
      setTextIfChanged(o, `o = ${gate(lanes.o[at])}`);
      setTextIfChanged(t.h, `h${sub(at + 1)} = ${amount(one.h[at])}`);
      setTextIfChanged(t.u, u ? `u h${sub(at)} = ${amount(u * (at ? one.h[at - 1] : 0))}` : "");
      fed.style.visibility = u ? "visible" : "hidden";
      wide(kept, f);
      wide(written, i);
      wide(shown, lanes.o[at]);
      drawn.ariaLabel = `LSTM, step ${at + 1}: c before ${amount(old)}, times f ${gate(f)}, plus i ${gate(i)} times g ${gate(one.content[at])}, is c ${amount(one.c[at])}; o ${gate(lanes.o[at])} times its tanh is h ${amount(one.h[at])}.`;
    },
  };
}

/** The GRU: one state, and one gate that both keeps and makes room. */
export function gruDiagram() {
  const kept = wire("M144 52H246"),
    written = wire("M260 106V66");
  const t = {
    old: text(8, 34, "start"),
    now: text(392, 34, "end"),
    z: text(130, 104),
    rest: text(198, 125, "end"),
    n: text(260, 176),
    r: text(170, 176, "end"),
  };
  const fed = wire("M176 171H222", "fed");
  const drawn = svg(
    "",
    wire("M8 52H116"),
    kept,
    wire("M274 52H392"),
    written,
    wire("M130 90V66"),
    wire("M204 120H246"),
    wire("M260 160V134"),
    fed,
    node(130, 52, "×"),
    node(260, 52, "+"),
    node(260, 120, "×"),
    ...Object.values(t),
  );
  return {
    root: drawn,
    show(lanes, one, at, u) {
      const old = at ? one.h[at - 1] : 0,
        z = lanes.z[at];
      setTextIfChanged(t.old, `h${sub(at)} = ${amount(old)}`);
      setTextIfChanged(t.now, `h${sub(at + 1)} = ${amount(one.h[at])}`);
      setTextIfChanged(t.z, `z = ${gate(z)}`);
      setTextIfChanged(t.rest, `1 − z = ${gate(1 - z)}`);
      setTextIfChanged(t.n, `n = ${gate(one.content[at])}`);
      setTextIfChanged(t.r, u ? `r u h${sub(at)} = ${amount(lanes.r[at] * u * old)}` : "");
      fed.style.visibility = u ? "visible" : "hidden";
      wide(kept, z);
      wide(written, 1 - z);
      drawn.ariaLabel = `GRU, step ${at + 1}: h before ${amount(old)}, times z ${gate(z)}, plus 1 − z times n ${gate(one.content[at])}, is h ${amount(one.h[at])}.`;
    },
  };
}

/* ---- lanes ---- */

/** A gate over time as bars that can be painted: the whole cell of a zero is the palest tile. */
export function laneStrip(name, steps) {
  const tiles = Array.from({ length: steps }, () => svgNode("rect", { class: "tile", height: LANE }));
  const bars = Array.from({ length: steps }, () => svgNode("rect"));
  const mark = svgNode("rect", { class: "mark", y: -2.5, height: LANE + 5 }); // past both ends: it is seen on any tile
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
    size(given) {
      width = given;
      root.setAttribute("viewBox", `0 0 ${px(width)} ${LANE}`);
      const cell = width / steps;
      [...tiles, ...bars].forEach((tile, k) => {
        tile.setAttribute("x", px((k % steps) * cell + 0.5));
        tile.setAttribute("width", px(Math.max(1, cell - 1)));
      });
      mark.setAttribute("width", px(cell));
    },
    show(values, at, label) {
      values.forEach((value, t) => {
        const tall = Math.abs(value) * (signed ? LANE / 2 : LANE);
        bars[t].setAttribute("y", px(signed ? (value > 0 ? LANE / 2 - tall : LANE / 2) : LANE - tall));
        bars[t].setAttribute("height", px(tall));
        bars[t].style.fill =
          `var(--${signed ? `sign-${value > 0 ? 5 : 1}` : `amount-${Math.max(2, Math.round(6 * value))}`})`;
      });
      mark.setAttribute("x", px((at * width) / steps));
      root.ariaValueNow = values[at];
      root.ariaValueText = `${label} at step ${at + 1}: ${gate(values[at])}`;
    },
  };
}

/* ---- lines ---- */

const path = (points) => points.map((run) => `M${run.map(([x, y]) => `${px(x)} ${px(y)}`).join("L")}`).join("");

/** Values over the steps around a zero line; a dot at the step that is looked at. */
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
      root.setAttribute("viewBox", `0 0 ${px(width)} ${high}`);
      zero.setAttribute("d", `M0 ${high / 2}H${px(width)}`);
      line.setAttribute("d", path([values.map((value, t) => [x(t), y(value)])]));
      mark.setAttribute("d", `M${px(x(at))} 0V${high}`);
      dot.setAttribute("cx", px(x(at)));
      dot.setAttribute("cy", px(y(values[at])));
      root.ariaLabel = `${label}: ${amount(values[at])} at step ${at + 1}, ${amount(values.at(-1))} at step ${steps}.`;
    },
  };
}

/** Gradients on a logarithmic axis from 10^floor to 1, or to what they reach; where one is 0 its line has a gap. */
export function gradientStrip(steps) {
  const grid = svgNode("g", { class: "grid" }),
    mark = svgNode("path", { class: "cursor" });
  const lines = Object.fromEntries(
    ["rnn", "full", "straight"].map((kind) => [kind, svgNode("path", { class: `line ${kind}` })]),
  );
  const root = svgNode("svg", { class: "trace", height: GRADIENT, role: "img" }, grid, mark, ...Object.values(lines));
  return {
    root,
    show(one, at, width, floor, top, label) {
      const x = (t) => ((t + 0.5) * width) / steps,
        y = (power) => 8 + ((top - power) / (top - floor)) * (GRADIENT - 18);
      root.setAttribute("viewBox", `0 0 ${px(width)} ${GRADIENT}`);
      grid.replaceChildren(
        ...ticks(floor, top).flatMap((power) => {
          const said = text(2, y(power) - 3, "start");
          said.textContent = power ? `10${superscript(power)}` : "1";
          return [svgNode("path", { d: `M0 ${px(y(power))}H${px(width)}` }), said];
        }),
      );
      mark.setAttribute("d", `M${px(x(at))} 0V${GRADIENT}`);
      for (const [kind, line] of Object.entries(lines))
        line.setAttribute(
          "d",
          path(parts(one[kind] ?? [], floor).map((run) => run.map(([t, power]) => [x(t), y(power)]))),
        );
      root.ariaLabel = label;
    },
  };
}

/** Stretches of a line that can be drawn: powers of ten, none where there is a zero or what lies below the axis. */
export function parts(values, floor) {
  const runs = [[]];
  values.forEach((value, t) => {
    const power = Math.log10(Math.abs(value));
    if (power >= floor) runs.at(-1).push([t, power]);
    else if (runs.at(-1).length) runs.push([]);
  });
  return runs.filter((run) => run.length);
}

/** Four or five whole powers of ten between the ends of an axis. */
export function ticks(floor, top) {
  const by = Math.max(1, Math.ceil((top - floor) / 4)),
    found = [];
  for (let power = top; power >= floor; power -= by) found.push(power);
  return found;
}
