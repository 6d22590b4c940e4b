/* Make the white space of a token visible, shorten a long text to its end, and escape what cannot be seen. No DOM. */

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

// Controls, formats (bidirectional controls, zero-width characters), lone surrogates and separators of lines; see
// explorer/visible_text.py. Line breaks and tabs stay.
const INVISIBLE = /(?![\n\r\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Write each invisible character of a text as an escape of JavaScript: \u202e. */
export const escapeInvisible = (text) => text.replace(INVISIBLE, escapeCharacter);

/** Write each invisible character of an XML document as a reference, or as an escape if XML forbids the character. */
export function escapeInvisibleInXml(text) {
  return text.replace(INVISIBLE, (char) => {
    const code = char.codePointAt(0);
    const forbidden = code < 0x20 || (code >= 0xd800 && code <= 0xdfff);
    return forbidden ? escapeCharacter(char) : `&#x${code.toString(16)};`;
  });
}

function escapeCharacter(char) {
  const code = char.codePointAt(0).toString(16);
  return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`;
}
