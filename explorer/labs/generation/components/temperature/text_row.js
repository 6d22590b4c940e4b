/* Draw one model's text under the temperature slider. There is one span per token, created once; sliding changes only the
   contents and colours that differ. view.js handles the interaction. */

import { tokenLabel, shortenToEnd } from "../../../../static/shared/runtime/visible_text.js";
import { formatOdds, toBits } from "../../../../static/shared/charts/surprisal_colour.js";
import { distinctNgrams, repetition } from "./sampling.js";
import { node, tint } from "../../../../static/shared/runtime/dom.js";
import { formatNumber } from "../../../../static/shared/runtime/format.js";

export const LEVELS = 17; // steps of 5 %, up to 85 % of --amount-3: ink on it can still be read
const KEPT = 32,
  CURSOR = 64,
  PARTED = 128,
  MOST = 256,
  LINE = 512,
  NOTHING = 1024;
const NAMES = [
  [KEPT, "kept"],
  [CURSOR, "cursor"],
  [PARTED, "parted"],
  [MOST, "most"],
  [LINE, "line"],
  [NOTHING, "nothing"],
];
const classes = new Map();

function className(state) {
  if (!classes.has(state))
    classes.set(
      state,
      [`s${state & 31}`, ...NAMES.filter(([flag]) => state & Number(flag)).map(([, name]) => name)].join(" "),
    );
  return classes.get(state);
}

/** How strong a token's background is: 0 to LEVELS, linear in its surprisal up to `full` nats. */
export const colourLevel = (surprisal, full) => Math.round(LEVELS * Math.min(1, Math.max(0, surprisal / full)));

let rowCount = 0; // so that every token in the document has an id of its own

export class TextRow {
  name = node("span.name");
  note = node("p.note");
  prompt = node("span.prompt");
  body = node("span");
  box = node(
    "div.text",
    { tabindex: 0, role: "listbox", dir: "auto", "aria-orientation": "horizontal" },
    this.prompt,
    this.body,
  );
  values = Array.from({ length: 3 }, () => document.createTextNode(""));
  surpriseWords = node("span.words");
  surprised = document.createTextNode("");
  quoted = node("b.code", { dir: "auto" });
  after = document.createTextNode("");
  cursor = -1; // the token selected with the arrow keys
  spans = [];
  row = null;
  drawn = 0; // number of the frame in which it was last drawn

  /** `hover(at)`: the pointer or the keys are on a token, -1: on none; `keep(at)`: it was pressed. */
  constructor({ hover, keep }) {
    const [surprise, varied, repeated] = this.values;
    const makeNumber = (value, words) => node("div.number", node("span.figure", value), words);
    this.head = node("div.head", node("i.dot", { "aria-hidden": "true" }), this.name);
    this.numbers = node(
      "div.numbers",
      makeNumber(surprise, this.surpriseWords),
      makeNumber(varied, node("span.words", "distinct runs of 4")),
      makeNumber(repeated, node("span.words", "repeated runs of 8")),
    );
    this.root = node(
      "article.card",
      this.head,
      this.note,
      this.box,
      this.numbers,
      node("p.surprised", this.surprised, this.quoted, this.after),
    );
    this.prefix = `lineage-temperature-${++rowCount}`;
    const tokenOfEvent = (event) => event.target.at ?? -1;
    this.box.onpointerover = (event) => {
      if (event.pointerType !== "touch") {
        this.moveCursor(-1);
        hover(tokenOfEvent(event));
      }
    };
    this.box.onpointerleave = (event) => {
      if (event.pointerType !== "touch") hover(-1);
    };
    this.box.onclick = (event) => {
      if (tokenOfEvent(event) >= 0) {
        this.moveCursor(-1);
        keep(tokenOfEvent(event));
      }
    };
    this.box.onblur = () => {
      if (this.cursor >= 0) {
        this.moveCursor(-1);
        hover(-1);
      }
    };
    this.box.onkeydown = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !this.spans.length) return;
      const from = this.cursor >= 0 ? this.cursor : Math.max(0, this.kept),
        last = this.spans.length - 1,
        moves = this.cursor >= 0 ? 1 : 0; // the first arrow key only shows the cursor
      const to = { ArrowRight: from + moves, ArrowLeft: from - moves, Home: 0, End: last }[event.key];
      if (to !== undefined) {
        this.moveCursor(Math.min(last, Math.max(0, to)), true);
        hover(this.cursor);
      } else if ((event.key === "Enter" || event.key === " ") && this.cursor >= 0) keep(this.cursor);
      else if (event.key === "Escape" && this.cursor >= 0) {
        this.moveCursor(-1);
        hover(-1);
      } else return;
      event.preventDefault();
      event.stopPropagation();
    };
  }

  /** Another model, prompt or set of texts. `full`: the surprisal in nats that is drawn strongest. */
  update(model, arrays, { temperatures, unit: common, full }) {
    const other = arrays !== this.arrays,
      unit = model.unit ?? common;
    this.model = model;
    this.arrays = arrays;
    this.temperatures = temperatures;
    this.unit = unit;
    this.full = full;
    this.row = null;
    this.root.dataset.unit = unit;
    tint(this.root, model.colour);
    this.name.textContent = model.title;
    this.note.textContent = model.note;
    this.prompt.textContent = model.prompt;
    this.surpriseWords.textContent = `surprisal, bits per ${unit}`;
    this.names = model.pieces.map((piece) => (piece.trim() ? null : tokenLabel(piece)));
    this.kinds = Uint16Array.from(model.pieces, (piece) =>
      piece === "" ? NOTHING : piece.startsWith("\n") ? LINE : 0,
    );
    if (!other) {
      this.pieces.fill(-1);
      return;
    } // the place one reads at, and the token under the keys, stay
    const tokens = arrays.ids.shape[1];
    this.measured = [];
    this.kept = -1;
    this.parted = -1;
    this.cursor = -1;
    this.box.removeAttribute("aria-activedescendant");
    if (tokens !== this.spans.length) {
      this.spans = Array.from({ length: tokens }, (_, i) => {
        const span = node("span", { role: "option", id: `${this.prefix}-${i}` }, "");
        span.at = i;
        return span;
      });
      this.letters = this.spans.map((span) => span.appendChild(document.createTextNode("")));
      this.body.replaceChildren(...this.spans);
    }
    this.pieces = new Int32Array(tokens).fill(-1); // what is in each span
    this.states = new Int32Array(tokens).fill(-1);
    this.box.scrollTop = 0;
  }

  moveCursor(at, isFocused = false) {
    if (at === this.cursor) return;
    this.cursor = at;
    if (at >= 0) this.box.setAttribute("aria-activedescendant", `${this.prefix}-${at}`);
    else this.box.removeAttribute("aria-activedescendant");
    if (this.row !== null) this.show(this.row, this.kept, this.parted);
    if (at < 0 || !isFocused) return;
    const { offsetTop, offsetHeight } = this.spans[at],
      { scrollTop, clientHeight } = this.box;
    if (offsetTop < scrollTop) this.box.scrollTop = offsetTop - 4;
    else if (offsetTop + offsetHeight > scrollTop + clientHeight)
      this.box.scrollTop = offsetTop + offsetHeight - clientHeight + 4;
  }

  /** `kept`: the token whose choice is shown, `parted`: the first that another text does not have; -1: none. */
  show(row, keptToken, parted) {
    const { spans, letters, pieces, states, kinds, names, arrays, model, full, cursor } = this;
    const tokens = spans.length,
      piece = arrays.piece.data,
      surprisals = arrays.surprise.data,
      { most } = this.measureRow(row);
    for (let i = 0, cell = row * tokens; i < tokens; i++, cell++) {
      const newPiece = piece[cell];
      if (pieces[i] !== newPiece) {
        if (names[newPiece] || names[pieces[i]]) spans[i].ariaLabel = names[newPiece]; // screen readers skip white space
        pieces[i] = newPiece;
        letters[i].data = model.pieces[newPiece];
      }
      const marked =
        (i === keptToken && KEPT) | (i === cursor && CURSOR) | (i === parted && PARTED) | (i === most && MOST);
      const state = colourLevel(surprisals[cell], full) | kinds[newPiece] | marked;
      if (states[i] === state) continue;
      if ((states[i] ^ state) & KEPT) spans[i].ariaSelected = String(i === keptToken);
      states[i] = state;
      spans[i].className = className(state);
    }
    if (row !== this.row) this.describeRow(row);
    this.row = row;
    this.kept = keptToken;
    this.parted = parted;
  }

  describeRow(row) {
    const { mean, varied, repeated, most, worst } = this.measureRow(row);
    [toBits(mean), varied, repeated]
      .map((value) => formatNumber(value))
      .forEach((text, i) => {
        if (this.values[i].data !== text) this.values[i].data = text;
      });
    const label = `${this.model.title} at ${formatNumber(this.temperatures[row])}: each ${this.unit} of the text, with arrow keys`;
    if (this.box.ariaLabel !== label) this.box.ariaLabel = label;
    if (most < 0) return;
    this.surprised.data = "Most surprising: ";
    this.quoted.textContent = tokenLabel(this.pieceAt(row, most));
    this.after.data = ` after “${shortenToEnd(this.prefixOf(row, most), 10)}”: ${formatOdds(worst)} at temperature 1.`;
  }

  pieceAt(row, at) {
    return this.model.pieces[this.arrays.piece.data[row * this.spans.length + at]];
  }

  /** Return the text before a token. */
  prefixOf(row, at) {
    let text = this.model.prompt;
    for (let i = 0; i < at; i++) text += this.pieceAt(row, i);
    return text;
  }

  /** Return the measures of a text; computed on first use. */
  measureRow(row) {
    if (this.measured[row]) return this.measured[row];
    const tokens = this.spans.length,
      valuesOf = (name) => this.arrays[name].data.subarray(row * tokens, (row + 1) * tokens);
    const ids = valuesOf("ids"),
      surprisals = valuesOf("surprise");
    let most = tokens ? 0 : -1,
      sum = 0;
    surprisals.forEach((own, i) => {
      sum += own;
      if (own > surprisals[most]) most = i;
    });
    return (this.measured[row] = {
      mean: sum / tokens,
      varied: distinctNgrams(ids, 4),
      repeated: repetition(ids, 8),
      most,
      worst: surprisals[most],
    });
  }

  /** The text as a file. */
  describeText() {
    return `${this.model.title}, temperature ${formatNumber(this.temperatures[this.row])}\n\n${this.prefixOf(this.row, this.spans.length)}\n`;
  }

  rowsOfTable() {
    const { row, arrays, model, spans } = this,
      valueAt = (name, i) => arrays[name].data[row * spans.length + i];
    return spans.map((_, i) => [
      model.title,
      this.temperatures[row],
      i,
      valueAt("ids", i),
      this.pieceAt(row, i),
      valueAt("surprise", i) / Math.LN2,
      valueAt("chosen", i),
      valueAt("entropy", i) / Math.LN2,
    ]);
  }
}
