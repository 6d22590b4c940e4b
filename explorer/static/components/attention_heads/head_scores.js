/* Show the scores of one head in numbers and words, and the buttons for interventions on it. */
import * as math from "./math.js";
import { formatNumber, formatSigned } from "../../shared/runtime/format.js";

export const scoreTitles = (unit) => ({
  previous: `to the ${unit} before`,
  itself: "to itself",
  first: `to the first ${unit}`,
  same: `to the same ${unit} earlier`,
  after_same: `to what followed the same ${unit}`,
  spread: `${unit}s attended to`,
  worth: "loss without the head",
});

/** Format the score by which the grid is sorted. */
export const scoreFormat = (sort) =>
  sort === "worth" ? (value) => formatSigned(value, 3) : (value) => formatNumber(value, sort === "spread" ? 1 : 2);

/**
 * `read` returns {scores, unit, keys: number of them, cross, touch, open, rise: loss without the head or null, error, text: on
 * which it is measured, lossUnit, isEnd: of the training}. `flip` and `flatten` intervene on the head.
 */
export function headScoresPanel({ node, button }, read, { flip, flatten }) {
  const makeRow = (name) => {
    const isSpread = name === "spread",
      number = () => (math.hasCases(read().scores, name) ? read().scores[name] : NaN),
      share = () => (isSpread ? number() / Math.max(1, read().keys) : number()) || 0,
      title = () => scoreTitles(read().unit)[name];
    const why = () => (Number.isNaN(number()) ? `too few ${read().unit}s of this text could do this` : null);
    return node(
      "div.habit",
      { hidden: () => !isSpread && !math.scoreNames(read().cross).includes(name) },
      node("span.habit-name", () => (isSpread ? `${title()}, of ${read().keys}` : title())),
      node("b", { title: why }, () => formatNumber(number(), isSpread ? 1 : 2)),
      node("div.rail", { style: () => `background-size: ${100 * share()}% 100%` }),
    );
  };
  const isIn = (list) => math.includesHead(read().touch[list], ...read().open),
    buttons = [
      button({ symbol: () => (isIn("off") ? "toggle_on" : "toggle_off"), onclick: flip }, () =>
        isIn("off") ? "Switch head on" : "Switch head off",
      ),
      button({ symbol: "drag_handle", onclick: flatten }, () => (isIn("flat") ? "Undo uniform" : "Make head uniform")),
    ];
  const describeWorth = () => {
    const { rise, error, lossUnit, text, isEnd, touch } = read(),
      when = [!isEnd && "at the end of training", math.describeInterventions(touch) && "on the unchanged model"];
    if (rise == null) return "";
    const measured = when.filter(Boolean).map((words) => ` Measured ${words}.`);
    return math.describeImportance(rise, error, lossUnit, text) + measured.join("");
  };
  const note = () => `mean share of its attention in this text; one ${read().unit} can count in several rows`;
  const figure = node("div.habits-figure", node("p.under", note), [...math.SCORES, "spread"].map(makeRow));
  const root = node(
    "details.lineage-about.habits",
    node("summary", "What this head does"),
    figure,
    node("p.said", () => math.describeHead(read().scores, read().unit)),
    node("p.worth", { hidden: () => read().rise == null }, describeWorth),
  );
  return { root, buttons, figure };
}
