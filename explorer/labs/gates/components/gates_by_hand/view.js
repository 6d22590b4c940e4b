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
import { LiveElements } from "../../../../static/shared/runtime/view_state.js";
import { SyncedValue } from "../../../../static/shared/runtime/synced_value.js";
import { tint } from "../../../../static/shared/runtime/dom.js";
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

export default defineComponent((place, /** @type {SendEvent<GatesByHandEvents>} */ send) => {
  const { STEPS } = math;
  let current = null,
    axis = null, // floor and top of the axis of gradients, as powers of ten
    undone = [],
    stroke = null, // the gesture that is under way
    resting = 0;
  let data, computed;
  const synced = new SyncedValue();
  const { node, button, list, update } = new LiveElements(),
    settled = new LiveElements(); // what is read aloud does not change while it plays

  /* ---- controls ---- */

  const presetButton = (preset, _, inner) => {
    const isPressed = () => data.presets.some(({ name, lanes }) => name === preset.name && isCurrent(lanes)),
      lanes = () => parseLanes(preset.lanes);
    const apply = () => Object.assign(current, { at: (preset.at ?? STEPS) - 1, lanes: lanes() });
    return inner.button({ "aria-pressed": isPressed, onclick: () => applyEdit(apply) }, preset.name);
  };
  const isUsual = () =>
    isCurrent(formatState(data.usual).lanes) && ["u", "w", "at"].every((name) => current[name] === data.usual[name]);
  const presetList = () => data.presets;
  const presets = { class: "presets", role: "group", "aria-label": "Examples" };
  const play = new Playback((cursor) => {
    current.at = Math.min(STEPS - 1, Math.floor(cursor + 1e-6));
    releaseRuns();
    drawAll(false);
  }, reportState);
  const cells = { lstm: makeCell("lstm", lstmDiagram()), gru: makeCell("gru", gruDiagram()) };
  const cellRow = node("div.cells", cells.lstm.root, cells.gru.root);
  const switches = Object.keys(cells).map((which) => {
    const attributes = { "aria-pressed": () => current.show === which, onclick: () => showCell(which) };
    return button(attributes, math.KEEPS[which].name);
  });
  const none = () => !undone.length;
  place.replaceChildren(
    node(
      "div.tools",
      node("div", presets, list(presetList, presetButton)),
      button({ disabled: none, hidden: none, onclick: undo }, "Undo"),
      button({ disabled: isUsual, hidden: isUsual, onclick: () => applyEdit(restoreDefaults) }, "Back to the defaults"),
    ),
    play.root,
    node("div.switch", { role: "group", "aria-label": "Cell" }, ...switches),
    cellRow,
    node(
      "div.dials",
      makeDial("u", "u: weight from the state to the candidate", -2, 2),
      makeDial("w", "w: recurrent weight of the plain RNN (dotted line)", 0, 2),
    ),
    settled.node("p.unseen", { role: "status" }, () =>
      Object.keys(cells)
        .map((which) => math.describeStep(which, current.lanes, computed, current.at))
        .join(" "),
    ),
  );
  place.addEventListener("keydown", (event) => event.stopPropagation()); // Streamlit reruns the page at an "r"

  /** Make a slider: `get` and `set` read and change its value, `gesture` returns the name of a change by it. */
  function makeSlider(attributes, gesture, get, set) {
    const oninput = (event) => {
      beginGesture(gesture);
      set(Number(event.target.value));
    };
    const onchange = () => {
      stroke = null;
      reportState();
    };
    const fixed = { type: "range", class: "slider", step: 0.01, ...attributes };
    return node("input", { ...fixed, value: get, oninput, onchange });
  }
  function makeDial(name, words, min, max) {
    const range = makeSlider(
      { min, max, "aria-label": words },
      name,
      () => current[name],
      (value) => {
        current[name] = value;
        drawAll();
      },
    );
    const value = node("output", () => math.formatGate(current[name]));
    return node("label.dial", node("span", words), range, value);
  }

  /* ---- one cell ---- */

  function makeCell(which, diagram) {
    const { name: title, gate, lanes } = math.KEEPS[which],
      state = which === "lstm" ? "c" : "h",
      one = () => computed[which],
      traceRows = lanes.map(makeGate);
    const strips =
      which === "lstm"
        ? [makeStrip("c", "c, cell state", LINE), makeStrip("h", "h, output", LINE)]
        : [makeStrip("h", "h, state and output", 2 * LINE + 26)];
    function makeStrip(name, words, height) {
      const chart = lineStrip(height, STEPS, name),
        span = () => Math.max(1, ...one()[name].map(Math.abs));
      const scale = () => `−${math.formatAmount(span())} to ${math.formatAmount(span())}`,
        value = () => math.formatAmount(one()[name][current.at]);
      const head = makeHead(words, node("span.scale", scale), node("span.value", value));
      return {
        root: node("div", head, chart.root),
        show: (width) => chart.show(one()[name], current.at, width, span()),
      };
    }
    const gradient = gradientStrip(STEPS);
    const describeGradient = (line) => {
      const from = math.firstWritingStep(which, current.lanes);
      return `${math.formatAmount(line[from])} from step ${from + 1}, ${math.formatAmount(line[current.at])} from step ${current.at + 1}`;
    };
    const keys = {
      straight: () => `direct path, Π ${gate}: ${describeGradient(one().straight)}`,
      full: () => (current.u ? `with the path through the candidate: ${describeGradient(one().full)}` : ""),
      rnn: () => `plain RNN: ${describeGradient(one().rnn)}`,
    };
    const none =
      "The GRU has no output gate, and its update gate has two jobs: it keeps a share z of the state and writes a share 1 − z of the candidate.";
    const root = node(
      "section",
      { class: which, "aria-label": title },
      node("h2", title),
      node("h3", () => math.formatFinding(which, current.lanes)),
      node("div.picture", diagram.root),
      node("div.gates", ...traceRows.map(({ root }) => root), which === "gru" ? node("p.none", none) : null),
      node("div.states", ...strips.map(({ root }) => root)),
      node(
        "details.lineage-about",
        node("summary", "Half-life, and what an RNN keeps"),
        node("p", () => math.findingText(which, current.lanes, computed, current.u, current.w)),
      ),
      node(
        "div.gradients",
        makeHead(`∂${state}₅₀/∂${state}ₜ`, node("span.scale", "gradient that reaches each step (log scale)")),
        gradient.root,
        makeAxis(),
        node("p.keys", ...Object.entries(keys).map(([kind, text]) => node("span", { class: `key ${kind}` }, text))),
      ),
    );
    return {
      root: tint(root, `--m-${which}`),
      traceRows,
      draw() {
        const { at, u } = current,
          width = traceRows[0].trace.root.clientWidth || gradient.root.clientWidth || root.clientWidth;
        if (!width) return; // the other cell is shown
        diagram.show(current.lanes, one(), at, u);
        for (const { trace, name, label } of traceRows) trace.show(current.lanes[name], at, label, width);
        for (const strip of strips) strip.show(width);
        const owes = `The gradient at step ${at + 1}: direct path ${math.formatAmount(one().straight[at])}, plain RNN ${math.formatAmount(one().rnn[at])}.`;
        gradient.show(u ? one() : { ...one(), full: [] }, at, width, axis.floor, axis.top, owes);
      },
    };
  }
  function makeHead(title, ...parts) {
    return node("div.head", node("b", title), ...parts);
  }
  function makeAxis() {
    const words = [1, 10, 20, 30, 40, 50].map((step) =>
      node("span", { style: `left: ${(100 * (step - 0.5)) / STEPS}%` }, `${step}`),
    );
    return node("div.axis", { "aria-hidden": "true" }, ...words);
  }

  /** A gate: its name, a slider for its run of equal values, and its trace, in which single steps are drawn. */
  function makeGate(name) {
    const signed = math.SIGNED.has(name),
      label = `${name}, ${WORDS[name]}`,
      trace = gateTraceStrip(name, STEPS);
    let run = null; // the steps that the slider moves, fixed while it is dragged
    const releaseRun = () => (run = null),
      value = () => current.lanes[name][current.at];
    const range = makeSlider(
      {
        min: signed ? -1 : 0,
        max: 1,
        "aria-label": `${label}: the steps of equal value around this one`,
        onblur: releaseRun,
        onpointerdown: releaseRun,
      },
      name,
      value,
      (value) => {
        run ??= math.runAround(current.lanes[name], current.at);
        setSteps(name, run[0], run[1], value);
      },
    );
    Object.assign(trace.root, {
      ariaLabel: `${label}, step by step: left and right choose a step, up and down change it`,
      onpointerdown(event) {
        if (event.button) return;
        trace.root.setPointerCapture(event.pointerId);
        trace.root.focus({ preventScroll: true });
        beginGesture(name);
        paintSteps(event, null);
      },
      onpointermove: (event) => trace.root.hasPointerCapture(event.pointerId) && paintSteps(event, trace.last),
      onpointerup: endStroke,
      onpointercancel: endStroke,
      onkeydown(event) {
        const step = { ArrowLeft: -1, ArrowRight: 1, Home: -STEPS, End: STEPS }[event.key],
          change = { ArrowUp: 0.05, ArrowDown: -0.05, PageUp: 0.25, PageDown: -0.25 }[event.key];
        if (step) current.at = Math.max(0, Math.min(STEPS - 1, current.at + step));
        else if (change) {
          beginGesture(name + current.at);
          setSteps(name, current.at, current.at + 1, value() + change);
        } else return;
        event.preventDefault();
        drawAll();
      },
      onkeyup: ({ key }) => (key.startsWith("Arrow") || /^(Home|End|Page)/.test(key)) && reportState(),
    });
    function endStroke() {
      if (!stroke) return;
      stroke = trace.last = null;
      reportState();
    }
    function paintSteps(event, previousAt) {
      const area = trace.root.getBoundingClientRect(),
        part = 1 - (event.clientY - area.top) / area.height;
      const at = Math.max(0, Math.min(STEPS - 1, Math.floor(((event.clientX - area.left) / area.width) * STEPS)));
      const newValue = math.clampGate(name, Math.round((signed ? 2 * part - 1 : part) * 20) / 20); // rounded to twentieths, the precision of dragging
      current.at = trace.last = at;
      setSteps(name, Math.min(at, previousAt ?? at), Math.max(at, previousAt ?? at) + 1, newValue);
    }
    const output = node("output", () => math.formatGate(value())),
      head = makeHead(name, node("span.scale", WORDS[name]), range, output);
    return { name, label, trace, root: node("div.gate", head, trace.root), releaseRun };
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
  function undo() {
    current = undone.pop();
    releaseRuns();
    drawAll();
    reportState();
  }
  function restoreDefaults() {
    current = { ...data.usual, show: current.show };
  }
  function showCell(which) {
    current.show = which;
    drawAll();
    reportState();
  }
  function releaseRuns() {
    for (const { traceRows } of Object.values(cells)) for (const one of traceRows) one.releaseRun();
  }
  function setSteps(name, from, to, value) {
    current.lanes[name].fill(math.clampGate(name, value), from, to);
    drawAll();
  }
  const mapLanes = (lanes, convert) =>
    Object.fromEntries(Object.entries(lanes).map(([name, trace]) => [name, convert(trace)]));
  const parseLanes = (lanes) => mapLanes(lanes, (text) => math.parseLane(text));
  const formatState = (state) => ({ ...state, at: state.at + 1, lanes: mapLanes(state.lanes, math.formatLane) });
  const parseState = ({ u, w, at, show, lanes }) => ({ u, w, at: at - 1, show, lanes: parseLanes(lanes) });
  /** Send the state after a pause: every event reruns the page. */
  function reportState() {
    clearTimeout(resting);
    resting = setTimeout(() => {
      const state = formatState(current),
        text = JSON.stringify(state);
      if (JSON.stringify(synced.value) === text) return;
      synced.set(state);
      send("set", text);
    }, REST);
  }

  /* ---- drawing ---- */

  /** Draw the cells. If not `all`, only the selected step has changed. */
  function drawAll(all = true) {
    if (!current || !play.state || !place.clientWidth) return;
    if (all) computed = math.computeCells(current.lanes, current.u, current.w);
    const lines = Object.keys(cells).flatMap((which) => {
      const { straight, rnn, full } = computed[which];
      return [straight, rnn, ...(current.u ? [full] : [])];
    });
    const most = Math.max(1, ...lines.flat().map(Math.abs));
    axis = { floor: math.floorOf(lines), top: Math.max(0, Math.ceil(Math.log10(most) - 1e-9)) };
    place.dataset.shown = current.show;
    for (const cell of Object.values(cells)) cell.draw();
    if (Math.floor(play.state.cursor + 1e-6) !== current.at) {
      play.state = { cursor: current.at, playing: false, following: false };
      play.render();
      releaseRuns();
    }
    update();
    if (all) settled.update();
  }
  const isCurrent = (traces) =>
    Object.entries(traces).every(
      ([name, text]) => math.formatLane(current.lanes[name]) === math.formatLane(math.parseLane(text)),
    );

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
    show(/** @type {GatesByHandData} */ newData) {
      const { lanes, u, w, at, show } = newData,
        state = parseState({ lanes, u, w, at, show });
      data = { ...newData, usual: parseState(newData.usual) };
      if (synced.receive(formatState(state))) {
        if (current) beginGesture(Symbol("address"));
        current = state;
        stroke = null;
      }
      if (!play.state) {
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
    resize: drawAll,
    close() {
      clearTimeout(resting);
      play.stop();
    },
  };
}, PRESENTATION);
