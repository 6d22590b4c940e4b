/* Make the white space of a token visible and shorten a long text to its end. No DOM. */

const SPACES = { " ": "␣", "\n": "↵", "\t": "⇥" };

/** Replace white space by visible marks. */
export const showSpaces = (text) => text.replace(/[ \n\t]/g, (char) => SPACES[char]);

/** Return the label of a token; an empty token is ∅. */
export const tokenLabel = (text) => showSpaces(text) || "∅";

/** Return the end of a text for display between quotation marks. */
export function shortenToEnd(text, most = 16) {
  const letters = Array.from(text);
  let end = letters.slice(-most).join("");
  if (letters.length > most) end = `…${end.replace(/^\S{0,5}\s+(?=\S)/, "")}`;
  return end.replace(/[\n\t]/g, (char) => SPACES[char]).replace(/ +$/, (gap) => "␣".repeat(gap.length));
}
