/**
 * Draw the architectures of the home page along one line; each is a link. Event "open": the page of a plain click, so
 * that Streamlit does not load the page again.
 *
 * @import { SendEvent } from "../../../../static/shared/runtime/events.js"
 *
 * @typedef {object} HomeTimelineData
 * @property {any[]} stations {year, name, source, question, colour, href, page, link, figure}; figure is null or has kind
 *    "bars" {rows: [{label, value}]}, "amounts" {rows, values from 0}, "reach" {lines: [{label, colour, values}], low,
 *    left, right}, "map" {points: [{label, x, y, strong}]}, "grid" {rows, columns, values} or "gaze" {query, tokens,
 *    weights}, each with alt and caption
 *
 * @typedef {object} HomeTimelineEvents
 * @property {string} open a page
 */
import { svgNode, node, tint } from "../../../../static/shared/runtime/dom.js";
import { shortenToWidth, textWidth } from "../../../../static/shared/runtime/text_metrics.js";
import { defineComponent } from "../../../../static/shared/runtime/component.js";
import { formatNumber } from "../../../../static/shared/runtime/format.js";

const SIZE = 14; // px, labels
const HEIGHT = 128; // px, figures; the same number is in style.css

const svgLabel = (text, x, y, anchor = "start", more = {}) =>
  svgNode("text", { x, y: y + 4.5, "text-anchor": anchor, ...more }, text);
const drawRect = (kind, x, y, width, height, more = {}) =>
  svgNode("rect", { class: kind, x, y, width, height, ...more });
const drawPath = (kind, d, more = {}) => svgNode("path", { class: kind, d, ...more });
const widestText = (texts, limit, weight) =>
  Math.min(limit, Math.max(...texts.map((text) => textWidth(text, SIZE, weight))));

/** Draw signed bars; each label is on the free side of the axis. */
function drawBars({ rows }, width) {
  const step = HEIGHT / rows.length,
    thick = Math.min(16, step - 6),
    half = width / 2 - 14;
  const [plus, minus] = [rows.filter(({ value }) => value >= 0), rows.filter(({ value }) => value < 0)],
    largest = (some) => Math.max(0, ...some.map(({ value }) => Math.abs(value))),
    [high, low] = [largest(plus), largest(minus)],
    [left, right] = [plus, minus].map((some) => widestText([...some.map(({ label }) => label), ""], half) + 8);
  const axis = Math.max(left, Math.min(width - right, (width * low) / (high + low || 1))),
    scale = Math.min(high ? (width - axis) / high : Infinity, low ? axis / low : Infinity);
  const drawBar = ({ label, value }, i) => {
    const y = (i + 0.5) * step,
      length = Math.max(1, Math.abs(value) * scale),
      isMinus = value < 0,
      text = shortenToWidth(label, (isMinus ? right : left) - 8, SIZE);
    return [
      drawRect(isMinus ? "minus" : "plus", isMinus ? axis - length : axis, y - thick / 2, length, thick),
      isMinus ? svgLabel(text, axis + 7, y) : svgLabel(text, axis - 7, y, "end"),
    ];
  };
  return [...rows.flatMap(drawBar), drawPath("axis", `M${axis} 0V${HEIGHT}`)];
}

function drawAmounts({ rows }, width) {
  const step = Math.min(36, HEIGHT / rows.length),
    thick = Math.min(16, step - 6),
    room = 38,
    names = rows.map(({ label }) => label),
    axis = widestText(names, width / 2 - 14) + 8,
    longest = (width - axis - room) / Math.max(...rows.map(({ value }) => value), 1e-9);
  const drawAmount = ({ label, value }, i) => {
    const y = (i + 0.5) * step,
      length = Math.max(1, value * longest);
    return [
      drawRect("share", axis, y - thick / 2, length, thick),
      svgLabel(shortenToWidth(label, axis - 8, SIZE), axis - 7, y, "end"),
      svgLabel(formatNumber(value), axis + length + 5, y),
    ];
  };
  return [...rows.flatMap(drawAmount), drawPath("axis", `M${axis} 0V${rows.length * step}`)];
}

/** Lines from now (right) back in time; they fall where less arrives. */
function drawReach({ lines, low, left, right }, width) {
  const [top, bottom] = [8, HEIGHT - 20],
    y = (value) => top + ((bottom - top) * value) / low;
  const drawLine = ({ label, colour, values }) => {
    const x = (i) => (i / (values.length - 1)) * width,
      middle = Math.floor(values.length / 2),
      points = values.map((value, i) => `${x(i).toFixed(1)} ${y(value).toFixed(1)}`);
    return [
      drawPath("line", `M${points.join("L")}`, { style: `stroke: var(${colour})` }),
      svgLabel(label, x(middle) + 6, y(values[middle]) + 12),
    ];
  };
  return [
    drawPath("rule", `M0 ${top}H${width}M0 ${bottom}H${width}`),
    svgLabel(left, 0, HEIGHT - 7, "start", { class: "end" }),
    svgLabel(right, width, HEIGHT - 7, "end", { class: "end" }),
    ...lines.flatMap(drawLine),
  ];
}

function drawMap({ points }, width) {
  return points.map(({ label, x, y, strong }) =>
    svgLabel(label, 8 + x * (width - 16), 8 + y * (HEIGHT - 16), "middle", { class: strong ? "strong" : "end" }),
  );
}

function drawGrid({ rows, columns, values }, width) {
  const cell = Math.min((HEIGHT - 14) / rows.length, (width - 14) / columns.length),
    at = (i) => 14 + i * cell,
    small = { "font-size": 13 };
  const drawCell = (value, i, j) =>
    drawRect("share", at(j), at(i), cell - 1, cell - 1, { opacity: (0.06 + 0.94 * value).toFixed(3) });
  return [
    ...columns.map((text, i) => svgLabel(text, at(i + 0.5), 6, "middle", small)),
    ...rows.map((text, i) => svgLabel(text, 4, at(i + 0.5), "middle", small)),
    ...values.flatMap((row, i) => row.map((value, j) => drawCell(value, i, j))),
  ];
}

function drawAttention({ query, tokens, weights }, width) {
  const step = HEIGHT / tokens.length,
    y = (i) => (i + 0.5) * step,
    from = HEIGHT / 2,
    words = widestText([query, ...tokens], (width - 36) / 2, 600),
    [start, end] = [textWidth(query, SIZE, 600) + 7, width - words - 7],
    strongest = weights.indexOf(Math.max(...weights));
  const drawRay = (weight, i) => {
    const look = { "stroke-width": Math.max(1, 9 * weight), opacity: 0.35 + 0.65 * weight };
    return drawPath("ray", `M${start} ${from}L${end} ${y(i)}`, look);
  };
  const drawWord = (word, i) => {
    const kind = { class: i === strongest ? "strong" : "end" };
    return svgLabel(shortenToWidth(word, words, SIZE, 600), width - words, y(i), "start", kind);
  };
  return [...weights.map(drawRay), svgLabel(query, 0, from, "start", { class: "strong" }), ...tokens.map(drawWord)];
}

const FIGURES = {
  ...{ bars: drawBars, amounts: drawAmounts, reach: drawReach },
  ...{ map: drawMap, grid: drawGrid, gaze: drawAttention },
};

function makeStation(station, open) {
  const box = node("div.figure");
  const caption = node("p.caption");
  const card = node(
    "a.card",
    { href: station.href },
    node("span.year", station.year),
    node("span.name", station.name),
    node("span.source", station.source),
    node("span.question", station.question),
    box,
    caption,
    node("span.link", station.link),
  );
  card.addEventListener("click", (event) => {
    if (event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    open(station.page);
  });
  const element = tint(node("li", card), station.colour);
  let figure = null;

  function paint() {
    const width = box.clientWidth;
    const make = FIGURES[figure?.kind];
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

// Four stations on a slide: they are one row there.
const PRESENTATION = { slides: ["li:nth-child(-n+4)", "li:nth-child(n+5):nth-child(-n+8)", "li:nth-child(n+9)"] };

export default defineComponent((place, /** @type {SendEvent<HomeTimelineEvents>} */ send) => {
  const list = node("ol");
  place.replaceChildren(list);
  let stations = [],
    shape;
  const repaintStations = () => stations.forEach((station) => station.paint());
  const watch = new ResizeObserver(repaintStations);
  document.fonts.ready.then(repaintStations); // widths measured before the font came were another font's

  return {
    show(/** @type {HomeTimelineData} */ data) {
      const next = JSON.stringify(data.stations.map((station) => ({ ...station, figure: null })));
      if (next !== shape) {
        // a late figure must not take the focus from a link
        shape = next;
        stations = data.stations.map((station) => makeStation(station, (page) => send("open", page)));
        list.replaceChildren(...stations.map((station) => station.element));
        watch.disconnect();
        stations.forEach((station) => watch.observe(station.box));
      }
      data.stations.forEach((station, i) => stations[i].show(station.figure));
    },
    close: () => watch.disconnect(),
  };
}, PRESENTATION);
