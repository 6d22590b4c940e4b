/* What is pointed at in a view: the pointer shows it, a click or an arrow key keeps it, Escape lets go. */

export class Selection {
  /** @type {any} what is shown; null: nothing */
  at = null;
  isKept = false;

  /** `draw` is called after each change. */
  constructor(draw) {
    this.draw = draw;
  }

  set(at, isKept) {
    Object.assign(this, { at, isKept });
    this.draw();
  }
  release = () => this.set(null, false);
  /** Show what the pointer is on, unless something is kept. */
  point = (at) => this.isKept || this.set(at, false);
  leave = () => this.point(null);
  /** Keep what is pressed; let go of it if it is kept already. */
  press = (at) => this.set(at, at !== null && !(this.isKept && JSON.stringify(at) === JSON.stringify(this.at)));
  /** Keep what is pressed; let go if anything is kept. */
  toggle = (at) => this.set(at, !this.isKept);

  /**
   * Return a handler of keys: Escape lets go, and while `area` has the focus `move(key, at)` returns what an arrow key
   * leads to, or null. With `enters`, Enter and the space bar keep what is shown.
   * @param {any} area
   * @param {(key: string, at: any) => any} move
   * @param {boolean} [enters]
   */
  onKeyDown(area, move, enters = false) {
    return (event) => {
      event.stopPropagation(); // Streamlit reruns the page at an "r"
      if (event.key === "Escape") return this.release();
      if (event.target !== area || event.ctrlKey || event.metaKey || event.altKey) return;
      const isEnter = enters && (event.key === "Enter" || event.key === " "),
        next = isEnter ? this.at : move(event.key, this.at);
      if (next === null && !isEnter) return;
      event.preventDefault();
      this.set(next, isEnter ? next !== null && !this.isKept : true);
    };
  }
}
