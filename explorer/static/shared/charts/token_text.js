/* Draw a text of tokens with the surprisal of each as its background; the prompt is soft. The text grows at its end, and
   every line is an element of its own, so that the browser lays out only the last one. */

import { FULL, formatOdds, splitLines, colourStrength } from "./surprisal_colour.js";
import { svgNode, node } from "../runtime/dom.js";

export class TokenText {
  #spans = []; // of each token, the elements it is in
  #line;
  #open; // whether the last line is still incomplete

  constructor(label) {
    this.root = node("div", { class: "token-text", role: "region", tabindex: 0, dir: "auto", "aria-label": label });
    this.startText("");
  }

  /** `full`: the surprisal (nats) at which the colour reaches its full strength. */
  startText(prompt, full) {
    this.full = full;
    this.#spans = [];
    this.#line = node("div", { class: "line" });
    this.#open = true;
    this.root.replaceChildren(this.#line);
    if (prompt)
      this.#appendPiece(prompt, (part) => node("span", { class: part.ends ? "given ends" : "given" }, part.text));
  }

  get length() {
    return this.#spans.length;
  }

  appendTokens(pieces, surprisals) {
    pieces.forEach((piece, i) => {
      const own = [],
        at = this.#spans.length,
        amount = `${colourStrength(surprisals[i], this.full)}%`;
      this.#appendPiece(piece, (part) => {
        const span = node(
          "span",
          { class: `token${part.ends ? " ends" : ""}${piece === "" ? " silent" : ""}`, "data-at": at },
          part.text,
        );
        span.style.setProperty("--amount", amount);
        own.push(span);
        return span;
      });
      this.#spans.push(own);
    });
  }

  #appendPiece(piece, make) {
    for (const part of splitLines(piece)) {
      if (!this.#open) {
        this.#line = node("div", { class: "line" });
        this.root.append(this.#line);
        this.#open = true;
      }
      this.#line.append(make(part));
      this.#open = !part.ends;
    }
  }

  /** Give one token a class and remove the class from the token that had it before. */
  markToken(name, at) {
    for (const span of this.root.querySelectorAll(`.${name}`)) span.classList.remove(name);
    for (const span of this.#spans[at] ?? []) span.classList.add(name);
  }

  /** Return the token that an event came from; null: none. */
  static tokenOfEvent(event) {
    const span = event.target.closest?.("[data-at]");
    return span ? Number(span.dataset.at) : null;
  }
}

/** What the colour behind a token means. */
export const drawLegend = (unit, full) =>
  node(
    "span",
    { class: "token-legend" },
    `each ${unit}: likely`,
    node("i", { class: "ramp" }),
    `surprising, ${formatOdds(full || FULL)} or rarer`,
  );

const [LINE, LETTER] = [24, 9]; // px of a saved text
const MONO = '"Source Code", "Source Code Pro", monospace';

/** The same as a drawing: {height, marks}, from (x, y) on and at most so wide. `get` is from shared/runtime/dom.js's colours. */
export function drawTokenText({ prompt, pieces, surprises, framed = undefined, full }, x, y, width, get) {
  const marks = [],
    most = Math.max(1, Math.floor(width / LETTER));
  let column = 0,
    line = 0;
  const placePiece = (piece, fill, look) => {
    for (const part of splitLines(piece)) {
      const letters = [...(part.ends && fill !== null ? `${part.text}↵` : part.text)];
      for (let from = 0; from < letters.length;) {
        if (column >= most) [column, line] = [0, line + 1];
        const part = letters.slice(from, from + most - column),
          left = x + LETTER * column,
          top = y + LINE * line;
        const box = { x: left, y: top, width: LETTER * part.length, height: LINE - 2, rx: 2 };
        if (fill) marks.push(svgNode("rect", { ...box, fill: get("--amount-3"), "fill-opacity": fill / 100 }));
        if (look.frame) marks.push(svgNode("rect", { ...box, fill: "none", stroke: get("--ink"), "stroke-width": 2 }));
        const words = {
          x: left,
          y: top + 16,
          "font-size": 15,
          "font-family": MONO,
          textLength: LETTER * part.length,
          fill: get(look.ink),
          "xml:space": "preserve",
        };
        marks.push(svgNode("text", words, part.join("")));
        column += part.length;
        from += part.length;
      }
      if (part.ends) [column, line] = [0, line + 1];
    }
  };
  if (prompt) placePiece(prompt, null, { ink: "--soft" });
  pieces.forEach((piece, i) =>
    placePiece(piece, colourStrength(surprises[i], full), { ink: "--ink", frame: i === framed }),
  );
  return { height: LINE * (line + 1), marks };
}
