/**
 * Draw an unrolled recurrent network: inputs below, states in the middle, outputs above; the shared weights appear
 * once. Hover or focus shows a step, a click keeps it, arrow keys move, Esc releases. Sends no events.
 *
 * @typedef {object} UnrolledData
 * @property {any[]} steps {input, used, top: [[label, p]], state: one number per unit, fed_back}; a step without
 *    `top` has no readout
 * @property {any[]} weights {name, level: "in" | "state" | "out", half, rows, columns, count}
 * @property {string} colour CSS variable
 * @property {string} title
 * @property {string} file name of a saved file
 */
import { arrayGrid, colourRamp, paintPixels } from "../../../../static/shared/charts/heatmap.js";
import { scalePosition } from "../../../../static/shared/charts/value_scale.js";
import { saveMenu } from "../../../../static/shared/runtime/export_menu.js";
import { toCsv } from "../../../../static/shared/runtime/csv.js";
import { svgNode, node, tint } from "../../../../static/shared/runtime/dom.js";
import { screenSvg } from "../../../../static/shared/runtime/screen_svg.js";
import { defineComponent } from "../../../../static/shared/runtime/component.js";
import { Theme } from "../../../../static/shared/runtime/theme.js";
import { gridOf, describeMatrix, moveStep, formatPercent, rowsOf, describeStep } from "./math.js";

const WIDE = 48,
  TALL = 64; // px of a state
const LINK = 26,
  HIGH = 208; // px of the connections between two steps

export default defineComponent((place) => {
  const weights = node("div.weights");
  const steps = node("div.steps", { role: "group" });
  const scroll = node("div.scroll", steps);
  const words = node("p.words", { role: "status" });
  const bars = node("div.bars"),
    units = node("canvas", { role: "img" });
  const detail = node("div.detail", node("div.look", node("b", "state, one tile per unit"), units), bars);
  const legend = node(
    "p.lineage-caption",
    "state −1 ",
    node("i.ramp"),
    " +1. Dashed: an input that is the network’s own last output. Pale: an output that the task does not use.",
  );
  const net = node("div.net", weights, scroll);
  place.replaceChildren(net, words, detail, legend);
  const theme = new Theme(place, () => paintStates());
  /** @type {UnrolledData | null} */
  let data = null,
    columns = [],
    at = null,
    isKept = false;

  /** Return the matrix of an arrow at this step by its letter; all steps of one half share it. */
  function sharedWeight(step, level) {
    const mine = data.weights.find(
      (each) => each.level === level && (!each.half || each.half === (step.top.length ? "writes" : "reads")),
    );
    return mine ? describeMatrix(mine) : { letter: "", index: "" };
  }
  function weightLetter(step, level) {
    const { letter, index } = sharedWeight(step, level);
    return node("span.by", { "aria-hidden": "true" }, letter, node("sub", index));
  }

  function makeColumn(step, i) {
    const canvas = node("canvas"),
      [best] = step.top;
    const out = best
      ? node(
          "span",
          { class: step.used ? "out" : "out unused" },
          node("span", best[0]),
          node("small", formatPercent(best[1])),
        )
      : node("span.out.none");
    const button = node(
      "button.step",
      { type: "button", "aria-description": describeStep(step, i + 1), "aria-pressed": "false", tabindex: i ? -1 : 0 },
      out,
      node("i", { class: best ? "up" : "up none" }, best && weightLetter(step, "out")),
      canvas,
      node("i.up", weightLetter(step, "in")),
      node("span", { class: step.fed_back ? "in fed" : "in" }, step.input),
    );
    button.onpointerenter = () => {
      if (!isKept) selectStep(i);
    };
    button.onfocus = () => {
      if (!isKept) selectStep(i);
    };
    button.onclick = () => {
      isKept = !(isKept && at === i);
      selectStep(i);
    };
    return { step, button, canvas };
  }

  /** Draw the connections between two steps: the state, and the answer if it is the next input. */
  function makeLink(next) {
    const lines = [svgNode("path", { d: `M0 100H${LINK - 4}m-5 -4l5 4l-5 4` })];
    if (next.fed_back) lines.push(svgNode("path.back", { d: `M0 24H${LINK / 2 - 3}V188H${LINK - 2}` }));
    const { letter, index } = sharedWeight(next, "state"),
      name = svgNode("text.by", { x: LINK / 2, y: 90 }),
      subscript = svgNode("tspan.subscript", { dy: 3 });
    name.textContent = letter;
    subscript.textContent = index;
    name.append(subscript);
    return svgNode("svg.link", { width: LINK, height: HIGH, "aria-hidden": "true" }, ...lines, name);
  }

  function makeWeightRow(name, title) {
    const entries = data.weights
      .filter((each) => each.level === name)
      .map((each) => {
        const { letter, index, half, words: size, count } = describeMatrix(each);
        return node(
          "div.matrix",
          node("i", letter, index && node("sub", index)),
          half && node("span", ` ${half}`),
          ` ${size} `,
          node("small", count),
        );
      });
    return node("div.level", node("small.title", title), ...entries);
  }

  steps.onkeydown = (event) => {
    event.stopPropagation(); // Streamlit reruns the page at an "r"
    if (event.key === "Escape") {
      isKept = false;
      selectStep(at);
      return;
    }
    const next = moveStep(at ?? 0, event.key, columns.length);
    if (next === null) return;
    event.preventDefault();
    selectStep(next);
    columns[next].button.focus();
  };

  function paintState(canvas, state, { rows, columns }) {
    const padded = Float32Array.from({ length: rows * columns }, (_, i) => state[i] ?? NaN);
    const position = (value) => (Number.isNaN(value) ? NaN : scalePosition(value, 1));
    paintPixels(canvas, arrayGrid(padded, rows, position), colourRamp(theme.colour, "sign"));
  }

  function paintStates() {
    for (const { step, canvas } of columns) paintState(canvas, step.state, gridOf(step.state.length, WIDE, TALL));
    if (at !== null && columns[at]) selectStep(at);
  }

  function selectStep(i) {
    at = i;
    const { step } = columns[i],
      high = step.state.reduce((most, value, u) => (Math.abs(value) > Math.abs(step.state[most]) ? u : most), 0);
    columns.forEach(({ button }, c) => {
      button.classList.toggle("looked", c === i);
      button.ariaPressed = String(isKept && c === i);
      button.tabIndex = c === i ? 0 : -1;
    });
    words.textContent = `${describeStep(step, i + 1)} ${isKept ? "Press Escape or click to release." : "A click keeps it."}`;
    paintState(units, step.state, gridOf(step.state.length, 3, 1));
    units.ariaLabel = `${step.state.length} units from ${Math.min(...step.state)} to ${Math.max(...step.state)}; unit ${high + 1} is furthest from 0, at ${step.state[high]}.`;
    bars.replaceChildren(
      node("b", step.top.length ? "most likely outputs" : "no output: the encoder only reads"),
      ...step.top.map(([label, p]) => {
        const fill = node("i");
        fill.style.width = `${100 * p}%`;
        return node("div.bar", node("span", label), node("span.rail", fill), node("span.share", formatPercent(p)));
      }),
    );
  }

  /* ---- saving ---- */

  const stepsCsv = () =>
    toCsv(
      [
        "step",
        "reads",
        "fed back",
        "used",
        "answer",
        "probability",
        ...data.steps[0].state.map((_, u) => `unit ${u + 1}`),
      ],
      rowsOf(data.steps),
    );

  return {
    show(/** @type {UnrolledData} */ newData) {
      data = newData;
      tint(place, data.colour);
      columns = data.steps.map(makeColumn);
      at = isKept && at !== null ? Math.min(at, columns.length - 1) : columns.findIndex(({ step }) => step.used);
      steps.replaceChildren(
        ...columns.map(({ step, button }, i) => (i ? node("span.next", makeLink(step), button) : button)),
      );
      steps.ariaLabel = `${data.title}, unrolled over ${columns.length} steps. Arrow keys move.`;
      weights.replaceChildren(
        node("b", data.title),
        makeWeightRow("out", "state → output"),
        makeWeightRow("state", "state → next state"),
        makeWeightRow("in", "input → state"),
        node(
          "small.title",
          data.weights.some(({ half }) => half) ? "the same at every step of a half" : "the same at every step",
        ),
      );
      paintStates();
      const { offsetLeft, offsetWidth } = columns[at].button; // scroll the box, not the page, until the described step is visible
      scroll.scrollLeft = offsetLeft + offsetWidth > scroll.clientWidth ? offsetLeft - scroll.clientWidth / 2 : 0;
      saveMenu(place, { svg: () => screenSvg(net), csv: stepsCsv, file: data.file });
    },
  };
});
