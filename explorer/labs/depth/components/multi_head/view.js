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
import { loadArrays } from "../../../../static/shared/runtime/array_store.js";
import { saveMenu } from "../../../../static/shared/runtime/export_menu.js";
import { toCsv } from "../../../../static/shared/runtime/csv.js";
import { SyncedValue } from "../../../../static/shared/runtime/synced_value.js";
import { moveSlider, node } from "../../../../static/shared/runtime/dom.js";
import { screenSvg } from "../../../../static/shared/runtime/screen_svg.js";
import { defineComponent, limitHeight } from "../../../../static/shared/runtime/component.js";
import { Theme } from "../../../../static/shared/runtime/theme.js";
import { formatWeight } from "../../../../static/shared/runtime/format.js";

const VIEWS = { shares: "attention weight, 0 to 1", even: "relative to uniform attention" };
const ROOM = 11; // px of a cell from which on letters beside it are readable
let count = 0;

const PRESENTATION = { slides: [".stage"], controls: ".about" };

export default defineComponent((place) => {
  const own = ++count,
    shared = new SyncedValue();
  /** @type {MultiHeadData | null} */
  let data = null,
    cuts = null,
    /** @type {import("../../../../static/shared/runtime/events.js").SendEvent<MultiHeadEvents>} */
    sendEvent = null,
    tiles = [],
    at = null,
    isKept = false;
  const slider = node("input", { type: "range", class: "slider", min: 0, step: 1, id: `cut-${own}` }),
    heads = node("output", { for: slider.id });
  const views = Object.entries(VIEWS).map(([value, words]) => {
    const input = node("input", { type: "radio", name: `cut-view-${own}` });
    input.onchange = () => {
      setShared({ view: value });
      sendShared();
    };
    return { value, input, label: node("label", {}, input, words) };
  });
  const controls = node(
    "div",
    { class: "controls" },
    node("div", { class: "cut" }, node("label", { for: slider.id }, "Heads"), node("span", {}, slider, heads)),
    node("fieldset", { class: "lineage-choice" }, node("legend", {}, "Colour"), ...views.map(({ label }) => label)),
  );
  const finding = node("p", { class: "finding", role: "status" }),
    about = node("p", { class: "about" });
  const stage = node("div", { class: "stage", tabindex: 0, role: "group" }),
    words = node("p", { class: "words", role: "status" });
  const legend = node("div", { class: "legend", "aria-hidden": "true" });
  place.replaceChildren(controls, finding, stage, words, legend, about);
  const theme = new Theme(place, () => paintTiles());
  const watch = new ResizeObserver(() => paintTiles());
  watch.observe(place);

  const cutNames = () =>
    Object.keys(data.cuts)
      .map(Number)
      .sort((a, b) => a - b);
  function setShared(part) {
    shared.value = { ...shared.value, ...part };
    show();
  }
  function sendShared() {
    shared.set(shared.value);
    sendEvent?.("set", shared.value);
  }
  slider.oninput = () => setShared({ cut: cutNames()[slider.value] });
  slider.onchange = sendShared;
  controls.onkeydown = (event) => event.stopPropagation(); // Streamlit reruns the page at an "r"

  stage.onkeydown = (event) => {
    event.stopPropagation();
    const length = data.tokens.length;
    if (event.key === "Escape") [at, isKept] = [null, false];
    else {
      const next = moveCell(at ?? { row: length - 1, column: 0 }, event.key, length, length);
      if (!next) return;
      [at, isKept] = [next, true];
    }
    event.preventDefault();
    showPointedPair();
  };
  stage.onpointerleave = () => {
    if (!isKept) {
      at = null;
      showPointedPair();
    }
  };

  function show() {
    const { cut, view } = shared.value,
      every = cutNames();
    slider.max = every.length - 1;
    moveSlider(slider, every.indexOf(cut));
    slider.ariaValueText = `${cut} heads`;
    heads.textContent = `${cut} × ${data.width / cut} numbers`;
    for (const { value, input } of views) input.checked = view === value;
    finding.textContent = data.cuts[cut].finding;
    about.textContent = data.cuts[cut].words;
    legend.replaceChildren(
      ...(view === "shares"
        ? [node("span", {}, "0"), node("i", { class: "ramp amount" }), node("span", {}, "1")]
        : [node("span", {}, "1/8 of uniform"), node("i", { class: "ramp sign" }), node("span", {}, "8 times uniform")]),
    );
    stage.ariaLabel = `${cut} ${cut === 1 ? "head" : "heads"} of ${data.who} over ${data.tokens.length} tokens: rows: query token, columns: key token. Arrow keys move, Escape releases.`;
    if (cuts) buildTiles();
  }

  function buildTiles() {
    const { cut } = shared.value;
    tiles = Array.from({ length: cut }, (_, head) => {
      const map = new HeatMap(),
        letters = node("div", { class: "letters", "aria-hidden": "true" }),
        value = node("span", { class: "value" });
      map.followsTouch = true;
      map.canvas.after(letters);
      map.onpoint = (cell) => {
        if (isKept) return;
        at = cell;
        showPointedPair();
      };
      map.onpick = (cell) => {
        isKept = !isKept;
        at = cell;
        showPointedPair();
      };
      const root = node("figure", {}, node("figcaption", {}, node("b", {}, `head ${head + 1}`), value), map.root);
      return { map, letters, value, root };
    });
    stage.replaceChildren(...tiles.map(({ root }) => root));
    paintTiles();
  }

  function paintTiles() {
    if (!tiles.length || !cuts || !place.clientWidth) return;
    const { cut, view } = shared.value,
      length = data.tokens.length,
      { side, columns } = tileSizes(stage.clientWidth - 4, cut, limitHeight(Infinity, 280));
    stage.style.gridTemplateColumns = `repeat(${columns}, ${side}px)`;
    const shades = colourRamp(theme.colour, view === "shares" ? "amount" : "sign");
    tiles.forEach(({ map, letters }, head) => {
      letters.replaceChildren(
        ...(side / length < ROOM
          ? []
          : data.tokens.map((token, i) => {
              const letter = node("span", {}, token); // in the masked area beside the diagonal; it labels its row and its column
              letter.style.cssText = `left:${(100 * (i + 1.15)) / length}%;top:${(100 * (i + 0.5)) / length}%`;
              return letter;
            })),
      );
      map.root.style.height = `${side}px`;
      const toneAt = (row, column) => (column > row ? NaN : toneOf(weightAt(head, row, column), row, view));
      const row = (query) => Float32Array.from({ length }, (_, key) => toneAt(query, key));
      map.show({ rows: length, columns: length, row }, shades);
    });
    showPointedPair();
  }
  const weightAt = (head, row, column) => {
    const {
      data: values,
      shape: [, length],
    } = cuts[shared.value.cut];
    return values[(head * length + row) * length + column];
  };

  /** Draw what depends on the pointer: the same pair of tokens in every head. */
  function showPointedPair() {
    if (!tiles.length || !cuts) return;
    const masked = at && at.column > at.row;
    tiles.forEach(({ map, value }, head) => {
      map.markCell(at);
      value.textContent = at && !masked ? formatWeight(weightAt(head, at.row, at.column), 2) : "";
    });
    stage.classList.toggle("kept", isKept);
    words.textContent = at
      ? `${describeCell(data.tokens, at)} ${masked ? "comes later, so it is masked." : `Uniform attention would be ${formatWeight(evenShare(at.row), 2)}.`}`
      : "Rows: query token, columns: key token. Point at a pair to read its weight in every head; click to keep it.";
  }

  function weightsCsv() {
    const rows = [],
      { cut } = shared.value,
      length = data.tokens.length;
    for (let head = 0; head < cut; head++)
      for (let row = 0; row < length; row++)
        for (let column = 0; column <= row; column++) {
          rows.push([
            cut,
            head + 1,
            row + 1,
            data.tokens[row],
            column + 1,
            data.tokens[column],
            Number(weightAt(head, row, column).toPrecision(6)),
          ]);
        }
    return toCsv(["heads", "head", "query position", "query", "key position", "key", "weight"], rows);
  }

  return {
    show(/** @type {MultiHeadData} */ newData, { setTriggerValue }) {
      const same = data?.address === newData.address;
      sendEvent = setTriggerValue;
      data = newData;
      shared.receive({ cut: newData.cut, view: newData.view });
      if (!same) [cuts, at, isKept] = [same ? cuts : null, null, false];
      show();
      if (same && cuts) return;
      loadArrays(newData.address).then(
        (arrived) => {
          if (data.address !== newData.address) return;
          cuts = arrived;
          show();
          saveMenu(place, { svg: () => screenSvg(stage), csv: weightsCsv, file: data.file });
        },
        () => {
          words.textContent = "The weights did not arrive. Reload the page to try again.";
        },
      );
    },
    close() {
      watch.disconnect();
    },
  };
}, PRESENTATION);
