/* The arithmetic of the beam-search tree. No DOM; tested in tests/static/beam_search.test.mjs.
   A node = {step, parent, token, kept, ended, log, score}; `parent` and every other index count within one width. */

import { formatNumber, formatProbability } from "../../../../static/shared/runtime/format.js";

const WHOLE = 14; // tokens up to which a sequence is written out in a sentence

export function readNodes({ nodes, logs }, [from, to]) {
  return Array.from({ length: to - from }, (_, i) => {
    const [step, parent, token, kept, ended] = nodes.data.subarray(5 * (from + i), 5 * (from + i) + 5);
    const [log, score] = logs.data.subarray(2 * (from + i), 2 * (from + i) + 2);
    return { step, parent, token, kept: kept === 1, ended: ended === 1, log, score };
  });
}

/** Return the nodes of each step, sorted by the score of their sequence, the best first. */
export function nodesByStep(nodes) {
  const steps = [];
  nodes.forEach(({ step }, at) => (steps[step - 1] ??= []).push(at));
  return steps.map((places) => [...places].sort((a, b) => nodes[b].score - nodes[a].score || a - b));
}

export function pathToNode(nodes, at) {
  const path = [];
  for (let place = at; place >= 0; place = nodes[place].parent) path.unshift(place);
  return path;
}

/** Return the text of the sequence up to a node, without the end token. */
export const sequenceText = (nodes, at, tokens) =>
  pathToNode(nodes, at)
    .filter((place) => !nodes[place].ended)
    .map((place) => tokens[nodes[place].token])
    .join("");

/** Return the final nodes: the kept ones by score, then complete sequences that later fell out of the beam. */
export function finalNodes(nodes, best, most = 8) {
  const out = nodes
    .map((_, at) => at)
    .filter((at) => nodes[at].kept && nodes[at].ended && !best.includes(at))
    .sort((a, b) => nodes[b].score - nodes[a].score);
  return [...best.map((at) => ({ at, pushed: false })), ...out.map((at) => ({ at, pushed: true }))].slice(0, most);
}

/** Return the node that an arrow key leads to: left its parent, right its best child, up and down within its step. */
export function moveNode(at, key, nodes, steps) {
  if (at === null)
    return key.startsWith("Arrow") || key === "Home" ? steps[0][0] : key === "End" ? steps.at(-1)[0] : null;
  const { step, parent } = nodes[at],
    column = steps[step - 1],
    row = column.indexOf(at);
  if (key === "ArrowUp") return column[Math.max(0, row - 1)];
  if (key === "ArrowDown") return column[Math.min(column.length - 1, row + 1)];
  if (key === "ArrowLeft") return parent < 0 ? at : parent;
  if (key === "ArrowRight") return (steps[step] ?? []).find((next) => nodes[next].parent === at) ?? at;
  if (key === "Home") return steps[0][0];
  if (key === "End") return steps.at(-1)[0];
  return null;
}

/** A log-probability with a true minus: two digits, three where it is near 0. */
export function formatLog(value) {
  if (value > -0.0005) return "0";
  return formatNumber(value, value > -0.095 ? 3 : 2);
}

const verdictOf = (text, right) => (right === null ? "" : text === right ? "right" : "wrong");

/** Compare this width with greedy decoding. `best`, `greedy` = {text, score} (width 1); `right`: a text or null. */
export function headingText(width, best, greedy, right) {
  const sequence = [...best.text].length > WHOLE ? "" : ` ${best.text || "nothing"}`,
    verdict = verdictOf(best.text, right),
    at = formatLog(best.score);
  const verdictClause = (word) => (word ? `, which is ${word}` : "");
  if (width === 1)
    return `Greedy decoding${sequence ? ` writes${sequence}` : ""} ${sequence ? "at" : "ends at"} log-probability ${at}${verdictClause(verdict)}.`;
  if (best.text === greedy.text)
    return `With width ${width} beam search finds the same sequence as greedy decoding${sequence && `:${sequence}`}, at log-probability ${at}${verdictClause(verdict)}.`;
  const less = best.score < greedy.score,
    greedyVerdict = verdictOf(greedy.text, right);
  const both =
    verdict &&
    (verdict === greedyVerdict
      ? ` Both are ${verdict}.`
      : ` It is ${verdict}; that of greedy decoding is ${greedyVerdict}.`);
  return `With width ${width} beam search finds a ${less ? "less likely" : "more likely"} sequence than greedy decoding${sequence && `,${sequence}`}: log-probability ${at} against ${formatLog(greedy.score)}.${both}`;
}

export function describeNode(nodes, at, tokens, column) {
  const { step, parent, token, kept, ended, log, score } = nodes[at],
    prefix = parent < 0 ? "" : sequenceText(nodes, parent, tokens);
  const what = ended ? "the end" : `“${tokens[token]}”`,
    afterPrefix = prefix ? ` after “${prefix}”` : "";
  const share = Math.exp(log);
  const rank = column.indexOf(at) + 1,
    fate = kept ? "kept" : "dropped";
  return `Step ${step}, rank ${rank}: ${what}${afterPrefix} has probability ${formatProbability(share)}. Log-probability ${formatLog(log)}, of the whole sequence ${formatLog(score)}; ${fate}.`;
}
