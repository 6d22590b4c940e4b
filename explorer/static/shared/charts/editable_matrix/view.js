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
import { node, setTextIfChanged } from "../../runtime/dom.js";
import { screenSvg } from "../../runtime/screen_svg.js";
import { moveCell } from "../value_scale.js";

/** @typedef {(...args: any[]) => void} Handler */

const formatPrecise = (value) => (value === null ? "" : String(Number(value.toFixed(4))).replace("-", "−"));

export class Matrix {
  onedit = /** @type {Handler} */ (() => {});
  ondraft = /** @type {Handler} */ (() => {});
  onpick = /** @type {Handler} */ (() => {});
  #data = null;
  #shape = "";
  #cells = []; // rows of { box, field, text, draft: whether the field has an unfinished number, painted }
  /** @type {any} */
  #tabStop = [0, 0];

  constructor(place, { label, scale = "amount", digits = 2, editable = false, low = -100, high = 100 }) {
    this.label = label;
    this.scale = scale;
    this.digits = digits;
    this.editable = editable;
    this.low = low;
    this.high = high;
    this.table = node("table", {
      class: `matrix ${scale}${editable ? " editable" : ""}`,
      role: "grid",
      "aria-label": label,
      onpointermove: (event) => event.pointerType !== "touch" && this.#pickCell(event, false),
      onpointerleave: () => this.onpick(-1, -1, false),
      onclick: (event) => this.#pickCell(event, !editable),
      onkeydown: (event) => this.#onKeyDown(event),
      oninput: (event) => this.#onInput(this.#cellOfEvent(event)),
    });
    this.table.addEventListener("focusin", (event) => this.#onFocusIn(this.#cellOfEvent(event)));
    this.table.addEventListener("focusout", (event) => this.#onFocusOut(event));
    this.trouble = node("p.matrix-trouble", { role: "status" });
    this.root = node("div.matrix-root", node("div.matrix-scroller", this.table), this.trouble);
    place.append(this.root);
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
    const hasFocus = this.table.contains(document.activeElement);
    this.#tabStop = [Math.min(this.#tabStop[0], rows - 1), Math.min(this.#tabStop[1], columns - 1)];
    const make = (length, makeOne) => Array.from({ length }, (_, i) => makeOne(i));
    this.#cells = make(rows, (r) => make(columns, (c) => this.#makeCell(r, c)));
    this.heads = make(columns, () => node("th", { scope: "col" }));
    this.names = make(rows, () => node("th", { scope: "row" }));
    const makeRow = (cells, r) =>
      node(
        "tr",
        this.names[r],
        cells.map(({ box }) => box),
      );
    this.table.replaceChildren(
      node("thead", node("tr", node("td.corner"), this.heads)),
      node("tbody", this.#cells.map(makeRow)),
    );
    if (hasFocus) this.#focusCell(this.#tabStop, false);
  }
  #makeCell(r, c) {
    const about = { type: "text", inputmode: "decimal", autocomplete: "off", spellcheck: "false" },
      field = this.editable ? node("input", about) : null;
    return { box: node("td", { "data-r": r, "data-c": c }, field), field };
  }

  #fillCells() {
    const { rows, columns, values, held, marked } = this.#data,
      most = this.#data.most ?? math.colourLimit(values, this.scale),
      ringed = new Set(marked.map(String));
    this.heads.forEach((head, c) => setTextIfChanged(head, columns[c]));
    this.names.forEach((head, r) => setTextIfChanged(head, rows[r]));
    this.#cells.forEach((row, r) =>
      row.forEach((cell, c) => {
        const value = values[r][c],
          { box, field } = cell,
          isFocused = field && document.activeElement === field,
          text = value === null ? "" : math.formatEntry(value, this.digits),
          name = `${rows[r]}, ${columns[c]}`;
        box.classList.toggle("masked", value === null);
        box.classList.toggle("held", String([r, c]) === String(held));
        box.classList.toggle("marked", ringed.has(String([r, c])));
        paintTile(cell, math.colourStop(value, this.scale, most), this.scale);
        cell.text = text;
        if (field) {
          field.ariaLabel = `${this.label}: ${name}`;
          field.hidden = value === null;
          if (!isFocused || !cell.draft) field.value = isFocused ? formatPrecise(value) : text;
        } else {
          setTextIfChanged(box, text);
          box.ariaLabel = `${name}: ${value === null ? "masked" : text}`;
        }
        (field ?? box).tabIndex = String([r, c]) === String(this.#tabStop) ? 0 : -1;
      }),
    );
    this.#updateNumberVisibility();
  }

  /** Show the numbers in the tiles where they fit; elsewhere pointing at a tile shows its number. */
  #updateNumberVisibility() {
    const width = this.#cells[0]?.[0]?.box.clientWidth;
    if (!width || this.editable) return;
    const texts = this.#cells.flat().map(({ text }) => text);
    this.table.classList.toggle("bare", !math.numbersFit(texts, width));
  }

  /* ---- pointing, moving, typing ---- */

  /** @returns {any} */
  #cellOfEvent(event) {
    const box = event.target.closest?.("td[data-r]");
    return box ? [Number(box.dataset.r), Number(box.dataset.c)] : null;
  }
  #cellAt(/** @type {any} */ [r, c]) {
    return this.#cells[r][c];
  }
  #valueAt(/** @type {any} */ [r, c]) {
    return this.#data.values[r][c];
  }
  #pickCell(event, keep) {
    const at = this.#cellOfEvent(event);
    if (!at) return;
    if (keep) this.#focusCell(at);
    this.onpick(...at, keep);
  }
  #focusCell(at, pick = true) {
    const { field, box } = this.#cellAt(at);
    this.quiet = !pick;
    (field ?? box).focus({ preventScroll: false });
    this.quiet = false;
  }
  #onFocusIn(at) {
    if (!at) return;
    for (const [place, tabIndex] of [
      [this.#tabStop, -1],
      [at, 0],
    ]) {
      const { field, box } = this.#cellAt(place);
      (field ?? box).tabIndex = tabIndex;
    }
    this.#tabStop = at;
    this.#selectText();
    if (!this.quiet) this.onpick(...at, false);
  }
  #onFocusOut(event) {
    const at = this.#cellOfEvent(event);
    if (!at) return;
    if (this.editable) {
      this.#commitEdit(at);
      const cell = this.#cellAt(at);
      cell.field.value = cell.text;
    }
    if (!this.table.contains(event.relatedTarget)) this.onpick(-1, -1, false);
  }
  #onKeyDown(event) {
    const at = this.#cellOfEvent(event),
      { key, shiftKey } = event;
    event.stopPropagation(); // Streamlit reruns the page at an "r"
    if (!at || event.altKey || event.metaKey) return;
    const next = this.#cellAfter(key, at);
    if (!this.editable) {
      if (key === "Enter" || key === " ") this.onpick(...at, true);
      else if (next) this.#focusCell(next);
      else return;
    } else if (key === "Enter") {
      this.#commitEdit(at);
      this.#focusCell(this.#cellAfter(shiftKey ? "ArrowUp" : "ArrowDown", at));
      this.#selectText();
    } else if (key === "Escape") {
      this.#cellAt(at).draft = false;
      this.ondraft(...at, this.#valueAt(at));
      this.#selectText();
    } else if (event.ctrlKey && next) this.#focusCell(next);
    else if (key === "ArrowUp" || key === "ArrowDown")
      this.#stepCell(at, (key === "ArrowUp" ? 1 : -1) * (shiftKey ? 1 : 0.1));
    else return;
    event.preventDefault();
  }
  /** @returns {any} */
  #cellAfter(key, [row, column]) {
    const to = moveCell({ row, column }, key, this.#data.rows.length, this.#data.columns.length);
    return to && [to.row, to.column];
  }
  /** Select the number of the cell that has the focus, to be typed over. */
  #selectText() {
    const { field } = this.#cellAt(this.#tabStop);
    if (!field) return;
    field.value = formatPrecise(this.#valueAt(this.#tabStop));
    field.select();
  }
  #isAllowed(value) {
    return value !== null && value >= this.low && value <= this.high;
  }
  #stepCell(at, change) {
    const cell = this.#cellAt(at),
      current = (cell.draft ? math.parseNumber(cell.field.value) : null) ?? this.#valueAt(at),
      value = math.stepValue(current, change);
    if (!this.#isAllowed(value)) return;
    cell.draft = false;
    this.onedit(...at, value);
    this.#selectText();
  }
  #onInput(at) {
    if (!at) return;
    const cell = this.#cellAt(at),
      value = math.parseNumber(cell.field.value);
    cell.draft = true;
    setTextIfChanged(this.trouble, "");
    if (this.#isAllowed(value)) this.ondraft(...at, value);
  }
  #commitEdit(at) {
    const cell = this.#cellAt(at),
      text = cell.field.value,
      value = math.parseNumber(text),
      old = this.#valueAt(at);
    if (!cell.draft) return;
    cell.draft = false;
    if (this.#isAllowed(value)) return this.onedit(...at, value);
    this.ondraft(...at, old);
    const span = `${math.formatEntry(this.low, 0)} to ${math.formatEntry(this.high, 0)}`,
      stays = `${math.formatEntry(old, this.digits)} stays`;
    setTextIfChanged(this.trouble, `“${text.slice(0, 20)}” is no number from ${span}; ${stays}.`);
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

function paintTile(cell, at, scale) {
  const key = at === null ? "" : `${scale} ${at.toFixed(2)}`;
  if (cell.painted === key) return;
  cell.painted = key;
  const { fill, ink } = at === null ? { fill: "", ink: "" } : math.tileColours(at, scale);
  Object.assign(cell.box.style, { backgroundColor: fill, color: ink });
}
