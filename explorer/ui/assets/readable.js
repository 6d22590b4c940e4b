/* Text whose white space can be seen, and the end of a long one: for tokens that stand alone. No browser is needed here. */

const SPACES = { " ": "␣", "\n": "↵", "\t": "⇥" };

/** The same text with marks in the place of its white space. */
export const visible = (text) => text.replace(/[ \n\t]/g, (char) => SPACES[char]);

/** A token; one that stands for nothing has a sign too. */
export const readable = (text) => visible(text) || "∅";

/** The end of a text as it stands between quotation marks. */
export function tail(text, most = 16) {
  const letters = Array.from(text);
  let end = letters.slice(-most).join("");
  if (letters.length > most) end = `…${end.replace(/^\S{0,5}\s+(?=\S)/, "")}`;
  return end.replace(/[\n\t]/g, (char) => SPACES[char]).replace(/ +$/, (gap) => "␣".repeat(gap.length));
}
