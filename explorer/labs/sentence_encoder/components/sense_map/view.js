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
import { moveSlider, setTextIfChanged, svgNode, node } from "../../../../static/shared/runtime/dom.js";
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

export default defineComponent((place) => {
  const slider = node("input", { type: "range", class: "slider", min: 0, step: 1, "aria-label": "Layer" });
  const layerName = node("output", {}),
    picture = svgNode("svg", { role: "img", height: TALL });
  const words = node("p", { class: "words", role: "status" }),
    list = node("ol", { class: "list" }),
    head = node("p", { class: "head" });
  const map = node("div", { class: "map" }, picture, words);
  place.replaceChildren(
    node("label", { class: "layers" }, node("span", {}, "Layer"), slider, layerName),
    node("div", { class: "both" }, map, node("div", { class: "side" }, head, list)),
  );
  const watch = new ResizeObserver(() => drawMap());
  watch.observe(map);
  /** @type {SenseMapData | null} */
  let data = null,
    /** @type {import("../../../../static/shared/runtime/events.js").SendEvent<SenseMapEvents>} */
    sendEvent = null,
    places = [],
    shownPoints = [],
    layer = 0,
    frame = 0,
    width = 0,
    height = TALL;

  place.addEventListener("keydown", (event) => event.stopPropagation()); // Streamlit reruns the page at an "r"
  slider.oninput = () => movePoints(Number(slider.value));
  slider.onchange = () => sendEvent("layer", layer);

  function movePoints(to) {
    const from = shownPoints,
      start = performance.now();
    layer = to;
    cancelAnimationFrame(frame);
    showLayerName();
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
        textNode(String(sentence + 1), { "text-anchor": "middle", dy: "0.35em" }),
      ),
    );
    const names = data.topics.map((topic, sense) =>
      textNode(topic, { class: `name sense-${sense}`, "text-anchor": "middle" }),
    );
    picture.replaceChildren(...dots, ...names, ...own);
    placePoints();
  }
  function textNode(text, attributes) {
    const label = svgNode("text", attributes);
    label.textContent = text;
    return label;
  }
  /** Move all dots and labels to their current positions. */
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

  /** Write the text of a layer: its name, the variance of its directions, and the similarity of the sentences. */
  function showLayerName() {
    setTextIfChanged(layerName, data.names[layer]);
    moveSlider(slider, layer);
    slider.setAttribute("aria-valuetext", data.names[layer]);
    const shares = data.shares[layer].map((share) => `${Math.round(100 * share)} %`).join(" and ");
    picture.setAttribute(
      "aria-label",
      `${data.senses.length} sentences with “${data.word}”, ${data.topics[0]} or ${data.topics[1]}, or with ${data.synonyms.join(" or ")}, at ${data.names[layer]}. The two directions show ${shares} of the variance.`,
    );
    setTextIfChanged(
      words,
      `The two directions show ${shares} of the variance at this layer. Filled: “${data.word}”; hollow: “${data.synonyms[0]}” and “${data.synonyms[1]}”. Numbers: your sentences.`,
    );
    const index = data.at.indexOf(data.chosen),
      similarities = describeSimilarities(data.cosines[layer] ?? [], data.kin, index);
    setTextIfChanged(
      head,
      index < 0
        ? "Choose a sentence to look into it."
        : `Centred cosine similarity to “${data.sentences[data.chosen].words[data.sentences[data.chosen].place]}” in sentence ${data.chosen + 1}.`,
    );
    [...list.children].forEach((item, i) => {
      const at = data.at.indexOf(i),
        value = at < 0 ? null : similarities[at],
        cell = item.querySelector(".similarity");
      setTextIfChanged(cell, i === data.chosen ? "selected" : value == null ? "" : formatNumber(value));
    });
  }

  function makeSentenceRow(sentence, i) {
    const text = sentence.words.map((word, w) =>
      node("span", { class: w === sentence.place ? "target" : null }, `${w ? " " : ""}${word}`),
    );
    const button = node(
      "button",
      { type: "button", disabled: sentence.readable ? null : "", "aria-pressed": String(i === data.chosen) },
      node("b", {}, String(i + 1)),
      node("span", { class: "text" }, ...text),
      node("span", { class: "says" }, sentence.says),
      node("span", { class: "similarity" }),
    );
    button.onclick = () => sendEvent("chosen", i);
    return node("li", {}, button);
  }

  picture.onpointermove = (event) => {
    const box = picture.getBoundingClientRect(),
      i = nearestPoint(shownPoints, event.clientX - box.left, event.clientY - box.top),
      count = data.senses.length;
    if (i < 0) return showLayerName();
    if (i >= count)
      setTextIfChanged(
        words,
        `Sentence ${data.of[i - count] + 1}: “${data.sentences[data.of[i - count]].words.join(" ")}”. A click looks into it.`,
      );
    else setTextIfChanged(words, `“${data.said[i]}”: ${data.topics[data.senses[i]]}.`);
  };
  picture.onpointerleave = () => showLayerName();
  picture.onclick = (event) => {
    const box = picture.getBoundingClientRect(),
      i = nearestPoint(shownPoints.slice(data.senses.length), event.clientX - box.left, event.clientY - box.top, 22);
    if (i >= 0) sendEvent("chosen", data.of[i]);
  };

  function senseMapCsv() {
    const csvLine = (kind, sentence, points) =>
      points.map(([x, y], l) => [kind, sentence, l, Number(x.toPrecision(6)), Number(y.toPrecision(6))]);
    const rows = data.said.flatMap((sentence, i) =>
      csvLine(
        data.topics[data.senses[i]],
        sentence,
        data.points.map((points) => points[i]),
      ),
    );
    const own = data.of.flatMap((sentence, i) =>
      csvLine(
        "own",
        data.sentences[sentence].words.join(" "),
        data.own.map((points) => points[i]),
      ),
    );
    return toCsv(["sense", "sentence", "layer", "x", "y"], [...rows, ...own]);
  }

  return {
    show(/** @type {SenseMapData} */ newData, component) {
      const focus = [...list.querySelectorAll("button")].indexOf(document.activeElement);
      data = newData;
      sendEvent = (name, value) => component.setTriggerValue(name, value);
      if (layer !== newData.layer || Number(slider.value) !== newData.layer) layer = newData.layer;
      slider.max = data.names.length - 1;
      list.replaceChildren(...data.sentences.map(makeSentenceRow));
      if (focus >= 0) list.querySelectorAll("button")[focus]?.focus();
      drawMap();
      showLayerName();
      saveMenu(map, { svg: () => svgOf(picture), csv: senseMapCsv, file: data.file });
    },
    close() {
      watch.disconnect();
      cancelAnimationFrame(frame);
    },
  };
}, PRESENTATION);
