/* Draw a text of tokens with the surprisal of each as its background; the prompt is soft. The text grows at its end, and
   every line is an element of its own, so that the browser lays out only the last one. */

import { FULL, formatOdds, splitLines, colourStrength } from "./surprisal_colour.js";
import { node } from "../runtime/dom.js";

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
