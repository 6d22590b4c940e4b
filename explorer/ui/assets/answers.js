/*
What every translator writes about one source: a row a model, each token on a shade of its probability, framed where
another one would be right. Hover says a token in words, a click keeps that, arrows move, Esc lets go.

data = { head: [{ title, tokens: [text] }], rows: [{ title, colour, detail, tokens: [{ text, p, wanted: text | null }],
         sure: probability of the whole, right: true | false | null, note }], caption, file, label }
*/
import { place as placed, said, table } from "./answering.js";
import { put } from "./headtiles.js";
import { icon, saveMenu, toCsv } from "./save.js";
import { Theme } from "./theme.js";
import { draw, instrument, node, svgFile, tinted } from "./svg.js";

export default instrument((place) => {
  const rows = node("div", { class: "rows", role: "application", tabindex: 0 });
  const words = node("p", { class: "words", role: "status" });
  const caption = node("p", { class: "lineage-caption" });
  place.replaceChildren(rows, words, caption);
  const theme = new Theme(place, () => {});
  let data = null, before = "", at = null, kept = false;

  const over = (event) => {
    const found = event.target.closest?.("[data-row]");
    return found ? { row: Number(found.dataset.row), at: Number(found.dataset.at) } : null;
  };
  rows.addEventListener("pointerover", (event) => { if (!kept) point(over(event)); });
  rows.addEventListener("pointerleave", () => { if (!kept) point(null); });
  rows.onclick = (event) => {
    const here = over(event);
    kept = here !== null && !(kept && here.row === at?.row && here.at === at?.at);
    point(here);
  };
  place.onkeydown = (event) => {
    event.stopPropagation(); // Streamlit reruns the page at an "r"
    if (event.key === "Escape") { kept = false; return point(null); }
    const next = event.target === rows && placed(at, event.key, data.rows.map(({ tokens }) => tokens.length));
    if (!next) return;
    kept = true;
    point(next);
    event.preventDefault();
  };

  function point(here) {
    at = here;
    for (const token of rows.querySelectorAll("[data-row]")) token.classList.toggle("lit", Number(token.dataset.row) === at?.row && Number(token.dataset.at) === at?.at);
    put(words, said(data.rows, at) || "Point at a token, or use the arrow keys.");
  }

  function line({ title, colour, detail, tokens, sure, right, note }, row) {
    const mark = node("span", { class: `mark ${right === false ? "wrong" : ""}` }, ...(right === null ? [] : [icon(right ? "check" : "close")]));
    const written = tokens.map(({ text, p, wanted }, i) => {
      const token = node("span", { class: `token${text.length > 1 ? " long" : ""}${wanted === null ? "" : " slip"}`, "data-row": row, "data-at": i }, text);
      token.style.setProperty("--p", `${Math.round(100 * p)}%`);
      return token;
    });
    return tinted(node("div", { class: "row" },
      node("div", { class: "title" }, node("span", { class: "dot" }), node("span", { class: "name" }, title)),
      node("div", { class: "written" }, ...(written.length ? written : [node("span", { class: "none" }, detail)])),
      node("div", { class: "verdict" }, mark, node("span", { class: "sure" }, right === null ? sure : `${right ? "right" : "wrong"} ${sure}`), node("span", { class: "note" }, note))), colour);
  }
  const lead = ({ title, tokens }) => node("div", { class: "row lead" }, node("div", { class: "title" }, title), node("div", { class: "written" }, ...tokens.map((text) => node("span", { class: `token${text.length > 1 ? " long" : ""}` }, text === " " ? "␣" : text))));

  /** Everything again as a drawing, every word where it stands on the screen. */
  function picture() {
    const edge = 16, from = place.getBoundingClientRect(), shapes = [], ink = theme.colour("--ink"), soft = theme.colour("--soft");
    const box = (element) => { const { left, top, width, height } = element.getBoundingClientRect(); return { x: left - from.left + edge, y: top - from.top + edge, width, height }; };
    for (const element of rows.querySelectorAll(".dot, .name, .lead .title, .token, .none, .sure, .note, .mark .lineage-icon")) {
      const { x, y, width, height } = box(element), style = getComputedStyle(element);
      if (element.className === "dot") { shapes.push(draw("circle", { cx: x + width / 2, cy: y + height / 2, r: width / 2, fill: style.backgroundColor })); continue; }
      const token = element.classList.contains("token"), glyph = element.classList.contains("lineage-icon");
      if (token) shapes.push(draw("rect", { x, y, width, height, rx: 4, fill: style.backgroundColor, stroke: style.borderTopColor, "stroke-width": parseFloat(style.borderTopWidth) }));
      const attributes = { x: token ? x + width / 2 : x, y: y + height / 2, "text-anchor": token ? "middle" : "start", "dominant-baseline": "central", "font-size": parseFloat(style.fontSize), "font-weight": style.fontWeight, fill: element.className === "note" ? soft : ink };
      shapes.push(draw("text", attributes, glyph ? (element.textContent === "check" ? "✓" : "✗") : element.textContent));
    }
    return svgFile(from.width + 2 * edge, box(words).y, theme.colour("--page"), ...shapes);
  }

  return {
    show(given) {
      data = given;
      if (JSON.stringify(given) === before) return;
      before = JSON.stringify(given);
      kept = false;
      rows.replaceChildren(...data.head.map(lead), ...data.rows.map(line));
      rows.ariaLabel = data.label;
      put(caption, data.caption);
      point(null);
      saveMenu(place, { svg: picture, csv: () => toCsv(["model", "place", "token", "probability", "right would be"], table(data.rows)), file: data.file });
    },
  };
});
