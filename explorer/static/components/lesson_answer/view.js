/**
 * Show the measured answer of a lesson step beside the user's prediction. Sends no events.
 *
 * @typedef {object} LessonAnswerData
 * @property {any} question
 * @property {any} said the user's prediction
 * @property {string} verdict the measured answer, compared with the prediction
 * @property {string} opinion a sentence if the answer is not what the lesson's author expects, else empty
 * @property {string} why
 * @property {string[]} right names of the choices that are right
 * @property {number | null} value
 * @property {string} over what the values of a row are repeated over
 * @property {any} scale limits and unit of a number, else null
 * @property {{title: string, values: number[], labels: string[]}[]} rows
 * @property {string[]} runs
 */
import { drawAnswer } from "../../shared/charts/measured_answer.js";
import { defineComponent } from "../../shared/runtime/component.js";

export default defineComponent((place) => ({
  show(/** @type {LessonAnswerData} */ { question, said, ...answer }) {
    place.replaceChildren(drawAnswer(question, answer, said));
  },
}));
