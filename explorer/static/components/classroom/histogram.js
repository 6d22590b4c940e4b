/* Draw the predictions of a class: a bar per choice, or columns along the numbers that can be predicted. */
import { countBins, histogramColumns, countChoices } from "../../shared/charts/dot_strip_math.js";
import { node } from "../../shared/runtime/dom.js";
import { formatRounded } from "../../shared/runtime/format.js";

export function makeHistogram({ choices, scale }) {
  const root = node("div", { class: scale ? "columns" : "bars", role: "img" });
  const names = choices.map(({ name }) => name);
  const bars = (scale ? Array.from({ length: histogramColumns(scale).count }) : choices).map((choice) => {
    const name = choice ? node("span", { class: "name" }, choice.text) : null;
    const bar = node("i"),
      count = node("b"),
      row = node("div", { class: "one" }, name, node("span", { class: "track" }, bar), count);
    root.append(row);
    return { bar, count, row };
  });
  const endLabel = (number) => node("span", {}, `${formatRounded(number)} ${scale.unit}`.trim());
  const ends = scale
    ? node("div", { class: "ends", "aria-hidden": "true" }, endLabel(scale.low), endLabel(scale.high))
    : null;
  const columnOfPrediction = (prediction) =>
    scale
      ? prediction >= scale.low && prediction <= scale.high
        ? histogramColumns(scale).columnOf(prediction)
        : -1
      : names.indexOf(prediction);
  return {
    root: node("div", { class: "histogram" }, root, ends),
    /** Draw all predictions; the visitor's own one and the measured answer are marked. */
    show(predictions, own = null, answer = null) {
      const counts = scale ? countBins(predictions, scale) : Object.values(countChoices(names, predictions));
      const most = Math.max(1, ...counts),
        mine = own === null ? -1 : columnOfPrediction(own);
      const right = !answer ? [] : scale ? [columnOfPrediction(answer.value)] : answer.right.map(columnOfPrediction);
      bars.forEach(({ bar, count, row }, i) => {
        bar.style.setProperty("--share", counts[i] / most);
        count.textContent = counts[i] || !scale ? counts[i] : "";
        row.classList.toggle("mine", i === mine);
        row.classList.toggle("right", right.includes(i));
      });
      root.ariaLabel = scale
        ? `${predictions.length} predictions: ${[...predictions]
            .sort((a, b) => a - b)
            .map(formatRounded)
            .join(", ")}`
        : choices.map(({ text }, i) => `${text}: ${counts[i]}`).join("; ");
    },
  };
}
