/**
 * Draw plotly figures side by side: small multiples that keep their height, zoom and hover while data arrives. Hover
 * shows values, a click keeps them until the next click or Esc.
 *
 * @typedef {object} PlotFrameEvents
 * @property {number} target the value at which a target was released
 * @property {number} stop where the playback was released
 * @property {{figure: string, x: number, y: number}} pick the point of a pickable figure that was clicked
 *
 * @typedef {{figures: Figure[], columns: 1 | 2 | 3 | null, height: number, narrow_height: number | null, file: string,
 *   playback: any}} PlotFrameData `playback` is null or {unit, end, available, step, live, run, say, autoplay,
 *   stops: label of each frame, says: sentence for each frame, first: initial position, tells: send the event "stop"}
 *
 * @typedef {{trace: number, low: number, high: number, digits: number}} Track indices of the traces with a value and its
 *   interval
 *
 * @typedef {object} Figure
 * @property {string} name
 * @property {string} [title]
 * @property {string} [colour] CSS variable
 * @property {string} [value]
 * @property {string} alt
 * @property {string} [caption]
 * @property {any} plot plotly's JSON, or its text as fig.to_json() writes it; template "none", colours by name (theme.js)
 * @property {Track | null} track whose value the title shows
 * @property {(Track & {title: string, colour: string})[] | null} tracks several of them, listed below
 * @property {number | number[] | null} rest x at which they are read without a pointer, one for each frame or for all;
 *    null: at their end
 * @property {number[][][] | null} frames y values of every trace at each stop of the playback
 * @property {any} target null or {value, low, high, label, lines: [{trace, title, colour}], rising, unit, digits}
 * @property {"x" | "y" | "xy" | null} token_axis
 * @property {number} token_offset position on the axis = token + offset
 * @property {number | null} token_count
 * @property {boolean} pickable a click selects a point: the event "pick"
 */

import { Panel } from "./panel.js";
import { frameIndexAt, Playback } from "../../shared/charts/playback.js";
import { defineComponent } from "../../shared/runtime/component.js";
import { saveMenu } from "../../shared/runtime/export_menu.js";
import { toCsv } from "../../shared/runtime/csv.js";
import { node, setTextIfChanged } from "../../shared/runtime/dom.js";
import { screenSvg } from "../../shared/runtime/screen_svg.js";
import { Theme } from "../../shared/runtime/theme.js";

const NARROW = 700; // px of the frame's own width
const UNSEEN = 300; // ms that a frame out of sight waits, so that it does not delay what is in sight
const FAILED = "The charts could not be loaded. Reload the page to try again.";
const OVER = ".frame-hair, .frame-pen, .frame-light, .frame-grip, .frame-over svg"; // not in saved files

const page = /** @type {Window & { Plotly?: any }} */ (window);
let plotly;
function loadPlotly() {
  plotly ??= new Promise((done, fail) => {
    if (page.Plotly) return done(page.Plotly);
    const src = new URL("../../../vendor/plotly-cartesian.min.js.gz", import.meta.url).href;
    const onerror = () => {
      plotly = null;
      script.remove();
      fail(new Error(FAILED));
    };
    const script = node("script", { src, onload: () => done(page.Plotly), onerror });
    document.head.append(script);
  });
  return plotly;
}

export default defineComponent((place, send) => new Frame(place, send));

/* In presentation mode, many panels are shown by rows (shared/runtime/component.js). */
function slidesOf(panels) {
  const row = panels === 4 ? 2 : 3,
    rows = panels <= 3 ? 0 : Math.ceil(panels / row);
  return Array.from(
    { length: rows },
    (_, i) => `.frame-panel:nth-child(n+${i * row + 1}):nth-child(-n+${(i + 1) * row})`,
  );
}

class Frame {
  /** @type {Panel[]} */
  panels = [];
  /** @type {Set<Panel>} */
  queue = new Set(); // panels that are to be drawn
  ending = new AbortController(); // aborted when the frame is closed
  isSeen = false;
  kept = false; // a readout stays after the pointer left
  grid = node("div.frame-panels");
  spoken = node("span", { "aria-live": "polite" });
  sentence = node("p.frame-said", this.spoken);

  /**
   * @param {HTMLElement} place
   * @param {SendEvent<PlotFrameEvents>} report
   */
  constructor(place, report) {
    this.place = place;
    this.report = report;
    place.replaceChildren(this.grid, this.sentence);
    this.theme = new Theme(place, () => this.drawPanels());
    this.sight = new IntersectionObserver((entries) => {
      this.isSeen = entries.at(-1).isIntersecting;
      if (this.isSeen) place.dispatchEvent(new Event("lineage:seen"));
    });
    this.sight.observe(place);
    place.addEventListener("lineage:height", () => this.ready && this.fitPanels());
    const { signal } = this.ending;
    window.addEventListener("keydown", (event) => this.onKey(event), { signal });
    window.addEventListener("lineage:token", (event) => this.onToken(event), { signal });
    // The colour variables are defined only after the style sheet has loaded.
    const sheets = [...place.parentElement.querySelectorAll("link")].map(
      (link) => link.sheet || new Promise((done) => (link.onload = link.onerror = done)),
    );
    const font = document.fonts.load("15px 'Source Sans'").catch(() => {}); // plotly measures words only once
    Promise.all([this.whenSeen().then(loadPlotly), font, ...sheets]).then(
      ([library]) => {
        if (this.ending.signal.aborted) return;
        this.ready = true;
        this.plotly = library;
        this.fitPanels();
      },
      (trouble) => this.panels[0]?.showProblem(trouble.message),
    );
  }

  resize() {
    if (!this.ready) return;
    this.fitPanels();
    this.drawSoon(); // also out of sight: figures of the old width would widen the page
  }

  show(/** @type {PlotFrameData} */ data) {
    this.data = data;
    const { figures, columns, playback } = data;
    while (this.panels.length > figures.length) this.panels.pop().remove();
    while (this.panels.length < figures.length) this.panels.push(new Panel(this));
    const titled = figures.some((figure) => figure.title);
    this.panels.forEach((panel, i) => panel.update(figures[i], titled));
    this.place.classList.toggle("frame-bare", !titled && !playback);
    this.place.dataset.slides = JSON.stringify(slidesOf(figures.length));
    this.grid.classList.toggle("frame-fixed", Boolean(columns));
    this.grid.style.setProperty("--columns", columns ?? 1);

    if (playback && !this.playback) {
      this.playback = new Playback(
        () => this.showCursor(),
        (cursor) => this.data.playback?.tells && this.report("stop", Math.round(cursor)),
      );
      this.grid.before(this.playback.root);
    } else if (!playback && this.playback) {
      this.playback.stop();
      this.playback.root.remove();
      this.playback = null;
    }
    this.playback?.update(playback);
    const sentences = playback?.says ?? [];
    this.sentence.hidden = !sentences.length;
    this.sentence.dataset.longest = sentences.toSorted((a, b) => b.length - a.length)[0] ?? ""; // its height is kept
    this.showCursor();
    saveMenu(this.place, { svg: () => this.figureSvg(), csv: () => this.figureCsv(), file: data.file });
    this.fitPanels();
  }

  get cursor() {
    return this.playback?.cursor ?? null;
  }

  /* Sizes first, then everything at once: reading one panel's width after drawing another costs a layout each. */
  fitPanels() {
    const narrow = this.place.clientWidth < NARROW;
    const usual = narrow ? (this.data.narrow_height ?? this.data.height) : this.data.height;
    this.place.dataset.usual = String(usual);
    const height = Number(this.place.dataset.height) || usual; // set in presentation mode
    for (const panel of this.panels) panel.height = height;
    const row = this.panels[0]?.root.offsetTop;
    const corner = this.playback ? null : this.panels.findLast((panel) => panel.root.offsetTop === row);
    for (const panel of this.panels) {
      panel.width = panel.plot.clientWidth;
      panel.root.classList.toggle("frame-corner", panel === corner);
    }
    this.drawPanels();
  }

  /* Plotly takes some 10 ms a figure: a few in each frame of the screen, so that nothing else has to wait. */
  drawPanels() {
    if (!this.ready) return;
    this.queue = new Set(this.panels);
    this.whenSeen().then(() => this.drawSoon());
  }

  drawSoon(...panels) {
    panels.forEach((panel) => this.queue.add(panel));
    if (!this.ending.signal.aborted) this.turn ??= requestAnimationFrame(this.drawSome);
  }

  drawSome = () => {
    this.turn = null;
    const until = performance.now() + 8;
    for (const panel of this.queue) {
      if (performance.now() >= until) return this.drawSoon();
      this.queue.delete(panel);
      panel.draw(this.plotly, this.cursor);
    }
  };

  /** Return when the frame is in sight, or a moment later: out of sight it must not delay what is in sight. */
  async whenSeen() {
    if (this.isSeen) return;
    await new Promise((done) => {
      this.place.addEventListener("lineage:seen", done, { once: true });
      setTimeout(done, UNSEEN);
    });
  }

  showCursor() {
    const says = this.data.playback?.says ?? [];
    setTextIfChanged(this.spoken, says[frameIndexAt(says, this.cursor)] ?? ""); // a live region announces every assignment
    for (const panel of this.panels) panel.show(this.cursor);
  }

  /* The panels share their hairline: small multiples are compared at the same epoch. */
  readValuesAt(at) {
    for (const panel of this.panels) panel.readValuesAt(at);
  }

  toggleKept(at) {
    this.kept = at !== null && !this.kept;
    if (!this.kept) for (const panel of this.panels) panel.pinPoints(null);
  }

  onKey(event) {
    if (event.key !== "Escape" || !this.kept) return;
    event.preventDefault(); // presentation mode would end otherwise
    this.toggleKept(null);
    this.readValuesAt(null);
  }

  onToken(/** @type {CustomEventInit} */ { detail }) {
    for (const panel of this.panels) panel.highlightToken(detail?.index ?? null);
  }

  /* Return all panels as one SVG file, with the text positions of the screen. */
  async figureSvg() {
    while (this.turn) await new Promise(requestAnimationFrame); // panels are being drawn, perhaps in other colours
    const drawings = new Map();
    for (const panel of this.panels) drawings.set(panel.plot, await panel.plotSvg(this.plotly));
    return screenSvg(this.grid, { drawings, skip: OVER });
  }

  figureCsv() {
    const rows = this.panels.flatMap((panel) => panel.exportRows());
    const deep = rows.some((row) => row.length > 4);
    return toCsv(
      ["figure", "series", "x", "y", ...(deep ? ["z"] : [])],
      deep ? rows.map((row) => [...row, ...Array(5 - row.length).fill(null)]) : rows,
    );
  }

  close() {
    this.ending.abort();
    cancelAnimationFrame(this.turn);
    this.sight.disconnect();
    this.playback?.stop();
    while (this.panels.length) this.panels.pop().remove();
    this.place.replaceChildren();
  }
}
