/**
 * Show what a step of a lesson is about: the tokens, the networks and, before the prediction, the axis of the answer
 * without data. It moves the keyboard focus to the title of a step that the visitor has just opened. Sends no events.
 *
 * @typedef {{step: string, tokens: string[], marked: number[], note: string, networks: string[], edges: number[],
 *   axis: {low: number, high: number, unit: string, powers: boolean} | null}} LessonSetupData `step` names the step, whose
 *   title gets the keyboard focus, and is empty in a class; `marked` are positions of the tokens that the question is about,
 *   `edges` limits of the choices on the axis; the note is under the tokens
 */
import { drawEmptyAxis } from "../../shared/charts/answer_axis.js";
import { defineComponent } from "../../shared/runtime/component.js";
import { focusTitle } from "../../shared/runtime/lesson_focus.js";
import { icon, node } from "../../shared/runtime/dom.js";

export default defineComponent((place) => ({
  show(/** @type {LessonSetupData} */ { step, tokens, marked, note, networks, axis, edges }) {
    const makeToken = (token, i) => node("span.token", { ".marked": marked.includes(i) }, token),
      makeNetwork = (network) => node("p.network", icon("neurology"), node("span", network));
    place.replaceChildren(
      node(
        "div.setup",
        tokens.length > 0 && node("p.tokens", tokens.map(makeToken)),
        note && node("p.lineage-caption", note),
        networks.map(makeNetwork),
        axis && drawEmptyAxis(axis, edges),
      ),
    );
    if (step) focusTitle(step);
  },
}));
