/**
 * Show one sentence inside the encoder: where each word attends, head by head, and the vector of a word as numbers.
 * Hover shows, a click on a row selects its word. Sends no events.
 *
 * @typedef {object} WordAttentionData
 * @property {string[]} words
 * @property {number[][][][]} weights [layers][heads][query][key]
 * @property {number[][][]} vectors [layers + 1][words][width]
 * @property {string[]} names of the layers of `vectors`
 * @property {number} word index of the word that is shown first
 * @property {string} file
 */
import { LiveElements } from "../../../../static/shared/runtime/view_state.js";
import { Matrix } from "../../../../static/shared/charts/editable_matrix/view.js";
import { saveMenu } from "../../../../static/shared/runtime/export_menu.js";
import { toCsv } from "../../../../static/shared/runtime/csv.js";
import { formatNumber } from "../../../../static/shared/runtime/format.js";
import { defineComponent } from "../../../../static/shared/runtime/component.js";

const PRESENTATION = { slides: [".half:first-child", ".half:last-child"] };

export default defineComponent((place) => {
  /** @type {WordAttentionData | null} */
  let data = null,
    at = { layer: 0, head: 0, word: 0 },
    drawnName = "",
    pair = "", // the sentence about a query and a key
    number = ""; // the sentence about one number of the vector
  const { node, list, update } = new LiveElements();
  const makeSelect = (label, name, texts) => {
    const option = (text, i) => node("option", { value: i }, text),
      onchange = (event) => choose({ [name]: Number(event.target.value) }),
      attributes = { class: "lineage-select", "aria-label": label, onchange, value: () => at[name] };
    return node("label", node("span", label), node("select", attributes, list(texts, option)));
  };
  const count = (items) => items.map((_, i) => String(i + 1)),
    vector = () => data.vectors.at(-1)[at.word].map((value) => formatNumber(value));
  const looks = node("div.looks"),
    tiles = node("div.tiles"),
    whose = () => `“${data.words[at.word]}” (word ${at.word + 1}): its ${vector().length} numbers at every layer.`;
  const halves = [
    node(
      "div.half",
      looks,
      node("p.words", { role: "status" }, () => pair),
    ),
    node(
      "div.half",
      node("p.whose", whose),
      tiles,
      node(
        "p.numbers",
        { tabindex: 0, role: "group", "aria-label": "The word’s last vector" },
        () => number || `Last layer: [${vector().join(", ")}]`,
      ),
    ),
  ];
  place.replaceChildren(
    node(
      "div.choices",
      makeSelect("Layer", "layer", () => count(data.weights)),
      makeSelect("Head", "head", () => count(data.weights[0])),
      makeSelect("Word", "word", () => data.words.map((word, i) => `${i + 1} ${word}`)),
    ),
    node("div.both", ...halves),
  );
  const weights = new Matrix(looks, { label: "Attention weights", scale: "amount", digits: 2 });
  const vectors = new Matrix(tiles, { label: "The word’s vector at every layer", scale: "sign", digits: 1 });
  place.addEventListener("keydown", (event) => event.stopPropagation()); // Streamlit reruns the page at an "r"
  weights.onpick = (query, key, isKept) => {
    if (isKept && query >= 0) return choose({ word: query });
    describePair(query, key);
    update();
  };
  vectors.onpick = (row, column) => {
    const value = data.vectors[row]?.[at.word][column];
    number = row < 0 ? "" : `Number ${column + 1} at ${data.names[row]}: ${formatNumber(value, 3)}`;
    update();
  };

  function choose(part) {
    Object.assign(at, part);
    paintAll();
  }
  function describePair(query, key) {
    const shares = data.weights[at.layer][at.head],
      from = query < 0 ? at.word : query,
      best = shares[from].indexOf(Math.max(...shares[from])),
      to = query < 0 ? best : key,
      most = to === best ? ", the most of all" : "";
    pair = `“${data.words[from]}” (word ${from + 1}) gives “${data.words[to]}” (word ${to + 1}) ${formatNumber(shares[from][to])} of its attention${most}. A row sums to 1.`;
  }
  function paintAll() {
    const { words, names } = data,
      values = data.weights[at.layer][at.head],
      rows = data.vectors.map((layer) => layer[at.word]);
    weights.show({ rows: words, columns: words, values, most: 1, marked: words.map((_, key) => [at.word, key]) });
    vectors.show({ rows: names, columns: rows[0].map((_, i) => (i % 8 ? "" : String(i + 1))), values: rows });
    number = "";
    describePair(-1, -1);
    update();
  }

  function vectorsCsv() {
    const rows = data.vectors.flatMap((layer, l) =>
      layer.flatMap((vector, w) => vector.map((value, i) => [l, w + 1, data.words[w], i + 1, value])),
    );
    return toCsv(["layer", "place", "word", "dimension", "value"], rows);
  }
  function weightsCsv() {
    const rows = data.weights.flatMap((layer, l) =>
      layer.flatMap((head, h) =>
        head.flatMap((row, q) =>
          row.map((share, k) => [l + 1, h + 1, data.words[q], q + 1, data.words[k], k + 1, share]),
        ),
      ),
    );
    return toCsv(["layer", "head", "from", "place", "to", "place of it", "weight"], rows);
  }

  return {
    show(/** @type {WordAttentionData} */ newData) {
      data = newData;
      const name = `${newData.file} ${newData.words.join(" ")}`;
      at.layer = Math.min(drawnName ? at.layer : newData.weights.length - 1, newData.weights.length - 1);
      at.head = Math.min(at.head, newData.weights[0].length - 1);
      if (name !== drawnName) at.word = newData.word;
      drawnName = name;
      paintAll();
      saveMenu(halves[0], { svg: () => weights.svg(), csv: weightsCsv, file: `${newData.file}-attention` });
      saveMenu(halves[1], { svg: () => vectors.svg(), csv: vectorsCsv, file: `${newData.file}-vectors` });
    },
    close() {
      weights.close();
      vectors.close();
    },
  };
}, PRESENTATION);
