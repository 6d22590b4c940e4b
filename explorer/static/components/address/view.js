/**
 * Tell the server when the visitor goes to another state of the same page: back, forward, or by a link. In the menu it marks
 * the group of the open page, which Streamlit does not, and the pages that were visited.
 *
 * Every request carries the address of the browser, but it may be the one from before the last change of the state. So the
 * server takes an address only from here, and it writes none in answer: the visitor may have gone on meanwhile, and a new
 * entry in the history would remove those to which Forward leads. For the same reason a step is not reported any more once
 * the visitor has used the page after it: the server would undo what they typed or chose. Another page is opened by
 * Streamlit itself. After a lost connection it has the page run once more if the visitor has used it too early. Events:
 * "visited": {path, search}; "continued": the time.
 *
 * @typedef {{page: string, section: string, title: string, followed: string | null}} AddressData the path of the page ("" for
 *   the first one), its group in the menu ("" without a group), and the query string of the step that the server answers
 */

import { defineComponent } from "../../shared/runtime/component.js";
import { showDefinitions } from "../../shared/runtime/glossary.js";
import { linkOfClick, whenRunBegins } from "../../shared/runtime/mount.js";
import { PAGES, readDone, recordDone } from "../../shared/runtime/progress.js";
import { node } from "../../shared/runtime/dom.js";
import { watchReconnections } from "../../shared/runtime/reconnection.js";

/** Return the path of a page from that of its URL: "" for the first one, also if the site stands below a path. */
export const pathOf = (pathname) => pathname.slice(pathname.lastIndexOf("/") + 1);

const DRAWER_BUTTON = '[data-testid="stSidebarCollapseButton"] button'; // of the menu on a phone
const USE = ["input", "click"];

function nameInMenu({ section, title }) {
  for (const name of document.querySelectorAll('[data-testid="stTopNavSection"] p')) {
    if (name.textContent === section) name.setAttribute("data-page", title === section ? "" : `: ${title}`);
    else name.removeAttribute("data-page");
    name.closest("button").ariaCurrent = name.textContent === section ? "page" : null;
  }
  document.querySelector('[data-testid="stExpandSidebarButton"]')?.setAttribute("aria-label", "Menu");
}

/* A style: the links of a group are there only while it is open. Screen readers read the text after the slash. */
function visitedStyle() {
  const links = readDone(PAGES).map((path) => `[href$="/${CSS.escape(path)}"]`);
  return `:is([data-testid^="stTopNav"], [data-testid="stSidebarNavLink"]):is(${links.join()})::after {
    content: "✓" / ", visited"; }`;
}

export default defineComponent((place) => {
  place.hidden = true;
  const visited = place.appendChild(node("style"));
  const markVisited = () => (visited.textContent = visitedStyle());
  let data, send;
  let latest; // only the last of several quick steps is sent, and only if the visitor does nothing else after it
  // While another page is being opened, `data` is that of the page before: only an idle page knows whether it was meant.
  async function report(path, search, changeHistory) {
    const step = (latest = { search, sent: false });
    // Streamlit requests a run for every step; what earlier requests changed reaches the browser before it begins.
    await whenRunBegins();
    send("visited", { path, search }, () => {
      if (step !== latest || path !== data.page || path !== pathOf(location.pathname)) return false;
      // A link has not changed the address yet. After Back or Forward, an earlier change of the state may have.
      if (search !== location.search) history[changeHistory]({}, "", location.pathname + search);
      return (step.sent = true);
    });
  }
  const onUse = (event) => {
    if (event.type === "input" || event.target.closest?.("button, input, label, [role]:not([role=main]), canvas, svg"))
      latest = undefined;
  };
  const onPopState = () => report(pathOf(location.pathname), location.search, "replaceState");
  const onClick = (event) => {
    const link = linkOfClick(event);
    if (link && !link.target && link.search && link.closest(`[data-testid^="stPageLink"]`))
      report(pathOf(link.pathname), link.search, "pushState");
  };
  const ending = new AbortController(),
    { signal } = ending;
  window.addEventListener("popstate", onPopState, { signal });
  for (const kind of USE) document.addEventListener(kind, onUse, { capture: true, signal }); // before the click on a link is reported
  document.addEventListener("click", onClick, { signal });
  showDefinitions(signal);
  window.addEventListener("lineage:forgotten", markVisited, { signal });
  const menu = new MutationObserver(() => data && nameInMenu(data)), // it is drawn anew if the window becomes narrow
    header = document.querySelector('[data-testid="stHeader"]');
  if (header) menu.observe(header, { childList: true, subtree: true });
  const stopWatching = watchReconnections(() => send("continued", Date.now()));
  return {
    show(/** @type {AddressData} */ newData, { sendWhenIdle }) {
      // The menu of a phone would stay over the page that was chosen in it.
      if (data?.page !== newData.page)
        /** @type {HTMLElement | null} */ (document.querySelector(DRAWER_BUTTON))?.click();
      data = newData;
      send = sendWhenIdle;
      nameInMenu(data);
      recordDone(PAGES, data.page);
      markVisited();
      if (!latest?.sent || latest.search !== data.followed) return;
      // The URL of a run that the step has interrupted may have come after the step was sent, but comes before this answer.
      if (location.search !== latest.search) history.replaceState({}, "", location.pathname + latest.search);
      latest = undefined;
    },
    close() {
      stopWatching();
      menu.disconnect();
      ending.abort();
    },
  };
});
