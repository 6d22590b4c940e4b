/* Rank the heads of a grid that is too large to be sorted: the heads with the highest scores are named, and a slider says
   from which score on a head is highlighted. */
import { sortHeads } from "./math.js";
import { node, setTextIfChanged } from "../../shared/runtime/dom.js";
import { headName } from "../../shared/runtime/format.js";

const FIRST = 12; // heads that are highlighted before the slider is moved
const NAME = 94; // px of the name of a head with its score

/** `does` = { open(layer, head), move() }. */
export function headRanking(does) {
  const slider = node("input", {
      type: "range",
      class: "slider",
      min: 0,
      max: 100,
      "aria-label": "Smallest highlighted score",
    }),
    from = node("output"),
    names = node("div", { class: "ranked", role: "group", "aria-label": "Heads with the highest scores" });
  const root = node("div", { class: "ranking" }, node("label", {}, from, slider), names);
  let ranked = [],
    shown = "",
    drawn = "",
    low = 0,
    high = 0;
  function makeName({ layer, head, number }, digits) {
    const [name, score] = [`${layer + 1} · ${head + 1}`, digits(number)];
    const button = node("button", { type: "button" }, node("span", {}, name), node("b", {}, score));
    button.title = headName(layer, head);
    button.ariaLabel = `${headName(layer, head)}: ${score}`;
    button.onclick = () => does.open(layer, head);
    return button;
  }
  const threshold = () => low + ((high - low) * Number(slider.value)) / 100;
  const passes = (number) => number >= threshold() - 1e-9;
  slider.oninput = () => does.move();

  return {
    root,
    /** Return whether a head with this score is highlighted. */
    passes,
    /** Rank the heads by the score `name`; `value` returns it for a head, `digits` writes it. */
    rank({ view, name, value }) {
      ranked = sortHeads(view.layers, view.heads, value)
        .map(([layer, head]) => ({ layer, head, number: value(layer, head) }))
        .filter(({ number }) => !Number.isNaN(number));
      [low, high] = [Math.min(0, ranked.at(-1)?.number ?? 0), ranked[0]?.number ?? 0];
      if (name === shown) return;
      shown = name;
      const last = ranked[Math.min(FIRST, ranked.length) - 1]?.number ?? 0;
      slider.value = Math.floor((100 * (last - low)) / (high - low || 1));
    },
    show({ view, digits, width, open }) {
      const count = ranked.filter(({ number }) => passes(number)).length,
        words = `${count} of ${view.layers * view.heads} heads with ${digits(threshold())} or more`;
      setTextIfChanged(from, words);
      slider.ariaValueText = words;
      slider.style.setProperty("--at", Number(slider.value) / 100);
      const most = Math.max(1, Math.floor(width / NAME)) * (width < 480 ? 3 : 2);
      const first = ranked.slice(0, most),
        state = JSON.stringify(first);
      if (state !== drawn) names.replaceChildren(...first.map((one) => makeName(one, digits)));
      drawn = state; // an unchanged list keeps the focus
      first.forEach(({ layer, head }, i) => {
        names.children[i].ariaPressed = String(layer === open[0] && head === open[1]);
      });
    },
  };
}
