/**
 * Show the picture of a lesson, its goals, and a button that opens its first step that is not done, as this browser
 * remembers; without a lesson, the button that forgets all of this. Events: "continue": the number of the step.
 *
 * @typedef {{lesson: string, title: string, about: string, steps: number, picture: string, goals: string[],
 *   usable: boolean, minutes: number, extent: string, sheet: string}} LessonProgressData `picture` is the path of an SVG,
 *   `sheet` the address of the sheet for students
 *
 * @typedef {object} LessonProgressEvents
 * @property {number} continue
 */
import { defineComponent } from "../../shared/runtime/component.js";
import { prose } from "../../shared/runtime/glossary.js";
import { doneSteps, forgetAll } from "../../shared/runtime/progress.js";
import { iconButton, node, svgNode } from "../../shared/runtime/dom.js";

export default defineComponent((place, send) => {
  let shown;
  function show(/** @type {LessonProgressData} */ data) {
    const { lesson, title, about, steps, picture, goals, usable, minutes, extent, sheet } = (shown = data);
    if (!lesson) return place.replaceChildren(iconButton("delete", "Forget visited pages and lessons", forgetAll));
    const done = doneSteps(lesson, steps),
      next = Array.from({ length: steps }, (_, i) => i + 1).find((number) => !done.includes(number)),
      words = done.length ? (next ? `Continue with step ${next}` : "Done, again") : `Start, ${minutes} min`,
      button = iconButton(next ? "play_arrow" : "check_circle", words, () => send("continue", next ?? 1));
    const print = (query, label) => node("a", { href: sheet + query, target: "_blank" }, label);
    button.disabled = !usable;
    button.title = title;
    place.replaceChildren(
      svgNode("svg", { viewBox: "0 0 96 54", "aria-hidden": true }, svgNode("path", { d: picture })),
      node(
        "div",
        button,
        node(
          "details",
          node("summary", "About"),
          node("p", prose(about)),
          node(
            "ul",
            goals.map((goal) => node("li", goal)),
          ),
          node(
            "p",
            `${extent} Print: `,
            print("", "sheet for students"),
            " · ",
            print("?notes=1", "with answers and notes"),
          ),
        ),
      ),
    );
  }
  const showAgain = () => show(shown);
  addEventListener("lineage:forgotten", showAgain);
  return { show, close: () => removeEventListener("lineage:forgotten", showAgain) };
});
