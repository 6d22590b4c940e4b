/* One figure of the frame: its title line, its plotly chart, what lies over it, and its readout. */

import { formatNumber, formatSignificant, withUnit } from "../../shared/runtime/format.js";
import * as playback from "../../shared/charts/playback.js";
import { isEndLabel, placeEndLabels } from "../../shared/charts/end_labels.js";
import { svgNode } from "../../shared/runtime/dom.js";
import { textWidth } from "../../shared/runtime/text_metrics.js";
import { pointerPosition } from "../../shared/runtime/pointer.js";
import { LiveElements } from "../../shared/runtime/view_state.js";
import { sortByReach, Target } from "./draggable_target.js";

// A drag zooms and a double click resets it; on a touch screen a drag scrolls the page.
const ZOOMABLE = matchMedia("(pointer: fine)").matches;
const PLOTLY_CONFIG = {
  displayModeBar: false,
  scrollZoom: false,
  doubleClick: ZOOMABLE ? "reset" : false,
  showTips: false,
  responsive: false,
};
const POINTED = 24; // px from a line at which the others fade
const DRAGGED = 4; // px between press and release that make a drag
let count = 0;

export class Panel {
  width; // px; unknown until the frame is laid out
  token = null; // the token that this panel sent to the others
  lit = null; // the token that is highlighted
  page = null; // which of the frames is drawn
  at = null; // position of the hairline, in units of x
  pinned = null;
  figure = /** @type {any} */ ({});
  source = ""; // plotly's JSON
  titled = false;
  // What is seen beside and over the chart, see `redraw`.
  value = "";
  detail = "";
  hairLabel = "";
  rows = []; // of the readout: {title, colour, value, more}
  boxes = /** @type {Record<string, string>} */ ({}); // the styles of marks that are seen
  marks = []; // [x, y, colour] on the axes
  spots = []; // {left, top, colour}, px

  constructor(frame) {
    this.frame = frame;
    const live = new LiveElements(),
      { node, svg, keyed } = live,
      veilName = `lineage-cut-${count++}`;
    this.refresh = live.update;
    this.clip = `url(#${veilName})`;
    this.target = new Target(
      live,
      () => this.redraw(),
      (value) => frame.report("target", value),
    );
    const dot = (read) => node("i.frame-dot", { hidden: () => !read(), style: () => background(read()) });
    const makeMark = (name, kind) =>
      node(`div.frame-${kind}`, { hidden: () => !this.boxes[name], style: () => this.boxes[name] });
    const makeRow = (row, inner) =>
      inner.node(
        "li",
        { style: () => (row().title === undefined ? "visibility: hidden" : null) },
        inner.node("i.frame-dot", { style: () => background(row().colour) }),
        ["title", "value", "more"].map((part) =>
          inner.node(`span.frame-readout-${part === "title" ? "name" : part}`, () => row()[part] ?? ""),
        ),
      );
    const makeSpot = (spot, inner) =>
      inner.node("i.frame-spot", {
        style: () => `left: ${spot().left}px; top: ${spot().top}px; ${background(spot().colour ?? "--ink")}`,
      });
    const veil = { x: -99, y: -99, width: () => this.veilWidth ?? 9999, height: 9999 };
    this.plot = node("div.frame-plot", {
      "aria-hidden": "true", // the figure's label says it in a sentence
      onpointermove: (event) => this.movePointer(event),
      onpointerdown: (event) => {
        this.pressed = [event.clientX, event.clientY];
        this.movePointer(event);
      },
      onpointerleave: () => {
        if (!this.showsReadout || frame.kept) return;
        frame.readValuesAt(null);
        this.singleOut(null);
      },
      onclick: (event) => this.onClick(event),
    });
    this.over = node(
      "div.frame-over",
      node("div.frame-hair", {
        hidden: () => !this.boxes.hair,
        style: () => this.boxes.hair,
        "data-at": () => this.hairLabel,
      }),
      makeMark("pen", "pen"),
      makeMark("x", "light"),
      makeMark("y", "light"),
      node(
        "div.frame-spots",
        keyed(() => this.spots, makeSpot),
      ),
      svg("svg", { width: 0, height: 0 }, svg("clipPath", { id: veilName }, svg("rect", veil))),
      this.target.line,
      this.target.grip,
    );
    this.area = node("div.frame-area", this.plot, this.over);
    this.root = node(
      "figure.frame-panel",
      {
        role: "figure",
        "aria-label": () => this.figure.alt ?? this.figure.title ?? this.figure.name,
        ".is-pickable": () => this.figure.pickable,
      },
      node(
        "div.frame-title",
        { hidden: () => !this.titled },
        dot(() => this.figure.colour),
        node("b.frame-name", () => this.figure.title ?? ""),
        node("span.frame-value", () => this.value),
        node("span.frame-detail", () => this.detail),
      ),
      this.area,
      node(
        "ul.frame-readout",
        {
          hidden: () => !this.rows.length,
          ".is-resting": () => this.isResting,
          ".is-wide": () => this.figure.tracks?.some(({ digits }) => digits === "power"),
        },
        keyed(() => this.rows, makeRow),
      ),
      node("figcaption.lineage-caption", { hidden: () => !this.figure.caption }, () => this.figure.caption ?? ""),
    );
    frame.grid.append(this.root);
  }

  update(figure, titled) {
    const source = typeof figure.plot === "string" ? figure.plot : JSON.stringify(figure.plot);
    if (source !== this.source || figure.frames) this.painted = null;
    Object.assign(this, { source, figure, titled });
    this.target.update(figure.target);
    this.redraw();
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
      data: frames ? playback.selectFrame(data, frames[this.page]) : data,
      layout: { uirevision: this.figure.name, ...layout, ...quiet, template, autosize: false },
    });
  }

  draw(plotly, cursor) {
    if (!this.width) return; // in a closed tab or expander
    // In a figure with frames the cursor selects the frame, which is drawn completely.
    if (this.figure.frames) [this.page, cursor] = [playback.frameIndexAt(this.figure.frames, cursor), null];
    const previous = this.painted,
      { data, layout } = this.resolveFigure();
    this.fluid = data.every(playback.isContinuous);
    this.shown = this.fluid || cursor === null ? null : Math.floor(cursor);
    const state = `${this.width} ${this.px} ${this.shown}`;
    if (previous !== this.painted || this.state !== state) {
      const copy = structuredClone(layout), // plotly changes the layout object when the user zooms
        { value = null } = this.figure.target ?? {},
        lines = value === null ? data : [...data, { mode: "lines", x: layout.xaxis?.range, y: [value, value] }];
      plotly.react(
        this.plot,
        this.shown === null ? data : data.map((trace) => playback.truncateTrace(trace, this.shown)),
        { ...copy, ...placeEndLabels(copy, lines, this.width, this.px, textWidth), width: this.width, height: this.px },
        PLOTLY_CONFIG,
      );
      this.state = state;
      if (!this.plotly) this.addPlotlyListeners(plotly);
      if (this.pinned) this.pinPoints(this.pinned);
    }
    this.clipGrowingTraces();
    this.cursor = cursor;
    this.redraw();
  }

  /* Up to the cursor, sixty times a second: lines and bands are drawn whole once and uncovered from the left.
     Points and bars, which must not be seen in halves, are drawn again when one more of them is there. */
  show(cursor) {
    if (!this.plotly) return;
    const { frames } = this.figure;
    const isOld = frames
      ? this.page !== playback.frameIndexAt(frames, cursor)
      : !this.fluid && (cursor === null ? null : Math.floor(cursor)) !== this.shown;
    if (isOld) return this.frame.drawSoon(this);
    if (frames) return;
    this.cursor = cursor;
    this.redraw();
  }

  /* Clip every trace at the cursor, except those with meta.whole (reference lines). */
  clipGrowingTraces() {
    for (const { uid, meta } of this.fluid && this.frame.playback ? this.plot._fullData : []) {
      if (!meta?.whole) this.plot.querySelector(`.trace${uid}`)?.setAttribute("clip-path", this.clip);
    }
  }

  addPlotlyListeners(plotly) {
    this.plotly = plotly;
    document.getElementById("js-plotly-tester")?.setAttribute("aria-hidden", "true"); // measures texts, shows nothing
    this.plot.on("plotly_relayout", () => {
      this.redraw();
      if (this.pinned) this.pinPoints(this.pinned);
    });
    this.plot.on("plotly_hover", ({ points }) => this.sendToken(points[0]));
    this.plot.on("plotly_unhover", () => this.sendToken(this.pinned?.[0] ?? null));
    this.plot.on("plotly_click", ({ points }) => (this.clicked = points));
  }

  get showsReadout() {
    return Boolean(this.figure.track || this.figure.tracks);
  }

  /* Whether the lines have their names beside them and nobody reads their values. */
  get isResting() {
    const { at, figure, frame, painted } = this;
    return at === null && !figure.target && !frame.data.playback && painted?.layout.annotations?.some(isEndLabel);
  }

  get axes() {
    const { xaxis, yaxis } = this.plot._fullLayout ?? {};
    return { xaxis, yaxis };
  }

  /* ---- reading a line ---- */

  movePointer(event) {
    const { xaxis, yaxis } = this.axes;
    if (!this.showsReadout || !xaxis || this.frame.kept) return;
    const { x, y } = pointerPosition(event, this.plot),
      pixel = x - xaxis._offset;
    this.frame.readValuesAt(xaxis.p2d(Math.min(Math.max(pixel, 0), xaxis._length)));
    this.singleOut(y - yaxis._offset);
  }

  /* Fade all lines but the one at this height (px), with their bands and names; null: none of them. */
  singleOut(height) {
    const { tracks } = this.figure,
      { yaxis } = this.axes,
      data = height === null ? null : this.painted?.data; // none between an update and its drawing
    if (!yaxis || !(tracks?.length > 1)) return;
    const distances = tracks.map(({ trace }) =>
      data ? Math.abs(yaxis.d2p(valueAt(data[trace], this.spot?.[0]) ?? NaN) - height) : Infinity,
    );
    const least = Math.min(...distances.filter(Number.isFinite)),
      near = least < POINTED ? tracks[distances.indexOf(least)] : null;
    const setOpacity = (element, isFaded) => element && (element.style.opacity = isFaded ? 0.15 : "");
    const colours = near ? tracks.map(({ trace }) => data[trace].line.color) : [];
    for (const track of tracks)
      for (const i of [track.trace, track.low, track.high])
        setOpacity(this.plot.querySelector(`.trace${this.plot._fullData[i]?.uid}`), near && track !== near);
    this.plot._fullLayout.annotations.forEach(({ font }, i) => {
      const isOther = near && font.color !== data[near.trace].line.color && colours.includes(font.color);
      setOpacity(this.plot.querySelector(`.annotation[data-index="${i}"]`), isOther);
    });
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
    this.redraw();
  }

  /* Write the values, and place what lies over the chart. */
  redraw() {
    Object.assign(this, {
      value: this.figure.value ?? "",
      detail: "",
      hairLabel: "",
      spot: null,
      marks: [],
      boxes: {},
    });
    const { target, tracks } = this.figure,
      data = this.painted?.data;
    let rows = [];
    if (data) {
      this.readTrack(data);
      if (tracks && (this.at !== null || !target) && !this.target.held) rows = this.readTracks(data);
      else if (target) rows = this.readReaches(data);
    }
    const reserved = Math.max(target?.lines.length ?? 0, tracks?.length ?? 0); // so that the content below does not move
    this.rows = Array.from({ length: reserved }, (_, i) => rows[i] ?? {});
    const { xaxis, yaxis } = this.axes;
    if (xaxis) this.placeOnAxes(xaxis, yaxis);
    this.refresh();
  }

  /* The value of one line in the title: at the hairline with its interval and position, else at the cursor. */
  readTrack(data) {
    const { track } = this.figure;
    if (!track) return;
    const line = data[track.trace],
      isRead = this.at !== null,
      at = isRead ? playback.nearestX(line, this.at, this.cursor ?? Infinity) : (this.shown ?? this.cursor),
      current = valueAt(line, at);
    if (current === null) return;
    this.value = formatValue(current, track.digits);
    if (!isRead) return;
    this.detail = [formatInterval(data, track, at), this.formatPosition(at)].filter(Boolean).join(", ");
    this.spot = [at, current];
  }

  /* Format a position on the x axis with its unit. */
  formatPosition(at) {
    const { title } = this.painted.layout.xaxis ?? {},
      unit = (this.figure.frames ? null : this.frame.data.playback?.unit) ?? title?.text ?? title ?? "";
    return `${unit} ${Number.isInteger(at) ? at : Number(at.toPrecision(4))}`.trim();
  }

  /* Every line at the hairline, or where lines are read without a pointer, or at their ends. */
  readTracks(data) {
    const { tracks, rest } = this.figure,
      limit = this.cursor ?? Infinity,
      at = this.at ?? (Array.isArray(rest) ? rest[this.page ?? rest.length - 1] : rest) ?? null;
    const places = tracks.map(({ trace }) => playback.nearestX(data[trace], at, limit)),
      position = at === null ? null : playback.nearestX({ x: places, y: places }, at);
    if (position !== null) {
      this.spot = [position, null];
      this.hairLabel = this.formatPosition(position);
    }
    return tracks.map((track) => {
      const { title, colour, digits } = track,
        line = data[track.trace],
        x = position ?? line.x.findLast((v, i) => v <= limit && line.y[i] !== null) ?? null,
        value = valueAt(line, x),
        interval = formatInterval(data, track, x);
      if (position !== null && value !== null) this.marks.push([x, value, colour]);
      return {
        title,
        colour,
        value: value === null ? "–" : formatValue(value, digits),
        more: interval && `(${interval})`,
      };
    });
  }

  /* The lines in the order in which they reach the target. */
  readReaches(data) {
    const { lines, rising, digits = 1, unit = "" } = this.figure.target,
      { value } = this.target;
    return sortByReach(lines, data, value, rising, this.cursor ?? Infinity).map(({ title, colour, x }) => {
      if (x !== null) this.marks.push([x, value, colour]);
      return { title, colour, value: x === null ? "not reached" : withUnit(formatValue(x, digits), unit) };
    });
  }

  /* Place everything that lies over the drawing and follows its axes. */
  placeOnAxes(xaxis, yaxis) {
    const [left, top, width, height] = [xaxis._offset, yaxis._offset, xaxis._length, yaxis._length];
    this.veilWidth = this.cursor == null ? 9999 : 99 + Math.max(0, xaxis.d2p(this.cursor));
    if (this.spot) {
      const [x, y] = this.spot,
        at = left + xaxis.d2p(x);
      this.boxes.hair = boxStyle(at, top, 0, height);
      if (y !== null) this.boxes.pen = boxStyle(at, top + yaxis.d2p(y), 0, 0);
    }
    if (this.target.data) this.target.placeOnAxes(xaxis, yaxis);
    this.spots = this.marks
      .map(([x, y, colour]) => ({ x: xaxis.d2p(x), y: yaxis.d2p(y), colour }))
      .filter(({ x, y }) => x >= 0 && x <= width && y >= 0 && y <= height)
      .map(({ x, y, colour }) => ({ left: left + x, top: top + y, colour }));
    const { token_axis: along = "", token_offset: offset = 0 } = this.figure;
    for (const name of this.lit === null ? "" : (along ?? "")) {
      const axis = name === "x" ? xaxis : yaxis,
        [from, to] = [-0.5, 0.5].map((half) => axis.l2p(this.lit + offset + half)).sort((a, b) => a - b),
        start = Math.max(from, 0),
        size = Math.min(to, axis._length) - start;
      if (to < 1 || from > axis._length - 1) continue;
      this.boxes[name] =
        name === "x" ? boxStyle(left + start, top, size, height) : boxStyle(left, top + start, width, size);
    }
  }

  /* ---- keeping plotly's own readout: a copy of it, which the next hover does not take away ---- */

  pinPoints(points) {
    this.pinned = points;
    this.sendToken(points?.[0] ?? null);
    this.over.querySelector(".frame-pinned")?.remove();
    if (!points || !this.plotly) return;
    this.plotly.Fx.hover(
      this.plot,
      points.map(({ curveNumber, pointNumber }) => ({ curveNumber, pointNumber })),
    );
    const layer = this.plot.querySelector(".hoverlayer").cloneNode(true);
    this.over.append(svgNode("svg.main-svg.frame-pinned", { width: this.width, height: this.px }, layer));
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
    this.lit = index !== null && index < (this.figure.token_count ?? Infinity) ? index : null;
    this.redraw();
  }

  /* ---- saving ---- */

  /* Return the chart up to the cursor as an SVG element. */
  async plotSvg(plotly) {
    const { data, layout } = this.plot,
      shown = this.cursor == null ? data : data.map((trace) => playback.truncateTrace(trace, this.cursor));
    const drawing = await plotly.toImage(
      { data: shown, layout, config: PLOTLY_CONFIG },
      { format: "svg", width: this.width, height: this.px, imageDataOnly: true },
    );
    return new DOMParser().parseFromString(drawing.replaceAll("rgb(68, 68, 68)", "#1D2327"), "image/svg+xml")
      .documentElement;
  }

  exportRows() {
    const { name } = this.figure,
      { data, layout } = this.resolveFigure();
    return data
      .filter(({ meta }) => !meta?.label)
      .flatMap((trace, i) => {
        const series = plainText(trace.name ?? `series ${i + 1}`),
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
    this.target.stopWaiting();
    if (this.plotly) this.plotly.purge(this.plot);
    this.root.remove();
  }
}

/* Numbers that stand for words on the axis, as words; where a word comes twice its number stays before it. */
function tickLabels({ tickvals = null, ticktext = null } = {}) {
  if (!tickvals || !ticktext) return plainText;
  const plain = ticktext.map(plainText);
  return (value) => {
    const word = plain[tickvals.indexOf(value)];
    return word === undefined
      ? plainText(value)
      : plain.indexOf(word) === plain.lastIndexOf(word)
        ? word
        : `${value} ${word}`;
  };
}

/* The text of a label without its markup. */
const SIGNS = { "&lt;": "<", "&gt;": ">", "&amp;": "&", "&nbsp;": " " };
function plainText(text) {
  if (typeof text !== "string") return text;
  return text
    .replace(/<br ?\/?>/g, " ")
    .replace(/<\/?(b|i|em|s|u|sub|sup|span|a)( [^>]*)?>/g, "")
    .replace(/&(lt|gt|amp|nbsp);/g, (sign) => SIGNS[sign]);
}

const background = (colour) => (colour ? `background: var(${colour})` : null);
const boxStyle = (left, top, width, height) => `left: ${left}px; top: ${top}px; width: ${width}px; height: ${height}px`;
const valueAt = (line, at) => (line && at !== null && at !== undefined ? playback.valueAt(line, at) : null);
/** @type {(value: number, digits?: number | "power") => string} */
const formatValue = (value, digits = 3) =>
  digits === "power" ? formatSignificant(value) : formatNumber(value, digits);
/* The interval of a line at x: "0.12 to 0.34", or nothing. */
function formatInterval(data, { low, high, digits }, at) {
  const ends = [low, high].map((trace) => valueAt(data[trace], at));
  return ends.includes(null) ? "" : ends.map((end) => formatValue(end, digits)).join(" to ");
}
