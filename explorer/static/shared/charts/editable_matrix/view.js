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
m.svg(), m.csv()               for saveMenu

null is a masked cell: no tile. One tab stop; arrow keys move (with Ctrl while editing), Enter goes down. The component's
style.css imports editable_matrix/style.css.
*/
import * as math from "./math.js";
import { toCsv } from "../../runtime/csv.js";
import { node } from "../../runtime/dom.js";
import { screenSvg } from "../../runtime/screen_svg.js";
import { moveCell } from "../value_scale.js";

export class Matrix {
  /** @type {(...args: any[]) => void} */
  onedit = () => {};
  /** @type {(...args: any[]) => void} */
  ondraft = () => {};
  /** @type {(...args: any[]) => void} */
  onpick = () => {};
  #data = null;
  #shape = "";
  #cells = []; // rows of { box, field, text }
  #tabStop = [0, 0]; // the tab stop

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
    this.table.addEventListener(
      "pointermove",
      (event) => event.pointerType !== "touch" && this.#pickCell(event, false),
    );
    this.table.addEventListener("pointerleave", () => this.onpick(-1, -1, false));
    this.table.addEventListener("click", (event) => this.#pickCell(event, !editable));
    this.table.addEventListener("keydown", (event) => this.#onKeyDown(event));
    this.table.addEventListener("focusin", (event) => this.#onFocusIn(event));
    this.table.addEventListener("focusout", (event) => this.#onFocusOut(event));
    this.table.addEventListener("input", (event) => this.#onInput(event));
    this.watch = new ResizeObserver(() => this.#updateNumberVisibility());
    this.watch.observe(this.root);
  }

  close() {
    this.watch.disconnect();
  }

  show(table) {
    this.#data = { held: null, marked: [], ...table };
    const { rows, columns } = this.#data,
      shape = `${rows.length} ${columns.length}`;
    if (shape !== this.#shape) this.#buildTable(rows.length, columns.length);
    this.#shape = shape;
    this.#fillCells();
  }

  /* ---- drawing ---- */

  #buildTable(rows, columns) {
    const mine = this.table.contains(document.activeElement);
    this.#tabStop = [Math.min(this.#tabStop[0], rows - 1), Math.min(this.#tabStop[1], columns - 1)];
    this.#cells = Array.from({ length: rows }, (_, r) =>
      Array.from({ length: columns }, (_, c) => this.#makeCell(r, c)),
    );
    this.heads = Array.from({ length: columns }, () => node("th", { scope: "col" }));
    this.names = Array.from({ length: rows }, () => node("th", { scope: "row" }));
    this.table.replaceChildren(
      node("thead", {}, node("tr", {}, node("td", { class: "corner" }), ...this.heads)),
      node("tbody", {}, ...this.#cells.map((row, r) => node("tr", {}, this.names[r], ...row.map(({ box }) => box)))),
    );
    if (mine) this.#focusCell(this.#tabStop, false);
  }
  #makeCell(r, c) {
    if (!this.editable) return { box: node("td", { "data-r": r, "data-c": c }) };
    const field = node("input", { type: "text", inputmode: "decimal", autocomplete: "off", spellcheck: "false" });
    return { box: node("td", { "data-r": r, "data-c": c }, field), field };
  }

  #fillCells() {
    const { rows, columns, values, held, marked } = this.#data;
    const most = this.#data.most ?? math.colourLimit(values, this.scale),
      ringed = new Set(marked.map(String)),
      chosen = held ? String(held) : "";
    this.heads.forEach((head, c) => setTextIfChanged(head, columns[c]));
    this.names.forEach((head, r) => setTextIfChanged(head, rows[r]));
    this.#cells.forEach((row, r) =>
      row.forEach((cell, c) => {
        const value = values[r][c],
          at = math.colourStop(value, this.scale, most),
          text = value === null ? "" : math.formatEntry(value, this.digits);
        const position = `${r},${c}`,
          name = `${rows[r]}, ${columns[c]}`;
        cell.box.className = [
          value === null && "masked",
          position === chosen && "held",
          ringed.has(position) && "marked",
        ]
          .filter(Boolean)
          .join(" ");
        paintTile(cell, at, this.scale);
        if (cell.text !== text) {
          cell.text = text;
          if (!cell.field) setTextIfChanged(cell.box, text);
        }
        if (cell.field) {
          cell.field.ariaLabel = `${this.label}: ${name}`;
          if (document.activeElement !== cell.field || !cell.draft)
            cell.field.value = document.activeElement === cell.field ? formatPrecise(value) : text;
        } else cell.box.ariaLabel = `${name}: ${value === null ? "masked" : text}`;
        if (cell.field) cell.field.hidden = value === null;
        const tabIndex = r === this.#tabStop[0] && c === this.#tabStop[1] ? "0" : "-1",
          place = cell.field ?? cell.box;
        if (place.getAttribute("tabindex") !== tabIndex) place.setAttribute("tabindex", tabIndex);
      }),
    );
    this.#updateNumberVisibility();
  }

  /** Show the numbers in the tiles where they fit; elsewhere pointing at a tile shows its number. */
  #updateNumberVisibility() {
    const cell = this.#cells[0]?.[0]?.box;
    if (!cell || this.editable || !cell.offsetWidth) return;
    this.table.classList.toggle(
      "bare",
      !math.numbersFit(
        this.#cells.flat().map(({ text }) => text),
        cell.clientWidth,
      ),
    );
  }

  /* ---- pointing, moving, typing ---- */

  #cellOfEvent(event) {
    const box = event.target.closest?.("td[data-r]");
    return box ? [Number(box.dataset.r), Number(box.dataset.c)] : null;
  }
  #pickCell(event, keep) {
    const at = this.#cellOfEvent(event);
    if (!at) return;
    if (keep) this.#focusCell(at);
    this.onpick(...at, keep);
  }
  /** @param {number[]} at
   * @param {boolean} pick */
  #focusCell([r, c], pick = true) {
    const { field, box } = this.#cells[r][c];
    this.quiet = !pick;
    (field ?? box).focus({ preventScroll: false });
    this.quiet = false;
  }
  #onFocusIn(event) {
    const at = this.#cellOfEvent(event);
    if (!at) return;
    const [oldCell, newCell] = [this.#tabStop, at].map(([r, c]) => this.#cells[r][c]);
    (oldCell.field ?? oldCell.box).tabIndex = -1;
    (newCell.field ?? newCell.box).tabIndex = 0;
    this.#tabStop = at;
    if (newCell.field) {
      newCell.field.value = formatPrecise(this.#data.values[at[0]][at[1]]);
      newCell.field.select();
    }
    if (!this.quiet) this.onpick(...at, false);
  }
  #onFocusOut(event) {
    const at = this.#cellOfEvent(event);
    if (!at) return;
    if (this.editable) {
      this.#commitEdit(at);
      const [r, c] = at,
        cell = this.#cells[r][c];
      cell.field.value = cell.text;
    }
    if (!this.table.contains(event.relatedTarget)) this.onpick(-1, -1, false);
  }
  #onKeyDown(event) {
    const at = this.#cellOfEvent(event);
    event.stopPropagation(); // Streamlit reruns the page at an "r"
    if (!at || event.altKey || event.metaKey) return;
    if (!this.editable) {
      if (event.key === "Enter" || event.key === " ") this.onpick(...at, true);
      else {
        const to = this.#cellAfter(event.key, at);
        if (!to) return;
        this.#focusCell(to);
      }
    } else if (event.key === "Enter") {
      this.#commitEdit(at);
      this.#focusCell(this.#cellAfter(event.shiftKey ? "ArrowUp" : "ArrowDown", at));
      this.#selectFieldText();
    } else if (event.key === "Escape") {
      this.#cells[at[0]][at[1]].draft = false;
      this.ondraft(...at, this.#data.values[at[0]][at[1]]);
      this.#selectFieldText();
    } else if (event.ctrlKey && this.#cellAfter(event.key, at)) this.#focusCell(this.#cellAfter(event.key, at));
    else if (event.key === "ArrowUp" || event.key === "ArrowDown")
      this.#stepCell(at, (event.key === "ArrowUp" ? 1 : -1) * (event.shiftKey ? 1 : 0.1));
    else return;
    event.preventDefault();
  }
  /** @param {string} key
   * @param {number[]} cell */
  #cellAfter(key, [row, column]) {
    const to = moveCell({ row, column }, key, this.#data.rows.length, this.#data.columns.length);
    return to && [to.row, to.column];
  }
  #selectFieldText() {
    const [r, c] = this.#tabStop,
      { field } = this.#cells[r][c];
    field.value = formatPrecise(this.#data.values[r][c]);
    field.select();
  }
  /** @param {number[]} at
   * @param {number} change */
  #stepCell([r, c], change) {
    const cell = this.#cells[r][c],
      current = (cell.draft ? math.parseNumber(cell.field.value) : null) ?? this.#data.values[r][c];
    const value = math.stepValue(current, change);
    if (value < this.low || value > this.high) return;
    cell.draft = false;
    this.onedit(r, c, value);
    this.#selectFieldText();
  }
  #onInput(event) {
    const at = this.#cellOfEvent(event);
    if (!at) return;
    const [r, c] = at,
      value = math.parseNumber(this.#cells[r][c].field.value);
    this.#cells[r][c].draft = true;
    setTextIfChanged(this.trouble, "");
    if (value !== null && value >= this.low && value <= this.high) this.ondraft(r, c, value);
  }
  /** @param {number[]} at */
  #commitEdit([r, c]) {
    const cell = this.#cells[r][c],
      text = cell.field.value,
      value = math.parseNumber(text),
      old = this.#data.values[r][c];
    if (!cell.draft) return;
    cell.draft = false;
    if (value === null || value < this.low || value > this.high) {
      this.ondraft(r, c, old);
      const span = `${math.formatEntry(this.low, 0)} to ${math.formatEntry(this.high, 0)}`;
      setTextIfChanged(
        this.trouble,
        `“${text.slice(0, 20)}” is no number from ${span}; ${math.formatEntry(old, this.digits)} stays.`,
      );
    } else this.onedit(r, c, value);
  }

  /* ---- saving ---- */

  csv() {
    const { rows, columns, values } = this.#data;
    return toCsv(
      [this.label, ...columns],
      rows.map((name, r) => [name, ...values[r]]),
    );
  }
  svg() {
    return screenSvg(this.root, { title: this.label });
  }
}

const formatPrecise = (value) => (value === null ? "" : String(Number(value.toFixed(4))).replace("-", "−"));

function setTextIfChanged(place, words) {
  if (place.textContent !== words) place.textContent = words;
}

function paintTile(cell, at, scale) {
  const key = at === null ? "" : `${scale} ${at.toFixed(2)}`;
  if (cell.painted === key) return;
  cell.painted = key;
  const { fill, ink } = at === null ? { fill: "", ink: "" } : math.tileColours(at, scale);
  Object.assign(cell.box.style, { backgroundColor: fill, color: ink });
}
