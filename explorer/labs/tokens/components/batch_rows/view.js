/**
 * Show the first rows of a batch, token by token: inputs above, targets below. Sends no events.
 *
 * @typedef {object} BatchRowsData
 * @property {any[]} rows {name, from, cells: [{token, target, asked}]}; a cell without `token` is padding, a `target`
 *    without `asked` is outside the loss mask
 * @property {string} caption
 * @property {string} file
 * @property {string} label accessible name
 */
import { showSpaces } from "../../../../static/shared/runtime/visible_text.js";
import { saveMenu } from "../../../../static/shared/runtime/export_menu.js";
import { toCsv } from "../../../../static/shared/runtime/csv.js";
import { node } from "../../../../static/shared/runtime/dom.js";
import { screenSvg } from "../../../../static/shared/runtime/screen_svg.js";
import { defineComponent } from "../../../../static/shared/runtime/component.js";

const inputCell = ({ token }) => ({ text: token ? showSpaces(token) : "pad", kind: token ? "read" : "padding" });
const targetCell = (cell) => ({
  text: cell.target ? showSpaces(cell.target) : "",
  kind: cell.asked ? "asked" : cell.target ? "unasked" : "none",
});

const rowsCsv = ({ rows }) =>
  toCsv(
    ["row", "from", "place", "token", "target", "asked"],
    rows.flatMap(({ name, from, cells }) =>
      cells.map((cell, i) => [name, from, i, cell.token || "<pad>", cell.target, cell.asked]),
    ),
  );

export default defineComponent((place) => {
  const scroller = node("div.scroller", { role: "region", tabindex: 0 });
  const caption = node("p.lineage-caption");
  const foot = node("div.foot", caption);
  place.replaceChildren(scroller, foot);
  return {
    show(/** @type {BatchRowsData} */ data) {
      const makeRow = (cells, make, title) =>
        node(
          "tr",
          { class: title },
          node("th", { scope: "row" }, title === "reads" ? "input" : "target"),
          ...cells.map((cell) => {
            const { text, kind } = make(cell);
            return node("td", node("span", { class: `cell ${kind}`, dir: "auto" }, text));
          }),
        );
      scroller.ariaLabel = data.label;
      scroller.replaceChildren(
        node(
          "table",
          ...data.rows.map(({ name, from, cells }) =>
            node(
              "tbody",
              node(
                "tr.name",
                node("th", { colspan: cells.length + 1, scope: "rowgroup" }, node("b", name), ` ${from}`),
              ),
              makeRow(cells, inputCell, "reads"),
              makeRow(cells, targetCell, "asked"),
            ),
          ),
        ),
      );
      caption.textContent = data.caption;
      saveMenu(foot, {
        svg: () => screenSvg(scroller, { title: data.label }),
        csv: () => rowsCsv(data),
        file: data.file,
      });
    },
  };
});
