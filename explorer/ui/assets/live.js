/* While something trains, what it has come to is asked for again and again, and no page is run for that.

   new Live(arrived, over).follow({address, seconds}) asks in so many seconds. `arrived(answer)` shows what came, and
   says with `follow` whether to ask once more; `over()` is told when nothing trains any more (the answer is null).
   A server that is busy, or away for a moment, is asked again; the page itself says when there is nothing more. */

export class Live {
  #asked = null; // what is followed; another object is another wish, also with the same address
  #timer = 0;

  constructor(arrived, over) { Object.assign(this, { arrived, over }); }

  follow(live) {
    clearTimeout(this.#timer);
    this.#asked = live ?? null;
    if (!live) return;
    this.#timer = setTimeout(async () => {
      const answer = await fetch(live.address).then((found) => (found.ok ? found.json() : undefined)).catch(() => undefined);
      if (this.#asked !== live) return;
      if (answer === null) this.over();
      if (answer) this.arrived(answer);
      else this.follow(live);
    }, 1000 * live.seconds);
  }

  stop() { this.follow(null); }
}
