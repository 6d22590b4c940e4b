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
import { moveToken as placed, describeToken, answersTable } from "./math.js";
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
    drawnState = "",
    at = null,
    isKept = false;

  const tokenAt = (event) => {
    const target = event.target.closest?.("[data-row]");
    return target ? { row: Number(target.dataset.row), at: Number(target.dataset.at) } : null;
  };
  rows.addEventListener("pointerover", (event) => {
    if (!isKept) highlightToken(tokenAt(event));
  });
  rows.addEventListener("pointerleave", () => {
    if (!isKept) highlightToken(null);
  });
  rows.onclick = (event) => {
    const pointed = tokenAt(event);
    isKept = pointed !== null && !(isKept && pointed.row === at?.row && pointed.at === at?.at);
    highlightToken(pointed);
  };
  place.onkeydown = (event) => {
    event.stopPropagation(); // Streamlit reruns the page at an "r"
    if (event.key === "Escape") {
      isKept = false;
      return highlightToken(null);
    }
    const next =
      event.target === rows &&
      placed(
        at,
        event.key,
        data.rows.map(({ tokens }) => tokens.length),
      );
    if (!next) return;
    isKept = true;
    highlightToken(next);
    event.preventDefault();
  };

  function highlightToken(position) {
    at = position;
    for (const token of rows.querySelectorAll("[data-row]"))
      token.classList.toggle("lit", Number(token.dataset.row) === at?.row && Number(token.dataset.at) === at?.at);
    setTextIfChanged(words, describeToken(data.rows, at) || "Point at a token, or use the arrow keys.");
  }

  function makeRow({ title, colour, detail, tokens, sure, right, note }, row) {
    const mark = node(
      "span",
      { class: `mark ${right === false ? "wrong" : ""}` },
      ...(right === null ? [] : [icon(right ? "check" : "close")]),
    );
    const words = tokens.map(({ text, p, wanted }, i) => {
      const token = node(
        "span",
        {
          class: `token${text.length > 1 ? " long" : ""}${wanted === null ? "" : " slip"}`,
          "data-row": row,
          "data-at": i,
        },
        text,
      );
      token.style.setProperty("--p", `${Math.round(100 * p)}%`);
      return token;
    });
    return tint(
      node(
        "div.row",
        node("div.title", node("span.dot"), node("span.name", title)),
        node("div.written", ...(words.length ? words : [node("span.none", detail)])),
        node(
          "div.verdict",
          mark,
          node("span.sure", right === null ? sure : `${right ? "right" : "wrong"} ${sure}`),
          node("span.note", note),
        ),
      ),
      colour,
    );
  }
  const makeHead = ({ title, tokens }) =>
    node(
      "div.row.lead",
      node("div.title", title),
      node(
        "div.written",
        ...tokens.map((text) =>
          node("span", { class: `token${text.length > 1 ? " long" : ""}` }, text === " " ? "␣" : text),
        ),
      ),
    );

  return {
    show(/** @type {TranslationAnswersData} */ newData) {
      data = newData;
      if (JSON.stringify(newData) === drawnState) return;
      drawnState = JSON.stringify(newData);
      isKept = false;
      rows.replaceChildren(...data.head.map(makeHead), ...data.rows.map(makeRow));
      rows.ariaLabel = data.label;
      setTextIfChanged(caption, data.caption);
      highlightToken(null);
      saveMenu(place, {
        svg: () => screenSvg(rows),
        csv: () => toCsv(["model", "position", "token", "probability", "correct token"], answersTable(data.rows)),
        file: data.file,
      });
    },
  };
});
