/* Make the white space of a token visible, shorten a long text to its end, and escape what cannot be seen. No DOM. */

const SPACES = { " ": "␣", "\n": "↵", "\t": "⇥" };

/** Replace white space by visible marks. */
export const showSpaces = (text) => text.replace(/[ \n\t]/g, (char) => SPACES[char]);

/** Return the label of a token: what cannot be seen is an escape, a lone accent stands on a circle, nothing is ∅. */
export const tokenLabel = (text) =>
  showSpaces(text)
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Z}]/gu, (char, at, whole) => {
      const joins = /[\u200c\u200d]/.test(char) && at > 0 && at < whole.length - 1; // letters of Persian, parts of emoji
      return joins ? char : escapeCharacter(char);
    })
    .replace(/^(?=\p{M})/u, "◌") || "∅";

const RIGHT_TO_LEFT = /[\p{sc=Hebrew}\p{sc=Arabic}\p{sc=Syriac}\p{sc=Thaana}\p{sc=Nko}\p{sc=Adlam}]/u;

/** Return the label of a token for a sentence: at most 16 characters, and no influence of right-to-left letters around it. */
export function quoteToken(text) {
  const letters = [...tokenLabel(text)],
    label = letters.length > 16 ? `${letters.slice(0, 15).join("")}…` : letters.join("");
  return RIGHT_TO_LEFT.test(label) ? `“\u2068${label}\u2069”` : `“${label}”`;
}

// Characters of East Asian scripts and emoji, which take the width of two letters.
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\u{1f000}-\u{1faff}\u{20000}-\u{3fffd}]/gu;

/** Return how many letters of a font of one width a label takes. */
export const labelLength = (label) => [...label].length + (label.match(WIDE)?.length ?? 0);

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
