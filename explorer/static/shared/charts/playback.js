/* Play a training run at a visible pace: the arithmetic, and the row of controls. The playback stays in this browser. */

import { LiveElements } from "../runtime/view_state.js";

const PACE = 6; // s of a whole run at full speed; slower at both ends, where a curve changes most or stops, it takes 7 s
const [SLOWEST, RISE] = [0.3, 7]; // the lowest speed as a share of the full one, and how fast it rises with the share of the run

/* Return the cursor `seconds` later: never past what is trained. */
export function advanceCursor(cursor, seconds, { end, available, live }) {
  const share = cursor / end,
    speed = Math.min(1, SLOWEST + RISE * share, SLOWEST + RISE * (1 - share));
  const next = Math.min(cursor + ((speed * seconds) / PACE) * end, Math.max(cursor, available));
  return { cursor: next, done: !live && next >= available };
}

/* Return the playback state for new data. `previous` is null for the first data; `calm`: the user prefers reduced motion.
   A cursor that followed the training to its newest epoch goes on doing so. */
export function startPlayback({ run, live, available, autoplay, first }, previous, calm) {
  const stayAt = (cursor, following = false) => ({ cursor: Math.min(cursor, available), playing: false, following }),
    isNew = run !== previous?.run;
  if (isNew && (live || previous?.live || autoplay))
    return calm ? stayAt(available, live) : { cursor: 0, playing: true, following: false };
  if (isNew) return stayAt(first ?? available);
  if (previous.following) return stayAt(available, live);
  return { ...stayAt(previous.cursor), playing: previous.playing };
}

/* The trace up to x = cursor, its last piece of line or band cut exactly there. */
export function truncateTrace(trace, cursor) {
  const { x, y, type = "scatter", mode } = trace;
  if (trace.meta?.whole || !Array.isArray(x) || !Array.isArray(y) || typeof x.find((v) => v !== null) !== "number")
    return trace;
  if (x.every((v) => v <= cursor)) return trace;
  const isLine = type === "scatter" && mode !== "markers" && mode !== "text";
  const visible = x.flatMap((from, i) => {
    const inside = from <= cursor,
      to = x[i + 1],
      points = inside ? [[from, y[i], i]] : []; // x, y, index of the point, or -1 for the end of a cut
    const isCut = isLine && i + 1 < x.length && inside !== to <= cursor && from !== cursor && to !== cursor;
    if (isCut && y[i] !== null && y[i + 1] !== null)
      points.push([cursor, interpolateY([from, y[i]], [to, y[i + 1]], cursor), -1]);
    return points;
  });
  const result = { ...trace, x: visible.map(([at]) => at), y: visible.map(([, height]) => height) };
  for (const key of ["text", "hovertext", "customdata"])
    if (Array.isArray(trace[key])) result[key] = visible.map(([, , point]) => trace[key][point] ?? "");
  return result;
}

/* Of frames, the one at the cursor; `null` is the end. */
export function frameIndexAt(frames, cursor) {
  return Math.max(0, Math.min(frames.length - 1, Math.floor((cursor ?? Infinity) + 1e-6)));
}

/* The traces with the heights of one frame, in which each has its own. */
export function selectFrame(traces, heights) {
  return traces.map((trace, i) => (heights[i] ? { ...trace, y: heights[i] } : trace));
}

/* Whether the trace is all lines and bands, which may end anywhere between two points. */
export function isContinuous({ type = "scatter", mode = "", meta }) {
  return Boolean(meta?.whole) || (type === "scatter" && mode === "lines");
}

/* The height of a line at x, or null where it is not. */
export function valueAt({ x, y }, at) {
  for (let i = 0; i < x.length; i++) {
    if (x[i] === at) return y[i] ?? null;
    if (i && x[i - 1] < at && at < x[i] && y[i] !== null && y[i - 1] !== null)
      return interpolateY([x[i - 1], y[i - 1]], [x[i], y[i]], at);
  }
  return null;
}

/* The point of the line nearest to x, among those up to `limit`. */
export function nearestX({ x, y }, at, limit = Infinity) {
  let best = null;
  x.forEach((v, i) => {
    if (v <= limit && y[i] !== null && (best === null || Math.abs(v - at) < Math.abs(best - at))) best = v;
  });
  return best;
}

function interpolateY([x0, y0], [x1, y1], x) {
  return y0 + ((x - x0) / (x1 - x0)) * (y1 - y0);
}

/* ---- the row ---- */

/* The states of playbacks that have left the page, by run: a chart that moves to another place goes on from there. */
const statesOfOld = new Map();
const SLOW = 12; // ms; a drawing that takes longer is requested 30 times a second instead of 60

export class Playback {
  state = null;
  data = /** @type {any} */ ({});
  #timer = 0;

  /**
   * @param {(cursor: number) => void} onMove draws everything at the cursor
   * @param {(cursor: number) => void} onRelease receives where the user released the slider
   */
  constructor(onMove, onRelease = () => {}) {
    this.onMove = onMove;
    this.onRelease = onRelease;
    const { node, playButton, update } = new LiveElements();
    this.render = update;
    const scrubber = node("input.slider.frame-scrubber", {
      type: "range",
      min: 0,
      max: () => this.data.end,
      step: () => (this.state.playing ? "any" : this.#stepSize),
      value: () => this.state.cursor,
      "--ready": () => this.data.available / this.data.end,
      "aria-label": () => `${this.data.unit} shown`,
      "aria-valuetext": () => this.#label,
      oninput: () =>
        this.moveTo(Math.min(Math.round(scrubber.value / this.#stepSize) * this.#stepSize, this.data.available)),
      onchange: () => this.onRelease(this.state.cursor),
      // While it plays the slider moves in fractions; a key must move it by whole steps.
      onkeydown: () => this.state.playing && this.moveTo(Math.floor(this.state.cursor)),
    });
    this.root = node(
      "div.frame-controls",
      { role: "group", "aria-label": "Playback", ".frame-live": () => this.data.live }, // the jobs panel is hidden meanwhile
      playButton(() => this.state.playing, { onclick: () => this.togglePlaying() }),
      scrubber,
      node("span.frame-position", { style: () => `min-width: ${this.#widest}ch` }, () => this.#label),
      node("span.frame-say", () => this.data.say ?? ""),
    );
    this.root.onkeydown = (event) => event.stopPropagation(); // Streamlit reruns the page at an "r"
  }

  get #stepSize() {
    return this.data.step ?? 1;
  }
  get #label() {
    const { unit, end, stops } = this.data,
      at = Math.floor(this.state.cursor + 1e-6);
    return stops?.length ? stops[at] : `${unit} ${at} of ${end}`;
  }
  /* Wide enough for all labels: nothing moves. */
  get #widest() {
    const { unit, end, stops } = this.data;
    return Math.max(...(stops?.length ? stops : [`${unit} ${end} of ${end}`]).map(({ length }) => length));
  }

  update(data) {
    const old = data.tells ? null : statesOfOld.get(data.run); // what is told to the page comes back from there
    const previous = this.state ? { ...this.state, run: this.data.run, live: this.data.live } : old;
    this.data = data;
    this.state = startPlayback(data, previous, matchMedia("(prefers-reduced-motion: reduce)").matches);
    this.render();
    this.#animate();
  }

  togglePlaying() {
    const { cursor, playing } = this.state;
    const isAtEnd = cursor >= this.data.available && !this.data.live;
    this.moveTo(!playing && isAtEnd ? 0 : cursor, !playing);
  }

  moveTo(cursor, playing = false) {
    this.state = { cursor, playing, following: false };
    this.render();
    this.onMove(cursor);
    this.#animate();
  }

  #animate() {
    if (!this.state.playing || this.#timer) return;
    let last = performance.now(),
      drawnAt = 0,
      cost = 0;
    const drawNextFrame = (time) => {
      this.#timer = 0;
      if (!this.state.playing) return;
      // A hidden tab gets no frames; the playback continues where it stopped instead of skipping ahead.
      const { cursor, done } = advanceCursor(
        this.state.cursor,
        Math.min(Math.max(time - last, 0), 100) / 1000,
        this.data,
      );
      last = time;
      const same = cursor === this.state.cursor;
      // A playback faster than the training waits at every epoch; the words stay the same so that they do not flicker.
      this.state = { cursor, playing: !done, following: false };
      if (done || !(same || (cost > SLOW && time - drawnAt < 30))) {
        const start = performance.now();
        this.onMove(cursor);
        cost = 0.7 * cost + 0.3 * (performance.now() - start);
        drawnAt = time;
      }
      this.render();
      if (!done) this.#timer = requestAnimationFrame(drawNextFrame);
    };
    this.#timer = requestAnimationFrame(drawNextFrame);
  }

  /* The cursor for the figures: null when everything there is can be drawn as it is. */
  get cursor() {
    return this.state.cursor >= this.data.available ? null : this.state.cursor;
  }

  stop() {
    cancelAnimationFrame(this.#timer);
    this.#timer = 0;
    if (this.state) statesOfOld.set(this.data.run, { ...this.state, run: this.data.run, live: this.data.live });
  }
}
