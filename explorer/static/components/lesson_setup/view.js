/**
 * Show what a step of a lesson is about: the tokens, the networks and, before the prediction, the axis of the answer
 * without data. It moves the keyboard focus to the title of a step that the visitor has just opened. Sends no events.
 *
 * @typedef {object} LessonSetupData
 * @property {string} step names the step; a new one gets the keyboard focus; empty in a class
 * @property {string[]} tokens
 * @property {number[]} marked positions of the tokens that the question is about
 * @property {string} note under the tokens
 * @property {string[]} networks
 * @property {{low: number, high: number, unit: string, powers: boolean} | null} axis
 * @property {number[]} edges limits of the choices on the axis
 */
import { drawEmptyAxis } from "../../shared/charts/answer_axis.js";
import { defineComponent } from "../../shared/runtime/component.js";
import { focusTitle } from "../../shared/runtime/lesson_focus.js";
import { icon, node } from "../../shared/runtime/dom.js";

export default defineComponent((place) => ({
  show(/** @type {LessonSetupData} */ { step, tokens, marked, note, networks, axis, edges }) {
    const root = node("div", { class: "setup" });
    if (tokens.length)
      root.append(
        node(
          "p",
          { class: "tokens" },
          ...tokens.map((token, i) => node("span", { class: marked.includes(i) ? "token marked" : "token" }, token)),
        ),
      );
    if (note) root.append(node("p", { class: "lineage-caption" }, note));
    for (const network of networks)
      root.append(node("p", { class: "network" }, icon("neurology"), node("span", {}, network)));
    if (axis) root.append(drawEmptyAxis(axis, edges));
    place.replaceChildren(root);
    if (step) focusTitle(step);
  },
}));
