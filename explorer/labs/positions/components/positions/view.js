/**
 * Draw three ways to encode positions (sinusoids, learned vectors, rotated queries and keys), what is added or
 * rotated at each position, and how similar two positions are. Pointing shows a position (and a pair, or the key's
 * position), a click sets it. Event "set": the state as JSON, when a control is released.
 *
 * @typedef {object} PositionsData
 * @property {number} count positions
 * @property {{address: string, trained: number} | null} learned address: "before" and "after" (F32 "places
 *    width"); trained: positions
 * @property {any} state {width, base, turn_width, turn_base, place, pair, other, draw, after}
 * @property {string} file
 *
 * @typedef {object} PositionsEvents
 * @property {string} set the state as JSON
 */
import { HeatMap, arrayGrid, colourRamp } from "../../../../static/shared/charts/heatmap.js";
import { linePath, scalePosition } from "../../../../static/shared/charts/value_scale.js";
import { moveSlider, setTextIfChanged, svgNode, node } from "../../../../static/shared/runtime/dom.js";
import { loadArrays } from "../../../../static/shared/runtime/array_store.js";
import * as math from "./math.js";
import { saveMenu } from "../../../../static/shared/runtime/export_menu.js";
import { toCsv } from "../../../../static/shared/runtime/csv.js";
import { screenSvg } from "../../../../static/shared/runtime/screen_svg.js";
import { defineComponent } from "../../../../static/shared/runtime/component.js";
import { Theme } from "../../../../static/shared/runtime/theme.js";
import { formatApproximate, formatCount, formatNumber } from "../../../../static/shared/runtime/format.js";

const TALL = 90,
  ROUND = 150; // px of a line below a map, and of what is last
const KINDS = ["sinusoidal", "learned", "rotary"];

const PRESENTATION = {
  slides: [
    "section > :nth-child(n+4):nth-child(-n+5)",
    "section > :nth-child(n+6):nth-child(-n+7)",
    "section > :nth-child(n+8):nth-child(-n+10)",
    "section > :nth-child(n+11)",
  ],
  controls: ".about, .about ~ .dials",
};

export default defineComponent((place) => {
  /** @type {PositionsData | null} */
  let data = null,
    state = null,
    hover = {},
    weights = null,
    measures = {},
    /** @type {import("../../../../static/shared/runtime/events.js").SendEvent<PositionsEvents>} */
    sendEvent = () => {},
    sentStates = [];
  const watch = new ResizeObserver(() => paintAll());
  const currentState = () => ({ ...state, ...hover });

  /* ---- controls ---- */

  function makeDial(name, words, low, high, step, from = (value) => value, to = from) {
    const range = node("input", { type: "range", class: "slider", min: low, max: high, step, "aria-label": words }),
      value = node("output");
    range.oninput = () => {
      state[name] = from(Number(range.value));
      computeAll();
    };
    range.onchange = () => reportState();
    return {
      name,
      range,
      value,
      set: (newValue) => moveSlider(range, to(newValue)),
      root: node("label", { class: "dial" }, node("span", {}, words), range, value),
    };
  }
  const powerOfTen = (value) => Number((10 ** value).toPrecision(2));
  const dials = {
    place: makeDial("place", "position of the query", 0, 39, 1),
    width: makeDial("width", "width", 2, 128, 2),
    base: makeDial("base", "base", 1, 5, 0.1, powerOfTen, Math.log10),
    pair: makeDial("pair", "pair", 0, 63, 1),
    turn_width: makeDial("turn_width", "width of the head", 2, 64, 2),
    turn_base: makeDial("turn_base", "base", 1, 5, 0.1, powerOfTen, Math.log10),
    other: makeDial("other", "position of the key", 0, 39, 1),
    draw: makeDial("draw", "query and key", 0, 20, 1),
  };
  const trainedBox = node("input", { type: "checkbox", class: "toggle", role: "switch" });
  trainedBox.onchange = () => {
    state.after = trainedBox.checked;
    computeAll();
    reportState();
  };
  function reportState() {
    const text = JSON.stringify(state);
    if (sentStates.at(-1) === text) return;
    sentStates.push(text);
    sendEvent("set", text);
  }

  /* ---- the three columns ---- */

  function makeMap(kind, square) {
    const map = new HeatMap();
    const change = ({ row, column }) => {
      if (square) return kind === "rotary" ? { place: row, other: column } : { place: row };
      return kind === "learned" ? { place: row } : { place: row, pair: Math.floor(column / 2) };
    };
    map.onpoint = (cell) => {
      hover = change(cell);
      show();
    };
    map.root.onpointerleave = () => {
      hover = {};
      show();
    };
    map.onpick = (cell) => {
      Object.assign(state, change(cell));
      hover = {};
      computeAll();
      reportState();
    };
    return map;
  }
  function makeStrip(height) {
    const root = svgNode("svg", { class: "strip", height, "aria-hidden": "true" });
    return { height, root };
  }
  function makeColumn(kind, title, words, tools, similarity, last) {
    const one = {
      kind,
      vectors: makeMap(kind, false),
      square: makeMap(kind, true),
      seen: makeStrip(TALL),
      last: makeStrip(ROUND),
      told: node("p", { class: "told" }),
      rest: node("p", { class: "told" }),
    };
    const makeHead = (text) => node("div", { class: "head" }, text);
    one.heads = { vectors: makeHead(""), seen: makeHead(""), last: makeHead("") };
    one.root = node(
      "section",
      { class: kind, "aria-label": title },
      node("h2", {}, title),
      node("p", { class: "about" }, words),
      node("div", { class: "dials" }, ...tools),
      one.heads.vectors,
      one.vectors.root,
      makeHead(similarity),
      one.square.root,
      one.heads.seen,
      one.seen.root,
      one.told,
      one.heads.last,
      one.last.root,
      one.rest,
    );
    one.lastTitle = last;
    return one;
  }
  const columns = {
    sinusoidal: makeColumn(
      "sinusoidal",
      "Sinusoidal",
      "A fixed vector is added to the token’s vector.",
      [dials.width.root, dials.base.root, dials.pair.root],
      "cosine similarity of two positions",
      "one pair of dimensions: sine and cosine",
    ),
    learned: makeColumn(
      "learned",
      "Learned",
      "A learned vector of each position is added.",
      [node("label", { class: "check" }, trainedBox, "after training")],
      "cosine similarity of two positions",
      "change of each vector in training",
    ),
    rotary: makeColumn(
      "rotary",
      "Rotary",
      "Queries and keys are rotated, pair by pair.",
      [dials.turn_width.root, dials.turn_base.root, dials.other.root, dials.draw.root],
      "cosine of a rotated query (row) and key",
      "one pair of dimensions, rotated",
    ),
  };
  const heading = node("h3", { role: "status" });
  const scale = node(
    "p",
    { class: "legend" },
    "−1",
    node("i", { class: "ramp" }),
    "+1",
    node("span", {}, "Rows: positions, from the top. Point at one; click to keep it."),
  );
  place.replaceChildren(
    heading,
    node("div", { class: "dials top" }, dials.place.root),
    scale,
    node("div", { class: "columns" }, ...KINDS.map((kind) => columns[kind].root)),
  );
  const theme = new Theme(place, () => paintAll()); // it puts a probe among the children
  place.addEventListener("keydown", (event) => event.stopPropagation()); // Streamlit reruns the page at an "r"
  watch.observe(place);

  /* ---- what follows from what is set ---- */

  function computeAll() {
    const { count } = data,
      { width, base, turn_width, turn_base, draw: seed } = state;
    state.pair = Math.min(state.pair, Math.min(width, turn_width) / 2 - 1);
    dials.pair.range.max = Math.min(width, turn_width) / 2 - 1;
    for (const name of ["place", "other"]) dials[name].range.max = count - 1;
    const sinusoidal = math.sines(count, width, base),
      pair = math.drawPair(turn_width, seed);
    measures = {
      sinusoidal: { vectors: sinusoidal, width, span: 1, square: math.cosineMatrix(sinusoidal, count) },
      rotary: {
        vectors: math.rotations(count, turn_width, turn_base),
        width: turn_width,
        span: 1,
        square: math.scores(pair, turn_base, count),
        pair,
      },
    };
    if (weights) {
      const vectors = state.after ? weights.after.data : weights.before.data;
      const span = Number(
        Math.max(...[weights.before, weights.after].flatMap(({ data: all }) => Array.from(all, Math.abs))).toPrecision(
          2,
        ),
      );
      const shifts = math.shiftLengths(weights.before.data, weights.after.data, count);
      measures.learned = {
        vectors,
        width: weights.after.shape[1],
        span,
        square: math.cosineMatrix(vectors, count),
        shifts,
      };
    }
    for (const one of Object.values(dials)) one.set(state[one.name]);
    trainedBox.checked = state.after;
    const learned = measures.learned && {
      square: measures.learned.square,
      trained: data.learned.trained,
      after: state.after,
    };
    setTextIfChanged(heading, math.formatFinding(measures.sinusoidal.square, learned, count));
    paintAll();
  }

  const positionOn = (span) => (value) => scalePosition(value, span);
  function paintAll() {
    if (!measures.sinusoidal || !place.clientWidth) return;
    const shades = colourRamp(theme.colour, "sign");
    for (const kind of KINDS) {
      const one = columns[kind],
        has = measures[kind];
      one.root.classList.toggle("empty", !has);
      if (!has) continue;
      one.vectors.show(arrayGrid(has.vectors, data.count, positionOn(has.span)), shades);
      one.square.show(arrayGrid(has.square, data.count, positionOn(1)), shades);
      const contents = kind === "rotary" ? "cos and sin of the angles" : `${has.width} numbers of each position`;
      setTextIfChanged(one.heads.vectors, has.span === 1 ? contents : `${contents}, −${has.span} to ${has.span}`);
      one.vectors.canvas.role = one.square.canvas.role = "img";
      one.vectors.canvas.ariaLabel = `${one.root.ariaLabel}: ${contents}, ${data.count} places.`;
      one.square.canvas.ariaLabel = `${one.root.ariaLabel}: cosine of every two of ${data.count} places; neighbours ${math
        .cosineRange(has.square, data.count, 1)
        .map((value) => formatNumber(value))
        .join(" to ")}.`;
    }
    show();
  }

  /* ---- what follows the pointer ---- */

  function show() {
    if (!measures.sinusoidal) return;
    const { place: at, pair, other } = currentState(),
      { count } = data;
    setTextIfChanged(dials.place.value, `${at}`);
    setTextIfChanged(dials.width.value, `${state.width}`);
    setTextIfChanged(dials.base.value, formatCount(state.base));
    setTextIfChanged(dials.pair.value, `${pair}`);
    setTextIfChanged(dials.turn_width.value, `${state.turn_width}`);
    setTextIfChanged(dials.turn_base.value, formatCount(state.turn_base));
    setTextIfChanged(dials.other.value, `${other}`);
    setTextIfChanged(dials.draw.value, state.draw ? `drawn, ${state.draw}` : "the same");
    for (const kind of KINDS) {
      const one = columns[kind],
        has = measures[kind];
      if (!has) continue;
      one.vectors.markRow(at);
      one.square.markRow(at);
      one.vectors.markColumn(kind === "learned" ? null : 2 * Math.min(pair, has.width / 2 - 1), 2);
      one.square.markColumn(kind === "rotary" ? other : null);
      const values = math.rowOf(has.square, count, at),
        width = one.root.clientWidth;
      setTextIfChanged(
        one.heads.seen,
        kind === "rotary" ? `score of a query at ${at}, by the key’s position` : `cosine with position ${at}`,
      );
      drawLines(one.seen, [{ values, span: 1 }], width, at, kind === "rotary" ? other : null);
      const [far, low] = Array.from(values).reduce(
        (best, value, i) => (value < best[1] ? [i, value] : best),
        [0, Infinity],
      );
      setTextIfChanged(
        one.told,
        kind === "rotary"
          ? `Query at ${at}, key at ${other}: ${formatNumber(values[other])}. Both moved on by one: ${formatNumber(math.rotatedCosine(has.pair, state.turn_base, at + 1, other + 1))}.`
          : `With position ${at ? at - 1 : 1}: ${formatNumber(values[at ? at - 1 : 1])}. Lowest: position ${far}, ${formatNumber(low)}.`,
      );
      setTextIfChanged(one.heads.last, one.lastTitle);
      last[kind](one, has, currentState(), width);
    }
  }
  function drawLines(strip, curves, width, at, other) {
    const { root, height } = strip,
      cell = width / data.count,
      parts = [svgNode("path", { class: "zero", d: `M0 ${height / 2}H${width}` })];
    for (const [position, kind] of [
      [at, "at"],
      [other, "other"],
    ])
      if (position !== null) parts.push(svgNode("path", { class: kind, d: `M${(position + 0.5) * cell} 0V${height}` }));
    for (const { values, span, dashed } of curves)
      parts.push(
        svgNode("path", { class: `line${dashed ? " dashed" : ""}`, d: linePath(values, width, height, span) }),
      );
    for (const [y, text] of [
      [12, "1"],
      [height - 4, "−1"],
    ])
      parts.push(svgNode("text", { x: 2, y }, text));
    root.setAttribute("viewBox", `0 0 ${width} ${height}`);
    root.replaceChildren(...parts);
  }
  const last = {
    sinusoidal(one, has, { place: at, pair }, width) {
      const waveOf = (odd) =>
        Float64Array.from({ length: data.count }, (_, t) => has.vectors[t * has.width + 2 * pair + odd]);
      drawLines(
        one.last,
        [
          { values: waveOf(0), span: 1 },
          { values: waveOf(1), span: 1, dashed: true },
        ],
        width,
        at,
        null,
      );
      const round = math.pairWavelength(pair, state.width, state.base);
      setTextIfChanged(
        one.rest,
        `Pair ${pair} (solid: sine, dashed: cosine) has a period of ${formatApproximate(round)} positions. At ${at}: ${formatNumber(waveOf(0)[at])} and ${formatNumber(waveOf(1)[at])}.`,
      );
    },
    learned(one, has, { place: at }, width) {
      const most = Math.max(...has.shifts) || 1,
        cell = width / data.count,
        barHeight = (shift) => (ROUND - 20) * (shift / most),
        { trained } = data.learned;
      const bars = Array.from(has.shifts, (shift, i) =>
        svgNode("rect", {
          class: i === at ? "bar here" : "bar",
          x: i * cell + 1,
          width: Math.max(1, cell - 2),
          y: ROUND - Math.max(1, barHeight(shift)),
          height: Math.max(1, barHeight(shift)),
        }),
      );
      const edge =
        trained < data.count
          ? [
              svgNode("path", { class: "other", d: `M${trained * cell} 0V${ROUND}` }),
              svgNode("text", { x: trained * cell + 6, y: 14 }, "never trained"),
            ]
          : [];
      one.last.root.setAttribute("viewBox", `0 0 ${width} ${ROUND}`);
      one.last.root.replaceChildren(...bars, ...edge);
      setTextIfChanged(
        one.rest,
        `${math.describeUnmoved(has.shifts)} Position ${at} moved by ${formatNumber(has.shifts[at])}.`,
      );
    },
    rotary(one, has, { place: at, pair, other }, width) {
      const j = Math.min(pair, has.width / 2 - 1),
        angle = math.angularSpeed(j, state.turn_width, state.turn_base),
        x = Math.min(width / 2, ROUND),
        y = ROUND / 2,
        radius = ROUND / 2 - 16;
      const size = Math.max(...[has.pair.query[j], has.pair.key[j]].map(([a, b]) => Math.hypot(a, b))) || 1;
      const drawArrow = (vector, place, name, kind) => {
        const [a, b] = math.rotatePair(vector, place * angle).map((value) => (value / size) * radius),
          reach = Math.hypot(a, b) || 1;
        return [
          svgNode("path", { class: `hand ${kind}`, d: `M${x} ${y}L${x + a} ${y - b}` }),
          svgNode("circle", { class: "tip", cx: x + a, cy: y - b, r: 4 }),
          svgNode(
            "text",
            { x: x + a + (14 * a) / reach, y: y - b - (14 * b) / reach + 5, "text-anchor": "middle" },
            name,
          ),
        ];
      };
      one.last.root.setAttribute("viewBox", `0 0 ${width} ${ROUND}`);
      one.last.root.replaceChildren(
        svgNode("circle", { class: "zero", cx: x, cy: y, r: radius }),
        ...drawArrow(has.pair.query[j], at, "q", "solid"),
        ...drawArrow(has.pair.key[j], other, "k", "dashed"),
      );
      setTextIfChanged(
        one.rest,
        `Pair ${j} is rotated by ${formatNumber((angle * 180) / Math.PI, angle < 0.02 ? 2 : 1)}° per position: between q at ${at} and k at ${other} this is ${formatNumber(((at - other) * angle * 180) / Math.PI, 0)}°.`,
      );
    },
  };

  /* ---- saving ---- */

  function positionsCsv() {
    const csvRows = (kind, quantity, values) =>
      Array.from(values, (value, i) => {
        const across = values.length / data.count;
        return [kind, quantity, Math.floor(i / across), i % across, Number(value.toPrecision(6))];
      });
    return toCsv(
      ["positions", "what", "row", "column", "value"],
      KINDS.filter((kind) => measures[kind]).flatMap((kind) => [
        ...csvRows(kind, "vector", measures[kind].vectors),
        ...csvRows(kind, "cosine", measures[kind].square),
      ]),
    );
  }

  return {
    show(/** @type {PositionsData} */ newData, { setTriggerValue }) {
      sendEvent = setTriggerValue;
      const text = JSON.stringify(newData.state),
        echo = sentStates.indexOf(text),
        address = data?.learned?.address;
      data = newData;
      if (echo >= 0)
        sentStates = sentStates.slice(echo); // an echo of our own state: the user may have changed it since
      else {
        state = { ...newData.state };
        sentStates = [text];
      }
      if (newData.learned?.address !== address) {
        weights = null;
        if (newData.learned)
          loadArrays(newData.learned.address).then(
            (arrived) => {
              if (data.learned?.address !== newData.learned.address) return;
              weights = arrived;
              computeAll();
            },
            () =>
              setTextIfChanged(
                columns.learned.told,
                "The learned vectors did not arrive. Reload the page to try again.",
              ),
          );
      }
      computeAll();
      saveMenu(place, { svg: () => screenSvg(place, { skip: ".legend" }), csv: positionsCsv, file: data.file });
    },
    close() {
      watch.disconnect();
    },
  };
}, PRESENTATION);
