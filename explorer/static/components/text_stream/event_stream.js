/* Receive texts from the server token by token (server-sent events), a few at a time. No DOM: the function that opens a
   stream and the clock are arguments; tests/static/text_stream.test.mjs passes its own.

   A stream sends {pieces, surprise, ids}, at the end "end" with {tokens, seconds} or "problem" with {sentence}. `stopped`
   in "end" means that it ended early because the same text was started again in another browser tab. A browser would
   reconnect by itself after an error and the text would start again: so an error closes the stream. */

import { formatCount, formatUnits } from "../../shared/charts/surprisal_colour.js";

export const AT_ONCE = 3; // a browser opens six connections to a server, and the rest of the page needs some
export const LOST = "The connection to the server was lost. Press Write to begin again.";

/** One text. state: "idle", "waiting", "writing", "stopped", "finished", "lost" or "problem". */
export class Text {
  state = "idle";
  pieces = [];
  surprises = [];
  ids = [];
  seconds = null; // what the server needed, once it is finished
  sentence = "";
  #source = null;
  #first = null; // [when its first tokens arrived, how many they were]
  #last = 0;

  /** `changed(text)`: there are more tokens, or the state is another. */
  constructor(model, { most, open, now, changed }) {
    this.model = model;
    this.most = most;
    this.now = now;
    this.changed = changed;
    this.open = open;
  }

  get length() {
    return this.pieces.length;
  }
  get over() {
    return !["idle", "waiting", "writing"].includes(this.state);
  }

  begin() {
    const source = (this.#source = this.open(this.model.address));
    const listen = (what) => (event) => {
      if (source !== this.#source) return; // closed already: what comes now belongs to nobody
      try {
        what(event.data === undefined ? {} : JSON.parse(event.data));
      } catch {
        this.#end("lost");
      }
    };
    source.addEventListener(
      "message",
      listen((more) => this.#take(more)),
    );
    source.addEventListener(
      "end",
      listen(({ seconds, stopped }) => this.#end(stopped ? "stopped" : "finished", { seconds })),
    );
    source.addEventListener(
      "problem",
      listen(({ sentence }) => this.#end("problem", { sentence })),
    );
    source.addEventListener(
      "error",
      listen(() => this.#end("lost")),
    );
    this.#go("writing");
  }

  stop() {
    if (!this.over) this.#end("stopped");
  }

  wait() {
    this.#go("waiting");
  }

  #take({ pieces, surprise, ids }) {
    this.pieces.push(...pieces);
    this.surprises.push(...surprise);
    this.ids.push(...(ids ?? []));
    this.#last = this.now();
    this.#first ??= [this.#last, this.length];
    this.changed(this);
  }

  #end(state, { seconds = null, sentence = "" } = {}) {
    this.#source?.close();
    this.#source = null;
    this.seconds = seconds;
    this.sentence = sentence;
    this.#go(state);
  }

  #go(state) {
    this.state = state;
    this.changed(this);
  }

  /** Tokens a second: what the server says, or what has arrived here since the first; null: too early to say. */
  get speed() {
    if (this.seconds !== null) return this.seconds > 0 && this.length ? this.length / this.seconds : null;
    const [began, tokens] = this.#first ?? [0, 0],
      passed = (this.#last - began) / 1000;
    return passed >= 0.5 ? (this.length - tokens) / passed : null;
  }
}

/** Several texts, at most so many of them at once; those that wait begin as others end. */
export class Writers {
  texts = [];

  constructor(tools) {
    this.tools = tools;
  }

  get busy() {
    return this.texts.some(({ over, state }) => !over && state !== "idle");
  }

  begin(models, most) {
    const changed = (text) => {
      this.tools.changed(text);
      if (text.over) this.#next();
    };
    this.texts = models.map((model) => new Text(model, { ...this.tools, most, changed }));
    for (const text of this.texts) text.wait();
    this.#next();
  }

  #next() {
    for (;;) {
      const waits = this.texts.find(({ state }) => state === "waiting");
      if (!waits || this.texts.filter(({ state }) => state === "writing").length >= AT_ONCE) return;
      waits.begin();
    }
  }

  /* Those that wait first: none of them shall begin because another one ended. */
  stop() {
    for (const text of this.texts) if (text.state === "waiting") text.stop();
    for (const text of this.texts) text.stop();
  }
}

/** How tokens are chosen: "temperature 0.8, top-k 3, seed 0". Greedy there is no temperature. */
export function rules({ temperature, cut, seed }) {
  return [cut === "greedy" ? "" : `temperature ${temperature}`, cut, `seed ${seed}`].filter(Boolean).join(", ");
}

/** All settings of a text: "1,000 letters, temperature 0.8, seed 0". */
export const settings = (data) => `${formatUnits(data.most, data.unit)}, ${rules(data)}`;

/** All that decides what is written, as a key: two that are equal give the same texts. */
export const requestKey = (data) =>
  JSON.stringify([settings(data), data.models.map(({ name, prompt }) => [name, prompt])]);

/** What is said of a text: "412 of 1,000 tokens, 380 a second". */
export function status(text, unit) {
  const { state, length, most, speed, seconds } = text,
    rate = speed === null ? "" : `, ${formatCount(Math.round(speed))} a second`;
  if (state === "waiting") return "Waits for its turn";
  if (state === "writing")
    return length ? `${formatCount(length)} of ${formatUnits(most, unit)}${rate}` : "Reads the prompt";
  if (["stopped", "lost", "problem"].includes(state))
    return `Stopped at ${formatCount(length)} of ${formatUnits(most, unit)}`;
  if (state === "finished")
    return `${formatUnits(length, unit)}${seconds === null ? "" : ` in ${seconds.toFixed(seconds < 10 ? 1 : 0)} s`}${rate}`;
  return "";
}

/** Why a text ended before its end, if the visitor did not end it. */
export const problemText = ({ state, sentence }) => (state === "lost" ? LOST : sentence);

/** The mean of what a model was surprised by its own tokens; null before the first. */
export const mean = (surprises) =>
  surprises.length ? surprises.reduce((sum, value) => sum + value, 0) / surprises.length : null;
