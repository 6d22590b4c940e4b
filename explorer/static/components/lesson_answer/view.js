/**
 * Show the measured answer of a lesson step beside the user's prediction. Sends no events.
 *
 * @typedef {object} LessonAnswerData
 * @property {any} question
 * @property {any} said the user's prediction; the other fields are those of an answer, see
 *    shared/charts/measured_answer.js
 */
import { drawAnswer } from "../../shared/charts/measured_answer.js";
import { defineComponent } from "../../shared/runtime/component.js";

export default defineComponent((place) => ({
  show(/** @type {LessonAnswerData} */ { question, said, ...answer }) {
    place.replaceChildren(drawAnswer(question, answer, said));
  },
}));
