/**
 * Show generated texts with every error in a frame. Hover or focus explains an error, a click keeps the explanation.
 * All of it is users' text and is shown as text. Sends no events.
 *
 * @typedef {object} GeneratedErrorsData
 * @property {any[]} texts {title, detail, colour, first, runs: [{text, why}], label}; a run without `why` is correct
 * @property {string} note
 * @property {string} file
 */
import { saveMenu } from "../../../../static/shared/runtime/export_menu.js";
import { toCsv } from "../../../../static/shared/runtime/csv.js";
import { node, tint } from "../../../../static/shared/runtime/dom.js";
import { defineComponent } from "../../../../static/shared/runtime/component.js";

/** Return the visible text of an error: a space would be an empty frame. */
export const showSpaces = (text) => text.replaceAll(" ", "␣");

export const csvRows = ({ texts }) =>
  texts.flatMap(({ title, first, runs }) => [
    [title, first, ""],
    ...runs.map(({ text, why }) => [title, text, why ?? ""]),
  ]);

export default defineComponent((place) => {
  const panels = node("div.panels");
  const about = node("p.lineage-caption", { "aria-live": "polite" });
  place.replaceChildren(panels, about);
  let note = "",
    keptError = null;
  const describeError = (button) => {
    about.textContent = button?.dataset.why ?? note;
  };
  const keepError = (button) => {
    keptError?.classList.remove("kept");
    keptError = button === keptError ? null : button;
    keptError?.classList.add("kept");
    describeError(keptError);
  };
  const errorOfEvent = (event) => event.target.closest?.("[data-why]");
  for (const enterEvent of ["pointerover", "focusin"])
    panels.addEventListener(enterEvent, (event) => describeError(errorOfEvent(event) ?? keptError));
  for (const leaveEvent of ["pointerleave", "focusout"])
    panels.addEventListener(leaveEvent, () => describeError(keptError));
  panels.onclick = (event) => errorOfEvent(event) && keepError(errorOfEvent(event));
  place.onkeydown = (event) => {
    // returns nothing: `false` would cancel the key, also Tab
    event.stopPropagation(); // Streamlit reruns the page at an "r"
    if (event.key === "Escape" && keptError) keepError(keptError);
  };
  let drawnState = "";
  return {
    show(/** @type {GeneratedErrorsData} */ data) {
      if (JSON.stringify(data) === drawnState) return;
      drawnState = JSON.stringify(data);
      keptError = null;
      note = data.note;
      describeError(null);
      panels.replaceChildren(...data.texts.map((text) => makePanel(text)));
      saveMenu(place, {
        csv: () => toCsv(["text", "characters", "why it is an error"], csvRows(data)),
        file: data.file,
      });
    },
  };
});

function makePanel({ title, detail, colour, first, runs, label }) {
  const chunks = runs.map(({ text, why }) =>
    why ? node("button.slip", { type: "button", "data-why": why, "aria-label": why }, showSpaces(text)) : text,
  );
  return tint(
    node(
      "section.panel",
      node("div.head", node("span.dot"), node("span.name", title), node("span.detail", detail)),
      node(
        "div.sheet",
        { role: "region", tabindex: 0, dir: "auto", "aria-label": label },
        node("span.given", first),
        ...chunks,
      ),
    ),
    colour,
  );
}
