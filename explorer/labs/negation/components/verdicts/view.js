/**
 * Show what every model predicts for one sentence: its words as chips, below them one bar per model. Chips send and
 * receive the window event "lineage:token" with detail {index} or {index: null}. Sends no events to the page.
 *
 * @typedef {object} VerdictsData
 * @property {any[]} tokens {text, kind: "marker" | "word" | "beyond"}
 * @property {string | null} token_note
 * @property {string[]} ends [left, middle, right] of the axis
 * @property {number} origin where the bars begin
 * @property {{name: string, end: number | null} | null} truth a class, and the end of the axis at which it stands
 * @property {string} authority what gives the true class, as in "The grammar says: "
 * @property {any[]} rows {name, colour, values: P(of) for each seed, of: a class, answer, probability, right: true |
 *    false | null, note, words: {text, value}[], each word with what it adds to the class at the right end; may be empty}
 * @property {string} caption
 * @property {string} file
 */
import { saveMenu } from "../../../../static/shared/runtime/export_menu.js";
import { toCsv } from "../../../../static/shared/runtime/csv.js";
import { icon, node } from "../../../../static/shared/runtime/dom.js";
import { LiveElements } from "../../../../static/shared/runtime/view_state.js";
import { screenSvg } from "../../../../static/shared/runtime/screen_svg.js";
import { defineComponent } from "../../../../static/shared/runtime/component.js";
import { formatNumber } from "../../../../static/shared/runtime/format.js";

const NEAR = 0.015; // seeds closer than this would hide each other
const LEAST = 0.5; // logits that a word has to add for the full colour, if no other word adds more
const REACH = 12; // px that a cluster of seeds may extend up and down

const meanOf = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
const cssPercent = (share) => `${(100 * share).toFixed(2)}%`;

/** Return the vertical offset of each seed, so that eight seeds at 1.00 are visible as eight dots. */
function spreadDots(values) {
  const order = values.map((_, seed) => seed).sort((a, b) => values[a] - values[b]);
  const isNear = (a, b) => Math.abs(values[a] - values[b]) < NEAR;
  const offsets = values.map(() => null);
  for (const seed of order) {
    const usedOffsets = new Set(
      order.filter((other) => offsets[other] != null && isNear(seed, other)).map((other) => offsets[other]),
    );
    let offset = 0;
    while (usedOffsets.has(offset)) offset = offset > 0 ? -offset : 1 - offset; // 0, 1, -1, 2, -2 ...
    offsets[seed] = offset;
  }
  const step = Math.min(7, (2 * REACH) / (Math.max(...offsets) - Math.min(...offsets)));
  const aside = values.map(() => 0);
  for (let start = 0, end = 1; start < order.length; start = end++) {
    // each cluster is centred
    while (end < order.length && isNear(order[end], order[end - 1])) end += 1;
    const cluster = order.slice(start, end);
    const middle =
      (Math.max(...cluster.map((seed) => offsets[seed])) + Math.min(...cluster.map((seed) => offsets[seed]))) / 2;
    for (const seed of cluster) aside[seed] = offsets[seed] === middle ? 0 : (offsets[seed] - middle) * step;
  }
  return aside;
}

/** Return the words, each on a colour whose strength is its share of what the strongest word adds. */
function colourWords(words) {
  const most = Math.max(LEAST, ...words.map(({ value }) => Math.abs(value)));
  return words.map(({ text, value }) => {
    const title = `${text}: ${formatNumber(value, 2)}`,
      strength = cssPercent((Math.abs(value) / most) * 0.55);
    return node("span", { class: value < 0 ? "against" : "for", title, "--strength": strength }, text);
  });
}

function describeVerdict(row) {
  const seeds = row.values.map((value) => formatNumber(value)).join(", ");
  const judged = row.right == null ? "" : row.right ? ", which is right" : ", which is wrong";
  return (
    `${row.name} says ${row.answer} with probability ${row.probability}${judged}${row.note && `; ${row.note}`}. ` +
    `Probability of ${row.of}, seed by seed: ${seeds}.` +
    (row.words.length
      ? ` What each word adds: ${row.words.map((w) => `${w.text} ${formatNumber(w.value, 2)}`).join(", ")}.`
      : "")
  );
}

/** Create the row of a model, whose elements stay: its bar glides from value to value. */
function makeRow(read, { node, list, keyed }, originOf) {
  const row = read,
    middle = () => meanOf(row().values),
    left = () => cssPercent(Math.min(middle(), originOf())),
    right = () => cssPercent(Math.min(1 - middle(), 1 - originOf())),
    dots = () =>
      spreadDots(row().values).map((aside, seed) => ({ aside, seed, value: row().values[seed], of: row().of })),
    signs = () => (row().right == null ? [] : [row().right ? "check" : "close"]);
  const makeDot = (read, { node }) => {
    // The dots of a cluster overlap in order, so that they can be counted.
    const style = () =>
        `left: ${cssPercent(read().value)}; transform: translateY(${read().aside.toFixed(1)}px); z-index: ${Math.round(read().aside + REACH)}`,
      title = () => `seed ${read().seed}: ${read().of} ${formatNumber(read().value, 3)}`;
    return node("i", { style, title });
  };
  const words = () => [row().words],
    makeWords = (all) => node("span.words", colourWords(all)),
    attributes = {
      role: "img",
      "aria-label": () => describeVerdict(row()),
      "data-right": () => String(row().right),
      "--colour": () => `var(${row().colour})`,
      ".with-words": () => row().words.length > 0,
    };
  const scale = node(
    "span.scale",
    node("span.bar", { style: () => `left: ${left()}; right: ${right()}` }),
    node("i.half"),
    node("span.seeds", keyed(dots, makeDot)),
  );
  return node(
    "div.row",
    attributes,
    node("span.name", node("i.dot"), () => row().name),
    node("span.track", list(words, makeWords), scale),
    node(
      "span.verdict",
      node("span.mark", list(signs, icon)),
      node("span.answer", () => `${row().answer} ${row().probability}`),
      node("span.note", () => row().note),
    ),
  );
}

function verdictsCsv({ rows }) {
  const cells = rows.flatMap((row) => row.values.map((value, seed) => [row.name, seed, row.of, value]));
  return toCsv(["model", "seed", "class", "probability"], cells);
}

const ofMouse = (act) => (event) => event.pointerType === "mouse" && act();

export default defineComponent((place) => {
  const listening = new AbortController(),
    { signal } = listening;
  /** @type {VerdictsData} */
  let data;
  let selected = null, // the token that is kept
    lit = null,
    shownTokens = "";
  const { node, list, keyed, update } = new LiveElements();
  const highlightToken = (index) => window.dispatchEvent(new CustomEvent("lineage:token", { detail: { index } }));
  const holdToken = (index) => {
    selected = index;
    highlightToken(selected);
  };
  const lightToken = (/** @type {CustomEvent} */ { detail }) => {
    lit = detail?.index ?? null;
    update();
  };
  window.addEventListener("lineage:token", lightToken, { signal });
  const releaseToken = ({ key }) => key === "Escape" && selected !== null && holdToken(null);
  window.addEventListener("keydown", releaseToken, { signal });

  const makeChip = ({ text, kind }, i, inner) =>
    inner.node(
      "button",
      {
        type: "button",
        class: () => `chip ${kind}${i === lit ? " lit" : ""}`,
        title: kind === "beyond" ? "beyond the window of some models" : null,
        "aria-pressed": () => i === selected,
        onpointerenter: ofMouse(() => highlightToken(i)),
        onpointerleave: ofMouse(() => highlightToken(selected)),
        onfocus: ({ target }) => target.matches(":focus-visible") && highlightToken(i),
        onblur: () => highlightToken(selected),
        onclick: () => holdToken(selected === i ? null : i),
      },
      text,
    );
  const tokens = () => data.tokens,
    rows = () => data.rows,
    // Other models get other elements: a bar must not glide from one model's value to another's.
    keyOf = (_row, i) => `${data.rows.map(({ name }) => name).join()} ${i}`,
    makeModel = (read, inner) => makeRow(read, inner, () => data.origin),
    makeEnd = (i) => node("span", { ".true": () => data.truth?.end === i }, () => data.ends[i]),
    truths = () => (data.truth ? [[data.authority, data.truth.name]] : []),
    makeTruth = ([authority, name]) => node("span", authority, node("b", name));
  const figure = node(
    "div.figure",
    { ".from-zero": () => data.origin === 0 },
    node("div.chips", { role: "group", "aria-label": "The sentence, token by token" }, list(tokens, makeChip)),
    node("p.token-note", () => data.token_note ?? ""),
    node("div.head", node("span.ends", [0, 1, 2].map(makeEnd)), node("span.grammar", list(truths, makeTruth))),
    node("div.rows", keyed(rows, makeModel, keyOf)),
    node("p.caption", () => data.caption),
  );
  place.replaceChildren(figure);

  return {
    show(/** @type {VerdictsData} */ newData) {
      data = newData;
      const text = JSON.stringify(data.tokens);
      update();
      if (text !== shownTokens) holdToken(null); // the selected word no longer exists
      shownTokens = text;
      saveMenu(figure, { svg: () => screenSvg(figure), csv: () => verdictsCsv(data), file: data.file });
    },
    close() {
      listening.abort();
      if (lit !== null) highlightToken(null);
    },
  };
});
