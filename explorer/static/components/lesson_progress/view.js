/**
 * Show the picture of a lesson, and a button that opens its first step that is not done, as this browser remembers;
 * without a lesson, the button that forgets all of this. Events: "continue": the number of the step.
 *
 * @typedef {{lesson: string, title: string, steps: number, picture: string, usable: boolean, minutes: number}}
 *   LessonProgressData `picture` is the path of an SVG
 *
 * @typedef {object} LessonProgressEvents
 * @property {number} continue
 */
import { defineComponent } from "../../shared/runtime/component.js";
import { doneSteps, forgetAll } from "../../shared/runtime/progress.js";
import { iconButton, svgNode } from "../../shared/runtime/dom.js";

export default defineComponent((place, send) => {
  let shown;
  function show(/** @type {LessonProgressData} */ data) {
    const { lesson, title, steps, picture, usable, minutes } = (shown = data);
    if (!lesson) return place.replaceChildren(iconButton("delete", "Forget visited pages and lessons", forgetAll));
    const done = doneSteps(lesson, steps),
      next = Array.from({ length: steps }, (_, i) => i + 1).find((number) => !done.includes(number)),
      words = done.length ? (next ? `Continue with step ${next}` : "Done, again") : `Start, ${minutes} min`,
      button = iconButton(next ? "play_arrow" : "check_circle", words, () => send("continue", next ?? 1));
    button.disabled = !usable;
    button.title = title;
    place.replaceChildren(
      svgNode("svg", { viewBox: "0 0 96 54", "aria-hidden": true }, svgNode("path", { d: picture })),
      button,
    );
  }
  const showAgain = () => show(shown);
  addEventListener("lineage:forgotten", showAgain);
  return { show, close: () => removeEventListener("lineage:forgotten", showAgain) };
});
