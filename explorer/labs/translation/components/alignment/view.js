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
import {
  gapBetween,
  likeliestTokens,
  cellAt,
  cellWords,
  attentionKinds,
  markTokens,
  headMatrix,
  nearestRow,
  scoreLimit,
  rowWords,
  heatMapSizes,
  stepWords,
  stripWords,
} from "./math.js";
import { drawBars, drawHeatMap, heatMark, lineMark, drawLines, drawStrip } from "./export.js";
import { headPicker } from "./head_picker.js";
import { moveCell as shifted } from "../../../../static/shared/charts/value_scale.js";
import { setTextIfChanged, icon, svgNode, node, tint } from "../../../../static/shared/runtime/dom.js";
import { loadArrays } from "../../../../static/shared/runtime/array_store.js";
import { tokenLabel } from "../../../../static/shared/runtime/visible_text.js";
import { saveMenu } from "../../../../static/shared/runtime/export_menu.js";
import { toCsv } from "../../../../static/shared/runtime/csv.js";
import { SyncedValue } from "../../../../static/shared/runtime/synced_value.js";
import { pointerPosition } from "../../../../static/shared/runtime/pointer.js";
import { svgFile } from "../../../../static/shared/runtime/svg_file.js";
import { defineComponent } from "../../../../static/shared/runtime/component.js";
import { Theme } from "../../../../static/shared/runtime/theme.js";
import { formatNumber, formatProbability } from "../../../../static/shared/runtime/format.js";

const STRIP = 30,
  BARS = 170,
  SEND_DELAY = 300; // px; ms after the last arrow key until the event is sent
const TITLES = {
  source: "Decoder attends to the source",
  encoder: "Encoder self-attention",
  decoder: "Decoder self-attention",
};
const SCORES = { additive: "energy", transformer: "score" };

const PRESENTATION = { slides: [".bar, .written, .both", ".strips, .below"] };

export default defineComponent((place) => {
  const heads = headPicker((layer, head) => sendEvent("open", [layer, head]));
  const tabs = makeChoice("Kind of attention", (look) => {
    sendEvent("look", look);
    keepRow(-1);
  });
  const raws = makeChoice("What the cells show", (value) => {
    raw = value === "scores";
    paintAll();
  });
  const bar = node("div", { class: "bar" }, tabs.root, raws.root);
  const outputRow = node("div", { class: "written", "aria-hidden": "true" });
  const makeFigure = () => {
    const base = svgNode("g"),
      mark = svgNode("g");
    return { base, mark, root: svgNode("svg", { "aria-hidden": "true" }, base, mark) };
  };
  const map = makeFigure(),
    web = makeFigure(),
    own = makeFigure(),
    change = makeFigure();
  const both = node("div", { class: "both" }, map.root, web.root);
  const words = node("p", { class: "words", role: "status" }),
    likely = node("div", { class: "likely" });
  const stripTitle = node("h4"),
    changeTitle = node("h4", {}, "How far the vector changes if this token is replaced");
  const strips = node("div", { class: "strips" }, stripTitle, own.root, changeTitle, change.root);
  const legend = node("div", { class: "legend" });
  const group = node("div", { class: "parts", tabindex: 0, role: "group" }, outputRow, both, strips);
  const below = node("div", { class: "below" }, node("div", {}, words, legend), likely);
  place.replaceChildren(bar, heads.root, group, below);
  const theme = new Theme(place, () => paintAll());
  const watch = new ResizeObserver(() => {
    if (place.clientWidth !== paintedWidth) paintAll();
  });
  watch.observe(place);

  const syncedValues = { look: new SyncedValue(), open: new SyncedValue(), at: new SyncedValue() };
  /** @type {AlignmentData | null} */
  let data = null,
    arrays = null,
    outputTokens = [],
    raw = false,
    /** @type {import("../../../../static/shared/runtime/events.js").SendEvent<AlignmentEvents>} */
    trigger = () => {},
    timer = 0,
    paintedWidth = 0;
  let hover = null,
    column = null,
    view = null,
    boxes = null,
    look = null; // the hovered element; the kept column

  const hasAttention = () => data.kind !== "vector";
  const currentView = () => {
    const looks = attentionKinds(data.kind),
      kind = looks.includes(syncedValues.look.value) ? syncedValues.look.value : (looks[0] ?? null);
    const [layers, count] = kind ? arrays[kind].shape : [1, 1],
      [layer, head] = syncedValues.open.value ?? [0, 0];
    return { look: kind, layer: Math.min(layer, layers - 1), head: Math.min(head, count - 1) };
  };
  const rowCount = () => (view ? view.rows : data.target.length);
  const columnCount = () => (view ? view.columns : data.source.length);
  const keptRow = () =>
    syncedValues.at.value >= 0 && syncedValues.at.value < rowCount() ? syncedValues.at.value : null;
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
    syncedValues[name].set(value);
    trigger(name, value);
    if (name !== "at") paintAll();
  }
  function keepRow(row, at = null) {
    column = at;
    if (row !== syncedValues.at.value) {
      syncedValues.at.value = row;
      clearTimeout(timer);
      timer = setTimeout(() => sendEvent("at", syncedValues.at.value), SEND_DELAY);
    }
    show();
  }

  function makeChoice(label, chosen) {
    const root = node("div", { class: "choice", role: "group", "aria-label": label });
    return {
      root,
      fillOptions(options, value) {
        root.hidden = options.length < 2;
        if (
          root.children.length !== options.length ||
          [...root.children].some((one, i) => one.value !== options[i][0] || one.textContent !== options[i][1])
        ) {
          root.replaceChildren(
            ...options.map(([name, words]) => {
              const one = node("button", { type: "button", value: name }, words);
              one.onclick = () => chosen(name);
              return one;
            }),
          );
        }
        for (const one of root.children) one.setAttribute("aria-pressed", one.value === value);
      },
    };
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
  onHover(map, (x, y) => cellAt(boxes.map, view, x, y));
  onHover(web, (x, y) => ({ row: nearestRow(boxes.web, view, x, y), column: null }));
  change.root.onpointermove = (event) => {
    const box = change.root.getBoundingClientRect(),
      at = Math.floor(((event.clientX - box.left) / box.width) * data.source.length);
    hover = { row: keptRow() ?? 0, column: Math.max(0, Math.min(data.source.length - 1, at)) };
    show();
  };
  change.root.onclick = () => {
    column = column === hover?.column ? null : (hover?.column ?? null);
    show();
  };
  own.root.onpointermove = (event) => {
    const box = own.root.getBoundingClientRect(),
      values = activeNumbers();
    const i = Math.max(
      0,
      Math.min(values.length - 1, Math.floor(((event.clientX - box.left) / box.width) * values.length)),
    );
    setTextIfChanged(words, `Number ${i + 1} of ${values.length}: ${formatNumber(values[i])}.`);
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
    view = at.look ? headMatrix(data, arrays, at) : null;
    look = {
      colour: theme.colour,
      tint: data.colour,
      signed: raw && hasAttention(),
      span: view ? scoreLimit(view) : 1,
      given: outputTokens,
      written: at.look !== "encoder",
    };
    tabs.fillOptions(
      attentionKinds(data.kind).map((name) => [name, TITLES[name]]),
      at.look,
    );
    raws.fillOptions(
      hasAttention()
        ? [
            ["weights", "weights"],
            ["scores", data.kind === "additive" ? "energies before the softmax" : "scores before the softmax"],
          ]
        : [],
      raw ? "scores" : "weights",
    );
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
          node("b", {}, tokenLabel(token)),
          right === null ? null : icon(right ? "check" : "close"),
          right === false ? node("small", {}, wanted === null ? "nothing" : tokenLabel(wanted)) : null,
        ),
      ),
    );
    if (view) {
      const twice = place.clientWidth >= 760,
        room = twice ? (place.clientWidth - 32) / 2 : place.clientWidth - 8;
      const box = heatMapSizes(room, view, look.written && outputTokens.some(({ right }) => right === false));
      boxes = { map: box, web: gapBetween(Math.min(room, 620), view, box) };
      setSize(map, box.left + box.cell * view.columns + 2, box.bottom + 4);
      setSize(web, boxes.web.width, boxes.web.bottom + 4);
      map.base.replaceChildren(...drawHeatMap(view, box, look));
      web.base.replaceChildren(...drawLines(view, boxes.web, look));
    }
    const makeRamp = (name, low, high) => node("span", {}, low, node("i", { class: `ramp ${name}` }), high);
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
      setTextIfChanged(
        stripTitle,
        stripWords(view ? `Context c at step ${at.row + 1}` : "The vector c", activeNumbers()),
      );
      if (!view) {
        setSize(change, wide, BARS);
        change.base.replaceChildren(...drawBars(data.source, arrays.moved.data, wide, BARS, look, at.column));
      }
    }
    if (i === null)
      likely.replaceChildren(node("p", { class: "right" }, "The encoder writes nothing: there are no candidates."));
    else candidatesOf(i);
    const rest =
      keptRow() === null && !hover
        ? " Point at it, or use the arrow keys; a click keeps it."
        : isSelected
          ? " Esc or a second click lets go."
          : "";
    const text = view
      ? rowWords(view, kind, at, outputTokens) + cellWords(view, at, SCORES[data.kind])
      : `${stepWords(outputTokens, at.row)}.${movedWords(at.column)}`;
    setTextIfChanged(words, text + rest);
    group.ariaLabel = `${data.title}${kind && data.kind === "transformer" ? `, ${TITLES[kind].toLowerCase()}, layer ${layer + 1}, head ${head + 1}` : ""}: ${text} Arrow keys move, Escape lets go.`;
  }
  const movedWords = (at) =>
    at === null
      ? ""
      : ` Another symbol instead of “${tokenLabel(data.source[at])}” at position ${at + 1} changes the vector by ${formatNumber(arrays.moved.data[at])} on average.`;

  function candidatesOf(i) {
    const title = node("h4", {}, `Candidates at step ${i + 1}`),
      best = likeliestTokens(arrays.probabilities, data.vocabulary, i),
      { wanted } = outputTokens[i];
    likely.replaceChildren(
      title,
      ...best.map(({ token, p }) => {
        const fill = node("i");
        fill.style.width = `${100 * p}%`;
        return node(
          "div",
          { class: "candidate" },
          node("b", {}, tokenLabel(token)),
          node("span", { class: "track" }, fill),
          node("span", { class: "value" }, formatProbability(p, 3)),
          node("span", { class: "right" }, token === wanted ? "right" : ""),
        );
      }),
    );
  }

  /* ---- saving ---- */

  function drawPicture() {
    const edge = 16,
      { look: kind, layer, head } = currentView(),
      groups = [];
    const svgHeading = (words, y) => {
      const label = svgNode("text", { x: 0, y, "font-size": 15, "font-weight": 600, fill: theme.colour("--ink") });
      label.textContent = words;
      return label;
    };
    const copyFigure = (figure, x, y) =>
      svgNode("g", { transform: `translate(${x} ${y})` }, figure.base.cloneNode(true), figure.mark.cloneNode(true));
    let y = 16,
      wide = 320;
    groups.push(
      svgHeading(
        `${data.title}${view ? `: ${TITLES[kind].toLowerCase()}${data.kind === "transformer" ? `, layer ${layer + 1}, head ${head + 1}` : ""}; ${raw ? `${SCORES[data.kind]} from −${look.span} to ${look.span}` : "weights from 0 to 1"}` : ": the vector, numbers from −1 to 1"}`,
        y,
      ),
    );
    y += 16;
    if (view) {
      groups.push(copyFigure(map, 0, y), copyFigure(web, Number(map.root.getAttribute("width")) + 24, y));
      wide = Number(map.root.getAttribute("width")) + 24 + boxes.web.width;
      y += Math.max(boxes.map.bottom, boxes.web.bottom) + 12;
    }
    for (const [title, one, shown] of [
      [stripTitle, own, !strips.hidden],
      [changeTitle, change, !view],
    ]) {
      if (!shown) continue;
      groups.push(svgHeading(title.textContent, y + 14), copyFigure(one, 0, y + 24));
      wide = Math.max(wide, Number(one.root.getAttribute("width")));
      y += 24 + Number(one.root.getAttribute("height")) + 12;
    }
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
      out = [];
    if (view) {
      view.asks.forEach((query, r) =>
        view.answers.slice(0, view.reach(r)).forEach((key, c) => {
          const at = r * view.columns + c;
          out.push([
            `${kind}, layer ${layer + 1}, head ${head + 1}`,
            r + 1,
            query,
            c + 1,
            key,
            roundNumber(view.weights[at]),
            roundNumber(view.scores[at]),
          ]);
        }),
      );
    }
    outputTokens.forEach(({ token }, i) =>
      data.vocabulary.forEach((name, id) =>
        out.push([
          "probability",
          i + 1,
          token,
          id + 1,
          name,
          roundNumber(arrays.probabilities.data[i * data.vocabulary.length + id]),
          null,
        ]),
      ),
    );
    if (arrays.contexts)
      outputTokens.forEach(({ token }, i) => {
        const {
          shape: [, size],
          data: all,
        } = arrays.contexts;
        for (let k = 0; k < size; k++)
          out.push(["context", i + 1, token, k + 1, "", roundNumber(all[i * size + k]), null]);
      });
    arrays.vector?.data.forEach((value, k) => out.push(["vector", null, "", k + 1, "", roundNumber(value), null]));
    arrays.moved?.data.forEach((value, i) =>
      out.push(["moved", null, "", i + 1, data.source[i], roundNumber(value), null]),
    );
    return toCsv(["part", "row", "row token", "column", "column token", "value", "before softmax"], out);
  }

  return {
    show(/** @type {AlignmentData} */ arrived, component) {
      const same = data?.address === arrived.address;
      data = arrived;
      trigger = component.setTriggerValue;
      for (const name of Object.keys(syncedValues)) syncedValues[name].receive(data[name]);
      tint(place, data.colour);
      if (!same) [hover, column] = [null, null];
      outputTokens = markTokens(data.target, data.right);
      saveMenu(place, { svg: drawPicture, csv: alignmentCsv, file: data.file });
      if (same && arrays) return paintAll();
      loadArrays(data.address).then(
        (all) => {
          if (data.address !== arrived.address) return;
          arrays = all;
          paintAll();
        },
        () => setTextIfChanged(words, "The numbers of this source did not arrive. Reload the page to try again."),
      );
    },
    close() {
      watch.disconnect();
      clearTimeout(timer);
    },
  };
}, PRESENTATION);
