/**
 * Draw where a translator attends while it generates, as a heat map and as lines: rows are target tokens, columns
 * source tokens. Hover shows, a click keeps, arrow keys move, Esc releases. Events: "look", "open", "at".
 *
 * @import { SendEvent } from "../../../../static/shared/runtime/events.js"
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
import { drawBars, drawHeatMap, heatMark, lineMark, drawLines, drawStrip } from "./export.js";
import { headPicker } from "./head_picker.js";
import { moveCell as shifted } from "../../../../static/shared/charts/value_scale.js";
import { icon, svgNode, tint } from "../../../../static/shared/runtime/dom.js";
import { arrayLoader } from "../../../../static/shared/runtime/array_store.js";
import { tokenLabel } from "../../../../static/shared/runtime/visible_text.js";
import { saveMenu } from "../../../../static/shared/runtime/export_menu.js";
import { toCsv } from "../../../../static/shared/runtime/csv.js";
import { SyncedValue } from "../../../../static/shared/runtime/synced_value.js";
import { pointerPosition } from "../../../../static/shared/runtime/pointer.js";
import { svgFile } from "../../../../static/shared/runtime/svg_file.js";
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
const SCORES_TITLES = { additive: "energies", transformer: "scores" };
const SCORES = { additive: "energy", transformer: "score" };

const PRESENTATION = { slides: [".bar, .written, .both", ".strips, .below"] };

export default defineComponent((place, /** @type {SendEvent<AlignmentEvents>} */ send) => {
  const synced = { look: new SyncedValue(), open: new SyncedValue(), at: new SyncedValue() };
  /** @type {AlignmentData | null} */
  let data = null,
    arrays = null,
    outputTokens = [],
    raw = false, // whether the scores are shown
    timer = 0,
    paintedWidth = 0,
    hover = null, // the cell under the pointer
    column = null, // that is kept
    view = null,
    boxes = null,
    look = null,
    texts = { words: "", strip: "", group: "" };
  const { node, buttonChoice, update } = new LiveElements();
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
  const heads = headPicker((layer, head) => sendEvent("open", [layer, head]));
  const kindTitles = () => Object.fromEntries(math.attentionKinds(data.kind).map((name) => [name, TITLES[name]])),
    contents = () =>
      hasAttention() ? { weights: "weights", scores: `${SCORES_TITLES[data.kind]} before the softmax` } : {};
  const showKind = (kind) => {
    sendEvent("look", kind);
    keepRow(-1);
  };
  const showContents = (value) => {
    raw = value === "scores";
    paintAll();
  };
  const bar = node(
    "div.bar",
    buttonChoice("Kind of attention", kindTitles, () => arrays && currentView().look, showKind),
    buttonChoice("What the cells show", contents, () => (raw ? "scores" : "weights"), showContents),
  );
  const outputRow = node("div.written", { "aria-hidden": "true" });
  const makeFigure = () => {
    const base = svgNode("g"),
      mark = svgNode("g");
    return { base, mark, root: svgNode("svg", { "aria-hidden": "true" }, base, mark) };
  };
  const map = makeFigure(),
    web = makeFigure(),
    own = makeFigure(),
    change = makeFigure();
  const both = node("div.both", map.root, web.root);
  const likely = node("div.likely");
  const changeTitle = node("h4", "How far the vector changes if this token is replaced");
  const strips = node(
    "div.strips",
    node("h4", () => texts.strip),
    own.root,
    changeTitle,
    change.root,
  );
  const legend = node("div.legend");
  const groupName = () => texts.group,
    group = node("div.parts", { tabindex: 0, role: "group", "aria-label": groupName }, outputRow, both, strips);
  const words = node("p.words", { role: "status" }, () => texts.words);
  place.replaceChildren(bar, heads.root, group, node("div.below", node("div", words, legend), likely));
  const theme = new Theme(place, () => paintAll());

  const hasAttention = () => data.kind !== "vector";
  const currentView = () => {
    const looks = math.attentionKinds(data.kind),
      kind = looks.includes(synced.look.value) ? synced.look.value : (looks[0] ?? null);
    const [layers, count] = kind ? arrays[kind].shape : [1, 1],
      [layer, head] = synced.open.value ?? [0, 0];
    return { look: kind, layer: Math.min(layer, layers - 1), head: Math.min(head, count - 1) };
  };
  const rowCount = () => (view ? view.rows : data.target.length);
  const columnCount = () => (view ? view.columns : data.source.length);
  const keptRow = () => (synced.at.value >= 0 && synced.at.value < rowCount() ? synced.at.value : null);
  /** The row that is shown: under the pointer, else the kept one, else the first. */
  const currentCell = () =>
    hover ?? { row: keptRow() ?? 0, column: keptRow() === null && hasAttention() ? null : column };
  /** Return the generation step of the row; the encoder generates nothing. */
  const decodingStep = () => (currentView().look === "encoder" ? null : currentCell().row);

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

  const onHover = (figure, find) => {
    const cellOfEvent = (event) => {
      const { x, y } = pointerPosition(event, figure.root);
      return find(x, y);
    };
    figure.root.onpointermove = (event) => {
      hover = cellOfEvent(event);
      show();
    };
    figure.root.onclick = (event) => {
      const at = cellOfEvent(event),
        same = at.row === keptRow() && (at.column === column || !hasAttention());
      hover = null;
      if (same) keepRow(-1);
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
  change.root.onpointermove = (event) => {
    hover = { row: keptRow() ?? 0, column: columnOf(change, data.source.length, event) };
    show();
  };
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
  own.root.onpointerleave = () => show();
  group.onpointerleave = () => {
    hover = null;
    show();
  };
  outputRow.onpointerover = outputRow.onclick = (event) => {
    const chip = event.target.closest(".chip"),
      row = chip ? [...outputRow.children].indexOf(chip) : -1;
    if (row < 0 || currentView().look === "encoder") return;
    hover = event.type === "click" ? null : { row, column: hasAttention() ? null : column };
    if (event.type === "click") keepRow(row === keptRow() ? -1 : row, hasAttention() ? null : column);
    else show();
  };
  group.onkeydown = (event) => {
    event.stopPropagation(); // Streamlit reruns the page at an "r"
    const at = currentCell();
    hover = null;
    if (event.key === "Escape") keepRow(-1);
    else if (event.key === "Enter" || event.key === " ") keepRow(keptRow() === null ? at.row : -1, at.column);
    else {
      const next = arrays && shifted({ row: at.row, column: at.column ?? 0 }, event.key, rowCount(), columnCount());
      if (!next) return;
      const across =
        next.column !== (at.column ?? 0) || at.column !== null || ["ArrowLeft", "ArrowRight"].includes(event.key);
      keepRow(next.row, across ? next.column : null);
    }
    event.preventDefault();
  };

  /* ---- drawing ---- */

  const activeNumbers = () => {
    if (!hasAttention()) return arrays.vector.data;
    const width = arrays.contexts.shape[1],
      row = currentCell().row;
    return arrays.contexts.data.subarray(row * width, (row + 1) * width);
  };
  const setSize = ({ root }, width, height) => {
    for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` }))
      root.setAttribute(name, value);
  };

  /** Draw everything that does not depend on the pointer. */
  function paintAll() {
    if (!arrays || !place.clientWidth) return;
    paintedWidth = place.clientWidth;
    const at = currentView();
    view = at.look ? math.headMatrix(data, arrays, at) : null;
    look = {
      colour: theme.colour,
      tint: data.colour,
      signed: raw && hasAttention(),
      span: view ? math.scoreLimit(view) : 1,
      given: outputTokens,
      written: at.look !== "encoder",
    };
    heads.show(at.look ? arrays[at.look] : null, at, theme.colour, at.look === "decoder");
    both.hidden = !view;
    strips.hidden = !(arrays.contexts || arrays.vector);
    changeTitle.hidden = hasAttention();
    change.root.toggleAttribute("hidden", hasAttention());
    outputRow.replaceChildren(
      ...outputTokens.map(({ token, right, wanted }) =>
        node(
          "span",
          { class: `chip${right === false ? " wrong" : ""}` },
          node("b", tokenLabel(token)),
          right === null ? null : icon(right ? "check" : "close"),
          right === false ? node("small", wanted === null ? "nothing" : tokenLabel(wanted)) : null,
        ),
      ),
    );
    if (view) {
      const twice = place.clientWidth >= 760,
        room = twice ? (place.clientWidth - 32) / 2 : place.clientWidth - 8;
      const box = math.heatMapSizes(room, view, look.written && outputTokens.some(({ right }) => right === false));
      boxes = { map: box, web: math.gapBetween(Math.min(room, 620), view, box) };
      setSize(map, box.left + box.cell * view.columns + 2, box.bottom + 4);
      setSize(web, boxes.web.width, boxes.web.bottom + 4);
      map.base.replaceChildren(...drawHeatMap(view, box, look));
      web.base.replaceChildren(...drawLines(view, boxes.web, look));
    }
    const makeRamp = (name, low, high) => node("span", low, node("i", { class: `ramp ${name}` }), high);
    legend.replaceChildren(
      view
        ? look.signed
          ? makeRamp("sign", `${SCORES[data.kind]} −${look.span}`, look.span)
          : makeRamp("amount", "weight 0", "1")
        : "",
      strips.hidden ? "" : makeRamp("sign", "numbers −1", "1"),
    );
    show();
  }

  /** Draw everything that depends on the pointer. */
  function show() {
    if (!arrays || !look) return;
    const at = currentCell(),
      { look: kind, layer, head } = currentView(),
      i = decodingStep(),
      isSelected = keptRow() !== null && !hover;
    if (view) {
      map.mark.replaceChildren(...heatMark(view, boxes.map, look, at, isSelected));
      web.mark.replaceChildren(...lineMark(view, boxes.web, look, at));
      web.base.setAttribute("opacity", 0.75);
    }
    [...outputRow.children].forEach((chip, row) => chip.classList.toggle("here", row === i));
    if (!strips.hidden) {
      const wide = group.clientWidth - 8;
      setSize(own, wide, STRIP);
      own.base.replaceChildren(...drawStrip(activeNumbers(), wide, STRIP, look));
      texts.strip = math.stripWords(view ? `Context c at step ${at.row + 1}` : "The vector c", activeNumbers());
      if (!view) {
        setSize(change, wide, BARS);
        change.base.replaceChildren(...drawBars(data.source, arrays.moved.data, wide, BARS, look, at.column));
      }
    }
    if (i === null) likely.replaceChildren(node("p.right", "The encoder writes nothing: there are no candidates."));
    else candidatesOf(i);
    const rest =
      keptRow() === null && !hover
        ? " Point at it, or use the arrow keys; a click keeps it."
        : isSelected
          ? " Esc or a second click lets go."
          : "";
    const text = view
      ? math.rowWords(view, kind, at, outputTokens) + math.cellWords(view, at, SCORES[data.kind])
      : `${math.stepWords(outputTokens, at.row)}.${movedWords(at.column)}`;
    texts.words = text + rest;
    const name =
      kind && data.kind === "transformer"
        ? `, ${TITLES[kind].toLowerCase()}, layer ${layer + 1}, head ${head + 1}`
        : "";
    texts.group = `${data.title}${name}: ${text} Arrow keys move, Escape lets go.`;
    update();
  }
  const movedWords = (at) =>
    at === null
      ? ""
      : ` Another symbol instead of “${tokenLabel(data.source[at])}” at position ${at + 1} changes the vector by ${formatNumber(arrays.moved.data[at])} on average.`;

  function candidatesOf(i) {
    const title = node("h4", `Candidates at step ${i + 1}`),
      best = math.likeliestTokens(arrays.probabilities, data.vocabulary, i),
      { wanted } = outputTokens[i];
    likely.replaceChildren(
      title,
      ...best.map(({ token, p }) => {
        const fill = node("i");
        fill.style.width = `${100 * p}%`;
        return node(
          "div.candidate",
          node("b", tokenLabel(token)),
          node("span.track", fill),
          node("span.value", formatProbability(p, 3)),
          node("span.right", token === wanted ? "right" : ""),
        );
      }),
    );
  }

  /* ---- saving ---- */

  function drawPicture() {
    const edge = 16,
      { look: kind, layer, head } = currentView(),
      groups = [];
    const heading = { x: 0, "font-size": 15, "font-weight": 600, fill: theme.colour("--ink") },
      svgHeading = (words, y) => svgNode("text", { ...heading, y }, words);
    const copyFigure = (figure, x, y) =>
      svgNode("g", { transform: `translate(${x} ${y})` }, figure.base.cloneNode(true), figure.mark.cloneNode(true));
    let y = 16,
      wide = 320;
    const headOfModel = data.kind === "transformer" ? `, layer ${layer + 1}, head ${head + 1}` : "",
      scale = raw ? `${SCORES[data.kind]} from −${look.span} to ${look.span}` : "weights from 0 to 1";
    const shown = view ? `${TITLES[kind].toLowerCase()}${headOfModel}; ${scale}` : "the vector, numbers from −1 to 1";
    groups.push(svgHeading(`${data.title}: ${shown}`, y));
    y += 16;
    if (view) {
      groups.push(copyFigure(map, 0, y), copyFigure(web, Number(map.root.getAttribute("width")) + 24, y));
      wide = Number(map.root.getAttribute("width")) + 24 + boxes.web.width;
      y += Math.max(boxes.map.bottom, boxes.web.bottom) + 12;
    }
    const addStrip = (title, one) => {
      groups.push(svgHeading(title, y + 14), copyFigure(one, 0, y + 24));
      wide = Math.max(wide, Number(one.root.getAttribute("width")));
      y += 24 + Number(one.root.getAttribute("height")) + 12;
    };
    if (!strips.hidden) addStrip(texts.strip, own);
    if (!view) addStrip(changeTitle.textContent, change);
    return svgFile(
      wide + 2 * edge,
      y + edge,
      theme.colour("--page"),
      svgNode("g", { transform: `translate(${edge} ${edge})` }, ...groups),
    );
  }
  function alignmentCsv() {
    const roundNumber = (value) => Number(value.toPrecision(6)),
      { look: kind, layer, head } = currentView(),
      { vocabulary } = data,
      out = [];
    const addRow = (part, row, rowToken, column, columnToken, value, score = null) =>
      out.push([
        part,
        row,
        rowToken,
        column,
        columnToken,
        roundNumber(value),
        score === null ? null : roundNumber(score),
      ]);
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
    return toCsv(["part", "row", "row token", "column", "column token", "value", "before softmax"], out);
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
