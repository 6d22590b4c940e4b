/* Byte-pair encoding in the browser: the merges are loaded once, and a smaller vocabulary uses fewer of them.

   A symbol is [id, start, end]: a token and the characters of the text that it covers. */

import { formatCount, formatNumber, formatUnits } from "../../../../static/shared/runtime/format.js";

const SHIFT = 2 ** 21; // above every id: a pair of ids is one number

/** The rank of every pair that is ever merged, from a flat list left, right, merged, left, ... */
export function rankPairs(flat) {
  const ranks = new Map();
  for (let rank = 0; 3 * rank < flat.length; rank++) {
    const pair = flat[3 * rank] * SHIFT + flat[3 * rank + 1];
    if (!ranks.has(pair)) ranks.set(pair, rank);
  }
  return ranks;
}

export function countLearned(flat, vocabulary) {
  for (let rank = 0; 3 * rank < flat.length; rank++) {
    if (flat[3 * rank + 2] === vocabulary - 1) return rank + 1;
  }
  return flat.length && vocabulary <= flat[2] ? 0 : flat.length / 3;
}

/** One word, merged as far as the first `limit` merges go: always the pair that was learned first, from left to right. */
export function mergeWord(word, flat, rankOf, limit) {
  let symbols = word;
  for (;;) {
    let best = limit;
    for (let i = 0; i + 1 < symbols.length; i++) {
      const rank = rankOf.get(symbols[i][0] * SHIFT + symbols[i + 1][0]);
      if (rank < best) best = rank;
    }
    if (best === limit) return symbols;
    const [left, right, both] = [flat[3 * best], flat[3 * best + 1], flat[3 * best + 2]];
    const next = [];
    for (let i = 0; i < symbols.length; i++) {
      const symbol = symbols[i],
        following = symbols[i + 1];
      if (following && symbol[0] === left && following[0] === right) {
        next.push([both, symbol[1], following[2]]);
        i += 1;
      } else next.push(symbol);
    }
    symbols = next;
  }
}

/** The tokens of a text with a vocabulary of this size, as [id, start, end]. */
export function segmentText({ kind, words, merges, unknown }, rankOf, vocabulary) {
  if (kind === "word") return words.flat().map(([id, start, end]) => [id < vocabulary ? id : unknown, start, end]);
  if (!merges.length) return words.flat();
  const limit = countLearned(merges, vocabulary);
  return words.flatMap((word) => mergeWord(word, merges, rankOf, limit));
}

export function formatFinding({ kind, unknown, least }, tokens, characters, vocabulary) {
  if (!characters) return "Type a text above: there is no character yet.";
  const lost = tokens.filter(([id]) => id === unknown).length;
  const all = formatUnits(tokens.length, "token");
  if (!tokens.length)
    return `Nothing is left of these ${formatUnits(characters, "character")}: this tokenizer knows none of them.`;
  const each = `${formatNumber(characters / tokens.length)} characters each`;
  if (kind === "char" && tokens.length < characters)
    return `${formatUnits(characters, "character")} become ${all}: what this corpus never showed is dropped.`;
  if (kind === "char") return `Nothing to learn, nothing to lose: ${formatUnits(characters, "character")}, ${all}.`;
  if (kind === "word" && lost)
    return `With ${formatUnits(vocabulary, "token")} to choose from, ${lost} of these ${all} ${lost === 1 ? "is" : "are"} “<unk>”: the model never learns which ${lost === 1 ? "word it was" : "words they were"}.`;
  if (kind === "word") return `${formatUnits(characters, "character")} become ${all}, ${each}.`;
  if (vocabulary <= least)
    return `No merge yet: every ${kind === "bytes" ? "byte" : "character"} is a token of its own, ${all} in all.`;
  return `With a vocabulary of ${formatCount(vocabulary)}, these ${formatUnits(characters, "character")} are ${all}: ${each}.`;
}
