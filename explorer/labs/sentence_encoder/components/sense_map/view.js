/**
 * Draw the occurrences of one word in many sentences as points, layer by layer, and beside them the user's own
 * sentences. Hover shows, a click selects. Events: "layer", when the slider is released; "chosen", when a sentence is
 * selected.
 *
 * @typedef {object} SenseMapData
 * @property {string} word
 * @property {string[]} topics 2 names
 * @property {string[]} synonyms 2 words
 * @property {string[]} names of the layers
 * @property {number} layer
 * @property {number[][][]} points [layers][points][2]
 * @property {number[]} senses 0 or 1 for each point
 * @property {boolean[]} clear whether the point is a synonym
 * @property {string[]} said its sentence
 * @property {number[][][]} own [layers][own][2]
 * @property {number[]} of the sentence of each own point
 * @property {number[][]} shares [layers][2]
 * @property {any[]} sentences {words, place, readable, says}
 * @property {any} chosen
 * @property {number[][][]} cosines [layers][occurrences][occurrences]
 * @property {string[]} kin the homograph of each occurrence
 * @property {number[]} at the sentence of each occurrence
 * @property {string} file
 *
 * @typedef {object} SenseMapEvents
 * @property {number} layer
 * @property {number} chosen index of a sentence
 */
import { svgNode } from "../../../../static/shared/runtime/dom.js";
import { LiveElements } from "../../../../static/shared/runtime/view_state.js";
import { saveMenu, svgOf } from "../../../../static/shared/runtime/export_menu.js";
import { toCsv } from "../../../../static/shared/runtime/csv.js";
import { interpolatePoints, placeLabels, describeSimilarities, meanPoint, nearestPoint, fitPoints } from "./math.js";
import { formatNumber } from "../../../../static/shared/runtime/format.js";
import { defineComponent, limitHeight } from "../../../../static/shared/runtime/component.js";

const TALL = 400,
  MOVES = 320; // px; ms from one layer to the next
const SHAPES = [
  (r) => `M0 ${-r}A${r} ${r} 0 1 1 0 ${r}A${r} ${r} 0 1 1 0 ${-r}Z`,
  (r) => `M0 ${-1.3 * r}L${1.3 * r} 0L0 ${1.3 * r}L${-1.3 * r} 0Z`,
];

const PRESENTATION = { slides: [".map", ".side"] };

export default defineComponent((place, /** @type {SendEvent<SenseMapEvents>} */ send) => {
  /** @type {SenseMapData | null} */
  let data = null,
    places = [],
    shownPoints = [],
    layer = 0,
    frame = 0,
    width = 0,
    height = TALL,
    pointed = ""; // the sentence about the point under the pointer
  const { node, svg, list, update } = new LiveElements();
  const layerName = () => data.names[layer],
    similarities = () => describeSimilarities(data.cosines[layer] ?? [], data.kin, data.at.indexOf(data.chosen)),
    shares = () => data.shares[layer].map((share) => `${Math.round(100 * share)} %`).join(" and ");
  const describeMap = () =>
    `${data.senses.length} sentences with “${data.word}”, ${data.topics[0]} or ${data.topics[1]}, or with ${data.synonyms.join(" or ")}, at ${layerName()}. The two directions show ${shares()} of the variance.`;
  const describeLayer = () =>
    `Filled: “${data.word}”; hollow: “${data.synonyms[0]}” and “${data.synonyms[1]}”. Numbers: your sentences. Variance shown: ${shares()}.`;
  const headText = () => {
    const { words, place } = data.sentences[data.chosen] ?? {};
    return data.at.includes(data.chosen)
      ? `Centred cosine similarity to “${words[place]}” in sentence ${data.chosen + 1}.`
      : "Choose a sentence to look into it.";
  };
  const slider = node("input.slider", {
    type: "range",
    min: 0,
    max: () => data.names.length - 1,
    step: 1,
    "aria-label": "Layer",
    "aria-valuetext": layerName,
    value: () => layer,
    oninput: () => movePoints(Number(slider.value)),
    onchange: () => send("layer", layer),
  });
  const picture = svg("svg", { role: "img", height: TALL, "aria-label": describeMap });
  const words = node("p.words", { role: "status" }, () => pointed || describeLayer()),
    map = node("div.map", picture, words),
    head = node("p.head", headText),
    isOther = ({ index, readable }) =>
      readable && index !== data.chosen && data.kin[data.at.indexOf(index)] !== data.word,
    sentenceList = (wanted) =>
      data.sentences.map((each, index) => ({ ...each, index })).filter((each) => isOther(each) === wanted),
    others = () => sentenceList(true).length,
    sentences = [
      node(
        "ol.list",
        list(() => sentenceList(false), makeSentenceRow),
      ),
      node(
        "details.lineage-about",
        { hidden: () => !others() },
        node("summary", () => `Sentences with other words: ${others()}`),
        node(
          "ol.list",
          list(() => sentenceList(true), makeSentenceRow),
        ),
      ),
    ];
  place.replaceChildren(
    node("label.layers", node("span", "Layer"), slider, node("output", layerName)),
    node("div.both", map, node("div.side", head, sentences)),
  );
  place.addEventListener("keydown", (event) => event.stopPropagation()); // Streamlit reruns the page at an "r"

  function movePoints(to) {
    const from = shownPoints,
      start = performance.now();
    layer = to;
    cancelAnimationFrame(frame);
    describePoint("");
    const isReduced = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const drawNextFrame = (time) => {
      const share = isReduced ? 1 : Math.min(1, (time - start) / MOVES),
        target = [...places[layer].points, ...places[layer].own];
      shownPoints = interpolatePoints(from, target, share * share * (3 - 2 * share));
      placePoints();
      if (share < 1) frame = requestAnimationFrame(drawNextFrame);
    };
    drawNextFrame(start);
  }

  function drawMap() {
    if (!data || !map.clientWidth) return;
    width = map.clientWidth;
    height = limitHeight(TALL, 290);
    picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    picture.setAttribute("width", width);
    picture.setAttribute("height", height);
    places = fitPoints(data.points, data.own, width, height);
    shownPoints = [...places[layer].points, ...places[layer].own];
    const dots = data.senses.map((sense, i) =>
      svgNode("path", {
        d: SHAPES[sense](data.clear[i] ? 5 : 4.5),
        class: `dot sense-${sense}${data.clear[i] ? " clear" : ""}`,
      }),
    );
    const own = data.of.map((sentence) =>
      svgNode(
        "g",
        { class: `own${sentence === data.chosen ? " chosen" : ""}` },
        svgNode("circle", { r: 11 }),
        svgNode("text", { "text-anchor": "middle", dy: "0.35em" }, sentence + 1),
      ),
    );
    const names = data.topics.map((topic, sense) =>
      svgNode("text", { class: `name sense-${sense}`, "text-anchor": "middle" }, topic),
    );
    picture.replaceChildren(...dots, ...names, ...own);
    placePoints();
  }
  function placePoints() {
    const count = data.senses.length,
      parts = [...picture.children],
      dots = shownPoints.slice(0, count);
    dots.forEach(([x, y], i) => parts[i].setAttribute("transform", `translate(${x} ${y})`));
    shownPoints
      .slice(count)
      .forEach(([x, y], i) => parts[count + 2 + i].setAttribute("transform", `translate(${x} ${y})`));
    const middles = [0, 1].map((sense) => meanPoint(dots.filter((_, i) => data.senses[i] === sense && !data.clear[i])));
    placeLabels(...middles, 44).forEach(([x, y], sense) => {
      parts[count + sense].setAttribute("x", Math.max(60, Math.min(width - 60, x)));
      parts[count + sense].setAttribute("y", Math.max(18, Math.min(height - 8, y)));
    });
  }

  function describePoint(sentence) {
    pointed = sentence;
    update();
  }

  function makeSentenceRow({ index: i, words, place, readable, says }, _, inner) {
    const text = words.map((word, w) =>
      node("span", { class: w === place ? "target" : null }, `${w ? " " : ""}${word}`),
    );
    const similarity = () => {
      const value = similarities()[data.at.indexOf(i)];
      return i === data.chosen ? "selected" : value == null ? "" : formatNumber(value);
    };
    const button = inner.node(
      "button",
      {
        type: "button",
        disabled: !readable,
        "aria-pressed": () => i === data.chosen,
        onclick: () => send("chosen", i),
      },
      node("b", String(i + 1)),
      node("span.text", ...text),
      node("span.says", says),
      inner.node("span.similarity", similarity),
    );
    return node("li", button);
  }

  const pointAt = (event, points, ...reach) => {
    const { left, top } = picture.getBoundingClientRect();
    return nearestPoint(points, event.clientX - left, event.clientY - top, ...reach);
  };
  picture.onpointermove = (event) => {
    const i = pointAt(event, shownPoints),
      count = data.senses.length;
    if (i < 0) return describePoint("");
    if (i < count) return describePoint(`“${data.said[i]}”: ${data.topics[data.senses[i]]}.`);
    const sentence = data.of[i - count];
    describePoint(`Sentence ${sentence + 1}: “${data.sentences[sentence].words.join(" ")}”. A click looks into it.`);
  };
  picture.onpointerleave = () => describePoint("");
  picture.onclick = (event) => {
    const i = pointAt(event, shownPoints.slice(data.senses.length), 22);
    if (i >= 0) send("chosen", data.of[i]);
  };

  function senseMapCsv() {
    const csvLine = (kind, sentence, layers, i) =>
      layers.map((points, l) => [kind, sentence, l, ...points[i].map((value) => Number(value.toPrecision(6)))]);
    const rows = data.said.flatMap((said, i) => csvLine(data.topics[data.senses[i]], said, data.points, i)),
      own = data.of.flatMap((sentence, i) => csvLine("own", data.sentences[sentence].words.join(" "), data.own, i));
    return toCsv(["sense", "sentence", "layer", "x", "y"], [...rows, ...own]);
  }

  return {
    show(/** @type {SenseMapData} */ newData) {
      data = newData;
      layer = data.layer;
      drawMap();
      describePoint("");
      saveMenu(map, { svg: () => svgOf(picture), csv: senseMapCsv, file: data.file });
    },
    resize: () => map.clientWidth !== width && drawMap(),
    close: () => cancelAnimationFrame(frame),
  };
}, PRESENTATION);
