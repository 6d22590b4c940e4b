/* A value that two sides set: the visitor here at once, the page on the server a moment later. */

export class Shared {
  now = null;
  #told; // what the page said last, as text
  #said = []; // what the visitor did since, as texts, as far as the page has not repeated it

  /* What the page says. It repeats itself and it echoes us, both late: only what is neither is news. */
  hear(given) {
    const text = JSON.stringify(given ?? null);
    if (text === this.#told) return;
    this.#told = text;
    const echo = this.#said.indexOf(text);
    this.#said.splice(0, echo < 0 ? this.#said.length : echo + 1);
    if (echo < 0) this.now = given ?? null;
  }

  say(value) {
    this.now = value;
    this.#said.push(JSON.stringify(value));
  }
}
