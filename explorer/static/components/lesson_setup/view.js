/**
 * Show what a step of a lesson is about: the tokens, the networks and the line on which a number is predicted. It moves the keyboard focus to the title of a step that the visitor has just opened. Events:
 * "predicted": the number; "moved": a setting that the lesson checks was changed on the page.
 *
 * @typedef {{step: string, tokens: string[], marked: number[], note: string, networks: string[], watched: string[],
 *   scale: {low: number, high: number, step: number, unit: string, text: string} | null}} LessonSetupData `step` names the
 *   step, whose title gets the keyboard focus, and is empty in a class; `marked` are positions of the tokens that the
 *   question is about; the note is under the tokens; `scale` has the question for a number; `watched` are settings of
 *   the page, by the names of its URL parameters
 *
 * @typedef {object} LessonSetupEvents
 * @property {number} predicted
 * @property {string} moved the settings
 */
import { axisEnds, formatEnd } from "../../shared/charts/answer_axis.js";
import { defineComponent } from "../../shared/runtime/component.js";
import { focusTitle } from "../../shared/runtime/lesson_focus.js";
import { icon, iconButton, node } from "../../shared/runtime/dom.js";

const PACE = 400; // ms between two looks at the address, in which pages write their settings
const readSettings = (names) => names.map((name) => new URLSearchParams(location.search).get(name)).join("\n");

export default defineComponent((place, send) => {
  let watched = /** @type {string[]} */ ([]),
    settings = "";
  const timer = setInterval(() => {
    const found = readSettings(watched);
    if (found !== settings) send("moved", (settings = found));
  }, PACE);

  /** The line of a number with its mark, which is dragged or moved by the arrow keys. */
  function drawScale({ low, high, step, unit, text }) {
    const value = node("b", "?");
    const mark = node("input", { type: "range", min: low, max: high, step, "aria-label": text });
    const button = iconButton("check", "That is my prediction", () => send("predicted", Number(mark.value)));
    button.disabled = true;
    mark.value = String((low + high) / 2);
    mark.classList.add("unset");
    mark.oninput = () => {
      mark.classList.remove("unset");
      button.disabled = false;
      value.textContent = formatEnd(Number(mark.value), unit);
    };
    const line = node("div.line", mark, value);
    return node("div.answer.scale", node("p.question", text), line, axisEnds(low, high, unit), button);
  }

  return {
    show(/** @type {LessonSetupData} */ data) {
      const { step, tokens, marked, note, networks, scale } = data,
        makeToken = (token, i) => node("span.token", { ".marked": marked.includes(i) }, token),
        makeNetwork = (network) => node("p.network", icon("neurology"), node("span", network));
      place.replaceChildren(
        node(
          "div.setup",
          tokens.length > 0 && node("p.tokens", tokens.map(makeToken)),
          note && node("p.lineage-caption", note),
          networks.map(makeNetwork),
          scale && drawScale(scale),
        ),
      );
      if (watched.join() !== data.watched.join()) settings = readSettings((watched = data.watched));
      if (step) focusTitle(step);
    },
    close: () => clearInterval(timer),
  };
});
