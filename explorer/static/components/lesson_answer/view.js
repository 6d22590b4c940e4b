/**
 * Show the measured answer of a lesson step beside the user's prediction, and lead to the figure that it is about. It
 * records in this browser that the step is done. Sends no events.
 *
 * @typedef {object} LessonAnswerData
 * @property {string} lesson
 * @property {number} step
 * @property {string} section of the page, whose figure the answer is about; may be empty
 * @property {any} question
 * @property {any} said the user's prediction
 * @property {string} verdict the user's prediction and the measured answer
 * @property {string} opinion a sentence if the answer is not what the lesson's author expects, else empty
 * @property {string} why
 * @property {string[]} right names of the choices that are right
 * @property {number | null} value
 * @property {string} over what the values of a row are repeated over
 * @property {any} axis limits and unit of the answers
 * @property {{title: string, values: number[], texts: string[], median: string, labels: string[]}[]} rows
 * @property {string[]} runs
 */
import { drawAnswer } from "../../shared/charts/measured_answer.js";
import { defineComponent } from "../../shared/runtime/component.js";
import { focusOn, takesFocus } from "../../shared/runtime/lesson_focus.js";
import { recordDone } from "../../shared/runtime/lesson_progress.js";
import { icon, node } from "../../shared/runtime/dom.js";
import { findSection, showSection } from "../../shared/runtime/page_sections.js";

const MARK = "lineageMarked"; // an attribute, because Streamlit sets the classes of its elements

export default defineComponent((place) => {
  /** @type {HTMLElement | null} */
  let marked = null;
  let shown = ""; // the data, as JSON: a rerun of the page sends the same again
  const back = node(
    "button",
    { type: "button", class: "lineage-button back", hidden: "" },
    icon("arrow_upward"),
    node("span", {}, "Back to the answer"),
  );
  const verdict = () => /** @type {HTMLElement | null} */ (place.querySelector(".verdict"));

  function unmark() {
    delete marked?.dataset[MARK];
    marked = null;
    back.hidden = true;
  }
  function showFigure(section) {
    unmark();
    marked = findSection(section);
    if (marked) marked.dataset[MARK] = ""; // first: the mark decides how far the page scrolls
    showSection(section);
    back.hidden = !marked;
  }
  back.onclick = () => {
    unmark();
    focusOn(verdict());
  };

  return {
    show(/** @type {LessonAnswerData} */ data) {
      const { lesson, step, section, question, said, ...answer } = data;
      if (shown === JSON.stringify(data)) return;
      shown = JSON.stringify(data);
      unmark();
      place.replaceChildren(drawAnswer(question, answer, said), back);
      if (section) place.querySelector(".verdict").after(figureButton(section));
      recordDone(lesson, step);
      if (takesFocus(`answer ${lesson} ${step} ${said}`)) focusOn(verdict());
    },
    close: unmark,
  };

  function figureButton(section) {
    const button = node(
      "button",
      { type: "button", class: "lineage-button to-figure" },
      icon("arrow_downward"),
      node("span", {}, "Show the figure"),
    );
    button.onclick = () => showFigure(section);
    const message = node("p", { class: "lineage-caption", role: "status" });
    button.addEventListener("click", () => {
      message.textContent = findSection(section) ? "" : "The figure is still being drawn. Press again in a moment.";
    });
    return node("div", { class: "leads" }, button, message);
  }
});
