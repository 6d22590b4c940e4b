/* A value that the browser sets at once and the page on the server confirms a moment later. */

export class SyncedValue {
  value = null;
  #received; // the last value that the page sent, as text
  #unconfirmed = []; // values that the user set since, as texts, which the page has not echoed yet

  /* Take a value from the page. The page repeats values and echoes ours, both late: only a value that is neither is new.
     Return whether it is. */
  receive(received) {
    const text = JSON.stringify(received ?? null);
    if (text === this.#received) return false;
    this.#received = text;
    const echo = this.#unconfirmed.indexOf(text);
    this.#unconfirmed.splice(0, echo < 0 ? this.#unconfirmed.length : echo + 1);
    if (echo < 0) this.value = received ?? null;
    return echo < 0;
  }

  set(value) {
    this.value = value;
    this.#unconfirmed.push(JSON.stringify(value));
  }
}
