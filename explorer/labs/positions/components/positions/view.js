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
import { svgNode } from "../../../../static/shared/runtime/dom.js";
import { arrayLoader } from "../../../../static/shared/runtime/array_store.js";
import * as math from "./math.js";
import { ViewState } from "../../../../static/shared/runtime/view_state.js";
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

export default defineComponent((place, /** @type {SendEvent<PositionsEvents>} */ send) => {
  /** @type {PositionsData | null} */
  let data = null,
    hover = {},
    weights = null, // the learned vectors
    measures = {},
    finding = "",
    trouble = "";
  const view = new ViewState(send, computeAll);
  const { node } = view;
  const load = arrayLoader(
    (arrived) => {
      weights = arrived;
      computeAll();
    },
    () => {
      trouble = "The learned vectors did not arrive. Reload the page to try again.";
      show();
    },
  );
  const currentState = () => ({ ...view.value, ...hover });
  const mostPair = () => Math.min(view.value.width, view.value.turn_width) / 2 - 1;

  /* ---- controls ---- */

  const lastPosition = () => data.count - 1;
  const makeDial = (name, words, limits, text, ...convert) => {
    const [min, max, step = 1] = limits;
    const range = view.slider(name, { min, max, step, "aria-label": words }, ...convert);
    return node("label.dial", node("span", words), range, node("output", text));
  };
  const count = (name) => () => currentState()[name],
    power = (name) => () => formatCount(view.value[name]),
    powerOfTen = [Math.log10, (value) => Number((10 ** value).toPrecision(2))];
  const drawText = () => (view.value.draw ? `drawn, ${view.value.draw}` : "the same");
  const dials = {
    place: makeDial("place", "position of the query", [0, lastPosition], count("place")),
    width: makeDial("width", "width", [2, 128, 2], count("width")),
    base: makeDial("base", "base", [1, 5, 0.1], power("base"), ...powerOfTen),
    pair: makeDial("pair", "pair", [0, mostPair], count("pair")),
    turn_width: makeDial("turn_width", "width of the head", [2, 64, 2], count("turn_width")),
    turn_base: makeDial("turn_base", "base", [1, 5, 0.1], power("turn_base"), ...powerOfTen),
    other: makeDial("other", "position of the key", [0, lastPosition], count("other")),
    draw: makeDial("draw", "query and key", [0, 20], drawText),
  };
  const trained = view.toggle("after", "after training");
  trained.className = "check";

  /* ---- the three columns ---- */

  function makeMap(kind, square) {
    const map = new HeatMap();
    const change = ({ row, column }) => {
      if (square) return kind === "rotary" ? { place: row, other: column } : { place: row };
      return kind === "learned" ? { place: row } : { place: row, pair: Math.floor(column / 2) };
    };
    const point = (fields) => {
      hover = fields;
      show();
    };
    map.onpoint = (cell) => point(change(cell));
    map.root.onpointerleave = () => point({});
    map.onpick = (cell) => {
      hover = {};
      view.set(change(cell));
    };
    return map;
  }
  const makeStrip = (height) => svgNode("svg.strip", { height, "aria-hidden": "true" });
  function makeColumn(kind, title, words, tools, similarity, last) {
    const one = { title, vectors: makeMap(kind, false), square: makeMap(kind, true), texts: {} };
    const strips = { seen: makeStrip(TALL), last: makeStrip(ROUND) },
      text = (name) => () => one.texts[name] ?? "",
      makeHead = (words) => node("div.head", words),
      ifMeasured = (words) => () => (measures[kind] ? words : "");
    const root = node(
      "section",
      { class: () => (measures[kind] ? kind : `${kind} empty`), "aria-label": title },
      node("h2", title),
      node("p.about", words),
      node("div.dials", ...tools),
      makeHead(text("vectors")),
      one.vectors.root,
      makeHead(similarity),
      one.square.root,
      makeHead(text("seen")),
      strips.seen,
      node("p.told", text("told")),
      makeHead(ifMeasured(last)),
      strips.last,
      node("p.told", text("rest")),
    );
    return Object.assign(one, { strips, root });
  }
  const columns = {
    sinusoidal: makeColumn(
      "sinusoidal",
      "Sinusoidal",
      "A fixed vector is added to the token’s vector.",
      [dials.width, dials.base, dials.pair],
      "cosine similarity of two positions",
      "one pair of dimensions: sine and cosine",
    ),
    learned: makeColumn(
      "learned",
      "Learned",
      "A learned vector of each position is added.",
      [trained],
      "cosine similarity of two positions",
      "change of each vector in training",
    ),
    rotary: makeColumn(
      "rotary",
      "Rotary",
      "Queries and keys are rotated, pair by pair.",
      [dials.turn_width, dials.turn_base, dials.other, dials.draw],
      "cosine of a rotated query (row) and key",
      "one pair of dimensions, rotated",
    ),
  };
  const hint = node("span", "Rows: positions, from the top.");
  place.replaceChildren(
    node("h3", { role: "status" }, () => finding),
    node("div.dials.top", dials.place),
    node("p.legend", "−1", node("i.ramp"), "+1", hint),
    node("div.columns", ...KINDS.map((kind) => columns[kind].root)),
  );
  const theme = new Theme(place, () => paintAll()); // it puts a probe among the children
  place.addEventListener("keydown", (event) => event.stopPropagation()); // Streamlit reruns the page at an "r"

  /* ---- what follows from what is set ---- */

  function computeAll() {
    const { count } = data,
      { width, base, turn_width, turn_base, draw: seed, after } = view.value;
    view.value.pair = Math.min(view.value.pair, mostPair());
    const sinusoidal = math.sines(count, width, base),
      pair = math.drawPair(turn_width, seed),
      rotary = { vectors: math.rotations(count, turn_width, turn_base), width: turn_width, span: 1, pair };
    measures = {
      sinusoidal: { vectors: sinusoidal, width, span: 1, square: math.cosineMatrix(sinusoidal, count) },
      rotary: { ...rotary, square: math.scores(pair, turn_base, count) },
      learned: weights && measureLearned(),
    };
    const { learned } = measures;
    finding = math.formatFinding(
      measures.sinusoidal.square,
      learned && { square: learned.square, trained: data.learned.trained, after },
      count,
    );
    paintAll();
  }
  function measureLearned() {
    const both = [weights.before.data, weights.after.data],
      vectors = both[Number(view.value.after)],
      most = Math.max(...both.flatMap((all) => Array.from(all, Math.abs)));
    return {
      vectors,
      width: weights.after.shape[1],
      span: Number(most.toPrecision(2)),
      square: math.cosineMatrix(vectors, data.count),
      shifts: math.shiftLengths(...both, data.count),
    };
  }

  const positionOn = (span) => (value) => scalePosition(value, span);
  function paintAll() {
    if (!measures.sinusoidal || !place.clientWidth) return;
    const shades = colourRamp(theme.colour, "sign");
    for (const kind of KINDS) {
      const { vectors, square, texts, title } = columns[kind],
        has = measures[kind];
      if (!has) continue;
      vectors.show(arrayGrid(has.vectors, data.count, positionOn(has.span)), shades);
      square.show(arrayGrid(has.square, data.count, positionOn(1)), shades);
      const contents = kind === "rotary" ? "cos and sin of the angles" : `${has.width} numbers of each position`,
        range = math.cosineRange(has.square, data.count, 1).map((value) => formatNumber(value));
      texts.vectors = has.span === 1 ? contents : `${contents}, −${has.span} to ${has.span}`;
      vectors.canvas.ariaLabel = `${title}: ${contents}, ${data.count} places.`;
      square.canvas.ariaLabel = `${title}: cosine of every two of ${data.count} places; neighbours ${range.join(" to ")}.`;
    }
    show();
  }

  /* ---- what follows the pointer ---- */

  function show() {
    if (!measures.sinusoidal) return;
    const { place: at, pair, other } = currentState();
    columns.learned.texts.told = trouble;
    for (const kind of KINDS) {
      const { vectors, square, texts, strips, root } = columns[kind],
        has = measures[kind],
        isRotary = kind === "rotary";
      if (!has) continue;
      vectors.markRow(at);
      square.markRow(at);
      vectors.markColumn(kind === "learned" ? null : 2 * Math.min(pair, has.width / 2 - 1), 2);
      square.markColumn(isRotary ? other : null);
      const values = Array.from(math.rowOf(has.square, data.count, at)),
        width = root.clientWidth,
        low = Math.min(...values),
        next = at ? at - 1 : 1;
      drawLines(strips.seen, TALL, [values], width, at, isRotary ? other : null);
      const moved = isRotary && math.rotatedCosine(has.pair, view.value.turn_base, at + 1, other + 1);
      texts.seen = isRotary ? `score of a query at ${at}, by the key’s position` : `cosine with position ${at}`;
      texts.told = isRotary
        ? `Query at ${at}, key at ${other}: ${formatNumber(values[other])}. Both moved on by one: ${formatNumber(moved)}.`
        : `With position ${next}: ${formatNumber(values[next])}. Lowest: position ${values.indexOf(low)}, ${formatNumber(low)}.`;
      strips.last.setAttribute("viewBox", `0 0 ${width} ${ROUND}`);
      texts.rest = drawLast[kind](strips.last, has, currentState(), width);
    }
    view.update();
  }
  function drawLines(strip, height, curves, width, at, other) {
    const cell = width / data.count,
      makePath = (kind, d) => svgNode("path", { class: kind, d }),
      makeMark = (position, kind) =>
        position === null ? [] : [makePath(kind, `M${(position + 0.5) * cell} 0V${height}`)];
    strip.setAttribute("viewBox", `0 0 ${width} ${height}`);
    strip.replaceChildren(
      makePath("zero", `M0 ${height / 2}H${width}`),
      ...makeMark(at, "at"),
      ...makeMark(other, "other"),
      ...curves.map((values, i) => makePath(i ? "line dashed" : "line", linePath(values, width, height, 1))),
      svgNode("text", { x: 2, y: 12 }, "1"),
      svgNode("text", { x: 2, y: height - 4 }, "−1"),
    );
  }
  /** Draw what is last in each column; return the sentence about it. */
  const drawLast = {
    sinusoidal(strip, has, { place: at, pair }, width) {
      const [sine, cosine] = [0, 1].map((odd) =>
        Float64Array.from({ length: data.count }, (_, t) => has.vectors[t * has.width + 2 * pair + odd]),
      );
      drawLines(strip, ROUND, [sine, cosine], width, at, null);
      const round = math.pairWavelength(pair, view.value.width, view.value.base);
      return `Pair ${pair} (solid: sine, dashed: cosine) has a period of ${formatApproximate(round)} positions. At ${at}: ${formatNumber(sine[at])} and ${formatNumber(cosine[at])}.`;
    },
    learned(strip, has, { place: at }, width) {
      const most = Math.max(...has.shifts) || 1,
        cell = width / data.count,
        { trained } = data.learned;
      const bars = Array.from(has.shifts, (shift, i) => {
        const height = Math.max(1, (ROUND - 20) * (shift / most)),
          across = { x: i * cell + 1, width: Math.max(1, cell - 2) };
        return svgNode("rect", { class: i === at ? "bar here" : "bar", ...across, y: ROUND - height, height });
      });
      const edge = [
        svgNode("path.other", { d: `M${trained * cell} 0V${ROUND}` }),
        svgNode("text", { x: trained * cell + 6, y: 14 }, "never trained"),
      ];
      strip.replaceChildren(...bars, ...(trained < data.count ? edge : []));
      return `${math.describeUnmoved(has.shifts)} Position ${at} moved by ${formatNumber(has.shifts[at])}.`;
    },
    rotary(strip, has, { place: at, pair, other }, width) {
      const j = Math.min(pair, has.width / 2 - 1),
        [query, key] = [has.pair.query[j], has.pair.key[j]],
        angle = math.angularSpeed(j, view.value.turn_width, view.value.turn_base),
        [x, y, r] = [Math.min(width / 2, ROUND), ROUND / 2, ROUND / 2 - 16],
        size = Math.max(...[query, key].map(([a, b]) => Math.hypot(a, b))) || 1;
      const drawArrow = (vector, place, name, kind) => {
        const [a, b] = math.rotatePair(vector, place * angle).map((value) => (value / size) * r),
          reach = Math.hypot(a, b) || 1,
          label = { x: x + a + (14 * a) / reach, y: y - b - (14 * b) / reach + 5, "text-anchor": "middle" };
        return [
          svgNode("path", { class: `hand ${kind}`, d: `M${x} ${y}L${x + a} ${y - b}` }),
          svgNode("circle.tip", { cx: x + a, cy: y - b, r: 4 }),
          svgNode("text", label, name),
        ];
      };
      strip.replaceChildren(
        svgNode("circle.zero", { cx: x, cy: y, r }),
        ...drawArrow(query, at, "q", "solid"),
        ...drawArrow(key, other, "k", "dashed"),
      );
      const degrees = (angle * 180) / Math.PI;
      return `Pair ${j} is rotated by ${formatNumber(degrees, angle < 0.02 ? 2 : 1)}° per position: between q at ${at} and k at ${other} this is ${formatNumber((at - other) * degrees, 0)}°.`;
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
    show(/** @type {PositionsData} */ newData) {
      data = newData;
      view.receive({ ...data.state });
      if (load(data.learned?.address)) weights = null;
      computeAll();
      saveMenu(place, { svg: () => screenSvg(place, { skip: ".legend" }), csv: positionsCsv, file: data.file });
    },
    resize: paintAll,
  };
}, PRESENTATION);
