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
import { setTextIfChanged, node } from "../../../../static/shared/runtime/dom.js";
import { Matrix } from "../../../../static/shared/charts/editable_matrix/view.js";
import { saveMenu } from "../../../../static/shared/runtime/export_menu.js";
import { toCsv } from "../../../../static/shared/runtime/csv.js";
import { formatNumber } from "../../../../static/shared/runtime/format.js";
import { defineComponent } from "../../../../static/shared/runtime/component.js";

const PRESENTATION = { slides: [".half:first-child", ".half:last-child"] };

export default defineComponent((place) => {
  const makeSelect = (label) => {
    const field = node("select", { class: "lineage-select", "aria-label": label });
    return { field, root: node("label", {}, node("span", {}, label), field) };
  };
  const [layers, heads, chosen] = [makeSelect("Layer"), makeSelect("Head"), makeSelect("Word")];
  const looks = node("div", { class: "looks" }),
    words = node("p", { class: "words", role: "status" }),
    tiles = node("div", { class: "tiles" });
  const numbers = node("p", { class: "numbers", tabindex: 0, role: "group", "aria-label": "The word’s last vector" });
  const whose = node("p", { class: "whose" });
  place.replaceChildren(
    node("div", { class: "choices" }, layers.root, heads.root, chosen.root),
    node(
      "div",
      { class: "both" },
      node("div", { class: "half" }, looks, words),
      node("div", { class: "half" }, whose, tiles, numbers),
    ),
  );
  const weights = new Matrix(looks, { label: "Attention weights", scale: "amount", digits: 2 });
  const vectors = new Matrix(tiles, { label: "The word’s vector at every layer", scale: "sign", digits: 1 });
  /** @type {WordAttentionData | null} */
  let data = null,
    at = { layer: 0, head: 0, word: 0 },
    drawnName = "";

  place.addEventListener("keydown", (event) => event.stopPropagation()); // Streamlit reruns the page at an "r"
  for (const [name, { field }] of Object.entries({ layer: layers, head: heads, word: chosen })) {
    field.onchange = () => {
      at[name] = Number(field.value);
      paintAll();
    };
  }
  weights.onpick = (query, key, isKept) => {
    if (isKept && query >= 0) {
      at.word = query;
      chosen.field.value = query;
      paintAll();
    } else describePair(query, key);
  };
  vectors.onpick = (row, column) => {
    if (row < 0) return paintAll.numbers();
    setTextIfChanged(
      numbers,
      `Number ${column + 1} at ${data.names[row]}: ${formatNumber(data.vectors[row][at.word][column], 3)}`,
    );
  };

  function setOptions({ field }, texts, value) {
    field.replaceChildren(...texts.map((text, i) => node("option", { value: i }, text)));
    field.value = value;
  }
  function describePair(query, key) {
    const shares = data.weights[at.layer][at.head],
      from = query < 0 ? at.word : query,
      best = shares[from].indexOf(Math.max(...shares[from]));
    const to = query < 0 ? best : key;
    setTextIfChanged(
      words,
      `“${data.words[from]}” (word ${from + 1}) gives “${data.words[to]}” (word ${to + 1}) ${formatNumber(shares[from][to])} of its attention${to === best ? ", the most of all" : ""}. A row sums to 1.`,
    );
  }
  function paintAll() {
    const shares = data.weights[at.layer][at.head];
    weights.show({
      rows: data.words,
      columns: data.words,
      values: shares,
      most: 1,
      marked: data.words.map((_, key) => [at.word, key]),
    });
    describePair(-1, -1);
    const rows = data.vectors.map((layer) => layer[at.word]);
    vectors.show({ rows: data.names, columns: rows[0].map((_, i) => (i % 8 ? "" : String(i + 1))), values: rows });
    setTextIfChanged(
      whose,
      `“${data.words[at.word]}” (word ${at.word + 1}): its ${rows[0].length} numbers at every layer.`,
    );
    paintAll.numbers();
  }
  paintAll.numbers = () => {
    const vector = data.vectors.at(-1)[at.word];
    setTextIfChanged(numbers, `Last layer: [${vector.map((value) => formatNumber(value)).join(", ")}]`);
  };

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
      setOptions(
        layers,
        newData.weights.map((_, i) => String(i + 1)),
        at.layer,
      );
      setOptions(
        heads,
        newData.weights[0].map((_, i) => String(i + 1)),
        at.head,
      );
      setOptions(
        chosen,
        newData.words.map((word, i) => `${i + 1} ${word}`),
        at.word,
      );
      paintAll();
      const halves = place.querySelectorAll(".half");
      saveMenu(halves[0], { svg: () => weights.svg(), csv: weightsCsv, file: `${newData.file}-attention` });
      saveMenu(halves[1], { svg: () => vectors.svg(), csv: vectorsCsv, file: `${newData.file}-vectors` });
    },
    close() {
      weights.close();
      vectors.close();
    },
  };
}, PRESENTATION);
