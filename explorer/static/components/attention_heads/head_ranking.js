/* Rank the heads of a grid that is too large to be sorted: the heads with the highest scores are named, and a slider says
   from which score on a head is highlighted. */
import { sortHeads } from "./math.js";
import { headName } from "../../shared/runtime/format.js";
import { LiveElements } from "../../shared/runtime/view_state.js";

const FIRST = 12; // heads that are highlighted before the slider is moved
const NAME = 94; // px of the name of a head with its score

/** `open(layer, head)` is called when the name of a head is pressed, `move()` when the slider has been moved. */
export function headRanking(open, move) {
  const { node, list, update } = new LiveElements();
  /** @type {any} */
  let state = null; // {view, name, value, digits, width, open}, or null while nothing is ranked
  let ranked = [],
    ranking = "", // the score by which the heads are ranked
    share = 0, // percent of the range of scores
    low = 0,
    high = 0;
  const threshold = () => low + ((high - low) * share) / 100,
    passes = (number) => number >= threshold() - 1e-9;
  const words = () => {
    const count = ranked.filter(({ number }) => passes(number)).length;
    return state
      ? `${count} of ${state.view.layers * state.view.heads} heads with ${state.digits(threshold())} or more`
      : "";
  };
  const names = () => {
    if (!state) return [];
    const { width, digits } = state,
      most = Math.max(1, Math.floor(width / NAME)) * (width < 480 ? 3 : 2);
    return ranked.slice(0, most).map(({ layer, head, number }) => ({ layer, head, score: digits(number) }));
  };
  const makeName = ({ layer, head, score }, _, inner) =>
    inner.node(
      "button",
      {
        type: "button",
        title: headName(layer, head),
        "aria-label": `${headName(layer, head)}: ${score}`,
        "aria-pressed": () => String(state?.open) === `${layer},${head}`,
        onclick: () => open(layer, head),
      },
      inner.node("span", `${layer + 1} · ${head + 1}`),
      inner.node("b", score),
    );
  const slider = node("input.slider", {
    type: "range",
    min: 0,
    max: 100,
    value: () => share,
    "aria-label": "Smallest highlighted score",
    "aria-valuetext": words,
    oninput: (event) => {
      share = Number(event.target.value);
      move();
    },
  });
  const root = node(
    "div.ranking",
    { hidden: () => !state },
    node("label", node("output", words), slider),
    node("div.ranked", { role: "group", "aria-label": "Heads with the highest scores" }, list(names, makeName)),
  );
  return {
    root,
    /** Return whether a head with this score is highlighted. */
    passes: (number) => !state || passes(number),
    /** Rank the heads by the score `name`: `value` returns it for a head, `digits` writes it. */
    show(/** @type {any} */ newState) {
      state = newState;
      if (state) {
        const { view, name, value } = state;
        ranked = sortHeads(view.layers, view.heads, value)
          .map(([layer, head]) => ({ layer, head, number: value(layer, head) }))
          .filter(({ number }) => !Number.isNaN(number));
        [low, high] = [Math.min(0, ranked.at(-1)?.number ?? 0), ranked[0]?.number ?? 0];
        const last = ranked[Math.min(FIRST, ranked.length) - 1]?.number ?? 0;
        if (name !== ranking) share = Math.floor((100 * (last - low)) / (high - low || 1));
        ranking = name;
      }
      update();
    },
  };
}
