/*
Draw a matrix as a table: coloured tiles with their numbers, which the user can point at and edit.

const m = new Matrix(place, { label: "QKᵀ, the scores", scale: "amount" | "sign" | "none", digits: 2, editable: false,
                              low, high: limits of what may be typed, -100 and 100 })
m.show({ rows: [name], columns: [name], values: [[number | null]], most: end of the colour scale (1, or of signed values the
         largest), held: [row, column] | null, marked: [[row, column]] })
m.onedit(row, column, value)   a number was typed (Enter, leaving the cell) or stepped (arrow up and down, with Shift by 1)
m.ondraft(row, column, value)  it is being typed: what is in the cell now
m.onpick(row, column, kept)    hovered or focused (kept false), clicked or Enter (kept true: not where numbers are edited);
                               row -1: nothing any more
m.svg(), m.csv(), m.drawn()    for saveMenu; drawn() is {shape, width, height}, to be in a larger picture

null is a masked cell: no tile. One tab stop; arrow keys move (with Ctrl while editing), Enter goes down. The component's
style.css imports editable_matrix/style.css.
*/
import {
  nextCell,
  neighbouringStops,
  textColours,
  colourLimit,
  numbersFit,
  stepValue,
  colourStop,
  parseNumber,
  formatNumber,
} from "./math.js";
import { toCsv } from "../../runtime/csv.js";
import { svgNode, node } from "../../runtime/dom.js";
import { resolveColours, svgFile } from "../../runtime/svg_file.js";
import { fit, measure } from "../../runtime/text_metrics.js";

const CELL = 34,
  WIDE = 58,
  HEAD = 96; // px in a saved picture

export class Matrix {
  /** @type {(...args: any[]) => void} */
  onedit = () => {};
  /** @type {(...args: any[]) => void} */
  ondraft = () => {};
  /** @type {(...args: any[]) => void} */
  onpick = () => {};
  #given = null;
  #shape = "";
  #cells = []; // rows of { box, field, text }
  #at = [0, 0]; // the tab stop

  constructor(place, { label, scale = "amount", digits = 2, editable = false, low = -100, high = 100 }) {
    this.label = label;
    this.scale = scale;
    this.digits = digits;
    this.editable = editable;
    this.low = low;
    this.high = high;
    this.table = node("table", { class: `matrix ${scale}${editable ? " editable" : ""}`, role: "grid" });
    this.table.ariaLabel = label;
    this.trouble = node("p", { class: "matrix-trouble", role: "status" });
    this.root = node(
      "div",
      { class: "matrix-root" },
      node("div", { class: "matrix-scroller" }, this.table),
      this.trouble,
    );
    place.append(this.root);
    this.table.addEventListener("pointermove", (event) => event.pointerType !== "touch" && this.#point(event, false));
    this.table.addEventListener("pointerleave", () => this.onpick(-1, -1, false));
    this.table.addEventListener("click", (event) => this.#point(event, !editable));
    this.table.addEventListener("keydown", (event) => this.#key(event));
    this.table.addEventListener("focusin", (event) => this.#focused(event));
    this.table.addEventListener("focusout", (event) => this.#left(event));
    this.table.addEventListener("input", (event) => this.#drafted(event));
    this.watch = new ResizeObserver(() => this.#fit());
    this.watch.observe(this.root);
  }

  close() {
    this.watch.disconnect();
  }

  show(given) {
    this.#given = { held: null, marked: [], ...given };
    const { rows, columns } = this.#given,
      shape = `${rows.length} ${columns.length}`;
    if (shape !== this.#shape) this.#build(rows.length, columns.length);
    this.#shape = shape;
    this.#fill();
  }

  /* ---- drawing ---- */

  #build(rows, columns) {
    const mine = this.table.contains(document.activeElement);
    this.#at = [Math.min(this.#at[0], rows - 1), Math.min(this.#at[1], columns - 1)];
    this.#cells = Array.from({ length: rows }, (_, r) => Array.from({ length: columns }, (_, c) => this.#cell(r, c)));
    this.heads = Array.from({ length: columns }, () => node("th", { scope: "col" }));
    this.names = Array.from({ length: rows }, () => node("th", { scope: "row" }));
    this.table.replaceChildren(
      node("thead", {}, node("tr", {}, node("td", { class: "corner" }), ...this.heads)),
      node("tbody", {}, ...this.#cells.map((row, r) => node("tr", {}, this.names[r], ...row.map(({ box }) => box)))),
    );
    if (mine) this.#focus(this.#at, false);
  }
  #cell(r, c) {
    if (!this.editable) return { box: node("td", { "data-r": r, "data-c": c }) };
    const field = node("input", { type: "text", inputmode: "decimal", autocomplete: "off", spellcheck: "false" });
    return { box: node("td", { "data-r": r, "data-c": c }, field), field };
  }

  #fill() {
    const { rows, columns, values, held, marked } = this.#given;
    const most = this.#given.most ?? colourLimit(values, this.scale),
      ringed = new Set(marked.map(String)),
      chosen = held ? String(held) : "";
    this.heads.forEach((head, c) => put(head, columns[c]));
    this.names.forEach((head, r) => put(head, rows[r]));
    this.#cells.forEach((row, r) =>
      row.forEach((cell, c) => {
        const value = values[r][c],
          at = colourStop(value, this.scale, most),
          text = value === null ? "" : formatNumber(value, this.digits);
        const where = `${r},${c}`,
          name = `${rows[r]}, ${columns[c]}`;
        cell.box.className = [value === null && "masked", where === chosen && "held", ringed.has(where) && "marked"]
          .filter(Boolean)
          .join(" ");
        paint(cell, at, this.scale);
        if (cell.text !== text) {
          cell.text = text;
          if (!cell.field) put(cell.box, text);
        }
        if (cell.field) {
          cell.field.ariaLabel = `${this.label}: ${name}`;
          if (document.activeElement !== cell.field || !cell.draft)
            cell.field.value = document.activeElement === cell.field ? precise(value) : text;
        } else cell.box.ariaLabel = `${name}: ${value === null ? "masked" : text}`;
        if (cell.field) cell.field.hidden = value === null;
        const here = r === this.#at[0] && c === this.#at[1] ? "0" : "-1",
          place = cell.field ?? cell.box;
        if (place.getAttribute("tabindex") !== here) place.setAttribute("tabindex", here);
      }),
    );
    this.#fit();
  }

  /** Show the numbers in the tiles where they fit; elsewhere pointing at a tile shows its number. */
  #fit() {
    const cell = this.#cells[0]?.[0]?.box;
    if (!cell || this.editable || !cell.offsetWidth) return;
    this.table.classList.toggle(
      "bare",
      !numbersFit(
        this.#cells.flat().map(({ text }) => text),
        cell.clientWidth,
      ),
    );
  }

  /* ---- pointing, moving, typing ---- */

  #where(event) {
    const box = event.target.closest?.("td[data-r]");
    return box ? [Number(box.dataset.r), Number(box.dataset.c)] : null;
  }
  #point(event, kept) {
    const at = this.#where(event);
    if (!at) return;
    if (kept) this.#focus(at);
    this.onpick(...at, kept);
  }
  /** @param {number[]} at
   * @param {boolean} pick */
  #focus([r, c], pick = true) {
    const { field, box } = this.#cells[r][c];
    this.quiet = !pick;
    (field ?? box).focus({ preventScroll: false });
    this.quiet = false;
  }
  #focused(event) {
    const at = this.#where(event);
    if (!at) return;
    const [before, now] = [this.#at, at].map(([r, c]) => this.#cells[r][c]);
    (before.field ?? before.box).tabIndex = -1;
    (now.field ?? now.box).tabIndex = 0;
    this.#at = at;
    if (now.field) {
      now.field.value = precise(this.#given.values[at[0]][at[1]]);
      now.field.select();
    }
    if (!this.quiet) this.onpick(...at, false);
  }
  #left(event) {
    const at = this.#where(event);
    if (!at) return;
    if (this.editable) {
      this.#commit(at);
      const [r, c] = at,
        cell = this.#cells[r][c];
      cell.field.value = cell.text;
    }
    if (!this.table.contains(event.relatedTarget)) this.onpick(-1, -1, false);
  }
  #key(event) {
    const at = this.#where(event);
    event.stopPropagation(); // Streamlit reruns the page at an "r"
    if (!at || event.altKey || event.metaKey) return;
    const { rows, columns } = this.#given,
      size = [rows.length, columns.length];
    if (!this.editable) {
      if (event.key === "Enter" || event.key === " ") this.onpick(...at, true);
      else {
        const to = nextCell(event.key, at, size[0], size[1]);
        if (!to) return;
        this.#focus(to);
      }
    } else if (event.key === "Enter") {
      this.#commit(at);
      this.#focus(nextCell(event.shiftKey ? "ArrowUp" : "ArrowDown", at, size[0], size[1]));
      this.#reselect();
    } else if (event.key === "Escape") {
      this.#cells[at[0]][at[1]].draft = false;
      this.ondraft(...at, this.#given.values[at[0]][at[1]]);
      this.#reselect();
    } else if (event.ctrlKey && nextCell(event.key, at, size[0], size[1]))
      this.#focus(nextCell(event.key, at, size[0], size[1]));
    else if (event.key === "ArrowUp" || event.key === "ArrowDown")
      this.#step(at, (event.key === "ArrowUp" ? 1 : -1) * (event.shiftKey ? 1 : 0.1));
    else return;
    event.preventDefault();
  }
  #reselect() {
    const [r, c] = this.#at,
      { field } = this.#cells[r][c];
    field.value = precise(this.#given.values[r][c]);
    field.select();
  }
  /** @param {number[]} at
   * @param {number} by */
  #step([r, c], by) {
    const cell = this.#cells[r][c],
      now = (cell.draft ? parseNumber(cell.field.value) : null) ?? this.#given.values[r][c];
    const value = stepValue(now, by);
    if (value < this.low || value > this.high) return;
    cell.draft = false;
    this.onedit(r, c, value);
    this.#reselect();
  }
  #drafted(event) {
    const at = this.#where(event);
    if (!at) return;
    const [r, c] = at,
      value = parseNumber(this.#cells[r][c].field.value);
    this.#cells[r][c].draft = true;
    put(this.trouble, "");
    if (value !== null && value >= this.low && value <= this.high) this.ondraft(r, c, value);
  }
  /** @param {number[]} at */
  #commit([r, c]) {
    const cell = this.#cells[r][c],
      text = cell.field.value,
      value = parseNumber(text),
      old = this.#given.values[r][c];
    if (!cell.draft) return;
    cell.draft = false;
    if (value === null || value < this.low || value > this.high) {
      this.ondraft(r, c, old);
      const span = `${formatNumber(this.low, 0)} to ${formatNumber(this.high, 0)}`;
      put(this.trouble, `“${text.slice(0, 20)}” is no number from ${span}; ${formatNumber(old, this.digits)} stays.`);
    } else this.onedit(r, c, value);
  }

  /* ---- saving ---- */

  csv() {
    const { rows, columns, values } = this.#given;
    return toCsv(
      [this.label, ...columns],
      rows.map((name, r) => [name, ...values[r]]),
    );
  }
  drawn() {
    const { rows, columns, values, held, marked } = this.#given,
      theme = resolveColours(this.root),
      texts = this.#cells.flat().map(({ text }) => text);
    const most = this.#given.most ?? colourLimit(values, this.scale),
      cell = numbersFit(texts, CELL) ? CELL : WIDE,
      ink = theme.get("--ink"),
      soft = theme.get("--soft");
    const side = Math.min(HEAD, Math.max(24, ...rows.map((name) => measure(name, 14)))) + 10,
      shape = svgNode("g", {});
    const setText = (text, x, y, fill, anchor = "middle", weight = 400) =>
      shape.append(
        svgNode(
          "text",
          { x, y, fill, "font-size": 14, "font-weight": weight, "text-anchor": anchor, "dominant-baseline": "central" },
          text,
        ),
      );
    setText(this.label, 0, 10, ink, "start", 600);
    columns.forEach((name, c) => setText(fit(name, cell - 4, 14), side + cell * (c + 0.5), 34, soft));
    rows.forEach((name, r) => {
      const y = 46 + CELL * r;
      setText(fit(name, side - 10, 14), side - 8, y + CELL / 2, soft, "end");
      values[r].forEach((value, c) => {
        if (value === null) return;
        const { box } = this.#cells[r][c],
          style = getComputedStyle(this.#cells[r][c].field ?? box),
          x = side + cell * c;
        const ring = String(held) === `${r},${c}` ? 2.5 : marked.some((one) => String(one) === `${r},${c}`) ? 1.5 : 0;
        const tile =
          colourStop(value, this.scale, most) === null ? theme.get("--panel") : getComputedStyle(box).backgroundColor;
        shape.append(
          svgNode("rect", {
            x: x + 1,
            y: y + 1,
            width: cell - 2,
            height: CELL - 2,
            rx: 2,
            fill: tile,
            stroke: ring ? ink : "none",
            "stroke-width": ring,
          }),
        );
        setText(formatNumber(value, this.digits), x + cell / 2, y + CELL / 2, style.color);
      });
    });
    theme.done();
    return {
      shape,
      width: Math.max(side + cell * columns.length, measure(this.label, 14, 600)),
      height: 46 + CELL * rows.length,
    };
  }
  svg() {
    const { shape, width, height } = this.drawn(),
      theme = resolveColours(this.root),
      page = theme.get("--page");
    theme.done();
    shape.setAttribute("transform", "translate(16 16)");
    return svgFile(width + 32, height + 32, page, shape);
  }
}

const precise = (value) => (value === null ? "" : String(Number(value.toFixed(4))).replace("-", "−"));

function put(place, words) {
  if (place.textContent !== words) place.textContent = words;
}

/** A tile in its colour, by the names of shared/base.css: it follows the theme without being drawn again. */
function paint(cell, at, scale) {
  const key = at === null ? "" : `${scale} ${at.toFixed(2)}`;
  if (cell.painted === key) return;
  cell.painted = key;
  const { style } = cell.box;
  if (at === null) {
    style.removeProperty("background-color");
    style.removeProperty("color");
    return;
  }
  const [low, high, part] = neighbouringStops(at),
    [light, dark] = textColours(at, scale);
  style.backgroundColor = `color-mix(in srgb, var(--${scale}-${low}) ${100 - part}%, var(--${scale}-${high}))`;
  style.color = `light-dark(${light}, ${dark})`;
}
