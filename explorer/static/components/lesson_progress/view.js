/**
 * Show which steps of a lesson the visitor has done, as this browser remembers them. Events: "continue": the number of
 * the first step that is not done.
 *
 * @typedef {object} LessonProgressData
 * @property {string} lesson
 * @property {number} steps
 *
 * @typedef {object} LessonProgressEvents
 * @property {number} continue
 */
import { defineComponent } from "../../shared/runtime/component.js";
import { doneSteps } from "../../shared/runtime/lesson_progress.js";
import { icon, node } from "../../shared/runtime/dom.js";

export default defineComponent((place, send) => ({
  show(/** @type {LessonProgressData} */ { lesson, steps }) {
    const done = doneSteps(lesson, steps);
    place.hidden = !done.length;
    place.replaceChildren();
    if (!done.length) return;
    const isWhole = done.length === steps;
    const text = isWhole ? "All steps done" : `${done.length} of ${steps} steps done`;
    const line = node("p", {}, icon(isWhole ? "check_circle" : "check"), node("span", {}, text));
    place.append(line);
    if (isWhole) return;
    const next = Array.from({ length: steps }, (_, i) => i + 1).find((number) => !done.includes(number));
    const onclick = () => send("continue", next);
    line.append(node("button", { type: "button", class: "lineage-button", onclick }, `Continue with step ${next}`));
  },
}));
