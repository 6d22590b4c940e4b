import assert from "node:assert/strict";
import { test } from "node:test";
import {
  AT_ONCE,
  LOST,
  TextStream,
  StreamQueue,
  requestKey,
  meanSurprisal,
  formatRules,
  formatSettings,
  formatStatus,
  problemText,
} from "../../../explorer/labs/generation/components/text_stream/event_stream.js";

/* A stream that says what it is told to. */
class Source {
  heard = {};
  closed = 0;
  addEventListener(name, listener) {
    this.heard[name] = listener;
  }
  close() {
    this.closed += 1;
  }
  send(name, data) {
    this.heard[name](data === undefined ? {} : { data: typeof data === "string" ? data : JSON.stringify(data) });
  }
  tokens(...pieces) {
    this.send("message", { pieces, surprise: pieces.map(() => 1), ids: pieces.map((_, i) => i) });
  }
}

function desk() {
  const clock = { now: 0 },
    sources = [],
    changes = [];
  const tools = {
    open: (address) => {
      const source = Object.assign(new Source(), { address });
      sources.push(source);
      return source;
    },
    now: () => clock.now,
    onChange: (text) => changes.push(text.state),
  };
  return { clock, sources, changes, tools };
}

function begun() {
  const all = desk(),
    text = new TextStream({ address: "/write/x" }, { ...all.tools, most: 1000 });
  text.startStream();
  return { ...all, text, source: all.sources[0] };
}

const models = (n) => Array.from({ length: n }, (_, i) => ({ name: String(i), address: `/write/${i}` }));
const states = (writers) => writers.texts.map(({ state }) => state).join(" ");

test("nothing is asked before a text begins, and then once", () => {
  const { tools, sources } = desk(),
    text = new TextStream({ address: "/write/x" }, { ...tools, most: 10 });
  assert.equal(text.state, "idle");
  assert.equal(sources.length, 0);
  text.startStream();
  assert.deepEqual(
    sources.map(({ address }) => address),
    ["/write/x"],
  );
  assert.equal(formatStatus(text, "letter"), "Reads the prompt");
});

test("a text is all its pieces, also those that are empty, and ends when the server says so", () => {
  const { text, source, changes } = begun();
  source.tokens("a", "", " b");
  source.tokens("\n");
  assert.equal(text.pieces.join(""), "a b\n");
  assert.deepEqual([text.length, text.surprises.length, text.ids], [4, 4, [0, 1, 2, 0]]);
  source.send("end", { tokens: 4, seconds: 0.5 });
  text.stop(); // there is nothing left to stop
  assert.equal(text.state, "finished");
  assert.equal(source.closed, 1);
  assert.deepEqual(changes, ["writing", "writing", "writing", "finished"]);
  assert.equal(formatStatus(text, "letter"), "4 letters in 0.5 s, 8 a second");
});

test("a text that was begun anew in another window is stopped, not finished", () => {
  const { text, source } = begun();
  source.tokens("a", "b");
  source.send("end", { tokens: 2, seconds: 0.5, stopped: true });
  assert.deepEqual([text.state, text.ended, source.closed, problemText(text)], ["stopped", true, 1, ""]);
  assert.equal(formatStatus(text, "word"), "Stopped at 2 of 1,000 words");
  const other = begun();
  other.source.send("end", { tokens: 0, seconds: 0.5, stopped: false });
  assert.equal(other.text.state, "finished");
});

test("the speed is what arrives behind the first tokens, once it can be told", () => {
  const { text, source, clock } = begun();
  clock.now = 5000; // however long the prompt took
  source.tokens("a", "b");
  assert.equal(formatStatus(text, "token"), "2 of 1,000 tokens");
  clock.now = 5400;
  source.tokens("c");
  assert.equal(text.speed, null);
  clock.now = 6000;
  source.tokens(..."d".repeat(379));
  assert.equal(formatStatus(text, "token"), "382 of 1,000 tokens, 380 a second");
});

test("a connection that breaks is not opened again, and what has come stays", () => {
  const { text, source, sources } = begun();
  source.tokens("a");
  source.send("error");
  assert.equal(text.state, "lost");
  assert.equal(source.closed, 1);
  assert.equal(sources.length, 1);
  assert.equal(problemText(text), LOST);
  assert.equal(text.pieces.join(""), "a");
  assert.equal(formatStatus(text, "letter"), "Stopped at 1 of 1,000 letters");
});

test("a problem is said in the server's sentence", () => {
  const { text, source } = begun();
  source.send("problem", { sentence: "This model was deleted." });
  assert.equal(text.state, "problem");
  assert.equal(problemText(text), "This model was deleted.");
  assert.equal(source.closed, 1);
});

test("what cannot be read ends the text instead of breaking the page", () => {
  const { text, source } = begun();
  source.send("message", "{not json");
  assert.equal(text.state, "lost");
});

test("a text that was stopped hears nothing more", () => {
  const { text, source } = begun();
  source.tokens("a");
  text.stop();
  source.tokens("b");
  source.send("end", { tokens: 2, seconds: 1 });
  source.send("error");
  text.stop();
  assert.deepEqual([text.state, text.length, source.closed, problemText(text)], ["stopped", 1, 1, ""]);
});

test("so many at once, the others begin as these end", () => {
  const { tools, sources } = desk(),
    writers = new StreamQueue(tools);
  assert.equal(writers.busy, false);
  writers.startAll(models(AT_ONCE + 2), 10);
  assert.equal(sources.length, AT_ONCE);
  assert.equal(states(writers), "writing writing writing waiting waiting");
  sources[1].send("end", { tokens: 0, seconds: 0 });
  assert.equal(states(writers), "writing finished writing writing waiting");
  sources[0].send("error");
  assert.equal(states(writers), "lost finished writing writing writing");
  for (const source of sources.slice(2)) source.send("end", { tokens: 0, seconds: 0 });
  assert.equal(writers.busy, false);
});

test("stop ends all, and none begins because another one ended", () => {
  const { tools, sources } = desk(),
    writers = new StreamQueue(tools);
  writers.startAll(models(AT_ONCE + 2), 10);
  writers.stop();
  assert.equal(sources.length, AT_ONCE);
  assert.ok(sources.every(({ closed }) => closed === 1));
  assert.equal(writers.busy, false);
  writers.startAll(models(1), 10);
  assert.equal(sources.length, AT_ONCE + 1);
});

test("the settings are all that decides what is written, and greedy there is no temperature", () => {
  const data = {
    models: [{ name: "gru", prompt: "To be" }],
    most: 1000,
    temperature: 0.8,
    cut: "",
    seed: 7,
    unit: "letter",
  };
  assert.equal(formatSettings(data), "1,000 letters, temperature 0.8, seed 7");
  assert.equal(formatRules({ ...data, cut: "top-k 3" }), "temperature 0.8, top-k 3, seed 7");
  assert.equal(formatRules({ ...data, cut: "greedy" }), "greedy, seed 7");
  assert.equal(formatRules({ ...data, cut: undefined }), "temperature 0.8, seed 7");
  for (const other of [
    { cut: "top-k 3" },
    { seed: 8 },
    { temperature: 1 },
    { most: 100 },
    { models: [{ name: "gru", prompt: "Not to be" }] },
  ]) {
    assert.notEqual(requestKey({ ...data, ...other }), requestKey(data));
  }
  assert.equal(requestKey({ ...data, file: "text" }), requestKey(data));
  assert.equal(requestKey({ ...data, cut: "greedy", temperature: 2 }), requestKey({ ...data, cut: "greedy" }));
});

test("the mean of no surprise is none", () => {
  assert.equal(meanSurprisal([]), null);
  assert.equal(meanSurprisal([1, 2, 6]), 3);
});
