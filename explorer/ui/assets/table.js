/*
A table: results with a strip of seeds, or answers sentence by sentence.

data = { columns: [{ key, label, kind: "model" | "text" | "number" | "strip" | "verdict" | "mono",
                     align: "left" | "right", range: [low, high] of a strip, colour: "--m-rnn" if the column is a model }],
         rows: [{ cells: { key: { text, colour, values, mark, tone: "sustain" | "collapse", wrong } },
                  rule: true for a strong line above }],
         caption, file, label: accessible name }
*/
import { icon, saveMenu, toCsv } from "./save.js";
import { instrument, node, tinted } from "./svg.js";

const hidden = (text) => node("span", { class: "unseen" }, text);
const place = ({ kind, align }) => `${align ?? "left"}${kind === "mono" ? " mono" : ""}`;
const number = (value) => String(value).replace("-", "−");

function along([low, high], value) {
  const share = (value - low) / (high - low);
  return `${(100 * Math.min(1, Math.max(0, share))).toFixed(2)}%`;
}

function strip(cell, range, colour) {
  const line = tinted(node("span", { class: "line" }), colour);
  for (const value of cell.values) {
    const dot = line.appendChild(node("i"));
    dot.style.left = along(range, value);
  }
  if (cell.mark != null) line.appendChild(node("b")).style.left = along(range, cell.mark);
  const seeds = `seeds: ${cell.values.join(", ")}${cell.mark == null ? "" : `; mark at ${cell.mark}`}`;
  return node("span", { class: "strip" },
    node("span", { class: "figure" }, cell.text),
    node("span", { class: "axis", role: "img", "aria-label": seeds, title: seeds }, line));
}

function verdict(cell) {
  const chip = node("span", { class: `verdict ${cell.tone ?? ""}${cell.wrong ? " wrong" : ""}` });
  if (cell.wrong) chip.append(icon("close"), hidden("wrong: "));
  chip.append(cell.text);
  return chip;
}

function content(cell, column, row) {
  if (!cell) return "";
  if (column.kind === "strip" && cell.values?.length) {
    return strip(cell, column.range ?? [0, 1], Object.values(row.cells).find((other) => other.colour)?.colour);
  }
  if (column.kind === "verdict") return verdict(cell);
  return cell.text ?? "";
}

function heading(column) {
  const cell = node("th", { scope: "col", class: place(column) });
  const label = tinted(node("span", { class: column.colour ? "dotted" : "" }, column.label), column.colour);
  cell.append(column.label ? label : hidden(column.key));
  if (column.kind === "strip") {
    const ends = (column.range ?? [0, 1]).map((end) => node("span", {}, number(end)));
    cell.append(node("span", { class: "strip", "aria-hidden": "true" },
      node("span", { class: "figure" }), node("span", { class: "axis ends" }, ...ends)));
  }
  return cell;
}

function line(row, columns) {
  return node("tr", { class: row.rule ? "ruled" : null }, ...columns.map((column, i) => {
    const cell = row.cells[column.key];
    const box = node(i ? "td" : "th", { class: place(column), scope: i ? null : "row" });
    const inner = content(cell, column, row);
    const dotted = column.kind === "model";
    box.append(dotted || !i ? tinted(node("span", { class: dotted ? "dotted" : "lead" }, inner), cell?.colour) : inner);
    return box;
  }));
}

/** A strip gives one column for its number and one for each seed. */
function csv({ columns, rows }) {
  const seeds = ({ key }) => Math.max(0, ...rows.map((row) => row.cells[key]?.values?.length ?? 0));
  const each = (column, make) => Array.from({ length: seeds(column) }, (_, seed) => make(seed));
  const plain = (text) => text?.replace("−", "-").replace(/(?<=\d),(?=\d{3})/g, "");
  const head = columns.flatMap((column) => {
    const name = column.label || column.key;
    return [name, ...each(column, (seed) => `${name}, seed ${seed}`)];
  });
  return toCsv(head, rows.map((row) => columns.flatMap((column) => {
    const cell = row.cells[column.key];
    const text = ["number", "strip"].includes(column.kind) ? plain(cell?.text) : cell?.text;
    return [text, ...each(column, (seed) => cell?.values?.[seed])];
  })));
}

export default instrument((root) => {
  const scroller = node("div", { class: "scroller" });
  const caption = node("p");
  const foot = node("div", { class: "foot" }, caption);
  const frame = node("div", { class: "frame" }, scroller);
  root.replaceChildren(frame, foot);

  /* Says at which side the table goes on, and gives the keyboard a way to go there. */
  function edges() {
    const rest = scroller.scrollWidth - scroller.clientWidth;
    frame.classList.toggle("more-left", scroller.scrollLeft > 1);
    frame.classList.toggle("more-right", scroller.scrollLeft < rest - 1);
    if (rest > 1) scroller.tabIndex = 0;
    else scroller.removeAttribute("tabindex");
    const first = scroller.querySelector("th");
    if (first) frame.style.setProperty("--first", `${first.offsetWidth}px`);
  }
  const watch = new ResizeObserver(edges);
  watch.observe(scroller);
  scroller.addEventListener("scroll", edges, { passive: true });

  return {
    show(data) {
      const table = node("table", {},
        node("caption", { class: "unseen" }, data.label ?? ""),
        node("thead", {}, node("tr", {}, ...data.columns.map(heading))),
        node("tbody", {}, ...data.rows.map((row) => line(row, data.columns))));
      scroller.setAttribute("role", "region");
      scroller.setAttribute("aria-label", data.label ?? "table");
      watch.disconnect();
      scroller.replaceChildren(table);
      watch.observe(scroller);
      watch.observe(table);
      caption.textContent = data.caption ?? "";
      saveMenu(foot, { csv: () => csv(data), file: data.file });
    },
    close: () => watch.disconnect(),
  };
});
