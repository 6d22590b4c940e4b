/**
 * Draw one LSTM cell and one GRU cell whose gates the user sets by hand over fifty steps. Event "set", when a control
 * is released: everything below that the user can change.
 *
 * @typedef {object} GatesByHandData
 * @property {Record<string, string>} lanes traces of the gates f, i, g, o, z, r, n as text, see math.js
 * @property {number} u
 * @property {number} w
 * @property {number} at step, from 1
 * @property {"lstm" | "gru"} show
 * @property {any} usual the defaults of these fields
 * @property {{name: string, lanes: Record<string, string>, at: number}[]} presets
 * @property {string} file
 *
 * @typedef {object} GatesByHandEvents
 * @property {string} set the state as JSON
 */
import * as math from "./math.js";
import { LINE, gradientStrip, gruDiagram, gateTraceStrip, lineStrip, lstmDiagram } from "./pictures.js";
import { screenSvg } from "../../../../static/shared/runtime/screen_svg.js";
import { moveSlider, setTextIfChanged, node, tint } from "../../../../static/shared/runtime/dom.js";
import { Playback } from "../../../../static/shared/charts/playback.js";
import { saveMenu } from "../../../../static/shared/runtime/export_menu.js";
import { toCsv } from "../../../../static/shared/runtime/csv.js";
import { defineComponent } from "../../../../static/shared/runtime/component.js";

const WORDS = {
  f: "forget gate",
  i: "input gate",
  g: "candidate",
  o: "output gate",
  z: "update gate (share kept)",
  r: "reset gate",
  n: "candidate",
};
const MOST_UNDONE = 100,
  REST = 250; // ms

const PRESENTATION = { slides: [".picture, .gates", ".states, .gradients"] };

export default defineComponent((place) => {
  const { STEPS } = math;
  let current = null,
    data = null,
    computed = null,
    /** @type {import("../../../../static/shared/runtime/events.js").SendEvent<GatesByHandEvents>} */
    sendEvent = () => {},
    sentStates = [],
    undone = [],
    stroke = null,
    resting = 0;

  /* ---- controls ---- */

  const makeButton = (word, act) =>
    Object.assign(node("button", { class: "lineage-button", type: "button" }, word), { onclick: act });
  const presets = node("div", { class: "presets", role: "group", "aria-label": "Examples" });
  const undo = makeButton("Undo", () => {
    if (undone.length) {
      current = undone.pop();
      releaseRuns();
      drawAll();
      reportState();
    }
  });
  const usual = makeButton("Back to the defaults", () =>
    applyEdit(() => {
      current = { ...data.usual, show: current.show };
    }),
  );
  const switches = node("div", { class: "switch", role: "group", "aria-label": "Cell" });
  const play = new Playback(
    (cursor) => {
      current.at = Math.min(STEPS - 1, Math.floor(cursor + 1e-6));
      releaseRuns();
      drawAll(false);
    },
    () => reportState(),
  );
  const u = makeDial("u", "u: weight from the state to the candidate", -2, 2);
  const w = makeDial("w", "w: recurrent weight of the plain RNN (dotted line)", 0, 2);
  const cells = { lstm: makeCell("lstm", lstmDiagram()), gru: makeCell("gru", gruDiagram()) };
  const status = node("p", { class: "unseen", role: "status" });
  const cellRow = node("div", { class: "cells" }, cells.lstm.root, cells.gru.root);
  place.replaceChildren(
    node("div", { class: "tools" }, presets, undo, usual),
    play.root,
    switches,
    cellRow,
    node("div", { class: "dials" }, u.root, w.root),
    status,
  );
  for (const which of ["lstm", "gru"])
    switches.append(
      makeButton(math.KEEPS[which].name, () => {
        current.show = which;
        drawAll();
        reportState();
      }),
    );
  place.addEventListener("keydown", (event) => event.stopPropagation()); // Streamlit reruns the page at an "r"
  const watch = new ResizeObserver(() => drawAll());
  watch.observe(place);

  function makeDial(name, words, low, high) {
    const range = node("input", {
        type: "range",
        class: "slider",
        min: low,
        max: high,
        step: 0.01,
        "aria-label": words,
      }),
      value = node("output");
    range.oninput = () => {
      beginGesture(name);
      current[name] = Number(range.value);
      drawAll();
    };
    range.onchange = () => {
      stroke = null;
      reportState();
    };
    return { range, value, root: node("label", { class: "dial" }, node("span", {}, words), range, value) };
  }

  /* ---- one cell ---- */

  function makeCell(which, diagram) {
    const heading = node("h3"),
      finding = node("p", { class: "told" });
    const traceRows = math.KEEPS[which].lanes.map((name) => gateTraceRow(name));
    const strips =
      which === "lstm"
        ? [
            makeStrip("c", "c, cell state", lineStrip(LINE, STEPS, "c")),
            makeStrip("h", "h, output", lineStrip(LINE, STEPS, "h")),
          ]
        : [makeStrip("h", "h, state and output", lineStrip(2 * LINE + 26, STEPS, "h"))];
    const gradient = gradientStrip(STEPS),
      state = which === "lstm" ? "c" : "h";
    const keys = Object.fromEntries(
      ["straight", "full", "rnn"].map((kind) => [kind, node("span", { class: `key ${kind}` })]),
    );
    const none =
      which === "gru" &&
      node(
        "p",
        { class: "none" },
        "The GRU has no output gate, and its update gate has two jobs: it keeps a share z of the state and writes a share 1 − z of the candidate.",
      );
    const root = tint(
      node(
        "section",
        { class: which, "aria-label": math.KEEPS[which].name },
        node("h2", {}, math.KEEPS[which].name),
        heading,
        finding,
        node("div", { class: "picture" }, diagram.root),
        node("div", { class: "gates" }, ...traceRows.map((one) => one.root), none || null),
        node("div", { class: "states" }, ...strips.map((one) => one.root)),
        node(
          "div",
          { class: "gradients" },
          node(
            "div",
            { class: "head" },
            node("b", {}, `∂${state}₅₀/∂${state}ₜ`),
            node("span", { class: "scale" }, "gradient that reaches each step (log scale)"),
          ),
          gradient.root,
          makeAxis(),
          node("p", { class: "keys" }, ...Object.values(keys)),
        ),
      ),
      `--m-${which}`,
    );
    return { which, root, heading, told: finding, diagram, lanes: traceRows, strips, gradient, keys };
  }
  function makeStrip(name, title, chart) {
    const scale = node("span", { class: "scale" }),
      value = node("span", { class: "value" });
    return {
      name,
      scale,
      value,
      ...chart,
      root: node("div", {}, node("div", { class: "head" }, node("b", {}, title), scale, value), chart.root),
    };
  }
  function makeAxis() {
    return node(
      "div",
      { class: "axis", "aria-hidden": "true" },
      ...[1, 10, 20, 30, 40, 50].map((step) => {
        const word = node("span", {}, `${step}`);
        word.style.left = `${(100 * (step - 0.5)) / STEPS}%`;
        return word;
      }),
    );
  }

  /** A gate: its name, a slider for its run of equal values, and its trace, in which single steps are drawn. */
  function gateTraceRow(name) {
    const signed = math.SIGNED.has(name),
      label = `${name}, ${WORDS[name]}`,
      trace = gateTraceStrip(name, STEPS),
      value = node("output");
    const range = node("input", {
      type: "range",
      class: "slider",
      min: signed ? -1 : 0,
      max: 1,
      step: 0.01,
      "aria-label": `${label}: the steps of equal value around this one`,
    });
    let run = null; // the steps that the slider moves, fixed while it is dragged
    range.oninput = () => {
      beginGesture(name);
      run ??= math.runAround(current.lanes[name], current.at);
      setSteps(name, run[0], run[1], Number(range.value));
    };
    range.onchange = () => {
      stroke = null;
      reportState();
    };
    range.onblur = range.onpointerdown = () => {
      run = null;
    };
    trace.root.setAttribute(
      "aria-label",
      `${label}, step by step: left and right choose a step, up and down change it`,
    );
    trace.root.onpointerdown = (event) => {
      if (event.button) return;
      trace.root.setPointerCapture(event.pointerId);
      trace.root.focus({ preventScroll: true });
      beginGesture(name);
      paintSteps(event, null);
    };
    trace.root.onpointermove = (event) => {
      if (trace.root.hasPointerCapture(event.pointerId)) paintSteps(event, trace.last);
    };
    trace.root.onpointerup = trace.root.onpointercancel = () => {
      if (stroke) {
        stroke = trace.last = null;
        reportState();
      }
    };
    function paintSteps(event, previousAt) {
      const area = trace.root.getBoundingClientRect(),
        part = 1 - (event.clientY - area.top) / area.height;
      const at = Math.max(0, Math.min(STEPS - 1, Math.floor(((event.clientX - area.left) / area.width) * STEPS)));
      const newValue = math.clampGate(name, Math.round((signed ? 2 * part - 1 : part) * 20) / 20); // rounded to twentieths, the precision of dragging
      current.at = trace.last = at;
      setSteps(name, Math.min(at, previousAt ?? at), Math.max(at, previousAt ?? at) + 1, newValue);
    }
    trace.root.onkeydown = (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, Home: -STEPS, End: STEPS }[event.key],
        change = { ArrowUp: 0.05, ArrowDown: -0.05, PageUp: 0.25, PageDown: -0.25 }[event.key];
      if (step) current.at = Math.max(0, Math.min(STEPS - 1, current.at + step));
      else if (change) {
        beginGesture(name + current.at);
        setSteps(name, current.at, current.at + 1, current.lanes[name][current.at] + change);
      } else return;
      event.preventDefault();
      drawAll();
    };
    trace.root.onkeyup = (event) => {
      if (event.key.startsWith("Arrow") || /^(Home|End|Page)/.test(event.key)) reportState();
    };
    const root = node(
      "div",
      { class: "gate" },
      node("div", { class: "head" }, node("b", {}, name), node("span", { class: "scale" }, WORDS[name]), range, value),
      trace.root,
    );
    return {
      name,
      label,
      trace,
      root,
      range,
      value,
      releaseRun: () => {
        run = null;
      },
    };
  }

  /* ---- changes ---- */

  /** Save the state before a gesture for Undo; one gesture is one change. */
  function beginGesture(gesture) {
    if (stroke === gesture) return;
    stroke = gesture;
    undone = [...undone, structuredClone(current)].slice(-MOST_UNDONE);
  }
  function applyEdit(make) {
    beginGesture(Symbol("edit"));
    make();
    current = structuredClone(current);
    stroke = null;
    releaseRuns();
    drawAll();
    reportState();
  }
  function releaseRuns() {
    for (const { lanes } of Object.values(cells)) for (const one of lanes) one.releaseRun();
  }
  function setSteps(name, from, to, value) {
    current.lanes[name].fill(math.clampGate(name, value), from, to);
    drawAll();
  }
  const formatState = (state) => ({
    ...state,
    at: state.at + 1,
    lanes: Object.fromEntries(Object.entries(state.lanes).map(([name, trace]) => [name, math.formatLane(trace)])),
  });
  const parseState = (state) => ({
    u: state.u,
    w: state.w,
    at: state.at - 1,
    show: state.show,
    lanes: Object.fromEntries(Object.entries(state.lanes).map(([name, text]) => [name, math.parseLane(text)])),
  });
  /** Send the state after a pause: every event reruns the page. */
  function reportState() {
    clearTimeout(resting);
    resting = setTimeout(() => {
      const text = JSON.stringify(formatState(current));
      if (sentStates.at(-1) === text) return;
      sentStates.push(text);
      sendEvent("set", text);
    }, REST);
  }

  /* ---- drawing ---- */

  function drawAll(all = true) {
    if (!current || !play.state || !place.clientWidth) return;
    if (all) computed = math.computeCells(current.lanes, current.u, current.w);
    const lines = ["lstm", "gru"].flatMap((which) => [
      computed[which].straight,
      computed[which].rnn,
      ...(current.u ? [computed[which].full] : []),
    ]);
    const floor = math.floorOf(lines),
      top = Math.max(0, Math.ceil(Math.log10(Math.max(1, ...lines.flat().map(Math.abs))) - 1e-9));
    place.dataset.shown = current.show;
    for (const one of Object.values(cells)) drawCell(one, floor, top, all);
    if (Math.floor(play.state.cursor + 1e-6) !== current.at) moveTo(current.at);
    if (!all) return;
    for (const [name, { range, value }] of Object.entries({ u, w })) {
      moveSlider(range, current[name]);
      setTextIfChanged(value, math.formatGate(current[name]));
    }
    [...switches.children].forEach((one, i) => {
      one.ariaPressed = String(current.show === ["lstm", "gru"][i]);
    });
    for (const one of presets.children)
      one.ariaPressed = String(
        data.presets.some((preset) => preset.name === one.textContent && isCurrent(preset.lanes)),
      );
    undo.disabled = !undone.length;
    usual.disabled =
      isCurrent(formatState(data.usual).lanes) && ["u", "w", "at"].every((name) => current[name] === data.usual[name]);
    usual.hidden = usual.disabled;
    undo.hidden = undo.disabled;
    setTextIfChanged(
      status,
      ["lstm", "gru"].map((which) => math.describeStep(which, current.lanes, computed, current.at)).join(" "),
    );
  }
  const isCurrent = (traces) =>
    Object.entries(traces).every(
      ([name, text]) => math.formatLane(current.lanes[name]) === math.formatLane(math.parseLane(text)),
    );
  function moveTo(cursor) {
    play.state = { cursor, playing: false, following: false };
    play.render();
    releaseRuns();
  }

  function drawCell(
    { which, heading, told: finding, diagram, lanes: traceRows, strips, gradient, keys, root },
    floor,
    top,
    all,
  ) {
    const one = computed[which],
      { at } = current,
      gradients = current.u ? one : { ...one, full: [] };
    const width = traceRows[0].trace.root.clientWidth || gradient.root.clientWidth || root.clientWidth;
    if (!width) return; // the other cell is shown
    diagram.show(current.lanes, one, at, current.u);
    for (const { name, label, trace, range, value } of traceRows) {
      if (all && trace.width !== width) trace.setWidth((trace.width = width));
      trace.show(current.lanes[name], at, label);
      moveSlider(range, current.lanes[name][at]);
      setTextIfChanged(value, math.formatGate(current.lanes[name][at]));
    }
    for (const each of strips) {
      const span = Math.max(1, ...one[each.name].map(Math.abs));
      each.show(one[each.name], at, width, span);
      setTextIfChanged(each.scale, `−${math.formatAmount(span)} to ${math.formatAmount(span)}`);
      setTextIfChanged(each.value, math.formatAmount(one[each.name][at]));
    }
    const owes = `The gradient at step ${at + 1}: direct path ${math.formatAmount(one.straight[at])}, plain RNN ${math.formatAmount(one.rnn[at])}.`;
    gradient.show(gradients, at, width, floor, top, owes);
    const from = math.firstWritingStep(which, current.lanes),
      describeGradient = (line) =>
        `${math.formatAmount(line[from])} from step ${from + 1}, ${math.formatAmount(line[at])} from step ${at + 1}`;
    setTextIfChanged(keys.straight, `direct path, Π ${math.KEEPS[which].gate}: ${describeGradient(one.straight)}`);
    setTextIfChanged(keys.full, current.u ? `with the path through the candidate: ${describeGradient(one.full)}` : "");
    setTextIfChanged(keys.rnn, `plain RNN: ${describeGradient(one.rnn)}`);
    if (!all) return;
    setTextIfChanged(heading, math.formatFinding(which, current.lanes));
    setTextIfChanged(finding, math.findingText(which, current.lanes, computed, current.u, current.w));
  }

  function tracesCsv() {
    const { lanes } = current,
      { lstm, gru } = computed;
    const columns = {
      ...lanes,
      c: lstm.c,
      "h of the LSTM": lstm.h,
      "h of the GRU": gru.h,
      "dc50/dc, straight": lstm.straight,
      "dc50/dc, all paths": lstm.full,
      "dh50/dh of the GRU, straight": gru.straight,
      "dh50/dh of the GRU, all paths": gru.full,
      "plain RNN given the LSTM's": lstm.rnn,
      "plain RNN given the GRU's": gru.rnn,
    };
    return toCsv(
      ["step", ...Object.keys(columns)],
      lanes.f.map((_, t) => [t + 1, ...Object.values(columns).map((column) => Number(column[t].toPrecision(6)))]),
    );
  }

  return {
    show(/** @type {GatesByHandData} */ newData, { setTriggerValue }) {
      sendEvent = setTriggerValue;
      const state = { lanes: newData.lanes, u: newData.u, w: newData.w, at: newData.at, show: newData.show };
      const text = JSON.stringify(formatState(parseState(state))),
        echo = sentStates.indexOf(text);
      data = { ...newData, usual: parseState(newData.usual) };
      if (echo >= 0)
        sentStates = sentStates.slice(echo); // an echo of our own state: the user may have changed it since
      else {
        if (current) beginGesture(Symbol("address"));
        current = parseState(state);
        sentStates = [text];
        stroke = null;
      }
      if (!presets.children.length) {
        presets.append(
          ...newData.presets.map((preset) =>
            makeButton(preset.name, () =>
              applyEdit(() => {
                Object.assign(current, {
                  at: (preset.at ?? STEPS) - 1,
                  lanes: Object.fromEntries(
                    Object.entries(preset.lanes).map(([name, trace]) => [name, math.parseLane(trace)]),
                  ),
                });
              }),
            ),
          ),
        );
        play.update({
          run: "cell",
          end: STEPS - 1,
          available: STEPS - 1,
          first: current.at,
          live: false,
          say: "",
          unit: "step",
          stops: Array.from({ length: STEPS }, (_, t) => `step ${t + 1} of ${STEPS}`),
        });
        saveMenu(play.root, { svg: () => screenSvg(cellRow), csv: tracesCsv, file: newData.file });
      }
      drawAll();
    },
    close() {
      clearTimeout(resting);
      play.stop();
      watch.disconnect();
    },
  };
}, PRESENTATION);
