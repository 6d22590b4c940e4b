/* Play a training run at a visible pace: first the arithmetic, which needs no DOM and is tested in
   tests/static/playback.test.mjs, then the row of controls. The playback stays in this browser. */

import { element, iconButton, setTextIfChanged } from "../runtime/dom.js";

export const PACES = [4, 8, 16, 30];

/* Return the cursor `seconds` later, when a whole run takes `pace` seconds: never past what is trained. */
export function advanceCursor(cursor, seconds, pace, { end, available, live }) {
  const next = Math.min(cursor + (seconds / pace) * end, Math.max(cursor, available));
  return { cursor: next, done: !live && next >= available };
}

/* Return the playback state for new data. `before` is null for the first data; `calm`: the user prefers reduced motion.
   A cursor that followed the training to its newest epoch goes on doing so. */
export function startPlayback(playback, previous, calm) {
  const { run, live, available, autoplay, first } = playback;
  const started = run !== previous?.run && (live || previous?.live || autoplay);
  if (started)
    return calm
      ? { cursor: available, playing: false, following: live }
      : { cursor: 0, playing: true, following: false };
  if (run !== previous?.run)
    return { cursor: Math.min(first ?? available, available), playing: false, following: false };
  if (previous.following) return { cursor: available, playing: false, following: live };
  const { cursor, playing } = previous;
  return { cursor: Math.min(cursor, available), playing, following: false };
}

/* The next or the last whole step, from wherever the cursor is in between. */
export function stepCursor(cursor, direction, { available, step = 1 }) {
  const multiple = direction > 0 ? Math.floor(cursor / step + 1e-6) + 1 : Math.ceil(cursor / step - 1e-6) - 1;
  return Math.min(available, Math.max(0, multiple * step));
}

/* The trace up to x = cursor, its last piece of line or band cut exactly there. */
export function truncateTrace(trace, cursor) {
  const { x, y } = trace;
  if (trace.meta?.whole || !Array.isArray(x) || !Array.isArray(y) || typeof x.find((v) => v !== null) !== "number")
    return trace;
  if (x.every((v) => v <= cursor)) return trace;
  const line = (trace.type ?? "scatter") === "scatter" && trace.mode !== "markers" && trace.mode !== "text";
  const visible = []; // [x, y, index of the point, or -1 for the end of a cut]
  for (let i = 0; i < x.length; i++) {
    const inside = x[i] <= cursor;
    if (inside) visible.push([x[i], y[i], i]);
    const next = i + 1;
    if (!line || next >= x.length || inside === x[next] <= cursor || y[i] === null || y[next] === null) continue;
    if (x[i] !== cursor && x[next] !== cursor)
      visible.push([cursor, interpolateY([x[i], y[i]], [x[next], y[next]], cursor), -1]);
  }
  const result = { ...trace, x: visible.map((point) => point[0]), y: visible.map((point) => point[1]) };
  for (const key of ["text", "hovertext", "customdata"]) {
    if (Array.isArray(trace[key])) result[key] = visible.map((point) => trace[key][point[2]] ?? "");
  }
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
  root = element("div", "frame-controls");
  state = null;
  #pace = 8;
  #timer = 0;

  /* `onMove(cursor)` draws everything at the cursor; `onRelease(cursor)` receives where the user released the slider. */
  /**
   * @param {(cursor: number) => void} onMove
   * @param {(cursor: number) => void} onRelease
   */
  constructor(onMove, onRelease = () => {}) {
    this.onMove = onMove;
    this.onRelease = onRelease;
    this.root.role = "group";
    this.root.ariaLabel = "Playback";
    this.play = iconButton("play_arrow", "Play", () => this.togglePlaying());
    this.back = iconButton("skip_previous", "Step back", () => this.moveBySteps(-1));
    this.next = iconButton("skip_next", "Step", () => this.moveBySteps(1));
    this.scrubber = element("input", "slider frame-scrubber");
    this.scrubber.type = "range";
    this.scrubber.min = 0;
    this.scrubber.oninput = () =>
      this.moveTo(Math.min(Math.round(this.scrubber.value / this.#stepSize) * this.#stepSize, this.data.available));
    this.scrubber.onchange = () => this.onRelease(this.state.cursor);
    // While it plays the slider moves in fractions; a key must move it by whole steps.
    this.scrubber.onkeydown = () => {
      if (this.state.playing) this.moveTo(Math.floor(this.state.cursor));
    };
    this.position = element("span", "frame-position");
    this.say = element("span", "frame-say");
    this.pace = element("select", "lineage-select frame-pace");
    this.pace.ariaLabel = "Duration of the playback";
    for (const seconds of PACES)
      this.pace.append(new Option(`in ${seconds} s`, String(seconds), false, seconds === this.#pace));
    this.pace.onchange = () => {
      this.#pace = Number(this.pace.value);
    };
    this.root.append(this.play, this.pace, this.back, this.next, this.scrubber, this.position, this.say);
    this.root.addEventListener("keydown", (event) => event.stopPropagation()); // Streamlit reruns the page at an "r"
  }

  get #stepSize() {
    return this.data.step ?? 1;
  }

  update(data) {
    const old = data.tells ? null : statesOfOld.get(data.run); // what is told to the page comes back from there
    const previous = this.state ? { ...this.state, run: this.data.run, live: this.data.live } : old;
    this.data = data;
    this.root.classList.toggle("frame-live", Boolean(data.live)); // the jobs panel is hidden meanwhile
    this.state = startPlayback(data, previous, matchMedia("(prefers-reduced-motion: reduce)").matches);
    this.scrubber.max = data.end;
    this.scrubber.ariaLabel = `${data.unit} shown`;
    this.render();
    this.#animate();
  }

  togglePlaying() {
    const { cursor, playing } = this.state;
    const isAtEnd = cursor >= this.data.available && !this.data.live;
    this.moveTo(!playing && isAtEnd ? 0 : cursor, !playing);
  }

  moveBySteps(direction) {
    this.moveTo(stepCursor(this.state.cursor, direction, this.data));
    this.onRelease(this.state.cursor);
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
        this.#pace,
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

  render() {
    const { cursor, playing } = this.state,
      { unit, end, available, say, stops } = this.data;
    const at = Math.floor(cursor + 1e-6),
      longest = Math.max(0, ...(stops ?? []).map(({ length }) => length));
    const text = longest ? stops[at] : `${unit} ${at} of ${end}`;
    setTextIfChanged(this.position, text);
    this.position.style.minWidth = `${longest || `${unit} ${end} of ${end}`.length}ch`; // wide enough for all: nothing moves
    setTextIfChanged(this.play.firstChild, playing ? "pause" : "play_arrow");
    setTextIfChanged(this.play.lastChild, playing ? "Pause" : "Play");
    this.back.disabled = cursor <= 0;
    this.next.disabled = cursor >= available;
    this.scrubber.step = playing ? "any" : this.#stepSize;
    this.scrubber.value = cursor;
    this.scrubber.setAttribute("aria-valuetext", text);
    this.scrubber.style.setProperty("--at", cursor / end);
    this.scrubber.style.setProperty("--ready", available / end);
    setTextIfChanged(this.say, say);
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
