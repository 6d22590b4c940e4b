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
import { setTextIfChanged, icon, node } from "../../../../static/shared/runtime/dom.js";
import { Matrix } from "../../../../static/shared/charts/editable_matrix/view.js";
import { formatNumber, formatSignificant } from "../../../../static/shared/runtime/format.js";
import { saveMenu } from "../../../../static/shared/runtime/export_menu.js";
import { toCsv } from "../../../../static/shared/runtime/csv.js";
import {
  LEAST,
  MOST,
  largestDifference,
  attend,
  explainCell,
  formatFinding,
  hiddenBy,
  sourceCells,
  strongestPair,
  makeTable,
} from "./math.js";
import { screenSvg } from "../../../../static/shared/runtime/screen_svg.js";
import { defineComponent } from "../../../../static/shared/runtime/component.js";

const TABLES = [
  { name: "q", title: "Q, the queries", words: "What each token looks for. Edit any number." },
  { name: "k", title: "K, the keys", words: "What each query is compared with. Edit any number." },
  { name: "v", title: "V, the values", words: "What is added to the output. Edit any number." },
];
const STEPS = [
  { name: "scores", title: "1. Q Kᵀ", words: "each query · each key", scale: "sign" },
  { name: "scaled", title: "2. divided by √dₖ", words: "", scale: "sign" },
  { name: "masked", title: "3. under the mask", words: "", scale: "sign" },
  { name: "weights", title: "4. softmax", words: "each row sums to 1", scale: "amount" },
  { name: "out", title: "5. times V", words: "the output of each token", scale: "sign" },
];
const ROUNDING = 1e-5; // the model computes with seven digits
const NAMES = STEPS.map(({ name }) => name);

const PRESENTATION = { slides: [".tables, .words", ".steps > :nth-child(-n+3)", ".steps > :nth-child(n+4)"] };

export default defineComponent((place) => {
  /** @type {DotProductData | null} */
  let data = null,
    state = null,
    numbers = null,
    attention = null,
    at = null,
    isKept = false,
    /** @type {import("../../../../static/shared/runtime/events.js").SendEvent<DotProductEvents>} */
    sendEvent = () => {},
    sentStates = [],
    copied = false;
  const makeButton = (words, sign, press) => {
    const button = node("button", { type: "button", class: "lineage-button" }, sign ? icon(sign) : null, words);
    button.onclick = press;
    return button;
  };
  const makeStepper = (word, change) => {
    const less = makeButton("", "remove", () => change(-1)),
      more = makeButton("", "add", () => change(1)),
      count = node("span", {});
    less.ariaLabel = `One ${word} less`;
    more.ariaLabel = `One ${word} more`;
    return { less, more, count, root: node("span", { class: "pair" }, less, count, more) };
  };
  const divide = node("input", { type: "checkbox", class: "toggle", role: "switch" }),
    mask = node("select", { class: "lineage-select" });
  const divided = node("label", {}, divide, "divide by √dₖ"),
    masking = node("label", {}, "mask", mask);
  const padding = node("span", { class: "padding", role: "group", "aria-label": "Which tokens are padding" });
  const tokens = makeStepper("token", (steps) => sendEvent("size", data.tokens.length + steps)),
    width = makeStepper("dimension", resizeTables);
  const random = makeButton("Draw random numbers", "casino", () =>
    setState({ draw: state.draw + 1, q: [], k: [], v: [] }),
  );
  const back = makeButton("Back to the model’s numbers", "undo", () => {
    copied = false;
    numbers = ownTables();
    computeAll();
  });
  const heading = node("h3", { role: "status" }),
    same = node("p", { class: "same", role: "status" }),
    description = node("span"),
    hint = node("span", { class: "hint" }),
    words = node("p", { class: "words", role: "status" }, description, hint);
  const inputTables = node("div", { class: "tables" }),
    steps = node("div", { class: "steps" });
  place.replaceChildren(
    node("div", { class: "tools" }, divided, masking, padding, tokens.root, width.root, random, back),
    heading,
    same,
    inputTables,
    steps,
    words,
  );
  place.addEventListener("keydown", (event) => event.stopPropagation()); // Streamlit reruns the page at an "r"
  divide.onchange = () => setState({ divide: divide.checked });
  mask.onchange = () => setState({ mask: mask.value });

  const all = [...TABLES, ...STEPS].map((one) => {
    const small = node("p", {}, one.words),
      title = node("h4", {}, one.title),
      root = node("section", { class: `${one.name}-step` }, title, small),
      editable = "qkv".includes(one.name);
    (editable ? inputTables : steps).append(root);
    const matrix = new Matrix(root, { label: one.title.replace(/^\d\. /, ""), scale: one.scale ?? "sign", editable });
    matrix.onpick = (r, c, keep) => pickCell(one.name, r, c, keep);
    matrix.ondraft = (r, c, value) => editNumber(one.name, r, c, value, false);
    matrix.onedit = (r, c, value) => editNumber(one.name, r, c, value, true);
    return { ...one, matrix, root, small, title };
  });
  const tablesByName = Object.fromEntries(all.map((one) => [one.name, one]));

  /* ---- what is set */

  function setState(change) {
    state = { ...state, ...change };
    if (!data.model) numbers = ownTables();
    computeAll();
    const text = JSON.stringify(state);
    sentStates.push(text);
    sendEvent("set", text);
  }
  function editNumber(name, r, c, value, isDone) {
    numbers = {
      ...numbers,
      [name]: numbers[name].map((row, i) => (i === r ? row.map((old, j) => (j === c ? value : old)) : row)),
    };
    if (data.model) copied = true;
    if (isDone && !data.model) setState(flattenTables());
    else computeAll();
  }
  const flattenTables = () => Object.fromEntries(TABLES.map(({ name }) => [name, numbers[name].flat()]));
  function resizeTables(steps) {
    const wide = state.width + steps,
      fitted = Object.fromEntries(
        TABLES.map(({ name }) => [
          name,
          numbers[name]
            .map((row, r) =>
              Array.from(
                { length: wide },
                (_, c) => row[c] ?? makeTable(name, [], data.tokens.length, wide, state.draw || 1)[r][c],
              ),
            )
            .flat(),
        ]),
      );
    setState({ width: wide, ...fitted });
  }
  /** The numbers as they are given: those of the model, else those typed, else those drawn. */
  function ownTables() {
    if (data.model) return { q: data.model.q, k: data.model.k, v: data.model.v };
    return Object.fromEntries(
      TABLES.map(({ name }) => [name, makeTable(name, state[name], data.tokens.length, state.width, state.draw)]),
    );
  }
  const maskedCells = () => data.model?.hidden ?? hiddenBy(state.mask, data.tokens.length, state.padding);

  /* ---- what follows from it */

  function computeAll() {
    const { q, k, v } = numbers,
      model = data.model,
      count = data.tokens.length,
      wide = q[0].length;
    attention = attend(q, k, v, state.divide, maskedCells());
    divide.checked = state.divide;
    mask.replaceChildren(
      ...(model ? ["the model’s own"] : ["none", "causal", "padding"]).map((word) =>
        node("option", { value: word }, word),
      ),
    );
    mask.value = model ? "the model’s own" : state.mask;
    mask.disabled = Boolean(model);
    for (const one of [tokens.root, width.root, random]) one.hidden = Boolean(model);
    back.hidden = !model || !copied;
    drawPadding(!model && state.mask === "padding");
    setTextIfChanged(tokens.count, `${count} tokens`);
    setTextIfChanged(width.count, `dₖ = ${wide}`);
    [tokens.less.disabled, tokens.more.disabled] = [count <= LEAST, count >= MOST];
    [width.less.disabled, width.more.disabled] = [wide <= LEAST, wide >= MOST];
    place.classList.toggle("large", wide > MOST || count > MOST);
    setTextIfChanged(
      heading,
      formatFinding(data.tokens, wide, state.divide, attention, attend(q, k, v, !state.divide, maskedCells())),
    );
    setTextIfChanged(same, model ? describeDifference(model) : "");
    same.hidden = !model;
    setTextIfChanged(tablesByName.scaled.title, state.divide ? `2. divided by √${wide}` : "2. not divided");
    setTextIfChanged(
      tablesByName.scaled.small,
      state.divide
        ? `so by ${formatNumber(Math.sqrt(wide))}`
        : `√${wide} = ${formatNumber(Math.sqrt(wide))} is left out`,
    );
    setTextIfChanged(
      tablesByName.masked.small,
      model
        ? "the model’s own mask"
        : state.mask === "none"
          ? "no mask"
          : state.mask === "causal"
            ? "later tokens are hidden"
            : "padding is hidden",
    );
    show();
  }
  function describeDifference(model) {
    const most = largestDifference(attention.weights, model.weights);
    if (copied) return `You changed a copy: its weights differ by up to ${formatSignificant(most)} from the model’s.`;
    const alike =
      most < ROUNDING
        ? "Computed here, its weights are the model’s own"
        : state.divide
          ? "Computed here, its weights are not those of the model"
          : "Without the division the weights are not those of the model";
    return `These are the numbers of ${model.title}. ${alike}: the largest difference is ${formatSignificant(most)}.`;
  }
  function drawPadding(isPossible) {
    padding.hidden = !isPossible;
    const mine = [...padding.children].indexOf(document.activeElement);
    padding.replaceChildren(
      ...(isPossible ? data.tokens : []).map((token, i) => {
        const one = makeButton(token, null, () =>
          setState({
            padding: state.padding.includes(i)
              ? state.padding.filter((other) => other !== i)
              : [...state.padding, i].sort(),
          }),
        );
        one.ariaPressed = String(state.padding.includes(i));
        one.ariaLabel = `“${token}” is padding`;
        return one;
      }),
    );
    if (mine >= 0) padding.children[mine]?.focus({ preventScroll: true });
  }

  /* ---- what follows the pointer */

  function pickCell(step, r, c, keep) {
    if (r < 0 ? isKept : isKept && !keep) return;
    const again = keep && isKept && at?.join() === [step, r, c].join();
    isKept = keep && !again;
    at = r < 0 ? null : [step, r, c];
    show();
    if (keep) setState({ at: isKept ? at.join(".") : "" });
  }
  function defaultCell() {
    const pair = strongestPair(attention.weights);
    return pair ? ["scores", ...pair] : null;
  }
  function show() {
    const cell = at ?? defaultCell(),
      count = data.tokens.length,
      wide = numbers.q[0].length;
    const marked = cell ? sourceCells(...cell, count, wide, NAMES) : [],
      columns = Array.from({ length: wide }, (_, c) => String(c + 1));
    const values = { ...numbers, ...attention },
      most = Math.max(0.01, ...attention.scores.flat().map(Math.abs));
    for (const { name, matrix } of all) {
      const across = ["scores", "scaled", "masked", "weights"].includes(name) ? data.tokens : columns;
      const selected = cell && cell[0] === name ? [cell[1], cell[2]] : null;
      const end = ["scores", "scaled", "masked"].includes(name) ? { most } : {};
      matrix.show({
        rows: data.tokens,
        columns: across,
        values: values[name],
        held: selected,
        marked: marked.filter(([one, r, c]) => one === name && values[name][r][c] !== null).map(([, r, c]) => [r, c]),
        ...end,
      });
    }
    setTextIfChanged(description, cell ? describeCell(...cell) : "");
    setTextIfChanged(
      hint,
      isKept ? "Click it again, or press Enter, to release it." : "Point at any cell; click to keep it.",
    );
  }
  function describeCell(step, r, c) {
    const token = `“${data.tokens[r]}”`;
    if (step === "q") return `Number ${c + 1} of the query of ${token}: it takes part in each score of its row.`;
    if (step === "k") return `Number ${c + 1} of the key of ${token}: it takes part in each score of its column.`;
    if (step === "v")
      return `Number ${c + 1} of the value of ${token}: it enters number ${c + 1} of every output, times the weight.`;
    return explainCell(step, r, c, { tokens: data.tokens, ...numbers, divide: state.divide, found: attention });
  }
  const parseCell = (text) => {
    const [step, ...cell] = text.split("."),
      [r, c] = cell.map(Number),
      rows = data.tokens.length;
    return NAMES.includes(step) && r < rows && c < (step === "out" ? (data.model?.v[0].length ?? state.width) : rows)
      ? [step, r, c]
      : null;
  };

  /* ---- saving */

  function figureCsv() {
    const values = { ...numbers, ...attention };
    return toCsv(
      ["table", "row", "column", "value"],
      all.flatMap(({ name }) =>
        values[name].flatMap((row, r) =>
          row.map((value, c) => [
            name,
            data.tokens[r],
            ["scores", "scaled", "masked", "weights"].includes(name) ? data.tokens[c] : c + 1,
            value,
          ]),
        ),
      ),
    );
  }

  return {
    show(/** @type {DotProductData} */ next, component) {
      sendEvent = component.setTriggerValue;
      const other = data?.model?.name !== next.model?.name,
        sized = data?.tokens.join("\n") !== next.tokens.join("\n"),
        first = !data;
      data = next;
      const text = JSON.stringify(data.state),
        echo = sentStates.indexOf(text);
      if (echo >= 0)
        sentStates = sentStates.slice(echo); // what was told comes back: the hand may be further already
      else {
        state = { ...data.state };
        sentStates = [text];
        [at, isKept] = [parseCell(state.at), Boolean(parseCell(state.at))];
      }
      if (first || other) copied = false;
      if (first || other || sized || echo < 0) {
        if (!copied) numbers = ownTables();
        if (at && (sized || other) && !parseCell(at.join("."))) [at, isKept] = [null, false];
      }
      computeAll();
      saveMenu(place, {
        svg: () => screenSvg(place, { skip: ".tools, .same, .words" }),
        csv: figureCsv,
        file: data.file,
      });
    },
    close() {
      for (const { matrix } of all) matrix.close();
    },
  };
}, PRESENTATION);
