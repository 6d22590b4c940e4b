/* A horizontal line that the user drags across a figure, and which run reaches it first. */

import { SyncedValue } from "../../shared/runtime/synced_value.js";
import { pointerPosition } from "../../shared/runtime/pointer.js";

/* Return where the line first reaches `value`, interpolated linearly; null if it never does. */
export function firstReach({ x, y }, value, rising) {
  const isReached = (height) => (rising ? height >= value : height <= value);
  for (let i = 0; i < x.length; i++) {
    if (y[i] === null || y[i] === undefined || !isReached(y[i])) continue;
    const gap = !i || y[i - 1] === null || y[i - 1] === undefined || y[i] === y[i - 1];
    return gap ? x[i] : x[i - 1] + ((value - y[i - 1]) / (y[i] - y[i - 1])) * (x[i] - x[i - 1]);
  }
  return null;
}

/* Return the lines with the position `x` at which each reaches `value`, in that order; lines that never do come last. */
export function sortByReach(lines, traces, value, rising, limit = Infinity) {
  const crossings = lines.map((line) => {
    const x = traces[line.trace] ? firstReach(traces[line.trace], value, rising) : null;
    return { ...line, x: x !== null && x <= limit ? x : null };
  });
  return crossings.sort((a, b) =>
    a.x === null || b.x === null ? Number(a.x === null) - Number(b.x === null) : a.x - b.x,
  );
}

/* The value `share` of the range higher: on a logarithmic axis every step is as long as it looks. */
export function dragValue(value, share, { low, high }, log = false) {
  const [to, from] = log ? [Math.log, Math.exp] : [Number, Number];
  const next = from(to(value) + share * (to(high) - to(low)));
  return Math.min(high, Math.max(low, next));
}

/* Round to what a user can aim at: some two hundred positions, or three digits on a logarithmic axis. */
export function roundValue(value, { low, high }, log = false) {
  const digits = log ? 2 - Math.floor(Math.log10(Math.abs(value))) : -Math.floor(Math.log10((high - low) / 200));
  const scale = 10 ** Math.min(12, Math.max(0, Number.isFinite(digits) ? digits : 0));
  return Math.min(high, Math.max(low, Math.round(value * scale) / scale));
}

// Percent of the range that a key moves the line by.
const ARROWS = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1 };
const KEYS = { ...ARROWS, PageUp: 10, PageDown: -10, Home: -100, End: 100 };
const CALM = 400; // ms after the last key

export class Target {
  data = null; // null: the figure has no target
  held = false; // during a drag, or between key presses
  #shared = new SyncedValue();
  #timer = 0;

  /* `onMove()` is called when the value changes, `onRelease(value)` when the user lets go. */
  constructor(/** @type {import("../../shared/runtime/view_state.js").LiveElements} */ { node }, onMove, onRelease) {
    this.onMove = onMove;
    this.onRelease = onRelease;
    const of = (read) => () => (this.data ? read(this.data) : null);
    this.line = node(
      "div.frame-target",
      { hidden: () => !this.data || !this.isInside, style: () => this.place?.line },
      node("span.frame-target-label", () => this.words),
    );
    this.grip = node("div.frame-grip", {
      role: "slider",
      tabindex: 0,
      hidden: () => !this.data,
      style: () => this.place?.grip,
      "aria-orientation": "vertical",
      "aria-label": of(({ label }) => label || "target"),
      "aria-valuemin": of(({ low }) => low),
      "aria-valuemax": of(({ high }) => high),
      "aria-valuenow": of(() => this.value),
      "aria-valuetext": of(() => this.words),
      onpointerdown: (event) => this.startDrag(event),
      onpointermove: (event) =>
        this.grip.hasPointerCapture(event.pointerId) && this.moveTo(this.axis.p2d(this.heightOf(event) - this.from)),
      onlostpointercapture: () => this.releaseValue(),
      onkeydown: (event) => this.onKeyDown(event),
      onblur: () => this.#timer && this.releaseValue(),
    });
  }

  get value() {
    return this.#shared.value;
  }
  get words() {
    return this.data ? `${this.data.label ?? ""} ${String(this.value).replace("-", "−")}`.trim() : "";
  }

  update(data) {
    this.data = data ?? null;
    if (data && !this.held) this.#shared.receive(data.value);
  }

  moveTo(value) {
    this.#shared.value = roundValue(value, this.data, this.axis?.type === "log");
    this.onMove();
  }

  startDrag(event) {
    if (event.button) return;
    event.preventDefault(); // dragging must not select text
    this.grip.focus({ preventScroll: true });
    this.grip.setPointerCapture(event.pointerId);
    this.holdValue();
    this.from = this.heightOf(event) - this.axis.d2p(this.value); // the grip keeps its place under the finger
  }

  heightOf(event) {
    return pointerPosition(event, this.grip.parentElement).y;
  }

  onKeyDown(event) {
    const percent = KEYS[event.key];
    if (!percent || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    this.holdValue();
    this.moveTo(dragValue(this.value, percent / 100, this.data, this.axis?.type === "log"));
    this.#timer = setTimeout(() => this.releaseValue(), CALM);
  }

  holdValue() {
    this.stopWaiting();
    if (!this.held) this.before = this.value;
    this.held = true;
    this.onMove();
  }

  releaseValue() {
    this.stopWaiting();
    if (!this.held) return;
    this.held = false;
    if (this.value !== this.before) {
      this.#shared.set(this.value);
      this.onRelease(this.value);
    }
    this.onMove();
  }

  stopWaiting() {
    clearTimeout(this.#timer);
    this.#timer = 0;
  }

  placeOnAxes(xaxis, yaxis) {
    this.axis = yaxis;
    const height = yaxis.d2p(this.value),
      inside = Math.min(Math.max(height, 0), yaxis._length),
      top = `top: ${yaxis._offset + inside}px`;
    this.isInside = height === inside; // of the zoomed range; the grip stays at its edge
    // The grip is on the left: at the right end stand the names of the lines.
    this.place = {
      line: `left: ${xaxis._offset}px; width: ${xaxis._length}px; ${top}`,
      grip: `left: ${xaxis._offset + 4}px; ${top}`,
    };
  }
}
