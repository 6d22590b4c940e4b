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
import { icon, node, tint } from "../../../../static/shared/runtime/dom.js";
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
    const word = node(
      "span",
      { class: value < 0 ? "against" : "for", title: `${text}: ${formatNumber(value, 2)}` },
      text,
    );
    word.style.setProperty("--strength", cssPercent((Math.abs(value) / most) * 0.55));
    return word;
  });
}

function describeVerdict(row) {
  const seeds = row.values.map((value) => formatNumber(value)).join(", ");
  const judged = row.right == null ? "" : row.right ? ", which is right" : ", which is wrong";
  return (
    `${row.name} says ${row.answer} with probability ${row.probability}${judged}; ${row.note}. ` +
    `Probability of ${row.of}, seed by seed: ${seeds}.` +
    (row.words.length
      ? ` What each word adds: ${row.words.map((w) => `${w.text} ${formatNumber(w.value, 2)}`).join(", ")}.`
      : "")
  );
}

function makeRow() {
  const parts = {
    name: node("span.name"),
    bar: node("span.bar"),
    seeds: node("span.seeds"),
    mark: node("span.mark"),
    answer: node("span.answer"),
    note: node("span.note"),
    words: node("span.words"),
  };
  const track = node("span.track", parts.words, node("span.scale", parts.bar, node("i.half"), parts.seeds));
  const verdict = node("span.verdict", parts.mark, parts.answer, parts.note);
  return { ...parts, element: node("div.row", { role: "img" }, parts.name, track, verdict) };
}

function fillRow(parts, row, origin) {
  const middle = meanOf(row.values);
  tint(parts.element, row.colour).setAttribute("aria-label", describeVerdict(row));
  parts.element.dataset.right = String(row.right);
  parts.name.replaceChildren(node("i.dot"), row.name);
  parts.words.replaceChildren(...colourWords(row.words));
  parts.element.classList.toggle("with-words", row.words.length > 0);
  parts.bar.style.left = cssPercent(Math.min(middle, origin));
  parts.bar.style.right = cssPercent(Math.min(1 - middle, 1 - origin));
  while (parts.seeds.childElementCount > row.values.length) parts.seeds.lastChild.remove();
  while (parts.seeds.childElementCount < row.values.length) parts.seeds.append(node("i"));
  const aside = spreadDots(row.values);
  row.values.forEach((value, seed) => {
    const dot = parts.seeds.children[seed];
    dot.style.left = cssPercent(value);
    dot.style.transform = `translateY(${aside[seed].toFixed(1)}px)`;
    dot.style.zIndex = Math.round(aside[seed] + REACH); // the dots of a cluster overlap in order, so that they can be counted
    dot.title = `seed ${seed}: ${row.of} ${formatNumber(value, 3)}`;
  });
  parts.mark.replaceChildren(...(row.right == null ? [] : [icon(row.right ? "check" : "close")]));
  parts.answer.textContent = `${row.answer} ${row.probability}`;
  parts.note.textContent = row.note;
}

function makeChips(place, signal) {
  let buttons = [];
  let selected = null;
  const highlightToken = (index) => window.dispatchEvent(new CustomEvent("lineage:token", { detail: { index } }));
  const holdToken = (index) => {
    selected = index;
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(i === selected)));
    highlightToken(selected);
  };
  window.addEventListener(
    "lineage:token",
    (/** @type {CustomEvent} */ { detail }) => {
      buttons.forEach((button, i) => button.classList.toggle("lit", i === detail?.index));
    },
    { signal },
  );
  window.addEventListener(
    "keydown",
    (event) => {
      if (event.key === "Escape" && selected != null) holdToken(null);
    },
    { signal },
  );
  signal.addEventListener("abort", () => {
    if (buttons.some((button) => button.matches(".lit"))) highlightToken(null);
  });

  return (tokens) => {
    const same =
      tokens.length === buttons.length &&
      tokens.every((token, i) => token.text === buttons[i].textContent && buttons[i].matches(`.${token.kind}`));
    if (same) return;
    buttons = tokens.map(({ text, kind }, i) => {
      const button = node("button", { type: "button", class: `chip ${kind}`, "aria-pressed": "false" }, text);
      if (kind === "beyond") button.title = "beyond the window of some models";
      button.onpointerenter = (event) => {
        if (event.pointerType === "mouse") highlightToken(i);
      };
      button.onpointerleave = (event) => {
        if (event.pointerType === "mouse") highlightToken(selected);
      };
      button.onfocus = () => {
        if (button.matches(":focus-visible")) highlightToken(i);
      };
      button.onblur = () => highlightToken(selected);
      button.onclick = () => holdToken(selected === i ? null : i);
      return button;
    });
    place.replaceChildren(...buttons);
    holdToken(null); // the selected word no longer exists
  };
}

function verdictsCsv({ rows }) {
  const cells = rows.flatMap((row) => row.values.map((value, seed) => [row.name, seed, row.of, value]));
  return toCsv(["model", "seed", "class", "probability"], cells);
}

export default defineComponent((place) => {
  const listening = new AbortController();
  const words = node("div.chips", { role: "group", "aria-label": "The sentence, token by token" });
  const note = node("p.token-note");
  const ends = [node("span"), node("span", "undecided"), node("span")];
  const grammar = node("span.grammar");
  const head = node("div.head", node("span.ends", ...ends), grammar);
  const rows = node("div.rows");
  const caption = node("p.caption");
  const figure = node("div.figure", words, note, head, rows, caption);
  place.replaceChildren(figure);
  const showChips = makeChips(words, listening.signal);
  /** @type {VerdictsData} */
  let data,
    parts = [],
    names;

  return {
    show(/** @type {VerdictsData} */ next) {
      data = next;
      saveMenu(figure, { svg: () => screenSvg(figure), csv: () => verdictsCsv(data), file: data.file });
      showChips(data.tokens);
      note.textContent = data.token_note ?? "";
      ends.forEach((end, i) => {
        end.textContent = data.ends[i];
        end.classList.toggle("true", data.truth?.end === i);
      });
      grammar.replaceChildren(...(data.truth ? [data.authority, node("b", data.truth.name)] : []));
      const newNames = data.rows.map((row) => row.name).join();
      if (newNames !== names) {
        // other models: a bar must not glide from one model's value to another's
        parts = data.rows.map(makeRow);
        rows.replaceChildren(...parts.map((part) => part.element));
        names = newNames;
      }
      figure.classList.toggle("from-zero", data.origin === 0);
      data.rows.forEach((row, i) => fillRow(parts[i], row, data.origin));
      caption.textContent = data.caption;
    },
    close: () => listening.abort(),
  };
});
