/* Mount the view of a component, and send its events so that none is lost, repeated or too late.

   The server gets the last few events as a state value, each with a number that grows: it may handle several messages at
   once, and takes from each log what is newer than what it has. A component of a page that is left sends nothing any more:
   the server would run that page again, or a part of it that is gone. */

const KEPT = 12; // events in a log
const IDLE = 20; // ms between two looks at whether the page still runs
const BEGINNING = 1_000; // ms after which a run is not waited for any more: it may have been too short to be seen
const OPENING = 10_000; // ms after which a page that was to be opened is not waited for any more
const ON_EVERY_PAGE = ["address", "jobs_panel", "presentation"].map((name) => `static/components/${name}`);
let number = Date.now(); // grows over a reload of the page, too
let target = ""; // path of the page that is being opened

/** Return the link to another page, or state of a page, that an ordinary click opens in this tab; else null. */
export function linkOfClick(event) {
  const link = event.target.closest?.("a[href]"),
    isPlain = !event.button && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
  return link && isPlain && link.target !== "_blank" && link.origin === location.origin ? link : null;
}

function recordTarget(event) {
  const link = linkOfClick(event);
  if (!link || link.closest(".lineage")) return; // the server opens the page, after an event of the component
  const path = (target = link.pathname);
  setTimeout(() => path === target && (target = ""), OPENING);
}
window.addEventListener("click", recordTarget, true);

/** Return whether the page of this path is left, or about to be. */
const isLeft = (path) => path !== location.pathname || (target !== "" && target !== path);

const isRunning = () =>
  document.querySelector('[data-test-script-state="running"], [data-test-script-state="rerunRequested"]') !== null;
const nextLook = () => new Promise((done) => setTimeout(done, IDLE));

/** Return when no run of the page is under way: a request in the middle of a run might interrupt the opening of a page. */
export async function whenIdle() {
  do await nextLook();
  while (isRunning());
}

/** Return when a run that Streamlit has requested is seen to have begun, which takes until the server answers. */
export async function whenRunBegins() {
  for (const end = Date.now() + BEGINNING; !isRunning() && Date.now() < end;) await nextLook();
}

/** Return the function (name, value, key of an inner component) that sends the events of a component. What sends them is
    the component of the last run of the page: that of an earlier one names a fragment that may be gone. */
function eventSender(state, isSilent) {
  let log = [];
  return (name, value, inner = "") => {
    if (isSilent()) return;
    log = [...log, [(number += 1), inner, name, value]].slice(-KEPT);
    state.component.setStateValue("events", log);
  };
}

const mounted = new WeakMap(); // by element, because Streamlit calls a component again for new data

/** Mount the component of this folder and return the function that unmounts it. `isGone` tells whether it was unmounted. */
export async function mount(folder, component, isGone) {
  const root = component.parentElement;
  const view = await import(new URL(`../../../${folder}/view.js`, import.meta.url).href);
  if (isGone()) return;
  const state = mounted.get(root) ?? {};
  state.path = location.pathname; // of the page that shows it now: the card of a class goes from page to page
  const isSilent = () => !ON_EVERY_PAGE.includes(folder) && isLeft(state.path);
  state.component = component;
  state.send ??= eventSender(state, isSilent);
  mounted.set(root, state);
  const sendWhenIdle = async (event, value, isValid = () => true) => {
    do await whenIdle();
    while (isSilent() && !isGone()); // a page that was to be opened may not come, if the visitor did something else meanwhile
    if (!isGone() && isValid()) state.send(event, value);
  };
  return view.default({ ...component, setTriggerValue: state.send, sendWhenIdle });
}
