/**
 * A section of a page: what it shows is fetched from an address of the server, as blocks from top to bottom.
 *
 * Until the answer is there, the section says what is being computed; a picture that is there already stays and is marked
 * as old. What takes long can be cancelled. Blocks of the same kind and key are kept from one answer to the next, so that
 * a component keeps its zoom, its selection and its keyboard focus. Events: those of the components inside, and "over": a
 * training has ended, or the page has to say something else.
 *
 * @typedef {{address: string, version: number, placeholder: string, height: number, page_run: number}} SectionData a new
 *   version is fetched; `placeholder` says what is being computed, `height` px are reserved until the first answer;
 *   `page_run` counts the runs of the page, because with unchanged data an event would name an earlier fragment
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
 * @typedef {{kind: "finding" | "text" | "markdown" | "caption" | "code" | "problem" | "empty" | "component" | "columns",
 *   text?: string, folded?: boolean, html?: string, height?: number, name?: string, folder?: string, key?: string, data?: any,
 *   parts?: Block[][]}} Block `html` is of markdown, made by the server from text without HTML; `name`, `folder` (in the
 *   package), `key` and `data` are of a component, `parts` of columns; `height` is in px
 */

import { defineComponent } from "../../shared/runtime/component.js";
import { node } from "../../shared/runtime/dom.js";
import { prose } from "../../shared/runtime/glossary.js";
import { LiveElements } from "../../shared/runtime/view_state.js";

const AGAIN = [200, 500, 1000, 2000]; // ms before each repeated request, if the server does not answer
const SOON = 200; // ms after which a section says that it waits: shorter waits would only flicker
const LONG = 2500; // ms after which it can be cancelled
const TAGS = { finding: "h3", text: "p", code: "pre", problem: "p", empty: "p" };
const PROSE = ["finding", "text", "caption"]; // their technical terms are links to the glossary
const REACTION = 3000; // ms in which a page reacts to an event
const UNREACHED = "The server does not answer. It is asked again every few seconds.";

export default defineComponent((place) => {
  /** @type {SectionData} */
  let data;
  /** @type {Block[]} */
  let blocks = [];
  let component,
    current = "", // the address and version that is fetched or shown
    shown = 0, // results in the picture that is shown
    isOld = false, // the picture that is shown belongs to an earlier request
    isLive = false,
    isCancelled = false,
    isClosed = false,
    message = "",
    hasButton = false,
    timers = [];
  const live = new LiveElements(),
    { node, button, update } = live;
  const send = (...event) => component.setTriggerValue(...event),
    isOutdated = () => message !== "" && isOld,
    press = () => (isCancelled ? start() : cancel());
  const content = node(
    "div.section-blocks",
    { ".lineage-outdated": isOutdated },
    blockList(live, () => blocks, send),
  );
  place.append(
    content,
    node(
      "div.section-waiting",
      { role: "status", hidden: () => !message },
      node("span", () => message),
      button({ hidden: () => !hasButton, onclick: press }, () => (isCancelled ? "Compute it" : "Cancel")),
    ),
  );

  function showMessage(text, withButton = false) {
    [message, hasButton] = [text, withButton];
    update();
  }
  const later = (ms, act) => timers.push(setTimeout(act, ms));
  function stopTimers() {
    timers.forEach(clearTimeout);
    timers = [];
  }
  const isWanted = (wanted) => wanted === current && !isCancelled && !isClosed;

  function start() {
    stopTimers();
    isCancelled = false;
    place.setAttribute("aria-busy", "true");
    showMessage(content.childElementCount ? "" : data.placeholder);
    later(SOON, () => showMessage(data.placeholder || "…"));
    later(LONG, () => showMessage(data.placeholder || "…", Boolean(data.placeholder)));
    fetchAnswer(current);
  }

  async function fetchAnswer(wanted, failures = 0) {
    const response = await fetch(`${data.address}?shown=${shown}`).catch(() => null);
    if (!isWanted(wanted)) return;
    if (response?.status === 410) return report("gone", wanted); // the page registers it again
    if (!response?.ok) {
      if (failures >= AGAIN.length - 1) showMessage(UNREACHED);
      return later(AGAIN[Math.min(failures, AGAIN.length - 1)], () => fetchAnswer(wanted, failures + 1));
    }
    const answer = /** @type {Answer} */ (await response.json());
    if (!isWanted(wanted)) return;
    if (response.status === 202) return fetchAnswer(wanted);
    takeAnswer(answer, wanted);
  }

  function takeAnswer(/** @type {Answer} */ answer, wanted) {
    if (answer.rerun) return report("ready", wanted);
    const problems = (answer.problems ?? []).map((text) => ({ kind: /** @type {const} */ ("problem"), text }));
    blocks = [...problems, ...(answer.blocks ?? [])];
    shown = answer.ready ?? 0;
    isOld = false;
    place.style.minHeight = "";
    update();
    if (answer.pending) return fetchAnswer(wanted);
    stopTimers();
    place.removeAttribute("aria-busy");
    showMessage("");
    if (answer.again) later(1000 * answer.again, () => fetchAnswer(wanted));
    else if (isLive || answer.ended) component.sendWhenIdle("over", "trained");
    if (isLive !== Boolean(answer.again)) window.dispatchEvent(new Event("lineage:training")); // for the jobs panel
    isLive = Boolean(answer.again);
  }

  /** Report that the page has to act, and ask again if it does not: it may have been left or run at that moment. */
  async function report(reason, wanted) {
    await component.sendWhenIdle("over", reason);
    if (isWanted(wanted)) later(REACTION, () => fetchAnswer(wanted));
  }

  function cancel() {
    stopTimers();
    isCancelled = true;
    fetch(data.address, { method: "DELETE" }).catch(() => {});
    place.removeAttribute("aria-busy");
    showMessage("Cancelled.", true);
  }

  return {
    show(/** @type {SectionData} */ newData, newComponent) {
      [data, component] = [newData, newComponent];
      const wanted = `${data.address} ${data.version}`;
      if (wanted === current) return;
      [current, shown, isOld] = [wanted, 0, true];
      place.style.minHeight = content.childElementCount ? "" : `${data.height}px`;
      start();
    },
    close() {
      isClosed = true;
      stopTimers();
      blocks = [];
      update();
    },
  };
});

/** The blocks of one column; each keeps its element as long as its kind and key stay. */
function blockList(/** @type {LiveElements} */ live, /** @type {() => Block[]} */ read, send) {
  const numbered = () => {
    const seen = {};
    return read().map((block) => {
      const kind = `${block.kind} ${block.name ?? ""} ${block.key ?? ""}`;
      seen[kind] = (seen[kind] ?? 0) + 1;
      return { ...block, id: `${kind} ${seen[kind]}` };
    });
  };
  return live.keyed(
    numbered,
    (block, inner) => makeBlock(block, inner, send),
    ({ id }) => id,
  );
}

function makeBlock(/** @type {() => Block} */ block, /** @type {LiveElements} */ inner, send) {
  const { kind } = block(),
    tag = `${TAGS[kind] ?? "div"}.section-${kind}`,
    about = { "data-kind": kind };
  if (kind === "component") return makeComponent(block, inner, send);
  if (kind === "columns") {
    const makeColumn = (part, column) => column.node("div.section-column", blockList(column, part, send));
    return inner.node(
      tag,
      about,
      inner.keyed(() => block().parts, makeColumn),
    );
  }
  const style = () => (block().height ? `min-height: ${block().height}px` : null),
    root = inner.node(tag, { ...about, role: kind === "problem" ? "alert" : null, style });
  let written;
  inner.follow(() => {
    const { html, text, folded } = block();
    if (written === (written = html ?? text)) return;
    if (html !== undefined) root.innerHTML = html;
    else if (folded) root.replaceChildren(fold(text, root.querySelector("details")?.open));
    else root.replaceChildren(...(PROSE.includes(kind) ? prose(text) : [text]));
  });
  return root;
}

/** Return a long caption, of which only the heading is seen until it is opened. */
function fold(text, open = false) {
  return node("details.lineage-about", { open }, node("summary", "About this figure"), node("p", prose(text)));
}

function makeComponent(/** @type {() => Block} */ block, /** @type {LiveElements} */ inner, send) {
  const { name, folder, key } = block(),
    addressOf = (file) => new URL(`../../../${folder}/${file}`, import.meta.url).href,
    module = import(addressOf("view.js"));
  const root = inner.node(
    `div.section-component.st-key-${key.replace(/[^A-Za-z0-9_-]/g, "-")}`, // as Streamlit names keys
    { "data-kind": "component" },
    inner.node("link", { rel: "stylesheet", href: addressOf("style.css") }),
    inner.node(`div.lineage.lineage-${name.replaceAll("_", "-")}`),
  );
  const setTriggerValue = (event, value) => send(event, value, key);
  let unmount, isRemoved, latest;
  inner.follow(async () => {
    const { data } = block();
    if (data === latest) return;
    latest = data;
    const view = await module;
    if (!isRemoved && latest === data) unmount = view.default({ data, key, parentElement: root, setTriggerValue });
  });
  inner.whenRemoved(() => {
    isRemoved = true;
    unmount?.();
  });
  return root;
}
