/**
 * Draw where a translator attends while it generates, as a heat map and as lines: rows are target tokens, columns
 * source tokens. Hover shows, a click keeps, arrow keys move, Esc releases. Events: "look", "open", "at".
 *
 * @typedef {object} AlignmentData
 * @property {"additive" | "transformer" | "vector"} kind
 * @property {string[]} source tokens
 * @property {string[]} target tokens, with <EOS>
 * @property {string[] | null} right the correct target
 * @property {string[]} vocabulary target tokens
 * @property {"source" | "encoder" | "decoder"} look which attention is shown
 * @property {number[]} open [layer, head]
 * @property {number} at the selected row or -1
 * @property {string} address F32 "probabilities" (target vocabulary); for each look NAME "NAME" and "NAME_scores"
 *    (layers heads rows columns); "contexts" (target annotation); "vector" (hidden), "moved" (source)
 * @property {string} title
 * @property {string} colour CSS variable
 * @property {string} file
 *
 * @typedef {object} AlignmentEvents
 * @property {string} look which attention is shown
 * @property {number[]} open [layer, head]
 * @property {number} at the selected row or -1
 */
import * as math from "./math.js";
import { drawBars, drawHeatMap, heatMark, lineMark, drawLines, drawStrip } from "./pictures.js";
import { headPicker } from "./head_picker.js";
import { moveCell } from "../../../../static/shared/charts/value_scale.js";
import { icon, node as makeNode, svgNode, tint } from "../../../../static/shared/runtime/dom.js";
import { arrayLoader } from "../../../../static/shared/runtime/array_store.js";
import { tokenLabel } from "../../../../static/shared/runtime/visible_text.js";
import { saveMenu } from "../../../../static/shared/runtime/export_menu.js";
import { toCsv } from "../../../../static/shared/runtime/csv.js";
import { SyncedValue } from "../../../../static/shared/runtime/synced_value.js";
import { pointerPosition } from "../../../../static/shared/runtime/pointer.js";
import { screenSvg } from "../../../../static/shared/runtime/screen_svg.js";
import { defineComponent } from "../../../../static/shared/runtime/component.js";
import { Theme } from "../../../../static/shared/runtime/theme.js";
import { LiveElements } from "../../../../static/shared/runtime/view_state.js";
import { formatNumber, formatProbability } from "../../../../static/shared/runtime/format.js";

const STRIP = 30,
  BARS = 170,
  SEND_DELAY = 300; // px; ms after the last arrow key until the event is sent
const TITLES = {
  source: "Decoder attends to the source",
  encoder: "Encoder self-attention",
  decoder: "Decoder self-attention",
};
const SCORES = { additive: ["energy", "energies"], transformer: ["score", "scores"] };

const PRESENTATION = { slides: [".bar, .written, .both", ".strips, .below"] };

export default defineComponent((place, /** @type {SendEvent<AlignmentEvents>} */ send) => {
  const synced = { look: new SyncedValue(), open: new SyncedValue(), at: new SyncedValue() };
  /** @type {AlignmentData | null} */
  let data = null;
  /** @type {any} */
  let arrays = null,
    outputTokens = [],
    raw = false, // whether the scores are shown
    timer = 0,
    paintedWidth = 0,
    hover = null, // the cell under the pointer
    column = null, // that is kept
    view = null,
    texts = { words: "", strip: "", group: "" };
  let boxes, look;
  const { node, buttonChoice, list, update } = new LiveElements();
  const load = arrayLoader(
    (arrived) => {
      arrays = arrived;
      paintAll();
    },
    () => {
      texts.words = "The numbers of this source did not arrive. Reload the page to try again.";
      update();
    },
  );

  const hasAttention = () => data.kind !== "vector";
  const currentView = () => {
    const kinds = math.attentionKinds(data.kind),
      kind = kinds.includes(synced.look.value) ? synced.look.value : (kinds[0] ?? null),
      [layers, count] = kind ? arrays[kind].shape : [1, 1],
      [layer, head] = synced.open.value ?? [0, 0];
    return { look: kind, layer: Math.min(layer, layers - 1), head: Math.min(head, count - 1) };
  };
  const rowCount = () => (view ? view.rows : data.target.length),
    columnCount = () => (view ? view.columns : data.source.length),
    keptRow = () => (synced.at.value >= 0 && synced.at.value < rowCount() ? synced.at.value : null);
  /** The row that is shown: under the pointer, else the kept one, else the first. */
  const currentCell = () =>
    hover ?? { row: keptRow() ?? 0, column: keptRow() === null && hasAttention() ? null : column };
  /** The generation step of the row; the encoder generates nothing. */
  const decodingStep = () => (currentView().look === "encoder" ? null : currentCell().row);
  /** What is shown, in words: the kind of attention, and the head of a model that has several. */
  function describeView() {
    const { look: kind, layer, head } = currentView();
    return `${TITLES[kind].toLowerCase()}${data.kind === "transformer" ? `, layer ${layer + 1}, head ${head + 1}` : ""}`;
  }

  /* ---- elements ---- */

  const heads = headPicker((layer, head) => sendEvent("open", [layer, head]));
  const kindTitles = () => Object.fromEntries(math.attentionKinds(data.kind).map((name) => [name, TITLES[name]])),
    contents = () =>
      hasAttention() ? { weights: "weights", scores: `${SCORES[data.kind][1]} before the softmax` } : {};
  const showKind = (kind) => {
    sendEvent("look", kind);
    keepRow(-1);
  };
  const showContents = (value) => {
    raw = value === "scores";
    paintAll();
  };
  const makeFigure = () => {
    const base = svgNode("g"),
      mark = svgNode("g"),
      root = svgNode("svg", { "aria-hidden": "true" }, base, mark);
    const setSize = (width, height) => {
      const size = { width, height, viewBox: `0 0 ${width} ${height}` };
      for (const [name, value] of Object.entries(size)) root.setAttribute(name, value);
    };
    return { base, mark, root, setSize };
  };
  const [map, web, own, change] = [makeFigure(), makeFigure(), makeFigure(), makeFigure()];
  const makeChip = ({ token, right, wanted }, row, inner) => {
    const isWrong = right === false,
      correct = isWrong ? node("small", wanted === null ? "nothing" : tokenLabel(wanted)) : null,
      verdict = right === null ? null : icon(right ? "check" : "close"),
      name = () => `chip${isWrong ? " wrong" : ""}${row === decodingStep() ? " here" : ""}`;
    return inner.node("span", { class: name }, makeNode("b", tokenLabel(token)), verdict, correct);
  };
  const tokenList = () => outputTokens,
    both = makeNode("div.both", map.root, web.root),
    outputRow = node("div.written", { "aria-hidden": "true" }, list(tokenList, makeChip)),
    strips = node(
      "div.strips",
      node("h4", () => texts.strip),
      own.root,
      node("h4", { hidden: () => hasAttention() }, "How far the vector changes if this token is replaced"),
      change.root,
    ),
    group = node("div.parts", { tabindex: 0, role: "group", "aria-label": () => texts.group }, outputRow, both, strips),
    legend = makeNode("div.legend"),
    likely = makeNode("div.likely");
  place.replaceChildren(
    node(
      "div.bar",
      buttonChoice("Kind of attention", kindTitles, () => arrays && currentView().look, showKind),
      buttonChoice("What the cells show", contents, () => (raw ? "scores" : "weights"), showContents),
    ),
    heads.root,
    group,
    node(
      "div.below",
      node(
        "div",
        node("p.words", { role: "status" }, () => texts.words),
        legend,
      ),
      likely,
    ),
  );
  const theme = new Theme(place, () => paintAll());

  /**
   * @template {keyof AlignmentEvents} Name
   * @param {Name} name
   * @param {AlignmentEvents[Name]} value
   */
  function sendEvent(name, value) {
    synced[name].set(value);
    send(name, value);
    if (name !== "at") paintAll();
  }
  function keepRow(row, at = null) {
    column = at;
    if (row !== synced.at.value) {
      synced.at.value = row;
      clearTimeout(timer);
      timer = setTimeout(() => sendEvent("at", synced.at.value), SEND_DELAY);
    }
    show();
  }

  /* ---- gestures ---- */

  function hoverCell(cell) {
    hover = cell;
    show();
  }
  const onHover = ({ root }, find) => {
    const cellOfEvent = (event) => {
      const { x, y } = pointerPosition(event, root);
      return find(x, y);
    };
    root.onpointermove = (event) => hoverCell(cellOfEvent(event));
    root.onclick = (event) => {
      const at = cellOfEvent(event),
        isSame = at.row === keptRow() && (at.column === column || !hasAttention());
      hover = null;
      if (isSame) keepRow(-1);
      else keepRow(at.row, at.column);
    };
  };
  onHover(map, (x, y) => math.cellAt(boxes.map, view, x, y));
  onHover(web, (x, y) => ({ row: math.nearestRow(boxes.web, view, x, y), column: null }));
  /** Return which of `count` columns of a figure is under the pointer. */
  const columnOf = ({ root }, count, { clientX }) => {
    const { left, width } = root.getBoundingClientRect();
    return Math.max(0, Math.min(count - 1, Math.floor(((clientX - left) / width) * count)));
  };
  change.root.onpointermove = (event) =>
    hoverCell({ row: keptRow() ?? 0, column: columnOf(change, data.source.length, event) });
  change.root.onclick = () => {
    column = column === hover?.column ? null : (hover?.column ?? null);
    show();
  };
  own.root.onpointermove = (event) => {
    const values = activeNumbers(),
      i = columnOf(own, values.length, event);
    texts.words = `Number ${i + 1} of ${values.length}: ${formatNumber(values[i])}.`;
    update();
  };
  own.root.onpointerleave = show;
  group.onpointerleave = () => hoverCell(null);
  outputRow.onpointerover = outputRow.onclick = (event) => {
    const row = [...outputRow.children].indexOf(event.target.closest(".chip")),
      at = hasAttention() ? null : column;
    if (row < 0 || currentView().look === "encoder") return;
    if (event.type !== "click") return hoverCell({ row, column: at });
    hover = null;
    keepRow(row === keptRow() ? -1 : row, at);
  };
  group.onkeydown = (event) => {
    event.stopPropagation(); // Streamlit reruns the page at an "r"
    const at = currentCell();
    hover = null;
    if (event.key === "Escape") keepRow(-1);
    else if (event.key === "Enter" || event.key === " ") keepRow(keptRow() === null ? at.row : -1, at.column);
    else {
      const next = arrays && moveCell({ row: at.row, column: at.column ?? 0 }, event.key, rowCount(), columnCount());
      if (!next) return;
      const isAcross = at.column !== null || next.column !== 0 || ["ArrowLeft", "ArrowRight"].includes(event.key);
      keepRow(next.row, isAcross ? next.column : null);
    }
    event.preventDefault();
  };

  /* ---- drawing ---- */

  const activeNumbers = () => {
    if (!hasAttention()) return arrays.vector.data;
    const width = arrays.contexts.shape[1],
      { row } = currentCell();
    return arrays.contexts.data.subarray(row * width, (row + 1) * width);
  };

  /** Draw everything that does not depend on the pointer. */
  function paintAll() {
    if (!arrays || !place.clientWidth) return;
    paintedWidth = place.clientWidth;
    const at = currentView(),
      isWritten = at.look !== "encoder";
    view = at.look ? math.headMatrix(data, arrays, at) : null;
    look = { isSigned: raw && hasAttention(), span: view ? math.scoreLimit(view) : 1, given: outputTokens, isWritten };
    heads.show(at.look ? arrays[at.look] : null, at, theme.colour, at.look === "decoder");
    both.hidden = !view;
    strips.hidden = !(arrays.contexts || arrays.vector);
    change.root.toggleAttribute("hidden", hasAttention());
    if (view) {
      const room = paintedWidth >= 760 ? (paintedWidth - 32) / 2 : paintedWidth - 8,
        box = math.heatMapSizes(room, view, isWritten && outputTokens.some(({ right }) => right === false));
      boxes = { map: box, web: math.gapBetween(Math.min(room, 620), view, box) };
      map.setSize(box.left + box.cell * view.columns + 2, box.bottom + 4);
      web.setSize(boxes.web.width, boxes.web.bottom + 4);
      map.base.replaceChildren(...drawHeatMap(view, box, look));
      web.base.replaceChildren(...drawLines(view, boxes.web));
      web.base.setAttribute("opacity", 0.75);
    }
    const makeRamp = (name, low, high) => makeNode("span", low, makeNode(`i.ramp.${name}`), high),
      ramps = [];
    if (look.isSigned) ramps.push(makeRamp("sign", `${SCORES[data.kind][0]} −${look.span}`, look.span));
    else if (view) ramps.push(makeRamp("amount", "weight 0", "1"));
    if (!strips.hidden) ramps.push(makeRamp("sign", "numbers −1", "1"));
    legend.replaceChildren(...ramps);
    show();
  }

  /** Draw everything that depends on the pointer. */
  function show() {
    if (!arrays || !look) return;
    const at = currentCell(),
      { row } = at,
      isSelected = keptRow() !== null && !hover;
    if (view) {
      map.mark.replaceChildren(...heatMark(view, boxes.map, at, isSelected));
      web.mark.replaceChildren(...lineMark(view, boxes.web, at));
    }
    if (!strips.hidden) {
      const wide = group.clientWidth - 8;
      own.setSize(wide, STRIP);
      own.base.replaceChildren(...drawStrip(activeNumbers(), wide, STRIP));
      texts.strip = math.stripWords(view ? `Context c at step ${row + 1}` : "The vector c", activeNumbers());
      if (!view) {
        change.setSize(wide, BARS);
        change.base.replaceChildren(...drawBars(data.source, arrays.moved.data, wide, BARS, at.column));
      }
    }
    likely.replaceChildren(...candidatesOf(decodingStep()));
    const rest = isSelected ? " Esc or a second click lets go." : "";
    const text = view
      ? math.rowWords(view, currentView().look, at, outputTokens) + math.cellWords(view, at, SCORES[data.kind][0])
      : `${math.stepWords(outputTokens, row)}.${movedWords(at.column)}`;
    texts.words = text + rest;
    const name = data.kind === "transformer" ? `, ${describeView()}` : "";
    texts.group = `${data.title}${name}: ${text} Arrow keys move, Escape lets go.`;
    update();
  }
  const movedWords = (at) =>
    at === null
      ? ""
      : ` Another symbol instead of “${tokenLabel(data.source[at])}” at position ${at + 1} changes the vector by ${formatNumber(arrays.moved.data[at])} on average.`;

  function candidatesOf(step) {
    if (step === null) return [makeNode("p.right", "The encoder writes nothing: there are no candidates.")];
    const best = math
      .likeliestTokens(arrays.probabilities, data.vocabulary, step)
      .map(({ token, p }) =>
        makeNode(
          "div.candidate",
          makeNode("b", tokenLabel(token)),
          makeNode("span.track", makeNode("i", { style: `width: ${100 * p}%` })),
          makeNode("span.value", formatProbability(p, 3)),
          makeNode("span.right", token === outputTokens[step].wanted ? "right" : ""),
        ),
      );
    return [makeNode("h4", `Candidates at step ${step + 1}`), ...best];
  }

  /* ---- saving ---- */

  function drawPicture() {
    const { span } = look,
      scale = raw ? `${SCORES[data.kind]?.[0]} from −${span} to ${span}` : "weights from 0 to 1",
      shown = view ? `${describeView()}; ${scale}` : "the vector, numbers from −1 to 1";
    return screenSvg(group, { title: `${data.title}: ${shown}`, skip: ".written" });
  }
  function alignmentCsv() {
    const { look: kind, layer, head } = currentView(),
      { vocabulary } = data,
      rows = [];
    const round = (value) => (value === null ? null : Number(value.toPrecision(6)));
    const addRow = (part, row, rowToken, column, columnToken, value, score = null) =>
      rows.push([part, row, rowToken, column, columnToken, round(value), round(score)]);
    view?.asks.forEach((query, r) =>
      view.answers.slice(0, view.reach(r)).forEach((key, c) => {
        const at = r * view.columns + c,
          part = `${kind}, layer ${layer + 1}, head ${head + 1}`;
        addRow(part, r + 1, query, c + 1, key, view.weights[at], view.scores[at]);
      }),
    );
    outputTokens.forEach(({ token }, i) =>
      vocabulary.forEach((name, id) =>
        addRow("probability", i + 1, token, id + 1, name, arrays.probabilities.data[i * vocabulary.length + id]),
      ),
    );
    const size = arrays.contexts?.shape[1];
    arrays.contexts?.data.forEach((value, k) => {
      const i = Math.floor(k / size);
      if (outputTokens[i]) addRow("context", i + 1, outputTokens[i].token, (k % size) + 1, "", value);
    });
    arrays.vector?.data.forEach((value, k) => addRow("vector", null, "", k + 1, "", value));
    arrays.moved?.data.forEach((value, i) => addRow("moved", null, "", i + 1, data.source[i], value));
    return toCsv(["part", "row", "row token", "column", "column token", "value", "before softmax"], rows);
  }

  return {
    show(/** @type {AlignmentData} */ newData) {
      data = newData;
      for (const [name, value] of Object.entries(synced)) value.receive(data[name]);
      tint(place, data.colour);
      outputTokens = math.markTokens(data.target, data.right);
      saveMenu(place, { svg: drawPicture, csv: alignmentCsv, file: data.file });
      if (load(data.address)) [arrays, hover, column] = [null, null, null];
      paintAll();
    },
    resize: () => place.clientWidth !== paintedWidth && paintAll(),
    close: () => clearTimeout(timer),
  };
}, PRESENTATION);
