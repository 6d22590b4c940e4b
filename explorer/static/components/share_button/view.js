/**
 * Show a button at the end of a page that gives the page, in its current state, to a class.
 * It takes no data.
 *
 * @typedef {object} ShareButtonEvents
 * @property {{name: string, label: string}[]} controls the controls of the page that can be locked, as Streamlit's CSS
 *    classes name them
 */
import { icon, node } from "../../shared/runtime/dom.js";
import { defineComponent } from "../../shared/runtime/component.js";

const SET = "input, button, textarea, [role=slider], [role=combobox]";

/** Every keyed control on the page, in its order. */
function keyedControls() {
  const settings = new Map();
  for (const element of document.querySelectorAll(".stElementContainer[class*='st-key-'], .section-component")) {
    const name = [...element.classList]
      .find((each) => each.startsWith("st-key-"))
      ?.slice(7)
      .replace(/--v[0-9]+$/, "");
    if (
      !name ||
      name.startsWith("section-") || // the components inside it are listed
      element.closest(".st-key-lesson-card, .st-key-class-card") ||
      !element.querySelector(`${SET}, .lineage`)
    )
      continue;
    const label =
      /** @type {HTMLElement | null} */ (element.querySelector("[data-testid=stWidgetLabel]"))?.innerText ||
      element.querySelector("button")?.innerText ||
      name;
    if (!/^(share|jobs|projector|class|lesson)/.test(name)) settings.set(name, label.trim().split("\n").pop() || name);
  }
  return [...settings].map(([name, label]) => ({ name, label }));
}

export default defineComponent((place) => {
  const button = node(
    "button",
    { class: "lineage-button", type: "button" },
    icon("groups"),
    "Give this page to a class",
  );
  place.replaceChildren(button);
  /** @type {import("../../shared/runtime/events.js").SendEvent<ShareButtonEvents>} */
  let sendEvent = () => {};
  button.onclick = () => sendEvent("controls", keyedControls());
  return {
    show(_, { setTriggerValue }) {
      sendEvent = setTriggerValue;
    },
  };
});
