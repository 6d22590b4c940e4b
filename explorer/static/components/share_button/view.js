/**
 * Show a button at the end of a page that gives the page, in its current state, to a class. It also marks the controls inside
 * components that are hidden on this page.
 *
 * @import { SendEvent } from "../../shared/runtime/events.js"
 *
 * @typedef {{mark: string[]}} ShareButtonData names of hidden controls inside components, see controls.js
 *
 * @typedef {object} ShareButtonEvents
 * @property {{name: string, label: string, section: string}[]} controls the controls of the page that can be hidden
 */
import { listControls, markControls } from "./controls.js";
import { icon, node } from "../../shared/runtime/dom.js";
import { defineComponent } from "../../shared/runtime/component.js";

const findPage = () => document.querySelector('[data-testid="stMain"]') ?? document.body;

export default defineComponent((place, /** @type {SendEvent<ShareButtonEvents>} */ send) => {
  const onclick = () => send("controls", listControls(findPage())),
    attributes = { class: "lineage-button", type: "button", onclick };
  place.replaceChildren(node("button", attributes, icon("groups"), "Give this page to a class"));
  /** @type {string[]} */
  let names = [];
  let frame = 0;
  const markAgain = () => {
    frame ||= requestAnimationFrame(() => {
      frame = 0;
      markControls(findPage(), names);
    });
  };
  const watch = new MutationObserver(markAgain);
  return {
    show(/** @type {ShareButtonData} */ { mark }) {
      names = mark;
      watch.disconnect();
      if (!names.length) return;
      markControls(findPage(), names);
      watch.observe(findPage(), { childList: true, subtree: true });
    },
    close() {
      watch.disconnect();
      cancelAnimationFrame(frame);
    },
  };
});
