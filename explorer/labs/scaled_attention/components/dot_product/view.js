/**
 * Show scaled dot-product attention on small tables: Q, K and V can be edited, and every step to the output is shown.
 * Edits of a model's tables are made on a copy and are not sent. Events: "set": the state as JSON; "size": the number
 * of tokens.
 *
 * @typedef {object} DotProductData
 * @property {string[]} tokens
 * @property {any} state {width, q, k, v: rows one after the other (empty: drawn from the seed; seed 0: an example),
 *    draw: seed, divide, mask: "none" | "causal" | "padding", padding: [token], at: "step.row.column" or ""}
 * @property {any} model null or {name: changes with the head, title, q, k, v, weights, hidden: rows}
 * @property {string} file
 *
 * @typedef {object} DotProductEvents
 * @property {string} set the state as JSON
 * @property {number} size of tokens
 */
import { ViewState } from "../../../../static/shared/runtime/view_state.js";
import { Matrix } from "../../../../static/shared/charts/editable_matrix/view.js";
import { formatNumber, formatSignificant } from "../../../../static/shared/runtime/format.js";
import { saveMenu } from "../../../../static/shared/runtime/export_menu.js";
import { toCsv } from "../../../../static/shared/runtime/csv.js";
import * as math from "./math.js";
import { screenSvg } from "../../../../static/shared/runtime/screen_svg.js";
import { defineComponent } from "../../../../static/shared/runtime/component.js";

const TABLES = [
  { name: "q", title: "Q, the queries", words: "What each token looks for.", scale: "sign" },
  { name: "k", title: "K, the keys", words: "What each query is compared with.", scale: "sign" },
  { name: "v", title: "V, the values", words: "What is added to the output.", scale: "sign" },
];
const STEPS = [
  { name: "scores", title: "1. Q Kᵀ", words: "each query · each key", scale: "sign" },
  { name: "scaled", title: "2. divided by √dₖ", words: "", scale: "sign" },
  { name: "masked", title: "3. under the mask", words: "", scale: "sign" },
  { name: "weights", title: "4. softmax", words: "each row sums to 1", scale: "amount" },
  { name: "out", title: "5. times V", words: "the output of each token", scale: "sign" },
];
const MASKS = { none: "no mask", causal: "later tokens are hidden", padding: "padding is hidden" };
const ROUNDING = 1e-5; // the model computes with seven digits
const NAMES = STEPS.map(({ name }) => name);
const PER_TOKEN = ["scores", "scaled", "masked", "weights"]; // steps with a column for each token

const PRESENTATION = { slides: [".tables, .words", ".steps > :nth-child(-n+3)", ".steps > :nth-child(n+4)"] };

export default defineComponent((place, /** @type {SendEvent<DotProductEvents>} */ send) => {
  /** @type {DotProductData | null} */
  let data = null,
    cell = null, // that is described
    at = null, // that was pointed at
    isKept = false,
    isCopy = false;
  let numbers, attention; // numbers of a model were edited
  const view = new ViewState(send, () => {
    if (!data.model) numbers = ownTables();
    draw();
  });
  const { node, button, list } = view;
  const width = () => numbers.q[0].length,
    countTokens = () => data.tokens.length,
    isModel = () => Boolean(data.model),
    root = () => formatNumber(Math.sqrt(width()));
  const titles = { scaled: () => (view.value.divide ? `2. divided by √${width()}` : "2. not divided") };
  const words = {
    scaled: () => (view.value.divide ? `so by ${root()}` : `√${width()} = ${root()} is left out`),
    masked: () => (isModel() ? "the model’s own mask" : MASKS[view.value.mask]),
  };
  const tables = [...TABLES, ...STEPS].map((one) => {
    const { name, title, scale } = one,
      texts = [node("h4", titles[name] ?? title), node("p", words[name] ?? one.words)],
      root = node("section", { class: `${name}-step` }, ...texts),
      matrix = new Matrix(root, { label: title.replace(/^\d\. /, ""), scale, editable: "qkv".includes(name) });
    matrix.onpick = (r, c, keep) => pickCell(name, r, c, keep);
    matrix.ondraft = (r, c, value) => editNumber(name, r, c, value, false);
    matrix.onedit = (r, c, value) => editNumber(name, r, c, value, true);
    return { name, matrix, root };
  });
  const roots = tables.map(({ root }) => root);
  const makeStepper = (word, count, text, change) => {
    const less = { "aria-label": `One ${word} less`, disabled: () => count() <= math.LEAST, onclick: () => change(-1) },
      more = { "aria-label": `One ${word} more`, disabled: () => count() >= math.MOST, onclick: () => change(1) };
    const buttons = [button({ symbol: "remove", ...less }), button({ symbol: "add", ...more })];
    return node("span.pair", { hidden: isModel }, buttons[0], node("span", text), buttons[1]);
  };
  const resizeText = (steps) => send("size", countTokens() + steps);
  const tokens = makeStepper("token", countTokens, () => `${countTokens()} tokens`, resizeText),
    widths = makeStepper("dimension", width, () => `dₖ = ${width()}`, resizeTables);
  const mask = node("select.lineage-select", { disabled: isModel, onchange: () => view.set({ mask: mask.value }) });
  const tokenList = () => data.tokens;
  const noPadding = () => isModel() || view.value.mask !== "padding",
    paddingGroup = { class: "padding", role: "group", "aria-label": "Which tokens are padding", hidden: noPadding };
  const makePadding = (token, i, inner) => {
    const isPadding = () => view.value.padding.includes(i),
      attributes = { "aria-pressed": isPadding, "aria-label": `“${token}” is padding` };
    return inner.button({ ...attributes, onclick: () => togglePadding(i) }, token);
  };
  const drawNumbers = () => view.set({ draw: view.value.draw + 1, q: [], k: [], v: [] }),
    isUnchanged = () => !isModel() || !isCopy;
  place.replaceChildren(
    node(
      "div.tools",
      view.toggle("divide", "divide by √dₖ"),
      node("label", "mask", mask),
      node("span", paddingGroup, list(tokenList, makePadding)),
      tokens,
      widths,
      button({ symbol: "casino", hidden: isModel, onclick: drawNumbers }, "Draw random numbers"),
      button({ symbol: "undo", hidden: isUnchanged, onclick: restoreModel }, "Back to the model’s numbers"),
    ),
    node("h3", { role: "status" }, findingText),
    node("p.same", { role: "status", hidden: () => !isModel() }, describeDifference),
    node("div.tables", ...roots.slice(0, 3)),
    node("div.steps", ...roots.slice(3)),
    node(
      "p.words",
      { role: "status" },
      node("span", () => (cell ? describeCell(...cell) : "")),
      node("span.hint", () => (isKept ? "Click it again, or press Enter, to release it." : "A click keeps it.")),
    ),
  );
  place.addEventListener("keydown", (event) => event.stopPropagation()); // Streamlit reruns the page at an "r"

  /* ---- what follows from the state */

  function draw() {
    const options = isModel() ? ["the model’s own"] : Object.keys(MASKS);
    attention = math.attend(numbers.q, numbers.k, numbers.v, view.value.divide, maskedCells());
    place.classList.toggle("large", width() > math.MOST || countTokens() > math.MOST);
    mask.replaceChildren(...options.map((word) => node("option", { value: word }, word)));
    mask.value = isModel() ? options[0] : view.value.mask;
    show();
  }
  /** Draw what depends on the pointer. */
  function show() {
    const pair = math.strongestPair(attention.weights);
    cell = at ?? (pair ? ["scores", ...pair] : null);
    const marked = cell ? math.sourceCells(...cell, countTokens(), width(), NAMES) : [],
      columns = Array.from({ length: width() }, (_, c) => String(c + 1)),
      values = { ...numbers, ...attention },
      most = Math.max(0.01, ...attention.scores.flat().map(Math.abs));
    for (const { name, matrix } of tables)
      matrix.show({
        rows: data.tokens,
        columns: PER_TOKEN.includes(name) ? data.tokens : columns,
        values: values[name],
        held: cell && cell[0] === name ? [cell[1], cell[2]] : null,
        marked: marked.filter(([one, r, c]) => one === name && values[name][r][c] !== null).map(([, r, c]) => [r, c]),
        ...(["scores", "scaled", "masked"].includes(name) ? { most } : {}),
      });
    view.update();
  }
  function findingText() {
    const { divide } = view.value,
      other = math.attend(numbers.q, numbers.k, numbers.v, !divide, maskedCells());
    return math.formatFinding(data.tokens, width(), divide, attention, other);
  }
  function describeDifference() {
    const { model } = data;
    if (!model) return "";
    const most = math.largestDifference(attention.weights, model.weights);
    if (isCopy) return `You changed a copy: its weights differ by up to ${formatSignificant(most)} from the model’s.`;
    const alike =
      most < ROUNDING
        ? "Computed here, its weights are the model’s own"
        : view.value.divide
          ? "Computed here, its weights are not those of the model"
          : "Without the division the weights are not those of the model";
    return `These are the numbers of ${model.title}. ${alike}: the largest difference is ${formatSignificant(most)}.`;
  }
  function describeCell(step, r, c) {
    const token = `“${data.tokens[r]}”`;
    if (step === "q") return `Number ${c + 1} of the query of ${token}: it takes part in each score of its row.`;
    if (step === "k") return `Number ${c + 1} of the key of ${token}: it takes part in each score of its column.`;
    if (step === "v")
      return `Number ${c + 1} of the value of ${token}: it enters number ${c + 1} of every output, times the weight.`;
    const { divide } = view.value;
    return math.explainCell(step, r, c, { tokens: data.tokens, ...numbers, divide, found: attention });
  }

  /* ---- what is set */

  function togglePadding(i) {
    const { padding } = view.value;
    view.set({ padding: padding.includes(i) ? padding.filter((other) => other !== i) : [...padding, i].sort() });
  }
  function restoreModel() {
    isCopy = false;
    numbers = ownTables();
    draw();
  }
  function editNumber(name, r, c, value, isDone) {
    numbers = { ...numbers, [name]: numbers[name].map((row, i) => (i === r ? row.with(c, value) : row)) };
    if (data.model) isCopy = true;
    if (isDone && !data.model) view.set(perTable((table) => numbers[table].flat()));
    else draw();
  }
  const perTable = (make) => Object.fromEntries(TABLES.map(({ name }) => [name, make(name)]));
  function resizeTables(steps) {
    const width = view.value.width + steps;
    const resize = (name) => {
      const more = math.makeTable(name, [], countTokens(), width, view.value.draw || 1);
      return more.flatMap((row, r) => row.map((value, c) => numbers[name][r][c] ?? value));
    };
    view.set({ width, ...perTable(resize) });
  }
  /** The numbers as they are given: those of the model, else those typed, else those drawn. */
  function ownTables() {
    const { value } = view;
    return perTable(
      (name) => data.model?.[name] ?? math.makeTable(name, value[name], countTokens(), value.width, value.draw),
    );
  }
  const maskedCells = () => data.model?.hidden ?? math.hiddenBy(view.value.mask, countTokens(), view.value.padding);
  function pickCell(step, r, c, keep) {
    if (r < 0 ? isKept : isKept && !keep) return;
    const again = keep && isKept && at?.join() === [step, r, c].join();
    isKept = keep && !again;
    at = r < 0 ? null : [step, r, c];
    if (keep) view.set({ at: isKept ? at.join(".") : "" });
    else show();
  }
  function parseCell(text) {
    const [step, ...cell] = text.split("."),
      [r, c] = cell.map(Number),
      columns = step === "out" ? (data.model?.v[0].length ?? view.value.width) : countTokens();
    return NAMES.includes(step) && r < countTokens() && c < columns ? [step, r, c] : null;
  }

  function figureCsv() {
    const values = { ...numbers, ...attention };
    const cells = (name, row, r) =>
      row.map((value, c) => [name, data.tokens[r], PER_TOKEN.includes(name) ? data.tokens[c] : c + 1, value]);
    return toCsv(
      ["table", "row", "column", "value"],
      tables.flatMap(({ name }) => values[name].flatMap((row, r) => cells(name, row, r))),
    );
  }

  return {
    show(/** @type {DotProductData} */ next) {
      const other = data?.model?.name !== next.model?.name,
        sized = data?.tokens.join("\n") !== next.tokens.join("\n"),
        first = !data;
      data = next;
      const isNew = view.receive({ ...data.state });
      if (isNew) [at, isKept] = [parseCell(view.value.at), Boolean(parseCell(view.value.at))];
      if (first || other) isCopy = false;
      if (!isCopy && (first || other || sized || isNew)) numbers = ownTables();
      if (at && (sized || other) && !parseCell(at.join("."))) [at, isKept] = [null, false];
      draw();
      const svg = () => screenSvg(place, { skip: ".tools, .same, .words" });
      saveMenu(place, { svg, csv: figureCsv, file: data.file });
    },
    close: () => tables.forEach(({ matrix }) => matrix.close()),
  };
}, PRESENTATION);
