/* Draw one model's text under the temperature slider. There is one span per token, created once; sliding changes only the
   contents and colours that differ. view.js handles the interaction. */

import { tokenLabel, shortenToEnd } from "../../../../static/shared/runtime/visible_text.js";
import { formatOdds, toBits } from "../../../../static/shared/charts/surprisal_colour.js";
import { distinctNgrams, repetition } from "./sampling.js";
import { node as makeNode, tint } from "../../../../static/shared/runtime/dom.js";
import { LiveElements } from "../../../../static/shared/runtime/view_state.js";
import { formatNumber } from "../../../../static/shared/runtime/format.js";

export const LEVELS = 17; // steps of 5 %, up to 85 % of --amount-3: ink on it can still be read

/** How strong a token's background is: 0 to LEVELS, linear in its surprisal up to `full` nats. */
export const colourLevel = (surprisal, full) => Math.round(LEVELS * Math.min(1, Math.max(0, surprisal / full)));

let rowCount = 0; // so that every token in the document has an id of its own

export class TextRow {
  /** @type {any} */
  model = null;
  /** @type {any} */
  arrays = null;
  temperatures = [];
  measured = [];
  unit = "";
  full = 0;
  kept = -1;
  parted = -1;
  cursor = -1; // the token selected with the arrow keys
  spans = [];
  row = null;
  drawn = 0; // number of the frame in which it was last drawn
  #live = new LiveElements();
  #prefix = `lineage-temperature-${++rowCount}`;

  /** `hover(at)`: the pointer or the keys are on a token, -1: on none; `keep(at)`: it was pressed. */
  constructor({ hover, keep }) {
    this.hover = hover;
    this.keep = keep;
    const { node } = this.#live,
      ofModel = (name) => () => this.model[name],
      measures = () => this.measureRow(this.row),
      ifWritten = (read) => () => (measures().most < 0 ? "" : read(measures()));
    const makeNumber = (read, words) =>
      makeNode(
        "div.number",
        node("span.figure", () => formatNumber(read(measures()))),
        node("span.words", words),
      );
    const label = () =>
      `${this.model.title} at ${formatNumber(this.temperatures[this.row])}: each ${this.unit} of the text, with arrow keys`;
    this.body = makeNode("span");
    this.box = node(
      "div.text",
      {
        ...{ tabindex: 0, role: "listbox", dir: "auto", "aria-orientation": "horizontal", "aria-label": label },
        "aria-activedescendant": () => (this.cursor < 0 ? null : `${this.#prefix}-${this.cursor}`),
        ...this.#gestures(),
      },
      node("span.prompt", ofModel("prompt")),
      this.body,
    );
    this.root = node(
      "article.card",
      { "data-unit": () => this.unit },
      makeNode("div.head", makeNode("i.dot", { "aria-hidden": "true" }), node("span.name", ofModel("title"))),
      node("p.note", ofModel("note")),
      this.box,
      makeNode(
        "details.lineage-about",
        makeNode("summary", "Surprisal and repetition"),
        makeNode(
          "div.numbers",
          makeNumber(
            ({ mean }) => toBits(mean),
            () => `surprisal, bits per ${this.unit}`,
          ),
          makeNumber(({ varied }) => varied, "distinct runs of 4"),
          makeNumber(({ repeated }) => repeated, "repeated runs of 8"),
        ),
        node(
          "p.surprised",
          ifWritten(() => "Most surprising: "),
          node(
            "b.code",
            { dir: "auto" },
            ifWritten(({ most }) => tokenLabel(this.pieceAt(this.row, most))),
          ),
          ifWritten(
            ({ most, worst }) =>
              ` after “${shortenToEnd(this.prefixOf(this.row, most), 10)}”: ${formatOdds(worst)} at temperature 1.`,
          ),
        ),
      ),
    );
  }

  #gestures() {
    const tokenOfEvent = (event) => event.target.at ?? -1,
      unlessTouched = (act) => (event) => event.pointerType !== "touch" && act(event);
    const leave = () => {
      if (this.cursor < 0) return false;
      this.moveCursor(-1);
      this.hover(-1);
      return true;
    };
    return {
      onpointerover: unlessTouched((event) => {
        this.moveCursor(-1);
        this.hover(tokenOfEvent(event));
      }),
      onpointerleave: unlessTouched(() => this.hover(-1)),
      onclick: (event) => {
        if (tokenOfEvent(event) < 0) return;
        this.moveCursor(-1);
        this.keep(tokenOfEvent(event));
      },
      onblur: leave,
      onkeydown: (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey || !this.spans.length) return;
        const from = this.cursor >= 0 ? this.cursor : Math.max(0, this.kept),
          last = this.spans.length - 1,
          moves = this.cursor >= 0 ? 1 : 0; // the first arrow key only shows the cursor
        const to = { ArrowRight: from + moves, ArrowLeft: from - moves, Home: 0, End: last }[event.key];
        if (to !== undefined) {
          this.moveCursor(Math.min(last, Math.max(0, to)), true);
          this.hover(this.cursor);
        } else if ((event.key === "Enter" || event.key === " ") && this.cursor >= 0) this.keep(this.cursor);
        else if (event.key !== "Escape" || !leave()) return;
        event.preventDefault();
        event.stopPropagation();
      },
    };
  }

  /** Another model, prompt or set of texts. `full`: the surprisal in nats that is drawn strongest. */
  update(model, arrays, { temperatures, unit: common, full }) {
    const isOther = arrays !== this.arrays;
    Object.assign(this, { model, arrays, temperatures, unit: model.unit ?? common, full, row: null });
    tint(this.root, model.colour);
    this.names = model.pieces.map((piece) => (piece.trim() ? null : tokenLabel(piece)));
    this.kinds = model.pieces.map((piece) => (piece === "" ? " nothing" : piece.startsWith("\n") ? " line" : ""));
    if (!isOther) {
      this.pieces.fill(-1);
      return;
    } // the place one reads at, and the token under the keys, stay
    const tokens = arrays.ids.shape[1];
    Object.assign(this, { measured: [], kept: -1, parted: -1, cursor: -1 });
    if (tokens !== this.spans.length) {
      this.spans = Array.from({ length: tokens }, (_, at) =>
        Object.assign(makeNode("span", { role: "option", id: `${this.#prefix}-${at}` }, ""), { at }),
      );
      this.body.replaceChildren(...this.spans);
    }
    this.pieces = new Int32Array(tokens).fill(-1); // what is in each span
    this.box.scrollTop = 0;
  }

  moveCursor(at, isFocused = false) {
    if (at === this.cursor) return;
    this.cursor = at;
    if (this.row !== null) this.show(this.row, this.kept, this.parted);
    if (at < 0 || !isFocused) return;
    const { offsetTop, offsetHeight } = this.spans[at],
      { scrollTop, clientHeight } = this.box;
    if (offsetTop < scrollTop) this.box.scrollTop = offsetTop - 4;
    else if (offsetTop + offsetHeight > scrollTop + clientHeight)
      this.box.scrollTop = offsetTop + offsetHeight - clientHeight + 4;
  }

  /** `kept`: the token whose choice is shown, `parted`: the first that another text does not have; -1: none. */
  show(row, kept, parted) {
    const { spans, pieces, kinds, names, arrays, model, full, cursor } = this,
      { most } = this.measureRow(row);
    spans.forEach((span, i) => {
      const cell = row * spans.length + i,
        piece = arrays.piece.data[cell];
      if (pieces[i] !== piece) {
        if (names[piece] || names[pieces[i]]) span.ariaLabel = names[piece]; // screen readers skip white space
        pieces[i] = piece;
        span.firstChild.data = model.pieces[piece];
      }
      const marks = `${i === kept ? " kept" : ""}${i === cursor ? " cursor" : ""}${i === parted ? " parted" : ""}`,
        name = `s${colourLevel(arrays.surprise.data[cell], full)}${marks}${i === most ? " most" : ""}${kinds[piece]}`;
      if (span.className === name) return;
      span.className = name;
      const isSelected = String(i === kept);
      if (span.ariaSelected !== isSelected) span.ariaSelected = isSelected;
    });
    Object.assign(this, { row, kept, parted });
    this.#live.update();
  }

  pieceAt(row, at) {
    return this.model.pieces[this.arrays.piece.data[row * this.spans.length + at]];
  }

  prefixOf(row, at) {
    const pieces = Array.from({ length: at }, (_, i) => this.pieceAt(row, i));
    return this.model.prompt + pieces.join("");
  }

  measureRow(row) {
    const tokens = this.spans.length,
      valuesOf = (name) => this.arrays[name].data.subarray(row * tokens, (row + 1) * tokens);
    const measure = () => {
      const ids = valuesOf("ids"),
        surprisals = valuesOf("surprise"),
        worst = surprisals.reduce((top, own) => Math.max(top, own), -Infinity),
        mean = surprisals.reduce((sum, own) => sum + own, 0) / tokens;
      return {
        mean,
        varied: distinctNgrams(ids, 4),
        repeated: repetition(ids, 8),
        most: surprisals.indexOf(worst),
        worst,
      };
    };
    return (this.measured[row] ??= measure());
  }

  describeText() {
    return `${this.model.title}, temperature ${formatNumber(this.temperatures[this.row])}\n\n${this.prefixOf(this.row, this.spans.length)}\n`;
  }

  rowsOfTable() {
    const { row, arrays, model, spans } = this,
      valueAt = (name, i) => arrays[name].data[row * spans.length + i];
    return spans.map((_, i) => [
      ...[model.title, this.temperatures[row], i, valueAt("ids", i), this.pieceAt(row, i)],
      ...[toBits(valueAt("surprise", i)), valueAt("chosen", i), toBits(valueAt("entropy", i))],
    ]);
  }
}
