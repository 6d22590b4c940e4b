/**
 * Show the measured answer of a lesson step beside the user's prediction. It records in this browser that the step is done.
 * Sends no events.
 *
 * @typedef {{lesson: string, step: number, question: any, said: any}} LessonAnswerData with the answer, as in
 *   shared/charts/measured_answer.js; `said` is the user's prediction
 */
import { drawAnswer } from "../../shared/charts/measured_answer.js";
import { defineComponent } from "../../shared/runtime/component.js";
import { focusOn, takesFocus } from "../../shared/runtime/lesson_focus.js";
import { recordDone } from "../../shared/runtime/progress.js";

export default defineComponent((place) => {
  let shown = ""; // the data, as JSON: a rerun of the page sends the same again
  return {
    show(/** @type {LessonAnswerData & any} */ data) {
      const { lesson, step, question, said, ...answer } = data;
      if (shown === JSON.stringify(data)) return;
      shown = JSON.stringify(data);
      place.replaceChildren(drawAnswer(question, answer, said));
      recordDone(lesson, step);
      if (takesFocus(`answer ${lesson} ${step} ${said}`)) focusOn(place.querySelector(".verdict"));
    },
  };
});
