/**
 * Show which steps of a lesson the visitor has done, as this browser remembers them; without a lesson, the button that
 * forgets all of this. Events: "continue": the number of the first step that is not done.
 *
 * @typedef {{lesson: string, steps: number}} LessonProgressData
 *
 * @typedef {object} LessonProgressEvents
 * @property {number} continue
 */
import { defineComponent } from "../../shared/runtime/component.js";
import { doneSteps, forgetAll } from "../../shared/runtime/progress.js";
import { icon, iconButton, node } from "../../shared/runtime/dom.js";

export default defineComponent((place, send) => {
  let shown;
  function show(/** @type {LessonProgressData} */ data) {
    const { lesson, steps } = (shown = data);
    if (!lesson) return place.replaceChildren(iconButton("delete", "Forget visited pages and lessons", forgetAll));
    const done = doneSteps(lesson, steps),
      next = Array.from({ length: steps }, (_, i) => i + 1).find((number) => !done.includes(number)),
      text = next ? `${done.length} of ${steps} steps done` : "All steps done",
      onclick = () => send("continue", next);
    place.hidden = !done.length;
    place.replaceChildren(
      node(
        "p",
        icon(next ? "check" : "check_circle"),
        node("span", text),
        next && node("button.lineage-button", { type: "button", onclick }, `Continue with step ${next}`),
      ),
    );
  }
  const showAgain = () => show(shown);
  addEventListener("lineage:forgotten", showAgain);
  return { show, close: () => removeEventListener("lineage:forgotten", showAgain) };
});
