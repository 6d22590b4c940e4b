/**
 * Show a page enlarged for a projector: one figure with its finding per slide, arrow keys for next and back. The page's own
 * elements are shown slide by slide and scaled as a whole, so every component works as usual and leaving restores them.
 * Controls, formulas and code are shown on request (key c), the menu of pages, too (key m). Whether it is on is stored in the
 * URL as screen=projector; the server does not know it, and it stays on from page to page. The button in the header, Share,
 * has this and the other ways to show the page to others; see share_menu.js.
 *
 * @typedef {object} PresentationData
 * @property {string} page its URL path
 * @property {string[]} mark names of hidden controls inside components, see controls.js
 *
 * @typedef {object} PresentationEvents
 * @property {{name: string, label: string, section: string}[]} controls the controls of the page that can be hidden
 *
 * @typedef {object} View what is shown of a slide at once, see `waysOf`; from and to: the part of its height
 * @property {number[]} shown
 * @property {number} [only]
 * @property {boolean} [spare]
 * @property {number} [from]
 * @property {number} [to]
 */
import * as math from "./math.js";
import { listControls, markControls } from "./controls.js";
import { partsOf, unitsOf } from "./page_reader.js";
import { shareMenu } from "./share_menu.js";
import { isInComponent, makeScrollersFocusable } from "./focusable_scrollers.js";
import { nextFrames, node } from "../../shared/runtime/dom.js";
import { correctHeadingLevels } from "../../shared/runtime/heading_levels.js";
import { defineComponent } from "../../shared/runtime/component.js";
import { LiveElements } from "../../shared/runtime/view_state.js";

const MAIN = '[data-testid="stMainBlockContainer"]';
const APP = '[data-testid="stApp"]';
// A key that is pressed in one of these elements is meant for the element, not for the presentation.
const ROLES = ["slider", "listbox", "combobox", "menu", "grid", "radiogroup", "tablist"].map(
  (role) => `[role=${role}]`,
);
const FIELDS = ["input", "select", "textarea", "[contenteditable=true]", ...ROLES].join();
const PRESSED = "button, a[href], summary, [role=button], [role=option]"; // the space bar presses these
const WAITING = `${APP}:not([data-test-script-state="notRunning"]), .lineage-section[aria-busy], [data-testid="stSkeleton"]`;
const BAR = 44; // px at the foot, times the size of the wall
const EDGE = 20; // px around the slide, in its own
const MODES = { controls: "lineage-controls", menu: "lineage-menu" }; // classes of the body
const FRAME = ".lineage-plot-frame";

const flags = document.body.classList;
const findAll = (selector, /** @type {ParentNode} */ root = document) =>
  /** @type {HTMLElement[]} */ ([...root.querySelectorAll(selector)]);
const nodesOf = (slide) => slide?.units.map((unit) => unit.node) ?? [];
const isSameList = (before = [], now) => before.length === now.length && before.every((each, i) => each === now[i]);

class Projector {
  on = false;
  isOpened = false; // the address with which the tab was opened has been read
  at = { slide: 0, view: 0 };
  slides = []; // { title, units }
  /** @type {View[]} */
  views = []; // of the slide that is shown
  ways = new WeakMap(); // how many of the ways to show a slide did not fit, by its last element
  turn = 0; // how often a slide was shown
  hiding = document.head.appendChild(node("style")); // hides the parts of a component that are not shown
  place = ""; // the page and the step of the lesson that are shown
  page = "";
  /** @type {HTMLElement[]} */
  all = []; // the elements of the page

  constructor() {
    const app = document.querySelector(APP);
    this.watch = new MutationObserver(
      (records) => records.some(({ target }) => !isInComponent(target)) && this.readPage(),
    );
    this.size = new ResizeObserver(() => this.noticeChange());
    window.addEventListener("resize", () => {
      this.ways = new WeakMap();
      if (this.on) this.openSlide();
    });
    window.addEventListener("keydown", (event) => this.onKeyDown(event));
    window.addEventListener("popstate", () => this.writeUrl());
    makeScrollersFocusable(app);
    correctHeadingLevels(app);
    this.makeBar();
  }

  /** @returns {HTMLElement | null} */
  get main() {
    return document.querySelector(MAIN);
  }
  /** @returns {HTMLElement | null} */
  get block() {
    return this.main?.querySelector(':scope > [data-testid="stVerticalBlock"]');
  }
  get slide() {
    return this.slides[this.at.slide];
  }
  /* The last element of the slide. */
  get lastNode() {
    return nodesOf(this.slide).at(-1);
  }

  makeBar() {
    const { node: live, button, update } = new LiveElements();
    const makeButton = (symbol, word, to, keys, attributes) =>
      button({ symbol, title: `${word} (${keys})`, "aria-label": word, onclick: () => this.goTo(to), ...attributes });
    const isFirst = () => this.at.slide === 0 && this.at.view === 0,
      isLast = () => this.at.slide === this.slides.length - 1 && this.at.view === this.views.length - 1,
      isOn = (mode) => ({ "aria-pressed": () => flags.contains(MODES[mode]) });
    const loading = () => document.querySelector(WAITING) !== null; // then there may be more slides soon
    const title = () => {
      const { title: words = "" } = this.slide ?? {},
        views = this.views.length;
      return views > 1 ? `${words} (${this.at.view + 1} of ${views})` : words;
    };
    const bar = live(
      "nav.lineage.lineage-presentation-bar",
      {
        "aria-label": "Projector",
        hidden: () => !this.on || !this.slide,
        // the bar lies outside the element on which Streamlit sets the colour scheme
        style: () => `color-scheme: ${getComputedStyle(document.querySelector(APP)).colorScheme}`,
      },
      makeButton("arrow_back", "Back", "back", "left arrow", { disabled: isFirst }),
      live(
        "span.place",
        { role: "status" },
        live("b", () => `${this.at.slide + 1} / ${loading() ? "…" : this.slides.length}`),
        live("span.title", title),
      ),
      makeButton("arrow_forward", "Next", "next", "right arrow", { disabled: isLast }),
      makeButton("tune", "Show controls", "controls", "key c", isOn("controls")),
      makeButton("menu", "Show the menu of pages", "menu", "key m", isOn("menu")),
      makeButton("close", "Leave", "leave", "Escape", {}),
    );
    document.body.append(bar);
    this.updateBar = update;
    update();
  }

  turnPresentation(on) {
    if (this.on === on) return;
    this.on = on;
    flags.toggle("lineage-projected", on);
    this.writeUrl();
    clearInterval(this.saying);
    this.at = { slide: 0, view: 0 };
    if (!on) return this.leavePresentation();
    this.saying = setInterval(() => {
      this.writeUrl(); // pages update the URL themselves and may drop this parameter
      this.updateBar();
    }, 500);
    this.updateBar();
    this.watch.observe(document.querySelector(APP), { childList: true, subtree: true });
    this.readPage();
  }

  writeUrl() {
    const search = math.searchWith(location.search, this.on);
    if (search !== location.search) history.replaceState(history.state, "", location.pathname + search + location.hash);
  }

  leavePresentation() {
    this.turn++;
    this.watch.disconnect();
    this.size.disconnect();
    for (const frame of findAll(`${FRAME}[data-height]`)) stretchFrame(frame, "", true);
    for (const { dataset } of findAll("[data-stop]")) {
      delete dataset.stop;
      delete dataset.unit;
    }
    this.main?.scrollTo(0, 0);
    this.slides = [];
    this.hiding.textContent = "";
    flags.remove("lineage-screened", "lineage-spare", "lineage-fitting", ...Object.values(MODES));
    this.updateBar();
    dispatchEvent(new Event("resize"));
  }

  /* Controls and the menu of pages, which are shown only on request. */
  toggleMode(mode, on = !flags.contains(MODES[mode])) {
    flags.toggle(MODES[mode], on);
    this.updateBar();
    if (mode === "controls") this.readPage();
  }

  /* What is on the page now; where the visitor is stays, as long as it is there. */
  readPage() {
    if (!this.on || !this.block) return;
    const units = unitsOf(this.block),
      all = units.map((unit) => unit.node),
      slides = math
        .slidesOf(units, flags.contains(MODES.controls))
        .map(({ title, shown }) => ({ title, units: shown.map((i) => units[i]) })),
      address = new URLSearchParams(location.search),
      place = [this.page, address.get("lesson"), address.get("part")].join(),
      isPlace = place === this.place,
      isOpen = this.views.length > 0 && !this.isFitting;
    const isSame =
      slides.length === this.slides.length &&
      slides.every((slide, i) => isSameList(nodesOf(this.slides[i]), nodesOf(slide)));
    if (isPlace && isSame && isSameList(this.all, all)) return;
    const held = nodesOf(this.slide);
    if (!isPlace) {
      this.at = { slide: 0, view: 0 };
      this.toggleMode("menu", false);
    } else if (this.at.slide > 0) {
      // find the shown slide among the new ones; the first slide stays the first, even if one is inserted before it
      const next = slides.findIndex((slide) => nodesOf(slide).some((each) => held.includes(each)));
      this.at.slide = next < 0 ? Math.max(0, Math.min(this.at.slide, slides.length - 1)) : next;
    }
    Object.assign(this, { slides, place, all });
    if (!isPlace || !isOpen) this.openSlide();
    else if (isSameList(held, nodesOf(this.slide))) this.showView();
    else this.fitSlide();
  }

  get isFitting() {
    return flags.contains("lineage-fitting");
  }

  /* Show a slide: hidden until its size is known, and from then on visible, whatever changes on it. */
  openSlide() {
    flags.toggle("lineage-fitting", this.slides.length > 0);
    this.fitSlide();
  }

  /* Find the best way to show the slide, and show it. A component draws itself for its room some frames later, and only then
     is its height known: a hidden slide waits for that. A visible one is fitted at once, and again when something grows. */
  async fitSlide() {
    const turn = ++this.turn,
      { slide } = this;
    this.size.disconnect();
    this.views = [];
    this.updateBar();
    if (!slide) return;
    this.pieces = slide.units.map(({ node: each }) => partsOf(each));
    const ways = math.waysOf(slide.units.map(({ kind }, i) => ({ kind, slides: this.pieces[i].length }))),
      isDrawn = this.pieces.some((pieces) => pieces.length) || slide.units.some(({ kind }) => kind === "card");
    let views = [],
      at = Math.min(this.ways.get(this.lastNode) ?? 0, ways.length - 1);
    for (; at < ways.length; at++) {
      views = [];
      for (const view of ways[at]) {
        this.apply(view);
        this.setScale(math.SMALLEST * this.base);
        if (isDrawn && this.isFitting) await nextFrames();
        if (turn !== this.turn) return;
        if (!this.fits && at < ways.length - 1) break;
        views.push(...(this.fits ? [view] : this.partsOfView(view)));
      }
      if (views.length >= ways[at].length) break;
    }
    this.ways.set(this.lastNode, at);
    this.hasNext = at < ways.length - 1;
    this.views = views;
    this.showView();
  }

  async showView() {
    const turn = ++this.turn,
      view = this.views[(this.at.view = Math.min(this.at.view, this.views.length - 1))];
    this.size.disconnect();
    this.apply(view);
    this.fit(view);
    this.updateBar();
    if (view.only !== undefined) {
      await nextFrames();
      if (turn !== this.turn) return;
      this.fit(view);
    }
    const isWhole = view.to === undefined;
    if (isWhole !== this.fits && this.remeasured !== this.slide) {
      this.remeasured = this.slide; // it was measured before a component had drawn itself for its room
      return this.fitSlide();
    }
    flags.remove("lineage-fitting");
    this.height = this.tall;
    this.size.observe(this.block);
  }

  /* Something on the slide has grown or shrunk. */
  noticeChange() {
    const view = this.views[this.at.view];
    if (!this.on || !this.block || !view || Math.abs(this.tall - this.height) <= 2) return;
    if (view.to !== undefined) {
      if (this.fits) this.ways.delete(this.lastNode);
    } else {
      if (!this.fits) this.fit(view);
      this.height = this.tall;
      if (this.fits) return;
      this.ways.set(this.lastNode, this.ways.get(this.lastNode) + (this.hasNext ? 1 : 0));
    }
    this.fitSlide();
  }

  get base() {
    return math.baseOf(window.innerWidth, this.room);
  }
  /* px of the screen */
  get room() {
    return window.innerHeight - BAR * Math.min(window.innerWidth / 1280, window.innerHeight / 720);
  }
  /* in its own px */
  get tall() {
    return this.block.offsetHeight + 2 * EDGE;
  }
  get fits() {
    return this.tall <= this.room / this.scale + 1;
  }

  /* Make the elements of a view visible, and all others not. */
  apply(/** @type {View} */ { shown, only, spare = false }) {
    const { block, all } = this,
      { units } = this.slide,
      visible = new Set(shown.map((i) => units[i].node)),
      pieces = only === undefined ? [] : this.pieces.find((each) => each.length),
      others = pieces.filter((_, i) => i !== only),
      controls = flags.contains(MODES.controls) ? [] : findAll("[data-controls]", block);
    const off = controls.map(({ dataset }) => dataset.controls);
    if (others.length) off.push(`:is(${others.join()}):not(${pieces[only]})`);
    flags.toggle("lineage-screened", only !== undefined);
    flags.toggle("lineage-spare", spare);
    this.hiding.textContent = off.map((each) => `.lineage-projected ${each} { display: none !important; }`).join("\n");
    for (const { dataset } of findAll("[data-stop]", block)) delete dataset.stop;
    for (const each of all) each.dataset.stop = visible.has(each) ? "shown" : "off";
    for (const { node: each, kind } of units) each.dataset.unit = kind;
    // A container whose contents are all hidden takes no space either.
    for (const each of all)
      for (let up = each.parentElement; up && up !== block; up = up.parentElement) {
        if (visible.has(each)) up.dataset.stop = "shown";
        else up.dataset.stop ??= "off";
      }
    this.frame = findAll(FRAME, block).find(isVisible);
    if (!this.frame) return;
    const isFirst = shown.some((i) => units[i].kind === "question"),
      panels = findAll(".frame-area", this.frame).length;
    this.low = math.minimalHeight(Number(this.frame.dataset.usual) || 300, panels, isFirst);
    stretchFrame(this.frame, this.low);
  }

  setScale(scale) {
    this.scale = scale;
    this.main.style.setProperty("--room", `${window.innerWidth / scale}px`);
    // What places its parts by measuring the page does so before the slide is measured.
    for (const each of findAll("[data-measures]", this.block)) each.dispatchEvent(new Event("lineage:room"));
  }

  /* As large as fits. */
  fit(/** @type {View} */ { from = 0, to }) {
    const { main, block, frame, base, room } = this;
    document.body.style.setProperty("--base", String(base));
    if (frame) stretchFrame(frame, this.low);
    this.setScale(math.SMALLEST * base);
    const cuts = cutIn(main);
    const fits = (scale) => {
      this.setScale(scale);
      return this.tall <= room / scale && cutIn(main) <= cuts;
    };
    const kind = frame ? "chart" : block.querySelector('.lineage, [data-testid="stImage"]') ? "figure" : "text";
    if (to === undefined) this.setScale(math.scaleOf(base, fits, kind));
    const tables = findAll("table", block).filter(isVisible);
    if (tables.some((table) => table.offsetWidth > table.parentElement.clientWidth + 1)) {
      // a smaller table is better than one that is cut off
      const widest = Math.max(...tables.map((table) => table.offsetWidth));
      this.setScale(Math.max(0.7 * this.scale, window.innerWidth / (widest + 2 * EDGE + 10)));
    }
    if (frame) {
      const spare = room / this.scale - this.tall;
      stretchFrame(frame, math.fillHeight(this.low, spare, rowsOf(frame), frame.clientWidth), true);
    }
    this.height = this.tall;
    const sizes = {
      scale: this.scale,
      high: `${room / this.scale}px`,
      from: `${-from}px`,
      below: to === undefined ? "0px" : `max(0px, 100% - ${to - from}px)`,
    };
    for (const [name, size] of Object.entries(sizes)) main.style.setProperty(`--${name}`, String(size));
    main.scrollTop = 0;
  }

  /* A view that does not fit is shown part by part; what is below a part begins the next one, and is not seen yet. */
  partsOfView(view) {
    const end = Math.min(this.tall, endOf(this.main, this.scale)) - EDGE; // without space that is only reserved
    const parts = math.partsOf(end, this.room / this.scale, rowsAndPictures(this.main, this.scale));
    return parts.length > 1 ? parts.map((part) => ({ ...view, ...part })) : [view];
  }

  goTo(to) {
    if (to === "leave") return this.turnPresentation(false);
    if (to in MODES) return this.toggleMode(to);
    const previous = this.at.slide;
    this.at = math.moveSlide(this.at, to, { slides: this.slides.length, views: this.views.length });
    if (this.at.slide !== previous) return this.openSlide();
    if (this.views.length) this.showView(); // else the slide is still being fitted
  }

  onKeyDown(event) {
    const { target, key } = event;
    if (event.defaultPrevented || event.isComposing || target.closest?.(FIELDS)) return;
    if (key === "p" && !event.ctrlKey && !event.metaKey && !event.altKey) return this.turnPresentation(!this.on);
    const to = this.on ? math.keyCommand(event) : null;
    if (!to || (key === " " && target.closest?.(PRESSED))) return;
    if (to !== "leave") {
      event.preventDefault();
      return this.goTo(to);
    }
    // unless another element uses the key: an open menu or a kept readout
    setTimeout(() => {
      if (event.defaultPrevented || document.querySelector('[data-baseweb="popover"], [role=dialog]')) return;
      if (flags.contains(MODES.menu)) this.toggleMode("menu", false);
      else this.turnPresentation(false);
    });
  }
}

const isVisible = (element) => element.getClientRects().length > 0;
/* How many elements cut off something at their right edge. */
const cutIn = (main) =>
  findAll("div, section, table, p, ol, ul, figure", main).filter(
    (each) =>
      each.scrollWidth > each.clientWidth + 1 && each.clientWidth && getComputedStyle(each).overflowX !== "visible",
  ).length;
const WHOLE = "svg, canvas, p, h1, h2, h3, h4, li, tr, button, label, input, .katex-display";
const EMPTY = "p, div, span, small, i, section, figure, output"; // these do not count towards the height if they contain no text
/* Return top and bottom of the visible elements. */
function placeElements(main, scale, elements) {
  const { top } = main.querySelector('[data-testid="stVerticalBlock"]').getBoundingClientRect();
  return elements
    .filter(isVisible)
    .map((each) => each.getBoundingClientRect())
    .map((box) => [box.top, box.bottom].map((y) => (y - top) / scale + EDGE));
}
const rowsAndPictures = (main, scale) => {
  const isShown = (each) => each.textContent.trim() || each.matches("svg, canvas, input");
  return placeElements(main, scale, findAll(WHOLE, main).filter(isShown));
};
const endOf = (main, scale) => {
  const leaves = findAll(":not(:has(*))", main).filter((leaf) => leaf.textContent.trim() || !leaf.matches(EMPTY));
  return Math.max(...placeElements(main, scale, leaves).map(([, bottom]) => bottom)) + EDGE;
};
const rowsOf = (frame) => new Set(findAll(".frame-panel", frame).map((panel) => panel.offsetTop)).size || 1;

/* The height of a frame's panels; at once, and drawn so if it stays. */
function stretchFrame(frame, px, stays = false) {
  const areas = findAll(".frame-area", frame),
    most = Number(frame.querySelector(".frame-fixed")?.style.getPropertyValue("--columns"));
  frame.style.setProperty("--multiples", math.columnsOf(areas.length, most || Infinity));
  for (const area of areas) area.style.height = `${px || frame.dataset.usual}px`;
  if (!stays) return;
  if (px) frame.dataset.height = px;
  else delete frame.dataset.height;
  frame.dispatchEvent(new Event("lineage:height"));
}

let projector; // one per browser tab; it outlives the pages

export default defineComponent((place, /** @type {SendEvent<PresentationEvents>} */ send) => {
  projector ??= new Projector();
  const page = /** @type {HTMLElement} */ (document.querySelector('[data-testid="stMain"]')),
    present = () => projector.turnPresentation(true),
    { root, giving } = shareMenu(page, present, () => send("controls", listControls(page)));
  place.replaceChildren(...root);
  let names = [],
    frame = 0;
  const mark = () => {
    frame ||= requestAnimationFrame(() => {
      frame = 0;
      markControls(page, names);
    });
  };
  const watch = new MutationObserver(mark);
  return {
    show(/** @type {PresentationData} */ data) {
      projector.page = data.page;
      giving.hidden = ["", "lessons"].includes(data.page);
      names = data.mark;
      watch.disconnect();
      if (names.length) {
        markControls(page, names);
        watch.observe(page, { childList: true, subtree: true });
      }
      // Only the address with which the tab was opened: an older one of its history says what was on then.
      const { isOpened } = projector;
      projector.isOpened = true;
      if (!isOpened && new URLSearchParams(location.search).get("screen") === "projector")
        projector.turnPresentation(true);
      projector.writeUrl();
      projector.readPage();
    },
    close() {
      watch.disconnect();
      cancelAnimationFrame(frame);
    },
  };
});
