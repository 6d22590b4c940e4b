/* One figure of the frame: its title line, its plotly chart, its readout and its saved file. */

import { formatNumber, formatSignificant } from "../../shared/runtime/format.js";
import {
  truncateTrace,
  isContinuous,
  selectFrame,
  nearestX,
  frameIndexAt,
  valueAt,
} from "../../shared/charts/playback.js";
import { placeEndLabels } from "../../shared/charts/end_labels.js";
import { element } from "../../shared/runtime/dom.js";
import { textWidth } from "../../shared/runtime/text_metrics.js";
import { pointerPosition } from "../../shared/runtime/pointer.js";
import { sortByReach, Readout, reachDots, Target, withUnit } from "./draggable_target.js";

// A drag zooms and a double click resets it; on a touch screen a drag scrolls the page.
const ZOOMABLE = matchMedia("(pointer: fine)").matches;
const PLOTLY_CONFIG = {
  displayModeBar: false,
  scrollZoom: false,
  doubleClick: ZOOMABLE ? "reset" : false,
  showTips: false,
  responsive: false,
};
const DRAGGED = 4; // px between press and release that make a drag
let count = 0;

export class Panel {
  width; // px; unknown until the frame is laid out
  token = null; // the token that this panel sent to the others
  page = null; // which of the frames is drawn
  at = null; // position of the hairline, in units of x
  pinned = null;

  constructor(frame) {
    this.frame = frame;
    this.root = element("figure", "frame-panel");
    this.root.role = "figure";
    this.dot = element("span", "frame-dot");
    this.name = element("b", "frame-name");
    this.value = element("span", "frame-value");
    this.detail = element("span", "frame-detail");
    this.title = element("div", "frame-title");
    this.title.append(this.dot, this.name, this.value, this.detail);
    this.plot = element("div", "frame-plot");
    this.plot.ariaHidden = "true"; // the figure's label says it in a sentence
    this.hair = element("div", "frame-hair");
    this.pen = element("div", "frame-pen");
    this.lights = ["x", "y"].map((axis) => Object.assign(element("div", "frame-light"), { axis }));
    this.dots = element("div", "frame-spots");
    this.over = element("div", "frame-over");
    this.veil = createSvgNode("rect", { x: -99, y: -99, width: 9999, height: 9999 });
    this.veilName = `lineage-cut-${count++}`;
    const clip = createSvgNode("clipPath", { id: this.veilName }),
      defs = createSvgNode("svg", { width: 0, height: 0 });
    clip.append(this.veil);
    defs.append(clip);
    for (const mark of [this.hair, this.pen, ...this.lights]) mark.hidden = true;
    this.over.append(this.hair, this.pen, ...this.lights, this.dots, defs);
    this.area = element("div", "frame-area");
    this.area.append(this.plot, this.over);
    this.readout = new Readout();
    this.caption = element("figcaption", "lineage-caption");
    this.root.append(this.title, this.area, this.readout.root, this.caption);
    frame.grid.append(this.root);
    this.plot.addEventListener("pointermove", (event) => this.movePointer(event));
    this.plot.addEventListener("pointerdown", (event) => {
      this.pressed = [event.clientX, event.clientY];
      this.movePointer(event);
    });
    this.plot.addEventListener("pointerleave", () => this.showsReadout && !frame.kept && frame.readValuesAt(null));
    this.plot.addEventListener("click", (event) => this.onClick(event));
  }

  update(figure, titled) {
    const source = typeof figure.plot === "string" ? figure.plot : JSON.stringify(figure.plot);
    if (source !== this.source || figure.frames) this.painted = null;
    this.source = source;
    this.figure = figure;
    this.root.ariaLabel = figure.alt ?? figure.title ?? figure.name;
    this.title.hidden = !titled;
    this.dot.hidden = !figure.colour;
    this.dot.style.background = figure.colour ? `var(${figure.colour})` : "";
    this.name.textContent = figure.title ?? "";
    this.caption.textContent = figure.caption ?? "";
    this.caption.hidden = !figure.caption;
    this.updateTarget(figure.target);
    this.root.classList.toggle("is-pickable", Boolean(figure.pickable));
    this.readout.root.classList.toggle("is-wide", Boolean(figure.tracks?.some(({ digits }) => digits === "power")));
    this.readout.reserveRows(Math.max(figure.target?.lines.length ?? 0, figure.tracks?.length ?? 0));
    this.updateTitle();
  }

  updateTarget(target) {
    if (target && !this.target) {
      this.target = new Target(
        () => {
          this.updateTitle();
          this.placeOverlays();
        },
        (value) => this.frame.report("target", value),
      );
      this.over.append(this.target.line, this.target.grip);
    } else if (!target && this.target) {
      for (const part of [this.target, this.target.line, this.target.grip]) part.remove();
      this.target = null;
    }
    this.target?.update(target);
  }

  showProblem(sentence) {
    this.plot.ariaHidden = null;
    this.plot.textContent = sentence;
  }

  set height(px) {
    this.area.style.height = `${px}px`;
    this.px = px;
  }

  resolveFigure() {
    const { theme } = this.frame,
      look = theme.colour("--ink"),
      { frames } = this.figure;
    if (this.painted?.look === look && this.painted.page === this.page) return this.painted;
    const { data, layout } = theme.resolveColours(JSON.parse(this.source));
    const template = theme.template({ zoomable: ZOOMABLE });
    // A box at the pointer would hide the curve: a figure with `track` shows the value in its title line.
    const quiet = this.showsReadout ? { hovermode: false } : {};
    return (this.painted = {
      look,
      page: this.page,
      data: frames ? selectFrame(data, frames[this.page]) : data,
      layout: { uirevision: this.figure.name, ...layout, ...quiet, template, autosize: false },
    });
  }

  draw(plotly, cursor) {
    if (!this.width) return; // in a closed tab or expander
    // In a figure with frames the cursor selects the frame, which is drawn completely.
    if (this.figure.frames) [this.page, cursor] = [frameIndexAt(this.figure.frames, cursor), null];
    const previous = this.painted,
      { data, layout } = this.resolveFigure();
    this.fluid = data.every(isContinuous);
    this.shown = this.fluid || cursor === null ? null : Math.floor(cursor);
    const state = `${this.width} ${this.px} ${this.shown}`;
    if (previous !== this.painted || this.state !== state) {
      const copy = structuredClone(layout); // plotly changes the layout object when the user zooms
      plotly.react(
        this.plot,
        this.shown === null ? data : data.map((trace) => truncateTrace(trace, this.shown)),
        { ...copy, ...placeEndLabels(copy, data, this.width, this.px, textWidth), width: this.width, height: this.px },
        PLOTLY_CONFIG,
      );
      this.state = state;
      if (!this.plotly) this.addPlotlyListeners(plotly);
      if (this.pinned) this.pinPoints(this.pinned);
    }
    this.clipGrowingTraces();
    this.cursor = cursor;
    this.updateTitle();
    this.placeOverlays();
  }

  /* Up to the cursor, sixty times a second: lines and bands are drawn whole once and uncovered from the left.
     Points and bars, which must not be seen in halves, are drawn again when one more of them is there. */
  show(cursor) {
    if (!this.plotly) return;
    if (this.figure.frames)
      return void (this.page === frameIndexAt(this.figure.frames, cursor) || this.frame.drawSoon(this));
    if (!this.fluid && (cursor === null ? null : Math.floor(cursor)) !== this.shown) return this.frame.drawSoon(this);
    this.cursor = cursor;
    this.updateTitle();
    this.placeOverlays();
  }

  /* Clip every trace at the cursor, except those with meta.whole (reference lines). */
  clipGrowingTraces() {
    for (const { uid, meta } of this.fluid && this.frame.playback ? this.plot._fullData : []) {
      if (!meta?.whole) this.plot.querySelector(`.trace${uid}`)?.setAttribute("clip-path", `url(#${this.veilName})`);
    }
  }

  addPlotlyListeners(plotly) {
    this.plotly = plotly;
    document.getElementById("js-plotly-tester")?.setAttribute("aria-hidden", "true"); // measures texts, shows nothing
    this.plot.on("plotly_relayout", () => {
      this.placeOverlays();
      if (this.pinned) this.pinPoints(this.pinned);
    });
    this.plot.on("plotly_hover", ({ points }) => this.sendToken(points[0]));
    this.plot.on("plotly_unhover", () => this.sendToken(this.pinned?.[0] ?? null));
    this.plot.on("plotly_click", ({ points }) => {
      this.clicked = points;
    });
  }

  get showsReadout() {
    return Boolean(this.figure.track || this.figure.tracks);
  }

  get axes() {
    const { xaxis, yaxis } = this.plot._fullLayout ?? {};
    return { xaxis, yaxis };
  }

  /* ---- reading a line ---- */

  movePointer(event) {
    const { xaxis } = this.axes;
    if (!this.showsReadout || !xaxis || this.frame.kept) return;
    const pixel = pointerPosition(event, this.plot).x - xaxis._offset;
    this.frame.readValuesAt(xaxis.p2d(Math.min(Math.max(pixel, 0), xaxis._length)));
  }

  onClick(event) {
    const [x, y] = this.pressed ?? [event.clientX, event.clientY];
    if (Math.hypot(event.clientX - x, event.clientY - y) > DRAGGED) return; // the end of a zoom
    if (this.showsReadout) {
      // plotly lays a cover over the page while a button is down, which looks like leaving
      const { kept } = this.frame;
      if (kept) this.frame.toggleKept(null);
      this.movePointer(event);
      if (!kept) this.frame.toggleKept(this.at);
      return;
    }
    const clicked = this.clicked;
    this.clicked = null;
    this.frame.toggleKept(null);
    if (!clicked) return;
    if (this.figure.pickable) {
      const { x, y } = clicked[0];
      return this.frame.report("pick", { figure: this.figure.name, x, y });
    }
    this.frame.kept = true;
    this.pinPoints(clicked);
  }

  readValuesAt(at) {
    if (!this.showsReadout) return;
    this.at = at;
    this.updateTitle();
    this.placeOverlays();
  }

  updateTitle() {
    const { track, value } = this.figure,
      data = this.painted?.data;
    let text = value ?? "",
      detail = "";
    this.spot = null;
    if (track && data) {
      const line = data[track.trace],
        at = this.at === null ? (this.shown ?? this.cursor) : nearestX(line, this.at, this.cursor ?? Infinity);
      const current = at === null ? null : valueAt(line, at);
      if (current !== null) text = formatValue(current, track.digits);
      if (current !== null && this.at !== null) {
        const [low, high] = [track.low, track.high].map((i) => (data[i] ? valueAt(data[i], at) : null));
        const range =
          low === null || high === null
            ? []
            : [`${formatValue(low, track.digits)} to ${formatValue(high, track.digits)}`];
        detail = [...range, this.formatPosition(at)].join(", ");
        this.spot = [at, current];
      }
    }
    if (this.value.textContent !== text) this.value.textContent = text;
    if (this.detail.textContent !== detail) this.detail.textContent = detail;
    if (data) this.updateReadout(data);
  }

  /* Format a position on the x axis with its unit. */
  formatPosition(at) {
    const unit =
      (this.figure.frames ? null : this.frame.data.playback?.unit) ?? titleText(this.painted.layout.xaxis?.title) ?? "";
    return `${unit} ${Number.isInteger(at) ? at : Number(at.toPrecision(4))}`.trim();
  }

  /* The list below the figure: every line at the hairline, or else the lines in the order in which they reach the target. */
  updateReadout(data) {
    const { target, tracks } = this.figure,
      limit = this.cursor ?? Infinity;
    this.marks = []; // [x, y, colour]
    let rows = [];
    if (tracks && (this.at !== null || !target) && !this.target?.held) {
      const { rest } = this.figure,
        at = this.at ?? (Array.isArray(rest) ? rest[this.page ?? rest.length - 1] : rest) ?? null,
        position =
          at === null
            ? null
            : nearestPosition(
                tracks.map(({ trace }) => nearestX(data[trace], at, limit)),
                at,
              );
      if (position !== null) this.spot = [position, null];
      rows = tracks.map((line) =>
        this.describeTrack(data, line, position ?? lastValue(data[line.trace], limit), position !== null),
      );
      this.hair.dataset.at = position === null ? "" : this.formatPosition(position);
    } else if (target) {
      const crossings = sortByReach(target.lines, data, this.target.value, target.rising, limit);
      this.marks = crossings.filter(({ x }) => x !== null).map(({ x, colour }) => [x, this.target.value, colour]);
      rows = crossings.map(({ title, colour, x }) => ({
        title,
        colour,
        value: x === null ? "not reached" : withUnit(formatValue(x, target.digits ?? 1), target.unit ?? ""),
      }));
    }
    this.readout.show(rows);
  }

  describeTrack(data, { trace, low, high, title, colour, digits }, at, mark) {
    const [value, from, to] = [trace, low, high].map((i) => (data[i] && at !== null ? valueAt(data[i], at) : null));
    if (mark && value !== null) this.marks.push([at, value, colour]);
    const more = from === null || to === null ? "" : `(${formatValue(from, digits)} to ${formatValue(to, digits)})`;
    return { title, colour, value: value === null ? "–" : formatValue(value, digits), more };
  }

  /* Place everything that lies over the drawing and follows its axes. */
  placeOverlays() {
    const { xaxis, yaxis } = this.axes;
    this.hair.hidden = !this.spot || !xaxis;
    this.pen.hidden = this.hair.hidden || this.spot[1] === null;
    if (!xaxis) return;
    this.veil.setAttribute("width", this.cursor === null ? 9999 : 99 + Math.max(0, xaxis.d2p(this.cursor)));
    if (this.spot) {
      const left = xaxis._offset + xaxis.d2p(this.spot[0]);
      setBox(this.hair, left, yaxis._offset, 0, yaxis._length);
      if (this.spot[1] !== null) setBox(this.pen, left, yaxis._offset + yaxis.d2p(this.spot[1]), 0, 0);
    }
    this.target?.placeOnAxes(xaxis, yaxis);
    const marks = (this.marks ?? [])
      .map(([x, y, colour]) => [xaxis.d2p(x), yaxis.d2p(y), colour])
      .filter(([left, top]) => left >= 0 && left <= xaxis._length && top >= 0 && top <= yaxis._length);
    reachDots(
      this.dots,
      marks.map(([left, top, colour]) => [xaxis._offset + left, yaxis._offset + top, colour]),
    );
    const { token_axis: along, token_offset: offset = 0 } = this.figure;
    for (const light of this.lights) {
      const axis = light.axis === "x" ? xaxis : yaxis;
      const [from, to] = [-0.5, 0.5].map((half) => axis.l2p((this.lit ?? 0) + offset + half)).sort((a, b) => a - b);
      light.hidden =
        this.lit === null ||
        this.lit === undefined ||
        !along?.includes(light.axis) ||
        to < 1 ||
        from > axis._length - 1;
      if (light.hidden) continue;
      const start = Math.max(from, 0),
        size = Math.min(to, axis._length) - start;
      if (light.axis === "x") setBox(light, xaxis._offset + start, yaxis._offset, size, yaxis._length);
      else setBox(light, xaxis._offset, yaxis._offset + start, xaxis._length, size);
    }
  }

  /* ---- keeping plotly's own readout: a copy of it, which the next hover does not take away ---- */

  pinPoints(points) {
    this.pinned = points;
    this.sendToken(points?.[0] ?? null);
    this.over.querySelector("svg")?.remove();
    if (!points || !this.plotly) return;
    this.plotly.Fx.hover(
      this.plot,
      points.map(({ curveNumber, pointNumber }) => ({ curveNumber, pointNumber })),
    );
    const layer = this.plot.querySelector(".hoverlayer");
    const copy = createSvgNode("svg", { class: "main-svg frame-pinned", width: this.width, height: this.px });
    copy.append(layer.cloneNode(true));
    this.over.append(copy);
    if (!this.plot.matches(":hover")) this.plotly.Fx.unhover(this.plot);
  }

  /* ---- tokens ---- */

  sendToken(point) {
    const { token_axis: along, token_offset: offset = 0, token_count: count = Infinity } = this.figure;
    if (!along) return;
    const axis = along === "x" ? "x" : "y"; // in a square of tokens it is the row that is the query
    let index = point ? Math.round(point[`${axis}axis`].d2c(point[axis])) - offset : null;
    if (!(index >= 0 && index < count)) index = null;
    if (index === this.token) return;
    this.token = index;
    window.dispatchEvent(new CustomEvent("lineage:token", { detail: { index } }));
  }

  highlightToken(index) {
    this.lit = index < (this.figure.token_count ?? Infinity) ? index : null;
    this.placeOverlays();
  }

  /* ---- saving ---- */

  async exportShapes(plotly, from) {
    const box = this.plot.getBoundingClientRect(),
      { data, layout } = this.plot;
    const visible = this.cursor === null ? data : data.map((trace) => truncateTrace(trace, this.cursor));
    const drawing = await plotly.toImage(
      { data: visible, layout, config: PLOTLY_CONFIG },
      { format: "svg", width: this.width, height: this.px, imageDataOnly: true },
    );
    const svg = new DOMParser().parseFromString(
      drawing.replaceAll("rgb(68, 68, 68)", "#1D2327"),
      "image/svg+xml",
    ).documentElement;
    svg.setAttribute("x", String(box.left - from.left));
    svg.setAttribute("y", String(box.top - from.top));
    svg.setAttribute("overflow", "visible"); // as on the screen
    const dots = [this.dot, ...this.dots.children, ...this.readout.root.querySelectorAll("i")].flatMap((dot) =>
      svgDot(dot, from),
    );
    const texts = [this.name, this.value, this.detail, ...this.readout.root.querySelectorAll("span"), this.caption];
    const line = this.target ? [svgRule(this.target.line, from), ...wrappedLines(this.target.label, from)] : [];
    return [svg, ...line, ...dots, ...texts.flatMap((place) => wrappedLines(place, from))];
  }

  exportRows() {
    const { name } = this.figure,
      { data, layout } = this.resolveFigure();
    return data
      .filter(({ meta }) => !meta?.label)
      .flatMap((trace, i) => {
        const series = svgText(trace.name ?? `series ${i + 1}`),
          { x, y, z } = trace;
        const word = { x: tickLabels(layout.xaxis), y: tickLabels(layout.yaxis) };
        if (z)
          return z.flatMap((row, r) =>
            row.map((value, c) => [name, series, word.x(x?.[c] ?? c), word.y(y?.[r] ?? r), value]),
          );
        const length = Math.max(x?.length ?? 0, y?.length ?? 0);
        return Array.from({ length }, (_, p) => [name, series, word.x(x?.[p] ?? p), word.y(y?.[p] ?? p)]);
      });
  }

  remove() {
    this.sendToken(null);
    this.target?.remove();
    if (this.plotly) this.plotly.purge(this.plot);
    this.root.remove();
  }
}

/* Numbers that stand for words on the axis, as words; where a word comes twice its number stays before it. */
function tickLabels({ tickvals = null, ticktext = null } = {}) {
  if (!tickvals || !ticktext) return svgText;
  const plain = ticktext.map(svgText);
  return (value) => {
    const word = plain[tickvals.indexOf(value)];
    return word === undefined
      ? svgText(value)
      : plain.indexOf(word) === plain.lastIndexOf(word)
        ? word
        : `${value} ${word}`;
  };
}

const SIGNS = { "&lt;": "<", "&gt;": ">", "&amp;": "&", "&nbsp;": " " };
function svgText(text) {
  if (typeof text !== "string") return text;
  return text
    .replace(/<br ?\/?>/g, " ")
    .replace(/<\/?(b|i|em|s|u|sub|sup|span|a)( [^>]*)?>/g, "")
    .replace(/&(lt|gt|amp|nbsp);/g, (sign) => SIGNS[sign]);
}

/* A text of the page as svg, broken into the lines the screen shows. */
function wrappedLines(place, from) {
  const source = place.firstChild;
  if (!source || !place.getClientRects().length) return [];
  const style = getComputedStyle(place),
    lines = [],
    range = document.createRange();
  for (const { index, 0: word } of source.data.matchAll(/\S+/g)) {
    range.setStart(source, index);
    range.setEnd(source, index + word.length);
    const box = range.getBoundingClientRect(),
      line = lines.at(-1);
    if (line && Math.abs(line.top - box.top) < 2) line.words.push(word);
    else lines.push({ words: [word], left: box.left, top: box.top, middle: box.top + box.height / 2 });
  }
  return lines.map((line) => {
    const text = createSvgNode("text", {
      x: line.left - from.left,
      y: line.middle - from.top,
      "dominant-baseline": "central",
      fill: style.color,
      "font-family": style.fontFamily.replaceAll('"', "'"),
      "font-size": style.fontSize,
      "font-weight": style.fontWeight,
    });
    text.textContent = line.words.join(" ");
    return text;
  });
}

function svgDot(dot, from) {
  const { left, top, width, height } = dot.getBoundingClientRect(),
    style = getComputedStyle(dot);
  if (!width || style.visibility === "hidden") return [];
  return [
    createSvgNode("circle", {
      r: width / 2,
      cx: left + width / 2 - from.left,
      cy: top + height / 2 - from.top,
      fill: style.backgroundColor,
    }),
  ];
}

function svgRule(line, from) {
  const { left, top, width } = line.getBoundingClientRect();
  return createSvgNode("path", {
    d: `M${left - from.left} ${top - from.top}h${width}`,
    stroke: getComputedStyle(line).color,
    "stroke-width": 1.5,
    "stroke-dasharray": "5 4",
  });
}

export function createSvgNode(tag, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

function setBox({ style }, left, top, width, height) {
  Object.assign(style, { left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` });
}

const nearestPosition = (places, at) => nearestX({ x: places, y: places }, at);
const lastValue = ({ x, y }, limit) => x.findLast((v, i) => v <= limit && y[i] !== null) ?? null;
const titleText = (title) => (typeof title === "string" ? title : title?.text);
/** @type {(value: number, digits?: number | "power") => string} */
const formatValue = (value, digits = 3) =>
  digits === "power" ? formatSignificant(value) : formatNumber(value, digits);
