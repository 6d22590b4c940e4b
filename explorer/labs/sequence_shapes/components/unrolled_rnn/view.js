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
import { svgNode, node as makeNode, tint } from "../../../../static/shared/runtime/dom.js";
import { screenSvg } from "../../../../static/shared/runtime/screen_svg.js";
import { defineComponent } from "../../../../static/shared/runtime/component.js";
import { LiveElements } from "../../../../static/shared/runtime/view_state.js";
import { Theme } from "../../../../static/shared/runtime/theme.js";
import { gridOf, describeMatrix, moveStep, formatPercent, rowsOf, describeStep } from "./math.js";

const WIDE = 48,
  TALL = 64; // px of a state
const LINK = 26,
  HIGH = 208; // px of the connections between two steps

export default defineComponent((place) => {
  /** @type {UnrolledData | null} */
  let data = null;
  let columns = [],
    at = null, // the step that is described
    isKept = false;
  const { node, list, update } = new LiveElements();
  const current = () => data.steps[at],
    units = node("canvas", { role: "img", "aria-label": describeUnits }),
    steps = node("div.steps", { role: "group", "aria-label": describeSteps }),
    scroll = node("div.scroll", steps),
    weights = node("div.weights"),
    hint = () => (isKept ? " Press Escape or click to release." : ""),
    barsTitle = () => (current().top.length ? "most likely outputs" : "no output: the encoder only reads"),
    outputs = () => current().top;
  const makeBar = ([label, p]) => {
    const rail = makeNode("span.rail", makeNode("i", { style: `width: ${100 * p}%` }));
    return makeNode("div.bar", makeNode("span", label), rail, makeNode("span.share", formatPercent(p)));
  };
  const isAny = (test) => data.steps.some(test),
    fed = () => (isAny((step) => step.fed_back) ? " Dashed: its own last output as input." : ""),
    unused = () => (isAny((step) => step.top.length && !step.used) ? " Pale: an unused output." : ""),
    legend = () => ` +1.${fed()}${unused()}`;
  const net = node("div.net", weights, scroll);
  place.replaceChildren(
    net,
    node("p.words", { role: "status" }, () => `${describeStep(current(), at + 1)}${hint()}`),
    node(
      "div.detail",
      node("div.look", node("b", "state, one tile per unit"), units),
      node("div.bars", node("b", barsTitle), node("div", list(outputs, makeBar))),
    ),
    node("p.lineage-caption", "state −1 ", node("i.ramp"), node("span", legend)),
  );
  const theme = new Theme(place, () => paintStates());

  function describeSteps() {
    return `${data.title}, unrolled over ${columns.length} steps. Arrow keys move.`;
  }
  function describeUnits() {
    const { state } = current(),
      most = state.reduce((best, value, u) => (Math.abs(value) > Math.abs(state[best]) ? u : best), 0),
      range = `${Math.min(...state)} to ${Math.max(...state)}`;
    return `${state.length} units from ${range}; unit ${most + 1} is furthest from 0, at ${state[most]}.`;
  }

  /** Return the matrix of an arrow at this step by its letter; all steps of one half share it. */
  function sharedWeight(step, level) {
    const half = step.top.length ? "writes" : "reads",
      mine = data.weights.find((each) => each.level === level && (!each.half || each.half === half));
    return mine ? describeMatrix(mine) : { letter: "", index: "" };
  }
  function weightLetter(step, level) {
    const { letter, index } = sharedWeight(step, level);
    return makeNode("span.by", { "aria-hidden": "true" }, letter, makeNode("sub", index));
  }

  function makeColumn(step, i) {
    const canvas = makeNode("canvas"),
      [best] = step.top,
      point = () => isKept || selectStep(i);
    const out = best
      ? makeNode("span.out", makeNode("span", best[0]), makeNode("small", formatPercent(best[1])))
      : makeNode("span.out.none");
    out.classList.toggle("unused", Boolean(best && !step.used));
    const button = makeNode(
      "button.step",
      {
        ...{ type: "button", "aria-description": describeStep(step, i + 1), onpointerenter: point, onfocus: point },
        onclick() {
          isKept = !(isKept && at === i);
          selectStep(i);
        },
      },
      out,
      makeNode(best ? "i.up" : "i.up.none", best && weightLetter(step, "out")),
      canvas,
      makeNode("i.up", weightLetter(step, "in")),
      makeNode(step.fed_back ? "span.in.fed" : "span.in", step.input),
    );
    return { step, button, canvas };
  }

  /** Draw the connections between two steps: the state, and the answer if it is the next input. */
  function makeLink(next) {
    const { letter, index } = sharedWeight(next, "state"),
      state = svgNode("path", { d: `M0 100H${LINK - 4}m-5 -4l5 4l-5 4` }),
      back = next.fed_back ? svgNode("path.back", { d: `M0 24H${LINK / 2 - 3}V188H${LINK - 2}` }) : null,
      name = svgNode("text.by", { x: LINK / 2, y: 90 }, letter, svgNode("tspan.subscript", { dy: 3 }, index));
    return svgNode("svg.link", { width: LINK, height: HIGH, "aria-hidden": "true" }, state, back, name);
  }

  function makeWeightRow(name, title) {
    const entries = data.weights
      .filter(({ level }) => level === name)
      .map((weight) => {
        const { letter, index, half, words: size, count } = describeMatrix(weight),
          symbol = makeNode("i", letter, index && makeNode("sub", index)),
          part = half && makeNode("span", ` ${half}`);
        return makeNode("div.matrix", symbol, part, ` ${size} `, makeNode("small", count));
      });
    return makeNode("div.level", makeNode("small.title", title), entries);
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
    const padded = Float32Array.from({ length: rows * columns }, (_, i) => state[i] ?? NaN),
      position = (value) => (Number.isNaN(value) ? NaN : scalePosition(value, 1));
    paintPixels(canvas, arrayGrid(padded, rows, position), colourRamp(theme.colour, "sign"));
  }
  function paintStates() {
    for (const { step, canvas } of columns) paintState(canvas, step.state, gridOf(step.state.length, WIDE, TALL));
    if (at !== null && columns[at]) selectStep(at);
  }

  function selectStep(i) {
    at = i;
    columns.forEach(({ button }, c) => {
      button.classList.toggle("looked", c === i);
      button.ariaPressed = String(isKept && c === i);
      button.tabIndex = c === i ? 0 : -1;
    });
    const { state } = current();
    paintState(units, state, gridOf(state.length, 3, 1));
    update();
  }

  function stepsCsv() {
    const names = data.steps[0].state.map((_, u) => `unit ${u + 1}`);
    return toCsv(["step", "reads", "fed back", "used", "answer", "probability", ...names], rowsOf(data.steps));
  }

  return {
    show(/** @type {UnrolledData} */ newData) {
      data = newData;
      tint(place, data.colour);
      columns = data.steps.map(makeColumn);
      at = isKept && at !== null ? Math.min(at, columns.length - 1) : columns.findIndex(({ step }) => step.used);
      const makePlace = ({ step, button }, i) => (i ? makeNode("span.next", makeLink(step), button) : button),
        halves = data.weights.some(({ half }) => half) ? " of a half" : "";
      steps.replaceChildren(...columns.map(makePlace));
      weights.replaceChildren(
        makeNode("b", data.title),
        makeWeightRow("out", "state → output"),
        makeWeightRow("state", "state → next state"),
        makeWeightRow("in", "input → state"),
        makeNode("small.title", `the same at every step${halves}`),
      );
      paintStates();
      const { offsetLeft, offsetWidth } = columns[at].button; // scroll the box, not the page, until the described step is visible
      scroll.scrollLeft = offsetLeft + offsetWidth > scroll.clientWidth ? offsetLeft - scroll.clientWidth / 2 : 0;
      saveMenu(place, { svg: () => screenSvg(net), csv: stepsCsv, file: data.file });
    },
  };
});
