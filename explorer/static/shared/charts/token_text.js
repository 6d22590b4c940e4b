/* Draw a text of tokens with the surprisal of each as its background; the prompt is soft. The text grows at its end, and
   every line is an element of its own, so that the browser lays out only the last one. */

import { formatOdds, splitLines, colourStrength } from "./surprisal_colour.js";
import { node } from "../runtime/dom.js";

export class TokenText {
  #spans = []; // of each token, the elements it is in
  #line;
  #isOpen; // whether the last line is still incomplete

  constructor(label) {
    this.root = node("div.token-text", { role: "region", tabindex: 0, dir: "auto", "aria-label": label });
    this.startText("", 0);
  }

  /** `full`: the surprisal (nats) at which the colour reaches its full strength. */
  startText(prompt, full) {
    this.full = full;
    this.#spans = [];
    this.root.replaceChildren();
    this.#addLine();
    if (prompt) this.#appendPiece(prompt, "span.given");
  }

  get length() {
    return this.#spans.length;
  }

  appendTokens(pieces, surprisals) {
    pieces.forEach((piece, i) => {
      const amount = `${colourStrength(surprisals[i], this.full)}%`,
        attributes = { ".silent": piece === "", "data-at": this.#spans.length, "--amount": amount };
      this.#spans.push(this.#appendPiece(piece, "span.token", attributes));
    });
  }

  #addLine() {
    this.#line = this.root.appendChild(node("div.line"));
    this.#isOpen = true;
  }
  #appendPiece(piece, tag, attributes = {}) {
    return splitLines(piece).map(({ text, ends }) => {
      if (!this.#isOpen) this.#addLine();
      this.#isOpen = !ends;
      return this.#line.appendChild(node(tag, { ".ends": ends, ...attributes }, text));
    });
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
  node("span.token-legend", `each ${unit}: likely`, node("i.ramp"), `surprising, ${formatOdds(full)} or rarer`);
