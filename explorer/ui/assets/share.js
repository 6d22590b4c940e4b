/*
At the end of a page: a quiet button that gives the page, as it stands, to a class.
It tells "controls", [{ name, label }]: what a visitor can set here, as Streamlit's styles name it.
*/
import { icon } from "./save.js";
import { instrument, node } from "./svg.js";

const SET = "input, button, textarea, [role=slider], [role=combobox]";

/** Every keyed control on the page, in its order. */
function controls() {
  const found = new Map();
  for (const element of document.querySelectorAll(".stElementContainer[class*='st-key-']")) {
    const name = [...element.classList].find((each) => each.startsWith("st-key-"))?.slice(7);
    if (!name || element.closest(".st-key-lesson-card, .st-key-class-card") || !element.querySelector(`${SET}, .lineage`)) continue;
    const label = element.querySelector("[data-testid=stWidgetLabel]")?.innerText || element.querySelector("button")?.innerText || name;
    if (!/^(share|jobs|projector|class|lesson)/.test(name)) found.set(name, label.trim().split("\n").pop() || name);
  }
  return [...found].map(([name, label]) => ({ name, label }));
}

export default instrument((place) => {
  const button = node("button", { class: "lineage-button", type: "button" }, icon("groups"), "Give this page to a class");
  place.replaceChildren(button);
  let component = null;
  button.onclick = () => component?.setTriggerValue("controls", controls());
  return { show: (_, arrived) => { component = arrived; } };
});
