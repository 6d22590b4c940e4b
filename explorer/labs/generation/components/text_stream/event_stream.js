/* Receive texts from the server token by token (server-sent events), a few at a time. No DOM: the function that opens a
   stream and the clock are arguments; tests/static/text_stream.test.mjs passes its own.

   A stream sends {pieces, surprise, ids}, at the end "end" with {tokens, seconds} or "problem" with {sentence}. `stopped`
   in "end" means that it ended early because the same text was started again in another browser tab. A browser would
   reconnect by itself after an error and the text would start again: so an error closes the stream. */

import { formatCount, formatDuration, formatUnits } from "../../../../static/shared/runtime/format.js";

export const AT_ONCE = 3; // a browser opens six connections to a server, and the rest of the page needs some
export const LOST = "The connection to the server was lost. Press Generate to begin again.";

/** One text. state: "idle", "waiting", "writing", "stopped", "finished", "lost" or "problem". */
export class TextStream {
  state = "idle";
  pieces = [];
  surprises = [];
  ids = [];
  seconds = null; // what the server needed, once it is finished
  sentence = "";
  #source = null;
  #first = null; // [when its first tokens arrived, how many they were]
  #last = 0;

  /** `onChange(text)` is called when tokens arrive or the state changes. */
  constructor(model, { most, open, now, onChange }) {
    this.model = model;
    this.most = most;
    this.now = now;
    this.onChange = onChange;
    this.open = open;
  }

  get length() {
    return this.pieces.length;
  }
  get ended() {
    return !["idle", "waiting", "writing"].includes(this.state);
  }

  startStream() {
    const source = (this.#source = this.open(this.model.address));
    const handleData = (handle) => (event) => {
      if (source !== this.#source) return; // closed already: ignore later events
      try {
        handle(event.data === undefined ? {} : JSON.parse(event.data));
      } catch {
        this.#endStream("lost");
      }
    };
    const handlers = {
      message: (more) => this.#appendTokens(more),
      end: ({ seconds, stopped }) => this.#endStream(stopped ? "stopped" : "finished", { seconds }),
      problem: ({ sentence }) => this.#endStream("problem", { sentence }),
      error: () => this.#endStream("lost"),
    };
    for (const [name, handle] of Object.entries(handlers)) source.addEventListener(name, handleData(handle));
    this.#setState("writing");
  }

  stop() {
    if (!this.ended) this.#endStream("stopped");
  }

  setWaiting() {
    this.#setState("waiting");
  }

  #appendTokens({ pieces, surprise, ids }) {
    this.pieces.push(...pieces);
    this.surprises.push(...surprise);
    this.ids.push(...(ids ?? []));
    this.#last = this.now();
    this.#first ??= [this.#last, this.length];
    this.onChange(this);
  }

  #endStream(state, { seconds = null, sentence = "" } = {}) {
    this.#source?.close();
    this.#source = null;
    this.seconds = seconds;
    this.sentence = sentence;
    this.#setState(state);
  }

  #setState(state) {
    this.state = state;
    this.onChange(this);
  }

  /** Tokens a second: as measured by the server, or from the arrivals so far; null: too early to estimate. */
  get speed() {
    if (this.seconds !== null) return this.seconds > 0 && this.length ? this.length / this.seconds : null;
    const [began, tokens] = this.#first ?? [0, 0],
      passed = (this.#last - began) / 1000;
    return passed >= 0.5 ? (this.length - tokens) / passed : null;
  }
}

/** Several texts, at most AT_ONCE of them at a time; the next one starts when another ends. */
export class StreamQueue {
  texts = [];

  constructor(tools) {
    this.tools = tools;
  }

  get busy() {
    return this.texts.some(({ ended, state }) => !ended && state !== "idle");
  }

  startAll(models, most) {
    const onChange = (text) => {
      this.tools.onChange(text);
      if (text.ended) this.#startNext();
    };
    this.texts = models.map((model) => new TextStream(model, { ...this.tools, most, onChange }));
    for (const text of this.texts) text.setWaiting();
    this.#startNext();
  }

  #startNext() {
    for (;;) {
      const waits = this.texts.find(({ state }) => state === "waiting");
      if (!waits || this.texts.filter(({ state }) => state === "writing").length >= AT_ONCE) return;
      waits.startStream();
    }
  }

  /* Stop the waiting ones first, so that none starts when another ends. */
  stop() {
    for (const text of this.texts) if (text.state === "waiting") text.stop();
    for (const text of this.texts) text.stop();
  }
}

/** Format the sampling settings: "temperature 0.8, top-k 3, seed 0". Greedy decoding has no temperature. */
export function formatRules({ temperature, cut, seed }) {
  return [cut === "greedy" ? "" : `temperature ${temperature}`, cut, `seed ${seed}`].filter(Boolean).join(", ");
}

/** Format all settings of a text: "1,000 letters, temperature 0.8, seed 0". */
export const formatSettings = (data) => `${formatUnits(data.most, data.unit)}, ${formatRules(data)}`;

/** Return a key of everything that determines the texts: equal keys give the same texts. */
export const requestKey = (data) =>
  JSON.stringify([formatSettings(data), data.models.map(({ name, prompt }) => [name, prompt])]);

/** Format the progress of a text: "412 of 1,000 tokens, 380 a second". */
export function formatStatus(text, unit) {
  const { state, length, most, speed, seconds } = text,
    rate = speed === null ? "" : `, ${formatCount(speed)} a second`;
  if (state === "waiting") return "Waits for its turn";
  if (state === "writing")
    return length ? `${formatCount(length)} of ${formatUnits(most, unit)}${rate}` : "Reads the prompt";
  if (["stopped", "lost", "problem"].includes(state))
    return `Stopped at ${formatCount(length)} of ${formatUnits(most, unit)}`;
  if (state === "finished")
    return `${formatUnits(length, unit)}${seconds === null ? "" : ` in ${formatDuration(seconds)}`}${rate}`;
  return "";
}

/** Return why a text ended early, unless the user stopped it. */
export const problemText = ({ state, sentence }) => (state === "lost" ? LOST : sentence);

export const meanSurprisal = (surprisals) =>
  surprisals.length ? surprisals.reduce((sum, value) => sum + value, 0) / surprisals.length : null;
