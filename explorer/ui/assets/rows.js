/*
The first rows of a batch, token by token: above what is read, below what is asked.

data = { rows: [{ name, from, cells: [{ token, target, asked }] }], caption, file, label }
A cell without `token` is padding; a `target` that is not `asked` is shown, but does not count.
*/
import { visible } from "./readable.js";
import { saveMenu, toCsv } from "./save.js";
import { colours, draw, fit, instrument, node, svgFile } from "./svg.js";

const read = ({ token }) => ({ text: token ? visible(token) : "pad", kind: token ? "read" : "padding" });
const asked = (cell) => ({
  text: cell.target ? visible(cell.target) : "",
  kind: cell.asked ? "asked" : cell.target ? "unasked" : "none",
});

const csv = ({ rows }) => toCsv(["row", "from", "place", "token", "target", "asked"],
  rows.flatMap(({ name, from, cells }) => cells.map((cell, i) => [name, from, i, cell.token || "<pad>", cell.target, cell.asked])));

/** The rows again, as a drawing of fixed size. */
function picture(place, { rows, label }) {
  const { get, done } = colours(place);
  const [left, wide, high] = [150, 76, 84], columns = rows[0].cells.length;
  const paint = { read: "--panel", padding: "--page", asked: "--amount-2", unasked: "--page", none: "--page" };
  const marks = rows.flatMap(({ name, from, cells }, r) => [
    draw("text", { x: 20, y: 78 + r * high, "font-size": 15, "font-weight": 600, fill: get("--ink") }, name),
    draw("text", { x: 20, y: 98 + r * high, "font-size": 13, fill: get("--soft") }, from),
    ...cells.flatMap((cell, i) => [read(cell), asked(cell)].flatMap(({ text, kind }, below) => (kind === "none" ? [] : [
      draw("rect", { x: left + i * wide, y: 56 + r * high + below * 34, width: wide - 4, height: 30, rx: 4, fill: get(paint[kind]), stroke: get("--rule"), "stroke-dasharray": kind === "read" || kind === "asked" ? null : "3 2" }),
      draw("text", { x: left + i * wide + wide / 2 - 2, y: 76 + r * high + below * 34, "text-anchor": "middle", "font-size": 14, fill: get(kind === "read" || kind === "asked" ? "--ink" : "--soft") }, fit(text, wide - 10, 14)),
    ]))),
  ]);
  const head = draw("text", { x: 20, y: 32, "font-size": 18, "font-weight": 600, fill: get("--ink") }, label);
  const page = get("--page");
  done();
  return svgFile(left + columns * wide + 20, 64 + rows.length * high, page, head, ...marks);
}

export default instrument((place) => {
  const scroller = node("div", { class: "scroller", role: "region", tabindex: 0 });
  const caption = node("p", { class: "lineage-caption" });
  const foot = node("div", { class: "foot" }, caption);
  place.replaceChildren(scroller, foot);
  return {
    show(data) {
      const line = (cells, make, title) => node("tr", { class: title },
        node("th", { scope: "row" }, title === "reads" ? "reads" : "is asked"),
        ...cells.map((cell) => {
          const { text, kind } = make(cell);
          return node("td", {}, node("span", { class: `cell ${kind}`, dir: "auto" }, text));
        }));
      scroller.ariaLabel = data.label;
      scroller.replaceChildren(node("table", {}, ...data.rows.map(({ name, from, cells }) => node("tbody", {},
        node("tr", { class: "name" }, node("th", { colspan: cells.length + 1, scope: "rowgroup" }, node("b", {}, name), ` ${from}`)),
        line(cells, read, "reads"), line(cells, asked, "asked")))));
      caption.textContent = data.caption;
      saveMenu(foot, { svg: () => picture(place, data), csv: () => csv(data), file: data.file });
    },
  };
});
