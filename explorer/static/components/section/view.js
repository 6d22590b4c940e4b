/**
 * A section of a page: what it shows is fetched from an address of the server, as blocks from top to bottom.
 *
 * Until the answer is there, the section says what is being computed; a picture that is there already stays and is marked
 * as old. What takes long can be cancelled. Blocks of the same kind and key are kept from one answer to the next, so that
 * a component keeps its zoom, its selection and its keyboard focus. Events: those of the components inside, and "over": a
 * training has ended, or the page has to say something else.
 *
 * @typedef {object} SectionData
 * @property {string} address
 * @property {number} version a new one is fetched
 * @property {string} placeholder what is being computed
 * @property {number} height px that are reserved until the first answer
 * @property {number} page_run counts the runs of the page; with unchanged data an event would name an earlier fragment
 *
 * @typedef {object} Answer
 * @property {Block[]} [blocks]
 * @property {string[]} [problems]
 * @property {number} [pending] results that are still computed
 * @property {number} [ready] results that are shown
 * @property {number | null} [again] seconds until the next request, while something trains
 * @property {boolean} [ended] a training has begun and ended since the page was run
 * @property {boolean} [rerun] the page draws the result by itself
 *
 * @typedef {object} Block
 * @property {"finding" | "text" | "markdown" | "caption" | "code" | "problem" | "empty" | "component" | "columns"} kind
 * @property {string} [text]
 * @property {string} [html] of markdown, made by the server from text without HTML
 * @property {number} [height] px
 * @property {string} [name] of a component
 * @property {string} [folder] of a component in the package
 * @property {string} [key] of a component
 * @property {any} [data] of a component
 * @property {Block[][]} [parts] of columns
 */

import { defineComponent } from "../../shared/runtime/component.js";
import { element, setTextIfChanged } from "../../shared/runtime/dom.js";

const AGAIN = [200, 500, 1000, 2000]; // ms before each repeated request, if the server does not answer
const SOON = 200; // ms after which a section says that it waits: shorter waits would only flicker
const LONG = 2500; // ms after which it can be cancelled
const TAGS = { finding: "h3", text: "p", caption: "p", code: "pre", problem: "p", empty: "p" };
const REACTION = 3000; // ms in which a page reacts to an event
const UNREACHED = "The server does not answer. It is asked again every few seconds.";

export default defineComponent((place) => new SectionView(place));

class SectionView {
  /** @type {SectionData | null} */
  data = null;
  current = ""; // the address and version that is fetched or shown
  shown = 0; // results in the picture that is shown
  isOld = false; // the picture that is shown belongs to an earlier request
  isLive = false;
  timers = new Set();

  constructor(place) {
    this.place = place;
    this.content = element("div", "section-blocks");
    this.waiting = element("div", "section-waiting");
    this.waiting.role = "status";
    this.message = element("span");
    this.button = element("button", "lineage-button", "Cancel");
    this.button.type = "button";
    this.button.onclick = () => (this.isCancelled ? this.start() : this.cancel());
    this.waiting.append(this.message, this.button);
    place.append(this.content, this.waiting);
    this.blocks = new BlockList(this.content, this);
  }

  show(/** @type {SectionData} */ data, component) {
    this.component = component;
    const wanted = `${data.address} ${data.version}`;
    this.data = data;
    if (wanted === this.current) return;
    this.current = wanted;
    this.shown = 0;
    this.isOld = true;
    this.place.style.minHeight = this.content.childElementCount ? "" : `${data.height}px`;
    this.start();
  }

  start() {
    this.stop();
    this.isCancelled = false;
    const wanted = this.current;
    this.place.setAttribute("aria-busy", "true");
    this.showMessage("", false);
    if (!this.content.childElementCount) this.showMessage(this.data.placeholder, false);
    this.later(SOON, () => this.showMessage(this.data.placeholder || "…", false));
    this.later(LONG, () => this.showMessage(this.data.placeholder || "…", Boolean(this.data.placeholder)));
    this.fetchAnswer(wanted, 0);
  }

  async fetchAnswer(wanted, failures) {
    const response = await fetch(`${this.data.address}?shown=${this.shown}`).catch(() => null);
    if (wanted !== this.current || this.isCancelled || this.isClosed) return;
    if (response?.status === 410) return this.report("gone", wanted); // the page registers it again
    if (!response?.ok) {
      if (failures >= AGAIN.length - 1) this.showMessage(UNREACHED, false);
      return this.later(AGAIN[Math.min(failures, AGAIN.length - 1)], () => this.fetchAnswer(wanted, failures + 1));
    }
    const answer = /** @type {Answer} */ (await response.json());
    if (wanted !== this.current || this.isCancelled || this.isClosed) return;
    if (response.status === 202) return this.fetchAnswer(wanted, 0);
    this.takeAnswer(answer, wanted);
  }

  takeAnswer(/** @type {Answer} */ answer, wanted) {
    if (answer.rerun) return this.report("ready", wanted);
    const problems = (answer.problems ?? []).map((text) => ({ kind: "problem", text }));
    this.blocks.update(/** @type {Block[]} */ ([...problems, ...(answer.blocks ?? [])]));
    this.shown = answer.ready ?? 0;
    this.isOld = false;
    this.content.classList.remove("lineage-outdated");
    this.place.style.minHeight = "";
    if (answer.pending) return this.fetchAnswer(wanted, 0);
    this.stop();
    this.place.removeAttribute("aria-busy");
    this.showMessage("", false);
    if (answer.again) this.later(1000 * answer.again, () => this.fetchAnswer(wanted, 0));
    else if (this.isLive || answer.ended) this.component.sendWhenIdle("over", "trained");
    if (this.isLive !== Boolean(answer.again)) window.dispatchEvent(new Event("lineage:training")); // for the jobs panel
    this.isLive = Boolean(answer.again);
  }

  /** Report that the page has to act, and ask again if it does not: it may have been left or run at that moment. */
  async report(reason, wanted) {
    await this.component.sendWhenIdle("over", reason);
    if (wanted !== this.current || this.isCancelled || this.isClosed) return;
    this.later(REACTION, () => this.fetchAnswer(wanted, 0));
  }

  cancel() {
    this.stop();
    this.isCancelled = true;
    fetch(this.data.address, { method: "DELETE" }).catch(() => {});
    this.place.removeAttribute("aria-busy");
    this.showMessage("Cancelled.", true);
  }

  showMessage(text, withButton) {
    setTextIfChanged(this.message, text);
    this.waiting.hidden = !text;
    this.button.hidden = !withButton;
    this.button.textContent = this.isCancelled ? "Compute it" : "Cancel";
    this.content.classList.toggle("lineage-outdated", Boolean(text) && this.isOld);
  }

  later(ms, act) {
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      act();
    }, ms);
    this.timers.add(timer);
  }

  stop() {
    this.timers.forEach(clearTimeout);
    this.timers.clear();
  }

  close() {
    this.isClosed = true;
    this.stop();
    this.blocks.update([]);
  }
}

/** The blocks of one column; each keeps its element as long as its kind and key stay. */
class BlockList {
  /** @type {{id: string, element: HTMLElement, close?: () => void, update: (block: Block) => void}[]} */
  views = [];

  constructor(place, section) {
    this.place = place;
    this.section = section;
  }

  update(/** @type {Block[]} */ blocks) {
    const before = new Map(this.views.map((view) => [view.id, view]));
    const seen = {};
    this.views = blocks.map((block) => {
      const kind = `${block.kind} ${block.name ?? ""} ${block.key ?? ""}`;
      seen[kind] = (seen[kind] ?? 0) + 1;
      const id = `${kind} ${seen[kind]}`;
      const view = before.get(id) ?? { id, ...this.build(block) };
      before.delete(id);
      return view;
    });
    for (const view of before.values()) {
      view.close?.();
      view.element.remove();
    }
    this.views.forEach((view, i) => {
      if (this.place.children[i] !== view.element)
        this.place.insertBefore(view.element, this.place.children[i] ?? null);
      view.update(blocks[i]);
    });
  }

  /** @returns {{element: HTMLElement, close?: () => void, update: (block: Block) => void}} */
  build(/** @type {Block} */ block) {
    const { kind } = block;
    if (kind === "component") return this.buildComponent(block);
    const root = element(kind in TAGS ? TAGS[kind] : "div", `section-${kind}`);
    root.dataset.kind = kind;
    if (kind === "problem") root.role = "alert";
    if (kind === "columns") return this.buildColumns(root);
    if (kind === "markdown")
      return { element: root, update: ({ html }) => root.innerHTML !== html && (root.innerHTML = html) };
    return {
      element: root,
      update: ({ text, height }) => {
        setTextIfChanged(root, text);
        if (height) root.style.minHeight = `${height}px`;
      },
    };
  }

  buildColumns(root) {
    /** @type {BlockList[]} */
    let lists = [];
    return {
      element: root,
      update: (/** @type {Block} */ { parts }) => {
        while (lists.length > parts.length) lists.pop().closeAll();
        while (lists.length < parts.length) {
          const column = root.appendChild(element("div", "section-column"));
          lists.push(new BlockList(column, this.section));
        }
        lists.forEach((list, i) => list.update(parts[i]));
      },
      close: () => lists.forEach((list) => list.update([])),
    };
  }

  closeAll() {
    this.update([]);
    this.place.remove();
  }

  buildComponent(/** @type {Block} */ { name, folder, key }) {
    const root = element("div", `section-component st-key-${key.replace(/[^A-Za-z0-9_-]/g, "-")}`); // as Streamlit names keys
    root.dataset.kind = "component";
    const sheet = element("link");
    sheet.setAttribute("rel", "stylesheet");
    sheet.setAttribute("href", new URL(`../../../${folder}/style.css`, import.meta.url).href);
    root.append(sheet, element("div", `lineage lineage-${name.replaceAll("_", "-")}`));
    const module = import(new URL(`../../../${folder}/view.js`, import.meta.url).href);
    const { section } = this;
    let unmount, isClosed, latest;
    return {
      element: root,
      update: (/** @type {Block} */ { data }) => {
        latest = data;
        module.then((view) => {
          if (isClosed || latest !== data) return;
          const setTriggerValue = (event, value) => section.component.setTriggerValue(event, value, key);
          unmount = view.default({ data, key, parentElement: root, setTriggerValue });
        });
      },
      close: () => {
        isClosed = true;
        unmount?.();
      },
    };
  }
}
