/* Show the scores of one head in numbers and words, and the buttons for interventions on it. */
import * as math from "./math.js";
import { setTextIfChanged, icon, node } from "../../shared/runtime/dom.js";
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
  sort === "worth"
    ? (value) => formatSigned(value, 3)
    : sort === "spread"
      ? (value) => formatNumber(value, 1)
      : (value) => formatNumber(value);

/** `does` = { flip(), flatten() }. */
export function headScoresPanel(does) {
  const title = node("h3", {}, "What this head does"),
    note = node("p", { class: "under" });
  const rows = Object.fromEntries(
    [...math.SCORES, "spread"].map((name) => {
      const words = node("span", { class: "habit-name" }),
        value = node("b"),
        bar = node("div", { class: "rail" });
      return [name, { words, value, bar, root: node("div", { class: "habit" }, words, value, bar) }];
    }),
  );
  const description = node("p", { class: "said" }),
    importance = node("p", { class: "worth" });
  const makeButton = (press) => {
    return node("button", { type: "button", class: "lineage-button", onclick: press });
  };
  const off = makeButton(does.flip),
    flat = makeButton(does.flatten);
  const figure = node("div", { class: "habits-figure" }, title, note, ...Object.values(rows).map(({ root }) => root));
  const root = node("div", { class: "habits" }, figure, description, importance);
  return {
    root,
    buttons: [off, flat],
    figure,
    show({ found, unit, keys, cross }) {
      const words = scoreTitles(unit);
      setTextIfChanged(note, `mean share of its attention in this text; one ${unit} can count in several rows`);
      for (const [name, { words: place, value, bar }] of Object.entries(rows)) {
        const number = math.hasCases(found, name) ? found[name] : NaN,
          spread = name === "spread";
        rows[name].root.hidden = !spread && !math.scoreNames(cross).includes(name);
        setTextIfChanged(place, spread ? `${words.spread}, of ${keys}` : words[name]);
        setTextIfChanged(value, formatNumber(number, spread ? 1 : 2));
        const why = Number.isNaN(number) ? `too few ${unit}s of this text could do this` : "";
        if (value.title !== why) value.title = why;
        bar.style.backgroundSize = `${Number.isNaN(number) ? 0 : 100 * (spread ? number / Math.max(1, keys) : number)}% 100%`;
      }
      setTextIfChanged(description, math.describeHead(found, unit));
    },
    showIntervention({ touch, open: [layer, head], rise, error, unit, where, ended }) {
      const isOff = math.includesHead(touch.off, layer, head),
        isFlat = math.includesHead(touch.flat, layer, head);
      const setButton = (button, symbol, text) => {
        if (button.textContent !== symbol + text) button.replaceChildren(icon(symbol), node("span", {}, text));
      };
      setButton(off, isOff ? "toggle_on" : "toggle_off", isOff ? "Switch head on" : "Switch head off");
      setButton(flat, "drag_handle", isFlat ? "Undo uniform" : "Make head uniform");
      importance.hidden = rise == null;
      if (rise != null)
        setTextIfChanged(
          importance,
          `${math.describeImportance(rise, error, unit, where)}${ended ? "" : " Measured at the end of training."}${math.describeInterventions(touch) ? " Measured on the unchanged model." : ""}`,
        );
    },
  };
}
