/**
 * Draw the masks of a batch (padding, causal, both) and what they do to the scores and weights of one attention
 * layer. Hover shows a pair, a click or Enter keeps it. Event "set": the state as JSON.
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
import {
  PAD,
  causalMask,
  combineMasks,
  formatFinding,
  attentionLayer,
  countNaN,
  padSentence,
  paddingMask,
  describePair,
} from "./math.js";
import { setTextIfChanged, node } from "../../../../static/shared/runtime/dom.js";
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

export default defineComponent((place) => {
  /** @type {MasksData | null} */
  let data = null,
    state = null,
    attention = null,
    /** @type {import("../../../../static/shared/runtime/events.js").SendEvent<MasksEvents>} */
    sendEvent = () => {},
    sentStates = [],
    at = null,
    isKept = false;
  const makeCheckbox = (name, word) => {
    const box = node("input", { type: "checkbox", class: "toggle", role: "switch" });
    box.onchange = () => setState({ [name]: box.checked });
    return { box, root: node("label", {}, box, word) };
  };
  const makeChoice = (name, word, options) => {
    const list = node(
      "select",
      { class: "lineage-select" },
      ...Object.entries(options).map(([value, text]) => node("option", { value }, text)),
    );
    list.onchange = () => setState({ [name]: list.value });
    return { list, root: node("label", {}, word, list) };
  };
  const padding = makeCheckbox("padding", "padding mask"),
    causal = makeCheckbox("causal", "causal mask");
  const side = makeChoice("side", "padding side", { right: "right", left: "left" }),
    fill = makeChoice("fill", "hidden scores become", FILLS);
  const rows = node("div", { class: "rows", role: "group", "aria-label": "The batch: choose a sentence" });
  const heading = node("h3", { role: "status" }),
    words = node("p", { class: "words", role: "status" }),
    steps = node("div", { class: "steps" });
  place.replaceChildren(
    node("div", { class: "tools" }, padding.root, causal.root, side.root, fill.root),
    rows,
    heading,
    words,
    steps,
  );
  place.addEventListener("keydown", (event) => event.stopPropagation()); // Streamlit reruns the page at an "r"
  const tables = STEPS.map((step) => {
    const text = node("p", {}, step.words),
      root = node("section", { class: step.name }, node("h4", {}, step.title), text);
    steps.append(root);
    const matrix = new Matrix(root, { label: step.title, scale: step.scale, digits: step.digits });
    matrix.onpick = (r, c, keep) => {
      if (r < 0 ? isKept : isKept && !keep) return;
      const same = keep && isKept && at?.[0] === r && at?.[1] === c;
      isKept = keep && !same;
      at = r < 0 ? null : [r, c];
      show();
    };
    return { ...step, text, root, matrix };
  });

  function setState(change) {
    state = { ...state, ...change };
    [at, isKept] = [null, false];
    computeAll();
    const text = JSON.stringify(state);
    sentStates.push(text);
    sendEvent("set", text);
  }

  /** Draw everything that depends on the batch and the settings. */
  function computeAll() {
    const longest = Math.max(...data.batch.map((words) => words.length));
    state.shown = Math.min(state.shown, data.batch.length - 1);
    const all = data.batch.map((words) => padSentence(words, longest, state.side)),
      tokens = all[state.shown];
    padding.box.checked = state.padding;
    causal.box.checked = state.causal;
    side.list.value = state.side;
    fill.list.value = state.fill;
    drawBatch(all);
    const mask = combineMasks(tokens, state),
      vectors = tokens.map((token) => data.vectors[token]);
    const first = attentionLayer(vectors, data.layers[0], mask, state.fill),
      second = attentionLayer(first.out, data.layers[1], mask, state.fill);
    attention = { ...first, tokens, mask, pad: paddingMask(tokens), past: causalMask(tokens) };
    setTextIfChanged(heading, formatFinding(tokens, mask, countNaN(first.out), countNaN(second.out)));
    setTextIfChanged(
      tables[2].text,
      ["padding", "causal"]
        .filter((one) => state[one])
        .map((one) => (one === "causal" ? "causal" : "no padding"))
        .join(" and ") || "no mask",
    );
    setTextIfChanged(
      tables[4].text,
      state.fill === "finite" ? "Hidden ones become −10⁹." : "Hidden ones become −∞: e to the −∞ is 0.",
    );
    tables[4].root.classList.toggle("finite", state.fill === "finite");
    show();
  }
  function drawBatch(all) {
    const mine = [...rows.children].indexOf(document.activeElement);
    rows.replaceChildren(
      ...all.map((tokens, i) => {
        const chips = tokens.flatMap((token) => [
          node("span", { class: `token${token === PAD ? " pad" : ""}` }, token),
          " ",
        ]); // the space is for who hears it
        const one = node("button", { class: "lineage-button", type: "button" }, ...chips);
        one.onclick = () => setState({ shown: i });
        one.ariaPressed = String(i === state.shown);
        return one;
      }),
    );
    if (mine >= 0) rows.children[mine]?.focus({ preventScroll: true });
  }

  /** Draw everything that depends on the pointer. */
  function show() {
    const { tokens, mask, pad, past, scores, weights } = attention,
      names = tokens.map((token) => token);
    const toNumbers = (one) => one.map((line) => line.map((may) => (may ? 1 : null))),
      keepAllowed = (values) => values.map((line, q) => line.map((value, k) => (mask[q][k] ? value : null)));
    // A masked weight is shown if it is not 0: uniform attention over masked keys, or NaN.
    const visibleWeights = weights.map((line, q) => line.map((value, k) => (mask[q][k] || value !== 0 ? value : null)));
    const most = Math.max(...scores.flat().map(Math.abs));
    const values = {
      padding: toNumbers(pad),
      causal: toNumbers(past),
      both: toNumbers(mask),
      scores,
      under: keepAllowed(scores),
      weights: visibleWeights,
    };
    for (const { name, scale, matrix } of tables) {
      matrix.show({
        rows: names,
        columns: names,
        values: values[name],
        held: isKept ? at : null,
        marked: !isKept && at ? [at] : [],
        most: scale === "sign" ? most : name === "weights" ? 1 : MAY,
      });
    }
    setTextIfChanged(
      words,
      at
        ? describePair(tokens, state, attention, ...at)
        : "Rows: query token, columns: key token. Point at a pair; click to keep it. A hidden pair has no tile.",
    );
  }

  return {
    show(/** @type {MasksData} */ newData, { setTriggerValue }) {
      sendEvent = setTriggerValue;
      const other = JSON.stringify(data?.batch) !== JSON.stringify(newData.batch);
      data = newData;
      const text = JSON.stringify(newData.state),
        echo = sentStates.indexOf(text);
      if (echo >= 0)
        sentStates = sentStates.slice(echo); // an echo of our own state: the user may have changed it since
      else {
        state = { ...newData.state };
        sentStates = [text];
      }
      if (other || echo < 0) [at, isKept] = [null, false];
      computeAll();
      saveMenu(place, {
        svg: () => screenSvg(steps),
        csv: () => tables.map(({ matrix }) => matrix.csv()).join("\n"),
        file: data.file,
      });
    },
    close() {
      for (const { matrix } of tables) matrix.close();
    },
  };
}, PRESENTATION);
