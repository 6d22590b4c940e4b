/**
 * Show a page enlarged for a projector: one figure with its finding per slide, arrow keys for next and back. The page's own
 * elements are shown slide by slide and scaled as a whole, so every component works as usual and leaving restores them.
 * Controls, formulas and code are shown on request (key c), the menu of pages, too (key m). Whether it is on is stored in the
 * URL as screen=projector; the server does not know it, and it stays on from page to page. Sends no events.
 *
 * @typedef {object} PresentationData
 * @property {string} page its URL path
 *
 * @typedef {object} View what is shown of a slide at once, see `waysOf`; from and to: the part of its height
 * @property {number[]} shown
 * @property {number} [only]
 * @property {boolean} [spare]
 * @property {number} [from]
 * @property {number} [to]
 */
import * as math from "./math.js";
import { partsOf, unitsOf } from "./page_reader.js";
import { isInComponent, makeScrollersFocusable } from "./focusable_scrollers.js";
import { icon, nextFrames, node } from "../../shared/runtime/dom.js";
import { correctHeadingLevels } from "../../shared/runtime/heading_levels.js";
import { defineComponent } from "../../shared/runtime/component.js";

const MAIN = '[data-testid="stMainBlockContainer"]';
const APP = '[data-testid="stApp"]';
// A key that is pressed in one of these elements is meant for the element, not for the presentation.
const FIELDS =
  "input, select, textarea, [contenteditable=true], [role=slider], [role=listbox], [role=combobox], [role=menu], [role=grid], [role=radiogroup], [role=tablist]";
const PRESSED = "button, a[href], summary, [role=button], [role=option]"; // the space bar presses these
const WAITING = `${APP}:not([data-test-script-state="notRunning"]), .lineage-section[aria-busy], [data-testid="stSkeleton"]`;
const BAR = 44; // px at the foot, times the size of the wall
const EDGE = 20; // px around the slide, in its own
const MODES = { controls: "lineage-controls", menu: "lineage-menu" }; // classes of the body

class Projector {
  on = false;
  isOpened = false; // the address with which the tab was opened has been read
  at = { slide: 0, view: 0 };
  slides = []; // { title, units }
  /** @type {View[]} */
  views = []; // of the slide that is shown
  ways = new WeakMap(); // how many of the ways to show a slide did not fit, by its last element
  turn = 0; // how often a slide was shown
  hiding = document.head.appendChild(document.createElement("style")); // hides the parts of a component that are not shown
  place = ""; // the page and the step of the lesson that are shown
  page = "";

  constructor(bar, changed) {
    this.bar = bar;
    this.changed = changed;
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
    makeScrollersFocusable(document.querySelector(APP));
    correctHeadingLevels(document.querySelector(APP));
  }

  /** @returns {HTMLElement | null} */
  get main() {
    return document.querySelector(MAIN);
  }
  /** @returns {HTMLElement | null} */
  get block() {
    return this.main?.querySelector(':scope > [data-testid="stVerticalBlock"]');
  }

  turnPresentation(on) {
    if (this.on === on) return;
    this.on = on;
    this.changed(on);
    document.body.classList.toggle("lineage-projected", on);
    this.writeUrl();
    clearInterval(this.saying);
    if (!on) return this.leavePresentation();
    this.saying = setInterval(() => {
      this.writeUrl(); // pages update the URL themselves and may drop this parameter
      this.updateBar();
    }, 500);
    this.at = { slide: 0, view: 0 };
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
    for (const frame of document.querySelectorAll(".lineage-plot-frame[data-height]")) stretchFrame(frame, "", true);
    for (const each of document.querySelectorAll("[data-stop]")) {
      each.removeAttribute("data-stop");
      each.removeAttribute("data-unit");
    }
    this.main?.scrollTo(0, 0);
    this.slides = [];
    this.hiding.textContent = "";
    document.body.classList.remove("lineage-screened", "lineage-spare", "lineage-fitting", ...Object.values(MODES));
    this.bar.hidden = true;
    dispatchEvent(new Event("resize"));
  }

  /* Controls and the menu of pages, which are shown only on request. */
  toggleMode(mode, on = !document.body.classList.contains(MODES[mode])) {
    document.body.classList.toggle(MODES[mode], on);
    this.updateBar();
    if (mode === "controls") this.readPage();
  }

  /* What is on the page now; where the visitor is stays, as long as it is there. */
  readPage() {
    if (!this.on || !this.block) return;
    const units = unitsOf(this.block);
    const slides = math
      .slidesOf(units, document.body.classList.contains(MODES.controls))
      .map(({ title, shown }) => ({ title, units: shown.map((i) => units[i]) }));
    const parts = new URLSearchParams(location.search),
      isOpen = this.views.length > 0 && !this.isFitting,
      place = [this.page, parts.get("lesson"), parts.get("part")].join();
    const nodesOf = (slide) => slide?.units.map((unit) => unit.node) ?? [],
      all = units.map((unit) => unit.node),
      isSame = (before, now) => before.length === now.length && before.every((each, n) => each === now[n]);
    const same =
      place === this.place &&
      slides.length === this.slides.length &&
      slides.every((slide, i) => isSame(nodesOf(this.slides[i]), nodesOf(slide)));
    if (same && isSame(this.all, all)) return;
    const isPlace = place === this.place,
      held = nodesOf(this.slides[this.at.slide]);
    if (!isPlace) {
      this.at = { slide: 0, view: 0 };
      this.toggleMode("menu", false);
    } else if (this.at.slide > 0) {
      // find the shown slide among the new ones; the first slide stays the first, even if one is inserted before it
      const next = slides.findIndex((slide) => nodesOf(slide).some((each) => held.includes(each)));
      this.at.slide = next < 0 ? Math.max(0, Math.min(this.at.slide, slides.length - 1)) : next;
    }
    this.slides = slides;
    this.place = place;
    this.all = all;
    if (!isPlace || !isOpen) this.openSlide();
    else if (isSame(held, nodesOf(slides[this.at.slide]))) this.showView();
    else this.fitSlide();
  }

  get isFitting() {
    return document.body.classList.contains("lineage-fitting");
  }

  /* Show a slide: hidden until its size is known, and from then on visible, whatever changes on it. */
  openSlide() {
    document.body.classList.toggle("lineage-fitting", this.slides.length > 0);
    this.fitSlide();
  }

  /* Find the best way to show the slide, and show it. A component draws itself for its room some frames later, and only then
     is its height known: a hidden slide waits for that. A visible one is fitted at once, and again when something grows. */
  async fitSlide() {
    const turn = ++this.turn,
      slide = this.slides[this.at.slide];
    this.size.disconnect();
    this.bar.hidden = !slide;
    this.views = [];
    if (!slide) return;
    this.pieces = slide.units.map(({ node }) => partsOf(node));
    const ways = math.waysOf(slide.units.map(({ kind }, i) => ({ kind, slides: this.pieces[i].length }))),
      isDrawn = this.pieces.some((pieces) => pieces.length) || slide.units.some(({ kind }) => kind === "card"),
      key = slide.units.at(-1).node;
    let views = [],
      at = Math.min(this.ways.get(key) ?? 0, ways.length - 1);
    for (; at < ways.length; at++) {
      views = [];
      for (const view of ways[at]) {
        this.apply(view);
        this.setScale(math.SMALLEST * this.base);
        if (isDrawn && this.isFitting) await nextFrames();
        if (turn !== this.turn) return;
        const fits = this.tall <= this.room / this.scale + 1;
        if (!fits && at < ways.length - 1) break;
        views.push(...(fits ? [view] : this.partsOfView(view)));
      }
      if (views.length >= ways[at].length) break;
    }
    this.ways.set(key, at);
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
    const slide = this.slides[this.at.slide];
    const isWhole = view.to === undefined,
      fits = this.tall <= this.room / this.scale + 1;
    if (isWhole !== fits && this.remeasured !== slide) {
      this.remeasured = slide; // it was measured before a component had drawn itself for its room
      return this.fitSlide();
    }
    document.body.classList.remove("lineage-fitting");
    this.height = this.tall;
    this.size.observe(this.block);
  }

  /* Something on the slide has grown or shrunk. */
  noticeChange() {
    const view = this.views[this.at.view];
    if (!this.on || !this.block || !view || Math.abs(this.tall - this.height) <= 2) return;
    const key = this.slides[this.at.slide].units.at(-1).node,
      fits = () => this.tall <= this.room / this.scale + 1;
    if (view.to !== undefined) {
      if (fits()) this.ways.delete(key);
    } else {
      if (!fits()) this.fit(view);
      this.height = this.tall;
      if (fits()) return;
      this.ways.set(key, this.ways.get(key) + (this.hasNext ? 1 : 0));
    }
    this.fitSlide();
  }

  get base() {
    return math.baseOf(window.innerWidth, this.room);
  }
  get room() {
    return window.innerHeight - BAR * Math.min(window.innerWidth / 1280, window.innerHeight / 720);
  } // px of the screen
  get tall() {
    return this.block.offsetHeight + 2 * EDGE;
  } // its own px

  /* Make the elements of a view visible, and all others not. */
  apply(/** @type {View} */ { shown, only, spare = false }) {
    const { block } = this,
      { units } = this.slides[this.at.slide],
      visible = new Set(shown.map((i) => units[i].node));
    const pieces = only === undefined ? [] : this.pieces.find((each) => each.length),
      off = document.body.classList.contains(MODES.controls)
        ? []
        : [.../** @type {NodeListOf<HTMLElement>} */ (block.querySelectorAll("[data-controls]"))].map(
            (each) => each.dataset.controls,
          );
    document.body.classList.toggle("lineage-screened", only !== undefined);
    document.body.classList.toggle("lineage-spare", spare);
    const others = pieces.filter((_, i) => i !== only);
    if (others.length) off.push(`:is(${others.join()}):not(${pieces[only]})`);
    this.hiding.textContent = off.map((each) => `.lineage-projected ${each} { display: none !important; }`).join("\n");
    for (const each of block.querySelectorAll("[data-stop]")) each.removeAttribute("data-stop");
    for (const each of this.all) each.dataset.stop = visible.has(each) ? "shown" : "off";
    for (const { node: each, kind } of units) each.dataset.unit = kind;
    // A container whose contents are all hidden takes no space either.
    for (const each of this.all) {
      for (let up = each.parentElement; up && up !== block; up = up.parentElement) {
        if (visible.has(each)) up.dataset.stop = "shown";
        else up.dataset.stop ??= "off";
      }
    }
    this.frame = [.../** @type {NodeListOf<HTMLElement>} */ (block.querySelectorAll(".lineage-plot-frame"))].find(
      isVisible,
    );
    const isFirst = shown.some((i) => units[i].kind === "question");
    this.low =
      this.frame &&
      math.minimalHeight(
        Number(this.frame.dataset.usual) || 300,
        this.frame.querySelectorAll(".frame-area").length,
        isFirst,
      );
    if (this.frame) stretchFrame(this.frame, this.low);
  }

  setScale(scale) {
    this.scale = scale;
    this.main.style.setProperty("--room", `${window.innerWidth / scale}px`);
    // What places its parts by measuring the page does so before the slide is measured.
    for (const each of this.block.querySelectorAll("[data-measures]")) each.dispatchEvent(new Event("lineage:room"));
  }

  /* As large as fits. */
  fit(/** @type {View} */ { from = 0, to }) {
    const { main, block, frame, base, room } = this,
      { style } = main;
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
    const tables = [...block.querySelectorAll("table")].filter(isVisible);
    if (tables.some(isCutOff)) {
      // a smaller table is better than one that is cut off
      const widest = Math.max(...tables.map((table) => table.offsetWidth));
      this.setScale(Math.max(0.7 * this.scale, window.innerWidth / (widest + 2 * EDGE + 10)));
    }
    if (frame)
      stretchFrame(
        frame,
        math.fillHeight(this.low, room / this.scale - this.tall, rowsOf(frame), frame.clientWidth),
        true,
      );
    this.height = this.tall;
    style.setProperty("--scale", String(this.scale));
    style.setProperty("--high", `${room / this.scale}px`);
    style.setProperty("--from", `${-from}px`);
    style.setProperty("--below", to === undefined ? "0px" : `max(0px, 100% - ${to - from}px)`);
    main.scrollTop = 0;
  }

  /* A view that does not fit is shown part by part; what is below a part begins the next one, and is not seen yet. */
  partsOfView(view) {
    const { main, scale } = this,
      end = Math.min(this.tall, endOf(main, scale)) - EDGE; // without space that is only reserved
    const parts = math.partsOf(end, this.room / scale, rowsAndPictures(main, scale));
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

  updateBar() {
    const { title } = this.slides[this.at.slide] ?? { title: "" },
      views = this.views.length,
      loading = document.querySelector(WAITING) !== null; // then there may be more slides soon
    this.bar.tell({
      place: `${this.at.slide + 1} / ${loading ? "…" : this.slides.length}`,
      title: views > 1 ? `${title} (${this.at.view + 1} of ${views})` : title,
      first: this.at.slide === 0 && this.at.view === 0,
      last: this.at.slide === this.slides.length - 1 && this.at.view === views - 1,
    });
  }

  onKeyDown(event) {
    const { target } = event,
      inField = target.closest?.(FIELDS);
    if (event.defaultPrevented || inField || event.isComposing) return;
    if (event.key === "p" && !event.ctrlKey && !event.metaKey && !event.altKey) return this.turnPresentation(!this.on);
    const to = this.on ? math.keyCommand(event) : null;
    if (!to || (event.key === " " && target.closest?.(PRESSED))) return;
    if (to === "leave") {
      // unless another element uses the key: an open menu or a kept readout
      setTimeout(() => {
        if (event.defaultPrevented || document.querySelector('[data-baseweb="popover"], [role=dialog]')) return;
        if (document.body.classList.contains(MODES.menu)) this.toggleMode("menu", false);
        else this.turnPresentation(false);
      });
      return;
    }
    event.preventDefault();
    this.goTo(to);
  }
}

const isVisible = (element) => element.getClientRects().length > 0;
const isCutOff = (table) => table.offsetWidth > table.parentElement.clientWidth + 1;
/* How many elements cut off something at their right edge. */
const cutIn = (main) =>
  [...main.querySelectorAll("div, section, table, p, ol, ul, figure")].filter(
    (each) =>
      each.scrollWidth > each.clientWidth + 1 && each.clientWidth && getComputedStyle(each).overflowX !== "visible",
  ).length;
const WHOLE = "svg, canvas, p, h1, h2, h3, h4, li, tr, button, label, input, .katex-display";
const placeElements = (main, scale, elements) => {
  const { top } = main.querySelector('[data-testid="stVerticalBlock"]').getBoundingClientRect();
  return elements
    .filter(isVisible)
    .map((each) => each.getBoundingClientRect())
    .map((box) => [(box.top - top) / scale + EDGE, (box.bottom - top) / scale + EDGE]);
};
const rowsAndPictures = (main, scale) =>
  placeElements(
    main,
    scale,
    [...main.querySelectorAll(WHOLE)].filter((each) => each.textContent.trim() || each.matches("svg, canvas, input")),
  );
const EMPTY = "p, div, span, small, i, section, figure, output"; // these do not count towards the height if they contain no text
const endOf = (main, scale) =>
  Math.max(
    ...placeElements(
      main,
      scale,
      [...main.querySelectorAll(":not(:has(*))")].filter((leaf) => leaf.textContent.trim() || !leaf.matches(EMPTY)),
    ).map(([, bottom]) => bottom),
  ) + EDGE;
const rowsOf = (frame) =>
  new Set([...frame.querySelectorAll(".frame-panel")].map((panel) => panel.offsetTop)).size || 1;

/* The height of a frame's panels; at once, and drawn so if it stays. */
function stretchFrame(frame, px, stays = false) {
  const areas = [...frame.querySelectorAll(".frame-area")],
    most = Number(frame.querySelector(".frame-fixed")?.style.getPropertyValue("--columns"));
  frame.style.setProperty("--multiples", math.columnsOf(areas.length, most || Infinity));
  for (const area of areas) area.style.height = `${px || frame.dataset.usual}px`;
  if (!stays) return;
  if (px) frame.dataset.height = px;
  else delete frame.dataset.height;
  frame.dispatchEvent(new Event("lineage:height"));
}

function makeBar(go) {
  const makeButton = (symbol, word, to, keys) => {
    const attributes = { title: `${word} (${keys})`, "aria-label": word, onclick: () => go(to) };
    return node("button", { type: "button", class: "lineage-button", ...attributes }, icon(symbol));
  };
  const backButton = makeButton("arrow_back", "Back", "back", "left arrow"),
    next = makeButton("arrow_forward", "Next", "next", "right arrow"),
    controls = makeButton("tune", "Show controls", "controls", "key c"),
    menu = makeButton("menu", "Show the menu of pages", "menu", "key m"),
    leave = makeButton("close", "Leave", "leave", "Escape");
  const place = node("b"),
    title = node("span", { class: "title" });
  const bar = node(
    "nav",
    { class: "lineage lineage-presentation-bar", "aria-label": "Projector", hidden: "" },
    backButton,
    node("span", { class: "place", role: "status" }, place, title),
    next,
    controls,
    menu,
    leave,
  );
  bar.tell = (state) => {
    if (place.textContent !== state.place) place.textContent = state.place;
    if (title.textContent !== state.title) title.textContent = state.title;
    [backButton.disabled, next.disabled] = [state.first, state.last];
    controls.ariaPressed = String(document.body.classList.contains(MODES.controls));
    menu.ariaPressed = String(document.body.classList.contains(MODES.menu));
    // the bar lies outside the element on which Streamlit sets the colour scheme
    bar.style.colorScheme = getComputedStyle(document.querySelector(APP)).colorScheme;
  };
  document.body.append(bar);
  return bar;
}

let projector; // one per browser tab; it outlives the pages

export default defineComponent((place) => {
  const button = node(
    "button",
    {
      type: "button",
      class: "lineage-button lineage-presentation-button",
      "aria-pressed": "false",
      title: "Large, for a projector (key p)",
    },
    icon("slideshow"),
    node("span", {}, "Projector"),
  );
  place.replaceChildren(button);
  projector ??= new Projector(
    makeBar((to) => projector.goTo(to)),
    () => {},
  );
  const setPressed = (on) => (button.ariaPressed = String(on));
  projector.changed = setPressed;
  button.onclick = () => projector.turnPresentation(!projector.on);
  setPressed(projector.on);
  return {
    show(/** @type {PresentationData} */ { page }) {
      projector.page = page;
      // Only the address with which the tab was opened: an older one of its history says what was on then.
      const { isOpened } = projector;
      projector.isOpened = true;
      if (!isOpened && new URLSearchParams(location.search).get("screen") === "projector")
        projector.turnPresentation(true);
      projector.writeUrl();
      projector.readPage();
    },
  };
});
