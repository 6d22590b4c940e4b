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
 * @property {any[]} presets {name, lanes}
 * @property {{lstm: string, gru: string, rnn: string}} colours
 * @property {string} file
 */
import * as math from "./math.js";
import { LINE, gradientStrip, gruDiagram, laneStrip, lineStrip, lstmDiagram } from "./pictures.js";
import { picture } from "./export.js";
import { setTextIfChanged, node, tint } from "../../shared/runtime/dom.js";
import { Playback } from "../../shared/charts/playback.js";
import { saveMenu } from "../../shared/runtime/export_menu.js";
import { toCsv } from "../../shared/runtime/csv.js";
import { defineComponent } from "../../shared/runtime/component.js";

const WORDS = {
  f: "forget gate",
  i: "input gate",
  g: "candidate",
  o: "output gate",
  z: "update gate: what stays",
  r: "reset gate",
  n: "candidate",
};
const MOST_UNDONE = 100,
  REST = 250; // ms

export default defineComponent((place) => {
  const { STEPS } = math;
  let now = null,
    data = null,
    found = null,
    /** @type {(...args: any[]) => void} */
    sendEvent = () => {},
    sentStates = [],
    undone = [],
    stroke = null,
    resting = 0;

  /* ---- controls ---- */

  const button = (word, act) =>
    Object.assign(node("button", { class: "lineage-button", type: "button" }, word), { onclick: act });
  const presets = node("div", { class: "presets", role: "group", "aria-label": "Settings to begin with" });
  const undo = button("Undo", () => {
    if (undone.length) {
      now = undone.pop();
      releaseLanes();
      draw();
      report();
    }
  });
  const usual = button("Back to the defaults", () =>
    edit(() => {
      now = { ...data.usual, show: now.show };
    }),
  );
  const switches = node("div", { class: "switch", role: "group", "aria-label": "Which cell is shown" });
  const play = new Playback(
    (cursor) => {
      now.at = Math.min(STEPS - 1, Math.floor(cursor + 1e-6));
      releaseLanes();
      draw(false);
    },
    () => report(),
  );
  const u = dial("u", "u, the weight by which the candidate also reads the state", -2, 2);
  const w = dial("w", "w, the weight of the plain RNN that is drawn beside it", 0, 2);
  const cells = { lstm: cell("lstm", lstmDiagram()), gru: cell("gru", gruDiagram()) };
  const status = node("p", { class: "unseen", role: "status" });
  place.replaceChildren(
    node("div", { class: "tools" }, presets, undo, usual),
    play.root,
    node("div", { class: "dials" }, u.root, w.root),
    switches,
    node("div", { class: "cells" }, cells.lstm.root, cells.gru.root),
    status,
  );
  for (const which of ["lstm", "gru"])
    switches.append(
      button(math.KEEPS[which].name, () => {
        now.show = which;
        draw();
        report();
      }),
    );
  place.addEventListener("keydown", (event) => event.stopPropagation()); // Streamlit reruns the page at an "r"
  const watch = new ResizeObserver(() => draw());
  watch.observe(place);

  function dial(name, words, low, high) {
    const range = node("input", { type: "range", min: low, max: high, step: 0.01, "aria-label": words }),
      value = node("output");
    range.oninput = () => {
      begin(name);
      now[name] = Number(range.value);
      draw();
    };
    range.onchange = () => {
      stroke = null;
      report();
    };
    return { range, value, root: node("label", { class: "dial" }, node("span", {}, words), range, value) };
  }

  /* ---- one cell ---- */

  function cell(which, diagram) {
    const heading = node("h3"),
      told = node("p", { class: "told" });
    const lanes = math.KEEPS[which].lanes.map((name) => laneRow(name));
    const strips =
      which === "lstm"
        ? [
            strip("c", "c, what it holds", lineStrip(LINE, STEPS, "c")),
            strip("h", "h, what it shows", lineStrip(LINE, STEPS, "h")),
          ]
        : [strip("h", "h, what it holds and shows", lineStrip(2 * LINE + 26, STEPS, "h"))];
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
        "The GRU has no output gate: it shows what it holds. And one gate does the work of two, so what it writes is what it does not keep.",
      );
    const root = tint(
      node(
        "section",
        { class: which, "aria-label": math.KEEPS[which].name },
        node("h2", {}, math.KEEPS[which].name),
        heading,
        told,
        diagram.root,
        ...lanes.map((one) => one.root),
        none || null,
        ...strips.map((one) => one.root),
        node(
          "div",
          { class: "head" },
          node("b", {}, `∂${state}₅₀/∂${state}ₜ`),
          node("span", { class: "scale" }, "what step 50 owes to each step, logarithmic"),
        ),
        gradient.root,
        axis(),
        node("p", { class: "keys" }, ...Object.values(keys)),
      ),
      `--m-${which}`,
    );
    return { which, root, heading, told, diagram, lanes, strips, gradient, keys };
  }
  function strip(name, title, drawn) {
    const scale = node("span", { class: "scale" }),
      value = node("span", { class: "value" });
    return {
      name,
      scale,
      value,
      ...drawn,
      root: node("div", {}, node("div", { class: "head" }, node("b", {}, title), scale, value), drawn.root),
    };
  }
  function axis() {
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

  /** A gate: its name, a slider for its run of equal values, and its lane, in which single steps are painted. */
  function laneRow(name) {
    const signed = math.SIGNED.has(name),
      label = `${name}, ${WORDS[name]}`,
      lane = laneStrip(name, STEPS),
      value = node("output");
    const range = node("input", {
      type: "range",
      min: signed ? -1 : 0,
      max: 1,
      step: 0.01,
      "aria-label": `${label}: the steps of equal value around this one`,
    });
    let run = null; // the steps that the slider moves; as long as one drags they stay the same, whatever value they take
    range.oninput = () => {
      begin(name);
      run ??= math.runAround(now.lanes[name], now.at);
      set(name, run[0], run[1], Number(range.value));
    };
    range.onchange = () => {
      stroke = null;
      report();
    };
    range.onblur = range.onpointerdown = () => {
      run = null;
    };
    lane.root.setAttribute("aria-label", `${label}, step by step: left and right choose a step, up and down change it`);
    lane.root.onpointerdown = (event) => {
      if (event.button) return;
      lane.root.setPointerCapture(event.pointerId);
      lane.root.focus({ preventScroll: true });
      begin(name);
      paint(event, null);
    };
    lane.root.onpointermove = (event) => {
      if (lane.root.hasPointerCapture(event.pointerId)) paint(event, lane.last);
    };
    lane.root.onpointerup = lane.root.onpointercancel = () => {
      if (stroke) {
        stroke = lane.last = null;
        report();
      }
    };
    function paint(event, before) {
      const area = lane.root.getBoundingClientRect(),
        part = 1 - (event.clientY - area.top) / area.height;
      const at = Math.max(0, Math.min(STEPS - 1, Math.floor(((event.clientX - area.left) / area.width) * STEPS)));
      const wanted = math.clampGate(name, Math.round((signed ? 2 * part - 1 : part) * 20) / 20); // a hand is not finer than a twentieth
      now.at = lane.last = at;
      set(name, Math.min(at, before ?? at), Math.max(at, before ?? at) + 1, wanted);
    }
    lane.root.onkeydown = (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, Home: -STEPS, End: STEPS }[event.key],
        by = { ArrowUp: 0.05, ArrowDown: -0.05, PageUp: 0.25, PageDown: -0.25 }[event.key];
      if (step) now.at = Math.max(0, Math.min(STEPS - 1, now.at + step));
      else if (by) {
        begin(name + now.at);
        set(name, now.at, now.at + 1, now.lanes[name][now.at] + by);
      } else return;
      event.preventDefault();
      draw();
    };
    lane.root.onkeyup = (event) => {
      if (event.key.startsWith("Arrow") || /^(Home|End|Page)/.test(event.key)) report();
    };
    const root = node(
      "div",
      { class: "gate" },
      node("div", { class: "head" }, node("b", {}, name), node("span", { class: "scale" }, WORDS[name]), range, value),
      lane.root,
    );
    return {
      name,
      label,
      lane,
      root,
      range,
      value,
      loose: () => {
        run = null;
      },
    };
  }

  /* ---- changes ---- */

  /** Remember what was before a gesture; all of one gesture is one change. */
  function begin(gesture) {
    if (stroke === gesture) return;
    stroke = gesture;
    undone = [...undone, structuredClone(now)].slice(-MOST_UNDONE);
  }
  function edit(make) {
    begin(Symbol("edit"));
    make();
    now = structuredClone(now);
    stroke = null;
    releaseLanes();
    draw();
    report();
  }
  function releaseLanes() {
    for (const { lanes } of Object.values(cells)) for (const one of lanes) one.loose();
  }
  function set(name, from, to, value) {
    now.lanes[name].fill(math.clampGate(name, value), from, to);
    draw();
  }
  const texts = (state) => ({
    ...state,
    at: state.at + 1,
    lanes: Object.fromEntries(Object.entries(state.lanes).map(([name, lane]) => [name, math.formatLane(lane)])),
  });
  const parseState = (state) => ({
    u: state.u,
    w: state.w,
    at: state.at - 1,
    show: state.show,
    lanes: Object.fromEntries(Object.entries(state.lanes).map(([name, text]) => [name, math.parseLane(text)])),
  });
  /** Tell the server once the hand rests: each key of a run of keys would be a run of the page. */
  function report() {
    clearTimeout(resting);
    resting = setTimeout(() => {
      const text = JSON.stringify(texts(now));
      if (sentStates.at(-1) === text) return;
      sentStates.push(text);
      sendEvent("set", text);
    }, REST);
  }

  /* ---- drawing ---- */

  function draw(all = true) {
    if (!now || !play.state || !place.clientWidth) return;
    if (all) found = math.computeCells(now.lanes, now.u, now.w);
    const lines = ["lstm", "gru"].flatMap((which) => [
      found[which].straight,
      found[which].rnn,
      ...(now.u ? [found[which].full] : []),
    ]);
    const floor = math.floorOf(lines),
      top = Math.max(0, Math.ceil(Math.log10(Math.max(1, ...lines.flat().map(Math.abs))) - 1e-9));
    place.dataset.shown = now.show;
    for (const one of Object.values(cells)) drawCell(one, floor, top, all);
    if (Math.floor(play.state.cursor + 1e-6) !== now.at) moveTo(now.at);
    if (!all) return;
    for (const [name, { range, value }] of Object.entries({ u, w })) {
      range.value = now[name];
      setTextIfChanged(value, math.gate(now[name]));
    }
    [...switches.children].forEach((one, i) => {
      one.ariaPressed = String(now.show === ["lstm", "gru"][i]);
    });
    for (const one of presets.children)
      one.ariaPressed = String(
        data.presets.some((preset) => preset.name === one.textContent && isCurrent(preset.lanes)),
      );
    undo.disabled = !undone.length;
    usual.disabled =
      isCurrent(texts(data.usual).lanes) && ["u", "w", "at"].every((name) => now[name] === data.usual[name]);
    setTextIfChanged(status, ["lstm", "gru"].map((which) => math.sentence(which, now.lanes, found, now.at)).join(" "));
  }
  const isCurrent = (lanes) =>
    Object.entries(lanes).every(
      ([name, text]) => math.formatLane(now.lanes[name]) === math.formatLane(math.parseLane(text)),
    );
  function moveTo(cursor) {
    play.state = { cursor, playing: false, following: false };
    play.render();
    releaseLanes();
  }

  function drawCell({ which, heading, told, diagram, lanes, strips, gradient, keys, root }, floor, top, all) {
    const one = found[which],
      { at } = now,
      shown = now.u ? one : { ...one, full: [] };
    const width = lanes[0].lane.root.clientWidth || root.clientWidth;
    if (!width) return; // the other cell is shown
    diagram.show(now.lanes, one, at, now.u);
    for (const { name, label, lane, range, value } of lanes) {
      if (all && lane.width !== width) lane.size((lane.width = width));
      lane.show(now.lanes[name], at, label);
      range.value = now.lanes[name][at];
      setTextIfChanged(value, math.gate(now.lanes[name][at]));
    }
    for (const each of strips) {
      const span = Math.max(1, ...one[each.name].map(Math.abs));
      each.show(one[each.name], at, width, span);
      setTextIfChanged(each.scale, `−${math.amount(span)} to ${math.amount(span)}`);
      setTextIfChanged(each.value, math.amount(one[each.name][at]));
    }
    const owes = `The gradient at step ${at + 1}: straight path ${math.amount(one.straight[at])}, plain RNN ${math.amount(one.rnn[at])}.`;
    gradient.show(shown, at, width, floor, top, owes);
    const from = math.source(which, now.lanes),
      both = (line) => `${math.amount(line[from])} from step ${from + 1}, ${math.amount(line[at])} from here`;
    setTextIfChanged(keys.straight, `straight path, Π ${math.KEEPS[which].gate}: ${both(one.straight)}`);
    setTextIfChanged(keys.full, now.u ? `with the way through the candidate: ${both(one.full)}` : "");
    setTextIfChanged(keys.rnn, `plain RNN: ${both(one.rnn)}`);
    if (!all) return;
    setTextIfChanged(heading, math.finding(which, now.lanes));
    setTextIfChanged(told, math.findingText(which, now.lanes, found, now.u, now.w));
  }

  function table() {
    const { lanes } = now,
      { lstm, gru } = found;
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
    show(/** @type {GatesByHandData} */ given, { setTriggerValue }) {
      sendEvent = setTriggerValue;
      const state = { lanes: given.lanes, u: given.u, w: given.w, at: given.at, show: given.show };
      const text = JSON.stringify(texts(parseState(state))),
        echo = sentStates.indexOf(text);
      data = { ...given, usual: parseState(given.usual) };
      if (echo >= 0)
        sentStates = sentStates.slice(echo); // an echo of our own state: the user may have changed it since
      else {
        if (now) begin(Symbol("address"));
        now = parseState(state);
        sentStates = [text];
        stroke = null;
      }
      if (!presets.children.length) {
        presets.append(
          ...given.presets.map((preset) =>
            button(preset.name, () =>
              edit(() => {
                Object.assign(now, {
                  at: (preset.at ?? STEPS) - 1,
                  lanes: Object.fromEntries(
                    Object.entries(preset.lanes).map(([name, lane]) => [name, math.parseLane(lane)]),
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
          first: now.at,
          live: false,
          say: "",
          unit: "step",
          stops: Array.from({ length: STEPS }, (_, t) => `step ${t + 1} of ${STEPS}`),
        });
        saveMenu(play.root, { svg: () => picture(place, cells), csv: table, file: given.file });
      }
      draw();
    },
    close() {
      clearTimeout(resting);
      play.stop();
      watch.disconnect();
    },
  };
});
