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
import { showSpaces } from "../../shared/runtime/visible_text.js";
import { saveMenu } from "../../shared/runtime/export_menu.js";
import { toCsv } from "../../shared/runtime/csv.js";
import { svgNode, node } from "../../shared/runtime/dom.js";
import { resolveColours, svgFile } from "../../shared/runtime/svg_file.js";
import { shortenToWidth } from "../../shared/runtime/text_metrics.js";
import { defineComponent } from "../../shared/runtime/component.js";

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

/** The rows again, as a drawing of fixed size. */
function rowsSvg(place, { rows, label }) {
  const { get, done } = resolveColours(place);
  const [left, wide, high] = [150, 76, 84],
    columns = rows[0].cells.length;
  const paint = { read: "--panel", padding: "--page", asked: "--amount-2", unasked: "--page", none: "--page" };
  const marks = rows.flatMap(({ name, from, cells }, r) => [
    svgNode("text", { x: 20, y: 78 + r * high, "font-size": 15, "font-weight": 600, fill: get("--ink") }, name),
    svgNode("text", { x: 20, y: 98 + r * high, "font-size": 13, fill: get("--soft") }, from),
    ...cells.flatMap((cell, i) =>
      [inputCell(cell), targetCell(cell)].flatMap(({ text, kind }, below) =>
        kind === "none"
          ? []
          : [
              svgNode("rect", {
                x: left + i * wide,
                y: 56 + r * high + below * 34,
                width: wide - 4,
                height: 30,
                rx: 4,
                fill: get(paint[kind]),
                stroke: get("--rule"),
                "stroke-dasharray": kind === "read" || kind === "asked" ? null : "3 2",
              }),
              svgNode(
                "text",
                {
                  x: left + i * wide + wide / 2 - 2,
                  y: 76 + r * high + below * 34,
                  "text-anchor": "middle",
                  "font-size": 14,
                  fill: get(kind === "read" || kind === "asked" ? "--ink" : "--soft"),
                },
                shortenToWidth(text, wide - 10, 14),
              ),
            ],
      ),
    ),
  ]);
  const head = svgNode("text", { x: 20, y: 32, "font-size": 18, "font-weight": 600, fill: get("--ink") }, label);
  const page = get("--page");
  done();
  return svgFile(left + columns * wide + 20, 64 + rows.length * high, page, head, ...marks);
}

export default defineComponent((place) => {
  const scroller = node("div", { class: "scroller", role: "region", tabindex: 0 });
  const caption = node("p", { class: "lineage-caption" });
  const foot = node("div", { class: "foot" }, caption);
  place.replaceChildren(scroller, foot);
  return {
    show(/** @type {BatchRowsData} */ data) {
      const makeRow = (cells, make, title) =>
        node(
          "tr",
          { class: title },
          node("th", { scope: "row" }, title === "reads" ? "reads" : "is asked"),
          ...cells.map((cell) => {
            const { text, kind } = make(cell);
            return node("td", {}, node("span", { class: `cell ${kind}`, dir: "auto" }, text));
          }),
        );
      scroller.ariaLabel = data.label;
      scroller.replaceChildren(
        node(
          "table",
          {},
          ...data.rows.map(({ name, from, cells }) =>
            node(
              "tbody",
              {},
              node(
                "tr",
                { class: "name" },
                node("th", { colspan: cells.length + 1, scope: "rowgroup" }, node("b", {}, name), ` ${from}`),
              ),
              makeRow(cells, inputCell, "reads"),
              makeRow(cells, targetCell, "asked"),
            ),
          ),
        ),
      );
      caption.textContent = data.caption;
      saveMenu(foot, { svg: () => rowsSvg(place, data), csv: () => rowsCsv(data), file: data.file });
    },
  };
});
