/**
 * Draw the masks of a batch (padding, causal, both) and what they do to the scores and weights of one attention
 * layer. Hover shows a pair, a click or Enter keeps it. Event "set": the state as JSON.
 *
 * @import { SendEvent } from "../../../../static/shared/runtime/events.js"
 *
 * @typedef {object} MasksData
 * @property {string[][]} batch
 * @property {Record<string, number[]>} vectors by word
 * @property {{query: number[][], key: number[][], value: number[][]}[]} layers two of them
 * @property {{shown: number, padding: boolean, causal: boolean, side: "right" | "left",
 *    fill: "infinite" | "finite" | "self"}} state
 * @property {string} file
 *
 * @typedef {object} MasksEvents
 * @property {string} set the state as JSON
 */
import * as math from "./math.js";
import { ViewState } from "../../../../static/shared/runtime/view_state.js";
import { Matrix } from "../../../../static/shared/charts/editable_matrix/view.js";
import { saveMenu } from "../../../../static/shared/runtime/export_menu.js";
import { screenSvg } from "../../../../static/shared/runtime/screen_svg.js";
import { defineComponent } from "../../../../static/shared/runtime/component.js";

const STEPS = [
  { name: "padding", title: "Padding mask", words: "The columns of padding are hidden.", scale: "amount", digits: 0 },
  {
    name: "causal",
    title: "Causal mask",
    words: "Each token sees itself and earlier tokens.",
    scale: "amount",
    digits: 0,
  },
  { name: "both", title: "What the layer uses", words: "", scale: "amount", digits: 0 },
  { name: "scores", title: "Scores", words: "q · k / √d, of every pair.", scale: "sign", digits: 2 },
  { name: "under", title: "Scores under the mask", words: "", scale: "sign", digits: 2 },
  { name: "weights", title: "Weights", words: "softmax of each row: it sums to 1.", scale: "amount", digits: 2 },
];
const FILLS = { infinite: "−∞", finite: "−10⁹", self: "−∞, but every token sees itself" };
const MAY = 2.4; // the end of the colour scale of a mask, whose tiles are all 1: a quiet blue

const PRESENTATION = {
  slides: [".rows, .padding, .causal, .both", ".tools, .words, .scores, .under", ".tools, .words, .under, .weights"],
};

export default defineComponent((place, /** @type {SendEvent<MasksEvents>} */ send) => {
  /** @type {MasksData | null} */
  let data = null,
    isKept = false;
  let attention, at;
  const view = new ViewState(send, () => {
    [at, isKept] = [null, false];
    draw();
  });
  const { node, list } = view;
  const makeRow = (tokens, i, inner) => {
    const chips = tokens.flatMap((token) => [
      node("span", { class: `token${token === math.PAD ? " pad" : ""}` }, token),
      " ",
    ]); // the space is for who hears it
    const pressed = () => i === view.value.shown;
    return inner.button({ "aria-pressed": pressed, onclick: () => view.set({ shown: i }) }, ...chips);
  };
  const words = {
    both: () => {
      const names = { padding: "no padding", causal: "causal" };
      const active = Object.keys(names).filter((one) => view.value[one]);
      return active.map((one) => names[one]).join(" and ") || "no mask";
    },
    under: () =>
      view.value.fill === "finite" ? "Hidden ones become −10⁹." : "Hidden ones become −∞: e to the −∞ is 0.",
  };
  const tables = STEPS.map((step) => {
    const { name, title, scale, digits } = step,
      finite = () => `${name}${name === "under" && view.value.fill === "finite" ? " finite" : ""}`,
      root = node("section", { class: finite }, node("h4", title), node("p", words[name] ?? step.words)),
      matrix = new Matrix(root, { label: title, scale, digits });
    matrix.onpick = (r, c, keep) => {
      if (r < 0 ? isKept : isKept && !keep) return;
      const same = keep && isKept && at?.[0] === r && at?.[1] === c;
      isKept = keep && !same;
      at = r < 0 ? null : [r, c];
      drawTables();
    };
    return { name, scale, root, matrix };
  });
  const steps = node("div.steps", ...tables.map(({ root }) => root));
  place.replaceChildren(
    node(
      "div.tools",
      view.toggle("padding", "padding mask"),
      view.toggle("causal", "causal mask"),
      view.select("side", "padding side", { right: "right", left: "left" }),
      view.select("fill", "hidden scores become", FILLS),
    ),
    node("div.rows", { role: "group", "aria-label": "The batch: choose a sentence" }, list(padBatch, makeRow)),
    node("h3", { role: "status" }, () => attention.finding),
    node("p.words", { role: "status" }, () =>
      at
        ? math.describePair(attention.tokens, view.value, attention, ...at)
        : "Rows: query token, columns: key token. Point at a pair; click to keep it. A hidden pair has no tile.",
    ),
    steps,
  );
  place.addEventListener("keydown", (event) => event.stopPropagation()); // Streamlit reruns the page at an "r"

  function padBatch() {
    const longest = Math.max(...data.batch.map((words) => words.length));
    return data.batch.map((words) => math.padSentence(words, longest, view.value.side));
  }
  /** Draw everything that depends on the batch and the settings. */
  function draw() {
    const state = view.value;
    state.shown = Math.min(state.shown, data.batch.length - 1);
    const tokens = padBatch()[state.shown],
      mask = math.combineMasks(tokens, state),
      vectors = tokens.map((token) => data.vectors[token]);
    const first = math.attentionLayer(vectors, data.layers[0], mask, state.fill),
      second = math.attentionLayer(first.out, data.layers[1], mask, state.fill),
      finding = math.formatFinding(tokens, mask, math.countNaN(first.out), math.countNaN(second.out));
    const masks = { pad: math.paddingMask(tokens), past: math.causalMask(tokens) };
    attention = { ...first, ...masks, tokens, mask, finding };
    drawTables();
  }
  function drawTables() {
    const { tokens, mask, pad, past, scores, weights } = attention;
    const toNumbers = (one) => one.map((line) => line.map((may) => (may ? 1 : null))),
      keep = (values, isKept) => values.map((line, q) => line.map((value, k) => (isKept(value, q, k) ? value : null)));
    const most = Math.max(...scores.flat().map(Math.abs));
    const values = {
      padding: toNumbers(pad),
      causal: toNumbers(past),
      both: toNumbers(mask),
      scores,
      under: keep(scores, (_, q, k) => mask[q][k]),
      // A masked weight is shown if it is not 0: uniform attention over masked keys, or NaN.
      weights: keep(weights, (value, q, k) => mask[q][k] || value !== 0),
    };
    for (const { name, scale, matrix } of tables)
      matrix.show({
        rows: tokens,
        columns: tokens,
        values: values[name],
        held: isKept ? at : null,
        marked: !isKept && at ? [at] : [],
        most: scale === "sign" ? most : name === "weights" ? 1 : MAY,
      });
    view.update();
  }

  return {
    show(/** @type {MasksData} */ newData) {
      const other = JSON.stringify(data?.batch) !== JSON.stringify(newData.batch);
      data = newData;
      if (view.receive({ ...data.state }) || other) [at, isKept] = [null, false];
      draw();
      saveMenu(place, {
        svg: () => screenSvg(steps),
        csv: () => tables.map(({ matrix }) => matrix.csv()).join("\n"),
        file: data.file,
      });
    },
    close: () => tables.forEach(({ matrix }) => matrix.close()),
  };
}, PRESENTATION);
