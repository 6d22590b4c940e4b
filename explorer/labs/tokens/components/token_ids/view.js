/**
 * Show a text in the tokens of one or more tokenizers, each with its id below. Sends no events.
 *
 * @typedef {object} TokenIdsData
 * @property {any[]} rows {title, colour, note, tokens: [{text, id, unknown}], omitted: how many tokens are left out}
 * @property {string} caption
 * @property {string} file
 * @property {string} label accessible name
 */
import { showSpaces } from "../../../../static/shared/runtime/visible_text.js";
import { saveMenu } from "../../../../static/shared/runtime/export_menu.js";
import { toCsv } from "../../../../static/shared/runtime/csv.js";
import { node, tint } from "../../../../static/shared/runtime/dom.js";
import { screenSvg } from "../../../../static/shared/runtime/screen_svg.js";
import { defineComponent } from "../../../../static/shared/runtime/component.js";

const rowsCsv = ({ rows }) =>
  toCsv(
    ["tokenizer", "position", "token", "id", "unknown"],
    rows.flatMap(({ title, tokens }) => tokens.map(({ text, id, unknown }, i) => [title, i, text, id, unknown])),
  );

function makeRow({ title, colour, note, tokens, omitted }) {
  const chips = tokens.map(({ text, id, unknown }) =>
    node(
      "li",
      { class: unknown ? "token unknown" : "token" },
      node("span.text", { dir: "auto" }, showSpaces(text)),
      node("span.id", String(id)),
    ),
  );
  if (omitted) chips.push(node("li.omitted", `… ${omitted.toLocaleString("en")} more`));
  return node(
    "section",
    node("h5", tint(node("span.dot"), colour), node("b", title), node("span", note)),
    node("ol", { "aria-label": `Tokens of ${title}` }, ...chips),
  );
}

export default defineComponent((place) => {
  const rows = node("div.rows");
  const caption = node("p.lineage-caption");
  const foot = node("div.foot", caption);
  place.replaceChildren(rows, foot);
  return {
    show(/** @type {TokenIdsData} */ data) {
      rows.replaceChildren(...data.rows.map(makeRow));
      caption.textContent = data.caption;
      saveMenu(foot, { svg: () => screenSvg(rows, { title: data.label }), csv: () => rowsCsv(data), file: data.file });
    },
  };
});
