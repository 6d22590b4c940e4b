/**
 * Draw the architectures of the home page along one line; each is a link. Event "open": the page of a plain click, so
 * that Streamlit does not load the page again.
 *
 * @typedef {object} HomeTimelineData
 * @property {any[]} stations {year, name, question, colour, href, page, link, figure}; figure is null or has kind
 *    "bars" {rows: [{label, value}]}, "shares" {rows, values 0 to 1}, "path" {labels, values, low, high}, "gaze"
 *    {tokens, from: index, weights} or "lines" {lines}, each with alt and caption
 *
 * @typedef {object} HomeTimelineEvents
 * @property {string} open a page
 */
import { svgNode, node, tint } from "../../shared/runtime/dom.js";
import { shortenToWidth, textWidth } from "../../shared/runtime/text_metrics.js";
import { defineComponent } from "../../shared/runtime/component.js";
import { formatNumber } from "../../shared/runtime/format.js";

const SIZE = 13; // px, labels
const HEIGHT = 128; // px, figures; the same number is in style.css

function svgLabel(text, x, y, anchor = "start", more = {}) {
  return svgNode("text", { x, y: y + 4.5, "text-anchor": anchor, ...more }, text);
}
const widestText = (texts, limit, weight) =>
  Math.min(limit, Math.max(...texts.map((text) => textWidth(text, SIZE, weight))));

/** Draw signed bars; each label is on the free side of the axis. */
function drawBars({ rows }, width) {
  const step = HEIGHT / rows.length;
  const plus = rows.filter(({ value }) => value >= 0),
    minus = rows.filter(({ value }) => value < 0);
  const high = Math.max(0, ...plus.map(({ value }) => value)),
    low = Math.max(0, ...minus.map(({ value }) => -value));
  const minusWidth = widestText(plus.map((row) => row.label).concat(""), width / 2 - 14) + 8;
  const plusWidth = widestText(minus.map((row) => row.label).concat(""), width / 2 - 14) + 8;
  const axis = Math.max(minusWidth, Math.min(width - plusWidth, (width * low) / (high + low || 1)));
  const scale = Math.min(high ? (width - axis) / high : Infinity, low ? axis / low : Infinity);
  const thick = Math.min(16, step - 6);
  return [
    ...rows.flatMap(({ label: word, value }, i) => {
      const y = (i + 0.5) * step,
        length = Math.max(1, Math.abs(value) * scale);
      return [
        svgNode("rect", {
          class: value < 0 ? "minus" : "plus",
          x: value < 0 ? axis - length : axis,
          y: y - thick / 2,
          width: length,
          height: thick,
        }),
        value < 0
          ? svgLabel(shortenToWidth(word, plusWidth - 8, SIZE), axis + 7, y)
          : svgLabel(shortenToWidth(word, minusWidth - 8, SIZE), axis - 7, y, "end"),
      ];
    }),
    svgNode("path", { class: "axis", d: `M${axis} 0V${HEIGHT}` }),
  ];
}

/** Shares of one, each with its number. */
function drawShares({ rows }, width) {
  const step = HEIGHT / rows.length,
    thick = Math.min(16, step - 6),
    room = 34;
  const axis =
      widestText(
        rows.map((row) => row.label),
        width / 2 - 14,
      ) + 8,
    longest = width - axis - room;
  return [
    ...rows.flatMap(({ label: word, value }, i) => {
      const y = (i + 0.5) * step,
        length = Math.max(1, value * longest);
      return [
        svgNode("rect", { class: "share", x: axis, y: y - thick / 2, width: length, height: thick }),
        svgLabel(shortenToWidth(word, axis - 8, SIZE), axis - 7, y, "end"),
        svgLabel(formatNumber(value), axis + length + 5, y),
      ];
    }),
    svgNode("path", { class: "axis", d: `M${axis} 0V${HEIGHT}` }),
  ];
}

/** Time runs down, so that words read level and the two answers lie left and right as everywhere else. */
function drawPath({ labels, values, low, high }, width) {
  const left = widestText(labels, width * 0.45) + 14,
    right = width - 6;
  const step = HEIGHT / (labels.length + 1);
  const x = (value) => left + (right - left) * value,
    y = (i) => (i + 1.5) * step;
  const lowAt = Math.min(left - 6, width - textWidth(high, SIZE) - 8 - textWidth(low, SIZE));
  return [
    svgLabel(low, Math.max(0, lowAt), step / 2, "start", { class: "end" }),
    svgLabel(high, width, step / 2, "end", { class: "end" }),
    svgNode("path", { class: "rule", d: `M${x(0)} ${step}V${HEIGHT}M${x(1)} ${step}V${HEIGHT}` }),
    svgNode("path", { class: "half", d: `M${x(0.5)} ${step}V${HEIGHT}` }),
    ...labels.map((word, i) => svgLabel(shortenToWidth(word, left - 14, SIZE), left - 12, y(i), "end")),
    svgNode("path", {
      class: "line",
      d: `M${values.map((value, i) => `${x(value).toFixed(1)} ${y(i).toFixed(1)}`).join("L")}`,
    }),
    ...values.map((value, i) => svgNode("circle", { class: "dot", cx: x(value), cy: y(i), r: 3.5 })),
  ];
}

function drawAttention({ tokens, from, weights }, width) {
  const step = HEIGHT / tokens.length,
    y = (i) => (i + 0.5) * step;
  const words = widestText(tokens, (width - 36) / 2, 600);
  const start = words + 7,
    end = width - words - 7;
  const strongest = weights.indexOf(Math.max(...weights));
  return [
    ...weights.map((weight, i) =>
      svgNode("path", {
        class: "ray",
        d: `M${start} ${y(from)}L${end} ${y(i)}`,
        "stroke-width": Math.max(1, 9 * weight),
        opacity: 0.5 + 0.5 * weight,
      }),
    ),
    ...tokens.flatMap((word, i) => [
      svgLabel(shortenToWidth(word, words, SIZE, 600), words, y(i), "end", { class: i === from ? "asks" : "end" }),
      svgLabel(shortenToWidth(word, words, SIZE, 600), width - words, y(i), "start", {
        class: i === strongest ? "asks" : null,
      }),
    ]),
  ];
}

/** A few lines that a model wrote. */
function drawLines({ lines: written }, width) {
  const step = 20;
  return written.map((text, i) => svgLabel(shortenToWidth(text, width, SIZE), 0, (i + 0.5) * step));
}

const DRAW_FIGURE = { bars: drawBars, shares: drawShares, path: drawPath, gaze: drawAttention, lines: drawLines };

function makeStation(station, open) {
  const box = node("div", { class: "figure" });
  const caption = node("p", { class: "caption" });
  const card = node(
    "a",
    { class: "card", href: station.href },
    node("span", { class: "year" }, station.year),
    node("span", { class: "name" }, station.name),
    node("span", { class: "question" }, station.question),
    box,
    caption,
    node("span", { class: "link" }, station.link),
  );
  card.addEventListener("click", (event) => {
    if (event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    open(station.page);
  });
  const element = tint(node("li", {}, card), station.colour);
  let figure = null;

  function paint() {
    const width = box.clientWidth;
    const make = DRAW_FIGURE[figure?.kind];
    if (!make || width < 80) return box.replaceChildren();
    box.replaceChildren(
      svgNode("svg", { width, height: HEIGHT, "font-size": SIZE, "aria-hidden": "true" }, ...make(figure, width)),
    );
  }
  return {
    element,
    box,
    paint,
    show(next) {
      figure = next;
      caption.textContent = figure?.caption ?? "";
      if (figure) card.setAttribute("aria-description", figure.alt);
      element.classList.toggle("drawn", Boolean(figure));
      paint();
    },
  };
}

export default defineComponent((place) => {
  const list = node("ol");
  place.replaceChildren(list);
  let stations = [],
    shape,
    /** @type {import("../../shared/runtime/events.js").SendEvent<HomeTimelineEvents>} */
    trigger;
  const repaintStations = () => stations.forEach((station) => station.paint());
  const watch = new ResizeObserver(repaintStations);
  document.fonts.ready.then(repaintStations); // widths measured before the font came were another font's

  return {
    show(data, { setTriggerValue }) {
      trigger = setTriggerValue;
      const next = JSON.stringify(data.stations.map((station) => ({ ...station, figure: null })));
      if (next !== shape) {
        // a late figure must not take the focus from a link
        shape = next;
        stations = data.stations.map((station) => makeStation(station, (page) => trigger("open", page)));
        list.replaceChildren(...stations.map((station) => station.element));
        watch.disconnect();
        stations.forEach((station) => watch.observe(station.box));
      }
      data.stations.forEach((station, i) => stations[i].show(station.figure));
    },
    close: () => watch.disconnect(),
  };
});
