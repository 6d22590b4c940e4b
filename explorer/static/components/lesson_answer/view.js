/**
 * Show the measured answer of a lesson step beside the user's prediction, and lead to the figure that it is about. It
 * records in this browser that the step is done. Sends no events.
 *
 * @typedef {{lesson: string, step: number, section: string, question: any, said: any}} LessonAnswerData with the answer, as in
 *   shared/charts/measured_answer.js; its figure is in this section of the page; `said` is the user's prediction
 */
import { drawAnswer } from "../../shared/charts/measured_answer.js";
import { defineComponent } from "../../shared/runtime/component.js";
import { focusOn, takesFocus } from "../../shared/runtime/lesson_focus.js";
import { recordDone } from "../../shared/runtime/progress.js";
import { iconButton, node, setTextIfChanged } from "../../shared/runtime/dom.js";
import { findSection, showSection } from "../../shared/runtime/page_sections.js";

const MARK = "lineageMarked"; // an attribute, because Streamlit sets the classes of its elements
const LATER = "The figure is still being drawn. Press again in a moment.";

export default defineComponent((place) => {
  /** @type {HTMLElement | null} */
  let marked = null;
  let shown = ""; // the data, as JSON: a rerun of the page sends the same again
  const verdict = () => /** @type {HTMLElement | null} */ (place.querySelector(".verdict"));
  const back = iconButton("arrow_upward", "Back to the answer", () => {
    unmark();
    focusOn(verdict());
  });
  back.classList.add("back");

  function unmark() {
    delete marked?.dataset[MARK];
    marked = null;
    back.hidden = true;
  }
  function figureLink(section) {
    const message = node("p.lineage-caption", { role: "status" });
    const button = iconButton("arrow_downward", "Show the figure", () => {
      unmark();
      marked = findSection(section);
      if (marked) marked.dataset[MARK] = ""; // first: the mark decides how far the page scrolls
      showSection(section);
      back.hidden = !marked;
      setTextIfChanged(message, marked ? "" : LATER);
    });
    button.classList.add("to-figure");
    return node("div.leads", button, message);
  }

  return {
    show(/** @type {LessonAnswerData & any} */ data) {
      const { lesson, step, section, question, said, ...answer } = data;
      if (shown === JSON.stringify(data)) return;
      shown = JSON.stringify(data);
      unmark();
      place.replaceChildren(drawAnswer(question, answer, said), back);
      if (section) verdict().after(figureLink(section));
      recordDone(lesson, step);
      if (takesFocus(`answer ${lesson} ${step} ${said}`)) focusOn(verdict());
    },
    close: unmark,
  };
});
