/* A horizontal line that the user drags across a figure, and which run reaches it first: first the arithmetic, which needs
   no DOM and is tested in tests/static/draggable_target.test.mjs, then the line and the list below the figure. */

import { element } from "../../shared/runtime/dom.js";
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

/** A number with its unit: "12 steps", but "1 step". */
export const withUnit = (number, unit) => `${number} ${number === "1" ? unit.replace(/(\w)s$/, "$1") : unit}`.trim();

/* ---- what is seen ---- */

const KEYS = {
  ArrowUp: 0.01,
  ArrowRight: 0.01,
  ArrowDown: -0.01,
  ArrowLeft: -0.01,
  PageUp: 0.1,
  PageDown: -0.1,
  Home: -1,
  End: 1,
};
const CALM = 400; // ms after the last key

export class Target {
  line = element("div", "frame-target");
  label = element("span", "frame-target-label");
  grip = element("div", "frame-grip");
  shared = new SyncedValue();
  held = false; // during a drag, or between key presses
  #timer = 0;

  /* `onMove()` is called when the value changes, `onRelease(value)` when the user lets go. */
  constructor(onMove, onRelease) {
    this.onMove = onMove;
    this.onRelease = onRelease;
    this.line.append(this.label);
    this.grip.role = "slider";
    this.grip.tabIndex = 0;
    this.grip.ariaOrientation = "vertical";
    this.grip.onpointerdown = (event) => this.startDrag(event);
    this.grip.onpointermove = (event) => {
      if (this.grip.hasPointerCapture(event.pointerId)) this.continueDrag(event);
    };
    this.grip.onlostpointercapture = () => this.releaseValue();
    this.grip.onkeydown = (event) => this.onKeyDown(event);
    this.grip.onblur = () => {
      if (this.#timer) this.releaseValue();
    };
  }

  get value() {
    return this.shared.value;
  }

  update(data) {
    this.data = data;
    if (!this.held) this.shared.receive(data.value);
    this.updateLabels();
  }

  updateLabels() {
    const { label, low, high } = this.data,
      words = `${label ?? ""} ${formatValue(this.value)}`.trim();
    Object.assign(this.grip, {
      ariaLabel: label || "target",
      ariaValueMin: low,
      ariaValueMax: high,
      ariaValueNow: this.value,
      ariaValueText: words,
    });
    if (this.label.textContent !== words) this.label.textContent = words;
  }

  moveTo(value) {
    this.shared.value = roundValue(value, this.data, this.axis?.type === "log");
    this.updateLabels();
    this.onMove();
  }

  startDrag(event) {
    if (event.button) return;
    event.preventDefault(); // dragging must not select text
    this.grip.focus({ preventScroll: true });
    this.grip.setPointerCapture(event.pointerId);
    this.holdValue();
    this.from = pointerPosition(event, this.grip.parentElement).y - this.axis.d2p(this.value); // the grip keeps its place under the finger
  }

  continueDrag(event) {
    this.moveTo(this.axis.p2d(pointerPosition(event, this.grip.parentElement).y - this.from));
  }

  onKeyDown(event) {
    const share = KEYS[event.key];
    if (!share || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    this.holdValue();
    this.moveTo(dragValue(this.value, share, this.data, this.axis?.type === "log"));
    this.#timer = setTimeout(() => this.releaseValue(), CALM);
  }

  holdValue() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    if (!this.held) this.before = this.value;
    this.held = true;
    this.onMove();
  }

  releaseValue() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    if (!this.held) return;
    this.held = false;
    if (this.value !== this.before) {
      this.shared.set(this.value);
      this.onRelease(this.value);
    }
    this.onMove();
  }

  placeOnAxes(xaxis, yaxis) {
    this.axis = yaxis;
    const height = yaxis.d2p(this.value),
      inside = Math.min(Math.max(height, 0), yaxis._length);
    this.line.hidden = height !== inside; // outside the zoomed range; the grip stays at the edge
    Object.assign(this.line.style, {
      left: `${xaxis._offset}px`,
      top: `${yaxis._offset + inside}px`,
      width: `${xaxis._length}px`,
    });
    // on the left: at the right end stand the names of the lines
    Object.assign(this.grip.style, { left: `${xaxis._offset + 4}px`, top: `${yaxis._offset + inside}px` });
  }

  remove() {
    clearTimeout(this.#timer);
  }
}

/* One row for each line: its dot, its name, its value. */
export class Readout {
  root = element("ul", "frame-readout");

  /* Reserve the height of `most` rows, so that the content below does not move. */
  reserveRows(most) {
    const { root } = this;
    root.hidden = !most;
    while (root.childElementCount > most) root.lastChild.remove();
    while (root.childElementCount < most) {
      const row = root.appendChild(element("li"));
      row.append(
        element("i", "frame-dot"),
        element("span", "frame-readout-name"),
        element("span", "frame-readout-value"),
        element("span", "frame-readout-more"),
      );
      row.style.visibility = "hidden";
    }
  }

  show(rows) {
    [...this.root.children].forEach((row, i) => {
      const { title = "", colour = "", value = "", more = "" } = rows[i] ?? {};
      row.style.visibility = rows[i] ? "" : "hidden";
      row.firstChild.style.background = colour ? `var(${colour})` : "";
      [title, value, more].forEach((text, at) => {
        if (row.children[at + 1].textContent !== text) row.children[at + 1].textContent = text;
      });
    });
  }
}

/* Small dots over the figure: [left, top, colour] in px. */
export function reachDots(layer, places) {
  while (layer.childElementCount > places.length) layer.lastChild.remove();
  while (layer.childElementCount < places.length) layer.append(element("i", "frame-spot"));
  places.forEach(([left, top, colour], i) => {
    Object.assign(layer.children[i].style, {
      left: `${left}px`,
      top: `${top}px`,
      background: `var(${colour ?? "--ink"})`,
    });
  });
}

const formatValue = (value) => String(value).replace("-", "−");
