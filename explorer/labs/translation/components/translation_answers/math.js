/* The arithmetic of translation answers. No DOM; tested in tests/static/translation_answers.test.mjs. */

import { formatProbability } from "../../../../static/shared/runtime/format.js";

/** Return the token that an arrow key leads to; null for another key. */
export function moveToken(at, key, lengths) {
  const rows = lengths.map((_, row) => row).filter((row) => lengths[row]);
  if (!rows.length || !["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"].includes(key)) return null;
  if (!at) return { row: rows[0], at: 0 };
  const offset = { ArrowUp: -1, ArrowDown: 1 }[key] ?? 0,
    step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[key] ?? 0;
  const row = rows[Math.max(0, Math.min(rows.length - 1, rows.indexOf(at.row) + offset))];
  return { row, at: Math.max(0, Math.min(lengths[row] - 1, at.at + step)) };
}

export function describeToken(rows, at) {
  const row = at && rows[at.row],
    token = row?.tokens[at.at];
  if (!token) return "";
  const word = token.text === "end" ? "the end" : `“${token.text}”`,
    right = token.wanted === "end" ? "the end" : token.wanted === "" ? "nothing" : `“${token.wanted}”`;
  const expected = token.wanted === null ? "" : `; correct: ${right}`;
  return `${row.title}, position ${at.at + 1} of ${row.tokens.length}: ${word} with probability ${formatProbability(token.p)}${expected}.`;
}

export const answersTable = (rows) =>
  rows.flatMap(({ title, tokens }) => tokens.map(({ text, p, wanted }, i) => [title, i + 1, text, p, wanted]));
