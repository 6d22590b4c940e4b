/* Poll the server for new data while something trains, without running the page.

   new Poller(arrived, over).follow({address, seconds}) sends one request after that many seconds. `arrived(answer)` shows the answer and
   calls `follow` to go on; `over()` is called when nothing trains any more (the answer is null). A failed request is repeated. */

export class Poller {
  #current = null; // the object that is followed; a new object replaces it, even with the same address
  #timer = 0;

  constructor(arrived, over) {
    this.arrived = arrived;
    this.over = over;
  }

  follow(live) {
    clearTimeout(this.#timer);
    this.#current = live ?? null;
    if (!live) return;
    this.#timer = setTimeout(async () => {
      const answer = await fetch(live.address)
        .then((found) => (found.ok ? found.json() : undefined))
        .catch(() => undefined);
      if (this.#current !== live) return;
      if (answer === null) this.over();
      if (answer) this.arrived(answer);
      else this.follow(live);
    }, 1000 * live.seconds);
  }

  stop() {
    this.follow(null);
  }
}
