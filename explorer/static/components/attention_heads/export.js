/* Write the numbers of the attention explorer as CSV. */
import { COLUMNS, SCORES, headScores, sortHeads, weightRows } from "./math.js";
import { toCsv } from "../../shared/runtime/csv.js";

export const trainingCsv = ({ curve }) =>
  toCsv(
    ["step", "loss"],
    curve.steps.map((step, i) => [step, curve.losses[i]]),
  );

/** The weights of one head. */
export const headCsv = ({ view, tokens, keys, layer, head }) =>
  toCsv(COLUMNS, weightRows(view, tokens, keys, layer, head));

/** The weights of all heads. */
export const gridCsv = ({ view, tokens, keys }) =>
  toCsv(
    COLUMNS,
    sortHeads(view.layers, view.heads).flatMap(([layer, head]) => weightRows(view, tokens, keys, layer, head)),
  );

/** Return the scores and the importance of every head as CSV. */
export function scoresCsv({ view, ids, worth, worthError }) {
  const names = [...SCORES, "entropy", "spread"];
  return toCsv(
    ["layer", "head", ...names, "loss_without", "its_error"],
    sortHeads(view.layers, view.heads).map(([layer, head]) => {
      const scores = headScores(view, layer, head, ids);
      return [
        layer + 1,
        head + 1,
        ...names.map((name) => (Number.isNaN(scores[name]) ? "" : scores[name].toFixed(5))),
        worth?.[layer][head],
        worthError?.[layer][head],
      ];
    }),
  );
}
