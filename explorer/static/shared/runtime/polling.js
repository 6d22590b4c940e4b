/* Poll the server for new data while something trains, without running the page.

   new Poller(onAnswer, onEnd).follow({address, seconds}) sends one request after that many seconds. `onAnswer(answer)` shows the answer and
   calls `follow` to go on; `onEnd()` is called when nothing trains any more (the answer is null). A failed request is repeated. */

export class Poller {
  #current = null; // the object that is followed; a new object replaces it, even with the same address
  #timer = 0;

  constructor(onAnswer, onEnd) {
    this.onAnswer = onAnswer;
    this.onEnd = onEnd;
  }

  follow(live) {
    clearTimeout(this.#timer);
    this.#current = live ?? null;
    if (!live) return;
    this.#timer = setTimeout(async () => {
      const answer = await fetch(live.address)
        .then((response) => (response.ok ? response.json() : undefined))
        .catch(() => undefined);
      if (this.#current !== live) return;
      if (answer === null) this.onEnd();
      if (answer) this.onAnswer(answer);
      else this.follow(live);
    }, 1000 * live.seconds);
  }

  stop() {
    this.follow(null);
  }
}
