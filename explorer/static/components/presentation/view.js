/**
 * Show a page enlarged for a projector: one figure per screen, arrow keys for next and back. The page's own elements
 * are shown stop by stop and scaled as a whole, so every component works as usual and leaving restores them. Whether
 * it is on is stored in the URL as screen=projector; the server does not know it, and it stays on from page to page. Sends
 * no events.
 *
 * @typedef {object} PresentationData
 * @property {string} page its URL path
 */
import {
  ONLY,
  searchWith,
  columnsOf,
  fillHeight,
  minimalHeight,
  moveStop,
  scaleOf,
  stopsOf,
  viewsOf,
  keyCommand,
} from "./math.js";
import { screensOf, unitsOf } from "./page_reader.js";
import { isInComponent, makeScrollersFocusable } from "./focusable_scrollers.js";
import { icon, node } from "../../shared/runtime/dom.js";
import { defineComponent } from "../../shared/runtime/component.js";

const MAIN = '[data-testid="stMainBlockContainer"]';
// A key that is pressed in one of these elements is meant for the element, not for the presentation.
const FIELDS =
  "input, select, textarea, [contenteditable=true], [role=slider], [role=listbox], [role=combobox], [role=menu], [role=grid], [role=radiogroup], [role=tablist]";
const PRESSED = "button, a[href], summary, [role=button], [role=option]"; // the space bar presses these
const BAR = 44; // px at the foot, times the size of the screen
const EDGE = 20; // px around the stop, in its own

class Projector {
  on = false;
  at = { stop: 0, view: 0 };
  stops = [];
  views = [{ from: 0, to: 0 }];
  alone = new WeakSet(); // figures that did not fit on one screen together with their finding
  split = new WeakSet(); // figures that did not fit even alone: their parts are shown one by one
  others = document.head.appendChild(document.createElement("style")); // a style sheet that hides all parts but one
  place = ""; // the page and the step of the lesson that are shown
  page = "";

  constructor(bar, changed) {
    this.bar = bar;
    this.changed = changed;
    this.watch = new MutationObserver(
      (records) => records.some(({ target }) => !isInComponent(target)) && this.readPage(),
    );
    this.size = new ResizeObserver(() => this.fitPage(true));
    window.addEventListener("resize", () => this.on && this.fitPage());
    window.addEventListener("keydown", (event) => this.onKeyDown(event));
    window.addEventListener("popstate", () => this.writeUrl());
    makeScrollersFocusable(document.querySelector('[data-testid="stApp"]'));
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
    this.saying = setInterval(() => this.writeUrl(), 500); // pages update the URL themselves and may drop this parameter
    this.at = { stop: 0, view: 0 };
    this.watch.observe(document.querySelector('[data-testid="stApp"]'), { childList: true, subtree: true });
    this.readPage();
  }

  writeUrl() {
    const search = searchWith(location.search, this.on);
    if (search !== location.search) history.replaceState(history.state, "", location.pathname + search + location.hash);
  }

  leavePresentation() {
    this.watch.disconnect();
    this.size.disconnect();
    for (const frame of document.querySelectorAll(".lineage-plot-frame[data-height]")) stretchFrame(frame, "", true);
    for (const each of document.querySelectorAll("[data-stop]")) each.removeAttribute("data-stop");
    this.main?.scrollTo(0, 0);
    this.stops = [];
    this.others.textContent = "";
    document.body.classList.remove("lineage-screened");
    this.bar.hidden = true;
    dispatchEvent(new Event("resize"));
  }

  /* What is on the page now; where the visitor is stays, as long as it is there. */
  readPage() {
    if (!this.on || !this.block) return;
    const units = unitsOf(this.block).map((each) => ({ ...each, alone: this.alone.has(each.node) }));
    this.kinds = new Map(units.map((each) => [each.node, each.kind]));
    const stops = stopsOf(units)
      .map(({ title, shown }) => ({ title, nodes: shown.map((i) => units[i].node) }))
      .flatMap((stop) => this.screensOfStop(stop));
    const parts = new URLSearchParams(location.search),
      place = [this.page, location.pathname, parts.get("lesson"), parts.get("part")].join();
    const same =
      place === this.place &&
      stops.length === this.stops.length &&
      stops.every(
        ({ nodes, only }, i) =>
          only === this.stops[i].only &&
          nodes.length === this.stops[i].nodes.length &&
          nodes.every((each, n) => each === this.stops[i].nodes[n]),
      );
    if (same && this.units === units.length) return;
    if (place !== this.place) this.at = { stop: 0, view: 0 };
    else if (this.at.stop > 0) {
      // find the shown stop among the new ones; the first stop stays the first, even if one is inserted before it
      const { nodes: held = [], only } = this.stops[this.at.stop] ?? {},
        overlaps = stops.map(({ nodes }) => nodes.some((each) => held.includes(each)));
      const again = stops.findIndex((stop, i) => overlaps[i] && stop.only === only),
        next = again < 0 ? overlaps.indexOf(true) : again;
      this.at = { ...this.at, stop: next < 0 ? Math.max(0, Math.min(this.at.stop, stops.length - 1)) : next };
    }
    this.stops = stops;
    this.place = place;
    this.units = units.length;
    this.all = units.map((each) => each.node);
    this.show();
  }

  /* A stop for each screen of a figure that is made of several. */
  screensOfStop(stop) {
    const figure = stop.nodes.find((each) => this.split.has(each)),
      all = figure ? screensOf(figure) : [];
    if (all.length < 2) return [stop];
    const led = stop.nodes.filter((each) => each === figure || this.kinds.get(each) === "control");
    return all.map((only, i) => ({
      ...stop,
      nodes: i ? [figure] : led,
      only,
      rest: all.filter((each) => each !== only),
    }));
  }

  show() {
    const { only, rest = [] } = this.stops[this.at.stop] ?? {};
    document.body.classList.toggle("lineage-screened", rest.length > 0);
    this.others.textContent = rest.length
      ? `.lineage-projected :is(${rest.join()}):not(${only}) { display: none !important; }`
      : "";
    const visible = new Set(this.stops[this.at.stop]?.nodes ?? []),
      block = this.block;
    for (const each of block.querySelectorAll("[data-stop]")) each.removeAttribute("data-stop");
    for (const each of this.all) each.dataset.stop = visible.has(each) ? "shown" : "off";
    // A container whose contents are all hidden takes no space either.
    for (const each of this.all) {
      for (let up = each.parentElement; up && up !== block; up = up.parentElement) {
        if (visible.has(each)) up.dataset.stop = "shown";
        else up.dataset.stop ??= "off";
      }
    }
    this.size.disconnect();
    this.bar.hidden = !this.stops.length;
    if (rest.length) this.settleHeights();
    else this.fitPage();
    this.size.observe(block);
    this.updateBar();
  }

  /* What is alone on its screen draws itself for the room it has, some frames later; only then its height is known. */
  async settleHeights() {
    const stop = this.stops[this.at.stop],
      nextFrame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    for (const smallest of [true, false, true]) {
      this.fitPage(false, smallest);
      await nextFrame();
      if (!this.on || this.stops[this.at.stop] !== stop) return;
      if (!smallest && this.views.length === 1 && this.tall <= this.room / this.scale + 1) return;
      if (smallest && this.views.length > 1) return this.fitPage(); // part by part, then
    }
  }

  get room() {
    return window.innerHeight - BAR * Math.min(window.innerWidth / 1280, window.innerHeight / 720);
  } // px of the screen
  get tall() {
    return this.block.offsetHeight + 2 * EDGE;
  } // its own px

  /* As large as fits; `smaller`: something on the stop has grown, and only that is answered; `smallest`: as small as one
     of several may be. */
  fitPage(smaller = false, smallest = smaller) {
    const { main, block, room } = this;
    if (!this.on || !block || !this.stops.length) return;
    const { innerWidth: width, innerHeight: height } = window,
      base = Math.min(width / 1280, height / 720);
    document.body.style.setProperty("--base", String(base));
    if (smaller && this.scale && this.views.length === 1 && this.tall <= room / this.scale + 1) return;
    const frame = [...block.querySelectorAll(".lineage-plot-frame")].find(isVisible);
    const isAlone = this.stops[this.at.stop].nodes.some((each) => this.alone.has(each)),
      low = frame && minimalHeight(Number(frame.getAttribute("data-usual")), isAlone);
    if (frame) stretchFrame(frame, low);
    const setRoom = (inner) => {
      main.style.setProperty("--room", `${inner}px`);
      return [...block.querySelectorAll("table")].some(cutOff) ? Infinity : this.tall;
    };
    const { nodes, only } = this.stops[this.at.stop],
      card = nodes.some((each) => this.kinds.get(each) === "card");
    this.scale =
      only && smallest
        ? ONLY * base
        : scaleOf(width, room, setRoom, { grows: Boolean(frame), card, only: Boolean(only) });
    const high = setRoom(width / this.scale);
    if (high > room / this.scale && this.splitStop()) return;
    if (high === Infinity) {
      // a smaller table is better than one that is cut off
      this.scale = Math.max(0.7 * this.scale, width / (widestTable(block) + 2 * EDGE + 10));
      setRoom(width / this.scale);
    }
    if (frame)
      stretchFrame(frame, fillHeight(low, room / this.scale - this.tall, rowsOf(frame), frame.clientWidth), true);
    main.style.setProperty("--scale", String(this.scale));
    main.style.setProperty("--high", `${room / this.scale}px`);
    const several = this.tall > room / this.scale + 1; // but not because of space that is only reserved
    this.views = viewsOf(
      several ? Math.min(this.tall, endOf(main, this.scale)) : this.tall,
      room / this.scale,
      several ? rowsAndPictures(main, this.scale) : [],
    );
    this.at.view = Math.min(this.at.view, this.views.length - 1);
    this.showView();
  }

  /* The view of the stop. What is below it begins the next one, and is not seen yet. */
  showView() {
    const { from, to } = this.views[this.at.view],
      { style } = this.main;
    style.setProperty("--from", `${-from}px`);
    style.setProperty("--below", this.views.length > 1 ? `max(0px, 100% - ${to - from}px)` : "0px");
    this.main.scrollTop = 0;
    this.updateBar();
  }

  /* The figure of a stop that is too high goes on a screen of its own, after what leads to it, and if that is not
     enough on several; whether there was a way. */
  splitStop() {
    const { nodes } = this.stops[this.at.stop],
      figure = nodes.find((each) => this.kinds.get(each) === "figure");
    const way =
      figure &&
      (nodes[0] !== figure && !this.alone.has(figure)
        ? this.alone
        : !this.split.has(figure) && screensOf(figure).length > 1
          ? this.split
          : null);
    way?.add(figure);
    if (way) this.readPage();
    return Boolean(way);
  }

  goTo(to) {
    if (to === "leave") return this.turnPresentation(false);
    const previousStop = this.at.stop;
    this.at = moveStop(this.at, to, { stops: this.stops.length, views: this.views.length });
    if (this.at.stop !== previousStop) return this.show();
    this.showView();
  }

  updateBar() {
    const { title } = this.stops[this.at.stop] ?? { title: "" },
      many = this.views.length > 1;
    this.bar.tell({
      place: `${this.at.stop + 1} / ${this.stops.length}${many ? `, part ${this.at.view + 1} of ${this.views.length}` : ""}`,
      title,
      first: this.at.stop === 0 && this.at.view === 0,
      last: this.at.stop === this.stops.length - 1 && this.at.view === this.views.length - 1,
    });
  }

  onKeyDown(event) {
    const { target } = event,
      inField = target.closest?.(FIELDS);
    if (event.defaultPrevented || inField || event.isComposing) return;
    if (event.key === "p" && !event.ctrlKey && !event.metaKey && !event.altKey) return this.turnPresentation(!this.on);
    const to = this.on ? keyCommand(event) : null;
    if (!to || (event.key === " " && target.closest?.(PRESSED))) return;
    if (to === "leave") {
      // unless another element uses the key: an open menu or a kept readout
      setTimeout(
        () =>
          event.defaultPrevented ||
          document.querySelector('[data-baseweb="popover"], [role=dialog]') ||
          this.turnPresentation(false),
      );
      return;
    }
    event.preventDefault();
    this.goTo(to);
  }
}

const isVisible = (element) => element.getClientRects().length > 0;
const cutOff = (table) => isVisible(table) && table.offsetWidth > table.parentElement.clientWidth + 1;
const WHOLE = "svg, canvas, p, h1, h2, h3, h4, li, tr, button, label, input, .katex-display";
const placeElements = (main, scale, elements) => {
  const { top } = main.querySelector('[data-testid="stVerticalBlock"]').getBoundingClientRect();
  return elements
    .filter(isVisible)
    .map((each) => each.getBoundingClientRect())
    .map((box) => [(box.top - top) / scale + EDGE, (box.bottom - top) / scale + EDGE]);
};
const rowsAndPictures = (main, scale) => placeElements(main, scale, [...main.querySelectorAll(WHOLE)]);
const EMPTY = "p, div, span, small"; // these do not count towards the height if they contain no text
const endOf = (main, scale) =>
  Math.max(
    ...placeElements(
      main,
      scale,
      [...main.querySelectorAll(":not(:has(*))")].filter((leaf) => leaf.textContent.trim() || !leaf.matches(EMPTY)),
    ).map(([, bottom]) => bottom),
  ) + EDGE;
const widestTable = (block) =>
  Math.max(...[...block.querySelectorAll("table")].filter(isVisible).map((table) => table.offsetWidth));
const rowsOf = (frame) =>
  new Set([...frame.querySelectorAll(".frame-panel")].map((panel) => panel.offsetTop)).size || 1;

/* The height of a frame's panels; at once, and drawn so if it stays. */
function stretchFrame(frame, px, stays = false) {
  const areas = [...frame.querySelectorAll(".frame-area")],
    most = Number(frame.querySelector(".frame-fixed")?.style.getPropertyValue("--columns"));
  frame.style.setProperty("--multiples", columnsOf(areas.length, most || Infinity));
  for (const area of areas) area.style.height = `${px || frame.dataset.usual}px`;
  if (!stays) return;
  if (px) frame.dataset.height = px;
  else delete frame.dataset.height;
  frame.dispatchEvent(new Event("lineage:height"));
}

function makeBar(go) {
  const makeButton = (name, word, to) => {
    const button = node(
      "button",
      { type: "button", class: "lineage-button", title: word, "aria-label": word },
      icon(name),
    );
    button.onclick = () => go(to);
    return button;
  };
  const backButton = makeButton("arrow_back", "Back", "back"),
    next = makeButton("arrow_forward", "Next", "next"),
    leave = makeButton("close", "Leave", "leave");
  const place = node("b"),
    title = node("span", { class: "title" });
  const bar = node(
    "nav",
    { class: "lineage lineage-presentation-bar", "aria-label": "Projector", hidden: "" },
    backButton,
    node("span", { class: "place", role: "status" }, place, title),
    next,
    leave,
  );
  bar.tell = (state) => {
    if (place.textContent !== state.place) place.textContent = state.place;
    if (title.textContent !== state.title) title.textContent = state.title;
    [backButton.disabled, next.disabled] = [state.first, state.last];
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
  const setPressed = (on) => {
    button.ariaPressed = String(on);
  };
  projector.changed = setPressed;
  button.onclick = () => projector.turnPresentation(!projector.on);
  setPressed(projector.on);
  return {
    show(/** @type {PresentationData} */ { page }) {
      projector.page = page;
      if (new URLSearchParams(location.search).get("screen") === "projector") projector.turnPresentation(true);
      projector.writeUrl();
      projector.readPage();
    },
  };
});
