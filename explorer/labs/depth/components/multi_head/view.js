/**
 * Draw one attention layer over a text with its matrices split into 1, 2, 4 or 8 heads: where each head attends.
 * Event "set": {cut, view}, when a control is released.
 *
 * @typedef {object} MultiHeadData
 * @property {string[]} tokens
 * @property {number} width
 * @property {Record<string, {finding: string, words: string}>} cuts by number of heads
 * @property {number | null} learned the number of heads that the model was trained with
 * @property {number} cut the number of heads shown
 * @property {"shares" | "even"} view
 * @property {string} who
 * @property {string} address arrays by number of heads: (heads, query, key) weights; rows sum to 1
 * @property {string} file
 *
 * @typedef {object} MultiHeadEvents
 * @property {{cut: number, view: string}} set
 */
import { HeatMap, colourRamp } from "../../../../static/shared/charts/heatmap.js";
import { moveCell } from "../../../../static/shared/charts/value_scale.js";
import { describeCell, evenShare, tileSizes, toneOf } from "./math.js";
import { arrayLoader } from "../../../../static/shared/runtime/array_store.js";
import { saveMenu } from "../../../../static/shared/runtime/export_menu.js";
import { toCsv } from "../../../../static/shared/runtime/csv.js";
import { Selection } from "../../../../static/shared/runtime/selection.js";
import { ViewState } from "../../../../static/shared/runtime/view_state.js";
import { screenSvg } from "../../../../static/shared/runtime/screen_svg.js";
import { defineComponent, limitHeight } from "../../../../static/shared/runtime/component.js";
import { Theme } from "../../../../static/shared/runtime/theme.js";
import { formatWeight } from "../../../../static/shared/runtime/format.js";

const VIEWS = { shares: "attention weight, 0 to 1", even: "relative to uniform attention" };
const ROOM = 11; // px of a cell from which on letters beside it are readable

const PRESENTATION = { slides: [".stage"], controls: ".about" };

export default defineComponent((place, /** @type {SendEvent<MultiHeadEvents>} */ send) => {
  /** @type {MultiHeadData | null} */
  let data = null,
    cuts = null, // the arrays
    tiles = [],
    trouble = "";
  const selection = new Selection(showPointedPair);
  const view = new ViewState(send, show, (value) => value),
    { node } = view;
  const load = arrayLoader(
    (arrived) => {
      [cuts, trouble] = [arrived, ""];
      show();
      saveMenu(place, { svg: () => screenSvg(stage), csv: weightsCsv, file: data.file });
    },
    () => {
      trouble = "The weights did not arrive. Reload the page to try again.";
      view.update();
    },
  );
  const headCounts = () => Object.keys(data.cuts).map(Number); // ascending: the order of whole numbers as keys
  const limits = { min: 0, max: () => headCounts().length - 1, step: 1, "aria-label": "Heads" },
    slider = view.slider(
      "cut",
      { ...limits, "aria-valuetext": () => `${view.value.cut} heads` },
      (cut) => headCounts().indexOf(cut),
      (i) => headCounts()[i],
    ),
    sizes = node("output", () => `${view.value.cut} × ${data.width / view.value.cut} numbers`);
  const controls = node(
    "div.controls",
    node("label.cut", node("span", "Heads"), node("span", slider, sizes)),
    view.choice("view", "Colour", VIEWS),
  );
  const describeStage = () => {
    const { cut } = view.value;
    return `${cut} ${cut === 1 ? "head" : "heads"} of ${data.who} over ${data.tokens.length} tokens: rows: query token, columns: key token. Arrow keys move, Escape releases.`;
  };
  const isShares = () => view.value.view === "shares";
  const stage = node("div", {
    class: () => (selection.isKept ? "stage kept" : "stage"),
    tabindex: 0,
    role: "group",
    "aria-label": describeStage,
  });
  place.replaceChildren(
    controls,
    node("p.finding", { role: "status" }, () => data.cuts[view.value.cut].finding),
    stage,
    node("p.words", { role: "status" }, describePair),
    node(
      "div.legend",
      { "aria-hidden": "true" },
      node("span", () => (isShares() ? "0" : "1/8 of uniform")),
      node("i", { class: () => (isShares() ? "ramp amount" : "ramp sign") }),
      node("span", () => (isShares() ? "1" : "8 times uniform")),
    ),
    node("p.about", () => data.cuts[view.value.cut].words),
  );
  const theme = new Theme(place, () => paintTiles());
  controls.onkeydown = (event) => event.stopPropagation(); // Streamlit reruns the page at an "r"

  const movePair = (key, at) => {
    const { length } = data.tokens;
    return moveCell(at ?? { row: length - 1, column: 0 }, key, length, length);
  };
  stage.onkeydown = selection.onKeyDown(stage, movePair);
  stage.onpointerleave = selection.leave;

  function show() {
    if (cuts) buildTiles();
    view.update();
  }

  function buildTiles() {
    const { cut } = view.value;
    tiles = Array.from({ length: cut }, (_, head) => {
      const map = new HeatMap(),
        letters = node("div.letters", { "aria-hidden": "true" }),
        value = node("span.value");
      map.followsTouch = true;
      map.canvas.after(letters);
      map.onpoint = selection.point;
      map.onpick = selection.toggle;
      const root = node("figure", node("figcaption", node("b", `head ${head + 1}`), value), map.root);
      return { map, letters, value, root };
    });
    stage.replaceChildren(...tiles.map(({ root }) => root));
    paintTiles();
  }

  function paintTiles() {
    if (!tiles.length || !cuts || !place.clientWidth) return;
    const { cut, view: colours } = view.value,
      length = data.tokens.length,
      { side, columns } = tileSizes(stage.clientWidth - 4, cut, limitHeight(Infinity, 280));
    stage.style.gridTemplateColumns = `repeat(${columns}, ${side}px)`;
    const shades = colourRamp(theme.colour, isShares() ? "amount" : "sign");
    tiles.forEach(({ map, letters }, head) => {
      letters.replaceChildren(
        ...(side / length < ROOM
          ? []
          : data.tokens.map((token, i) => {
              const style = `left:${(100 * (i + 1.15)) / length}%;top:${(100 * (i + 0.5)) / length}%`;
              return node("span", { style }, token); // in the masked area beside the diagonal; it labels its row and its column
            })),
      );
      map.root.style.height = `${side}px`;
      const toneAt = (row, column) => (column > row ? NaN : toneOf(weightAt(head, row, column), row, colours));
      const row = (query) => Float32Array.from({ length }, (_, key) => toneAt(query, key));
      map.show({ rows: length, columns: length, row }, shades);
    });
    showPointedPair();
  }
  const weightAt = (head, row, column) => {
    const length = data.tokens.length;
    return cuts[view.value.cut].data[(head * length + row) * length + column];
  };

  function showPointedPair() {
    if (!tiles.length || !cuts) return;
    const { at } = selection,
      masked = at && at.column > at.row;
    tiles.forEach(({ map, value }, head) => {
      map.markCell(at);
      value.textContent = at && !masked ? formatWeight(weightAt(head, at.row, at.column), 2) : "";
    });
    view.update();
  }
  function describePair() {
    const { at } = selection;
    if (trouble) return trouble;
    if (!at)
      return "Rows: query token, columns: key token. Point at a pair to read its weight in every head; click to keep it.";
    const masked = at.column > at.row,
      share = masked ? "" : formatWeight(evenShare(at.row), 2);
    return `${describeCell(data.tokens, at)} ${masked ? "comes later, so it is masked." : `Uniform attention would be ${share}.`}`;
  }

  function weightsCsv() {
    const { cut } = view.value,
      { tokens } = data;
    const cell = (head, row, column) => [
      ...[cut, head + 1, row + 1, tokens[row], column + 1, tokens[column]],
      Number(weightAt(head, row, column).toPrecision(6)),
    ];
    const rows = Array.from({ length: cut }, (_, head) =>
      tokens.map((_, row) => Array.from({ length: row + 1 }, (_, column) => cell(head, row, column))),
    ).flat(2);
    return toCsv(["heads", "head", "query position", "query", "key position", "key", "weight"], rows);
  }

  return {
    show(/** @type {MultiHeadData} */ newData) {
      data = newData;
      view.receive({ cut: data.cut, view: data.view });
      if (load(data.address)) {
        [cuts, tiles] = [null, []];
        selection.release();
      }
      show();
    },
    resize: paintTiles,
  };
}, PRESENTATION);
