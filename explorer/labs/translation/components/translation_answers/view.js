/**
 * Show what every translator generates for one source: a row per model, each token on a shade of its probability,
 * framed where it is wrong. Hover describes a token, a click keeps that, arrow keys move, Esc releases. Sends no
 * events.
 *
 * @typedef {object} TranslationAnswersData
 * @property {any[]} head {title, tokens: [text]}
 * @property {any[]} rows {title, colour, detail, tokens: [{text, p, wanted: correct text or null}], sure: probability
 *    of the whole, right: true | false | null, note}
 * @property {string} caption
 * @property {string} file
 * @property {string} label accessible name
 */
import { moveToken, describeToken, answersTable } from "./math.js";
import { Selection } from "../../../../static/shared/runtime/selection.js";
import { setTextIfChanged, icon, node, tint } from "../../../../static/shared/runtime/dom.js";
import { saveMenu } from "../../../../static/shared/runtime/export_menu.js";
import { toCsv } from "../../../../static/shared/runtime/csv.js";
import { screenSvg } from "../../../../static/shared/runtime/screen_svg.js";
import { defineComponent } from "../../../../static/shared/runtime/component.js";

export default defineComponent((place) => {
  const rows = node("div.rows", { role: "application", tabindex: 0 });
  const words = node("p.words", { role: "status" });
  const caption = node("p.lineage-caption");
  place.replaceChildren(rows, words, caption);
  /** @type {TranslationAnswersData | null} */
  let data = null,
    drawnState = "";
  const selection = new Selection(() => highlightToken(selection.at));

  const tokenAt = (event) => {
    const target = event.target.closest?.("[data-row]");
    return target ? { row: Number(target.dataset.row), at: Number(target.dataset.at) } : null;
  };
  rows.onpointerover = (event) => selection.point(tokenAt(event));
  rows.onpointerleave = selection.leave;
  rows.onclick = (event) => selection.press(tokenAt(event));
  const lengths = () => data.rows.map(({ tokens }) => tokens.length);
  place.onkeydown = selection.onKeyDown(rows, (key, at) => moveToken(at, key, lengths()));

  function highlightToken(at) {
    for (const token of rows.querySelectorAll("[data-row]"))
      token.classList.toggle("lit", Number(token.dataset.row) === at?.row && Number(token.dataset.at) === at?.at);
    setTextIfChanged(words, describeToken(data.rows, at) || "Point at a token, or use the arrow keys.");
  }

  const makeTokens = (tokens, noTokens) => node("div.written", ...(tokens.length ? tokens : [noTokens])),
    makeToken = (text, kind, more, shown = text) =>
      node("span", { class: `token${text.length > 1 ? " long" : ""}${kind}`, ...more }, shown);
  function makeRow({ title, colour, detail, tokens, sure, right, note }, row) {
    const words = tokens.map(({ text, p, wanted }, i) => {
      const place = { "data-row": row, "data-at": i, style: `--p: ${Math.round(100 * p)}%` };
      return makeToken(text, wanted === null ? "" : " slip", place);
    });
    const mark = right === null ? null : icon(right ? "check" : "close"),
      verdict = right === null ? sure : `${right ? "right" : "wrong"} ${sure}`;
    const element = node(
      "div.row",
      node("div.title", node("span.dot"), node("span.name", title)),
      makeTokens(words, node("span.none", detail)),
      node(
        "div.verdict",
        node("span", { class: `mark ${right === false ? "wrong" : ""}` }, mark),
        node("span.sure", verdict),
        node("span.note", note),
      ),
    );
    return tint(element, colour);
  }
  const makeHead = ({ title, tokens }) => {
    const words = tokens.map((text) => makeToken(text, "", {}, text === " " ? "␣" : text));
    return node("div.row.lead", node("div.title", title), makeTokens(words, null));
  };

  return {
    show(/** @type {TranslationAnswersData} */ newData) {
      data = newData;
      if (JSON.stringify(newData) === drawnState) return;
      drawnState = JSON.stringify(newData);
      rows.replaceChildren(...data.head.map(makeHead), ...data.rows.map(makeRow));
      rows.ariaLabel = data.label;
      setTextIfChanged(caption, data.caption);
      selection.release();
      saveMenu(place, {
        svg: () => screenSvg(rows),
        csv: () => toCsv(["model", "position", "token", "probability", "correct token"], answersTable(data.rows)),
        file: data.file,
      });
    },
  };
});
