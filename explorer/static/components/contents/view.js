/**
 * Show the table of contents of a page: a button in the header that stays there, and a list of the page's sections.
 * It sends no events.
 *
 * @typedef {{sections: {name: string, title: string}[]}} ContentsData empty if the page needs no table of contents
 */
import { icon, node } from "../../shared/runtime/dom.js";
import { defineComponent } from "../../shared/runtime/component.js";
import { showSection } from "../../shared/runtime/page_sections.js";

export default defineComponent((place) => {
  const list = node("ul"),
    button = node("summary.lineage-button", { title: "Contents" }, icon("toc"), node("span", "Contents")),
    details = node("details", { onkeydown }, button, node("nav", { "aria-label": "Contents" }, list));
  function onkeydown(event) {
    if (event.key !== "Escape" || !details.open) return;
    details.open = false;
    button.focus();
  }
  const closeOutside = (event) => {
    if (!event.composedPath().includes(details)) details.open = false;
  };
  const makeEntry = ({ name, title }) => {
    const onclick = () => {
      details.open = false;
      showSection(name);
    };
    return node("li", node("button", { type: "button", onclick }, title));
  };
  place.replaceChildren(details);
  document.addEventListener("pointerdown", closeOutside);
  return {
    show(/** @type {ContentsData} */ { sections }) {
      details.hidden = !sections.length;
      list.replaceChildren(...sections.map(makeEntry));
    },
    close: () => document.removeEventListener("pointerdown", closeOutside),
  };
});
