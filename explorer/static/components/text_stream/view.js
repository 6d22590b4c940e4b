/**
 * Generate whole texts on the server and show them while they arrive; nothing runs before the user presses Write. A
 * stream consists of server-sent events, see event_stream.js. New data does not interrupt a running stream; the next
 * one uses it. Sends no events.
 *
 * @typedef {object} TextStreamData
 * @property {any[]} models {name, title, colour, unit: "letter" | "token" | "word", address: of its stream, prompt:
 *    as the model read it}
 * @property {number} most tokens of each text
 * @property {number} temperature
 * @property {string} cut the truncation in words: "top-k 3", "greedy" or ""
 * @property {number} seed
 * @property {string} unit of all texts, and of a model that has none of its own
 * @property {string} file
 * @property {number} [full] the surprisal in nats with the strongest colour; 8 bits by default
 */
import { saveMenu } from "../../shared/runtime/export_menu.js";
import { toCsv } from "../../shared/runtime/csv.js";
import { icon, node, tint } from "../../shared/runtime/dom.js";
import {
  StreamQueue,
  requestKey,
  meanSurprisal,
  formatRules,
  formatSettings,
  formatStatus,
  problemText,
} from "./event_stream.js";
import { toBits, formatOdds, quotePiece } from "../../shared/charts/surprisal_colour.js";
import { screenSvg } from "../../shared/runtime/screen_svg.js";
import { defineComponent } from "../../shared/runtime/component.js";
import { TokenText, drawLegend } from "../../shared/charts/token_text.js";
import { formatNumber } from "../../shared/runtime/format.js";

const EVERY = 200; // ms between two numbers of the speed: faster changes cannot be read
const TWICE = 400; // ms; a second press within this time is a double click and does not stop the text
const NEAR = 32; // px from its end within which the view keeps scrolling with the text

const unitOf = ({ model }, data) => model.unit ?? data.unit; // the unit of a text
const setTextIfChanged = (place, text) => {
  if (place.textContent !== text) place.textContent = text;
};

/** One model. Its nodes are reused, so that scroll position and selection survive updates. */
class Panel {
  name = node("b", { class: "name" });
  status = node("p", { class: "status" });
  text = new TokenText("");
  trouble = node("p", { class: "trouble", hidden: "" });
  note = node("p", { class: "note" });
  root = node(
    "section",
    { class: "panel" },
    node("div", { class: "head" }, node("span", { class: "dot" }), this.name),
    this.status,
    node("div", { class: "sheet" }, this.text.root, this.trouble),
    this.note,
  );
  follows = true;
  written = null; // the TextStream that is shown

  constructor() {
    const { root } = this.text;
    root.addEventListener(
      "scroll",
      () => {
        this.follows = root.scrollHeight - root.scrollTop - root.clientHeight < NEAR;
      },
      { passive: true },
    );
    root.addEventListener("pointerover", (event) => this.describeToken(TokenText.tokenOfEvent(event)));
    root.addEventListener("pointerleave", () => this.describeToken(null));
  }

  show(model) {
    tint(this.root, model.colour);
    setTextIfChanged(this.name, model.title);
    this.text.root.ariaLabel = `What ${model.title} writes`;
    if (this.written || this.prompt === model.prompt) return;
    this.prompt = model.prompt;
    this.text.startText(model.prompt);
  }

  /** Show a text that has just started. */
  takeText(result, asking) {
    this.written = result;
    this.unit = unitOf(result, asking);
    this.follows = true;
    this.at = null;
    this.prompt = result.model.prompt;
    this.text.startText(result.model.prompt, asking.full);
  }

  /** Append the tokens that have arrived. It reads no layout and writes the scroll position once. */
  appendArrived() {
    const { text, written } = this,
      from = text.length;
    if (!written) return;
    const more = written.length > from,
      sentence = problemText(written),
      troubled = sentence !== this.trouble.textContent;
    if (more) text.appendTokens(written.pieces.slice(from), written.surprises.slice(from));
    this.root.dataset.state = written.state;
    if (troubled) {
      this.trouble.textContent = sentence;
      this.trouble.hidden = !sentence;
    }
    if ((more || troubled) && this.follows) text.root.scrollTop = 1e7;
  }

  updateStatus() {
    setTextIfChanged(this.status, this.written ? formatStatus(this.written, this.unit) : "");
    if (this.at === null || this.at === undefined) this.describeToken(null);
  }

  describeToken(at) {
    const { written, unit } = this;
    this.at = at;
    this.text.markToken("pointed", at ?? -1);
    if (at !== null && written) {
      const surprisal = written.surprises[at];
      return setTextIfChanged(
        this.note,
        `${quotePiece(written.pieces[at], written.ids[at])}: at temperature 1 ${formatOdds(surprisal)}, ${formatNumber(toBits(surprisal), 1)} bits`,
      );
    }
    const surprisal = written && meanSurprisal(written.surprises);
    setTextIfChanged(
      this.note,
      surprisal === null
        ? ""
        : `${formatNumber(toBits(surprisal))} bits a ${unit}: how surprised it is by its own text`,
    );
  }
}

export default defineComponent((place) => {
  const label = node("span", {});
  const button = node("button", { type: "button", class: "lineage-button press" }, icon("edit"), label);
  const about = node("span", { class: "about" });
  const key = node("span", { class: "keys" });
  const list = node("div", { class: "panels" });
  const caption = node("p", { class: "lineage-caption" });
  const announcement = node("span", { class: "news", role: "status" });
  place.replaceChildren(node("div", { class: "controls" }, button, about, key), list, caption, announcement);

  const panels = new Map();
  const writers = new StreamQueue({
    open: (address) => new EventSource(address),
    now: () => performance.now(),
    onChange: onTextChange,
  });
  /** @type {TextStreamData} */
  let data,
    writing = null,
    pressed = 0,
    frame = 0,
    lastStatusTime = -Infinity; // `writing`: the data with which the shown texts were requested

  button.onclick = () => {
    const now = performance.now(),
      twice = now - pressed < TWICE;
    pressed = now;
    if (writers.busy) {
      if (!twice) writers.stop();
    } else startWriting();
  };
  place.addEventListener("keydown", (event) => event.stopPropagation()); // Streamlit reruns the page at an "r"

  function startWriting() {
    writing = data;
    arrangePanels();
    writers.startAll(data.models, data.most);
    writers.texts.forEach((text) => panels.get(text.model.name).takeText(text, data));
    lastStatusTime = -Infinity;
    requestPaint();
  }

  function onTextChange(text) {
    if (text.ended) {
      lastStatusTime = -Infinity; // show the final number immediately
      setTextIfChanged(
        announcement,
        `${text.model.title}: ${problemText(text) || formatStatus(text, unitOf(text, writing))}`,
      );
      if (!writers.busy) queueMicrotask(() => arrangePanels(true)); // new data may have been waiting for this
    }
    requestPaint();
  }

  function requestPaint() {
    frame ||= requestAnimationFrame(paint);
  }

  function paint(time) {
    frame = 0;
    for (const panel of panels.values()) panel.appendArrived();
    if (time - lastStatusTime >= EVERY) {
      lastStatusTime = time;
      for (const panel of panels.values()) panel.updateStatus();
    }
    updateButton();
  }

  function updateButton() {
    const { busy } = writers;
    setTextIfChanged(button.firstChild, busy ? "stop" : "edit");
    setTextIfChanged(label, busy ? "Stop" : "Write");
    button.disabled = !busy && !data.models.length;
  }

  /**
   * Panels for the models that are being written, or else those that the page names. A text that has just ended stays
   * (`ended`), even if the page names other models by now, because it may still be read; new data removes it.
   */
  function arrangePanels(ended = false) {
    const current = writers.busy ? writing : data,
      names = new Set(current.models.map(({ name }) => name));
    const models = ended
      ? [...current.models, ...writing.models.filter(({ name }) => !names.has(name))]
      : current.models;
    for (const [name, panel] of panels) {
      if (models.some((model) => model.name === name)) continue;
      panel.root.remove();
      panels.delete(name);
    }
    models.forEach((model, i) => {
      const panel = panels.get(model.name) ?? new Panel();
      panels.set(model.name, panel);
      panel.show(model);
      if (list.children[i] !== panel.root) list.insertBefore(panel.root, list.children[i] ?? null);
    });
    const { unit, full } = writing ?? data; // of the colours on the screen
    if (key.dataset.of !== `${unit} ${full}`) {
      key.dataset.of = `${unit} ${full}`;
      key.replaceChildren(drawLegend(unit, full));
    }
    setTextIfChanged(about, data.models.length ? formatSettings(data) : "No model is chosen.");
    const stale = writing && requestKey(writing) !== requestKey(data);
    setTextIfChanged(
      caption,
      stale
        ? `On the screen, as it was asked: ${formatSettings(writing)}. Write uses what is set now.`
        : "The same seed gives the same text.",
    );
    updateButton();
  }

  const panelsWithText = () => [...panels.values()].filter(({ written }) => written);
  return {
    show(/** @type {TextStreamData} */ newData) {
      data = newData;
      arrangePanels();
      saveMenu(place, {
        svg: () => screenSvg(list),
        txt: () => textsAsPlainText(panelsWithText(), writing),
        csv: () => tokensCsv(panelsWithText()),
        file: data.file,
      });
    },
    close() {
      writers.stop();
      cancelAnimationFrame(frame);
    },
  };
});

/** Return the shown texts as plain text. */
const textsAsPlainText = (panels, data) =>
  panels
    .map(({ written }) => {
      const { model, pieces } = written;
      return `${model.title} · ${formatRules(data)} · ${formatStatus(written, unitOf(written, data))}\n\n${model.prompt}${pieces.join("")}\n`;
    })
    .join("\n\n");

const tokensCsv = (panels) =>
  toCsv(
    ["model", "place", "id", "piece", "surprise in nats"],
    panels.flatMap(({ written: { model, pieces, ids, surprises } }) =>
      pieces.map((piece, i) => [model.title, i, ids[i], piece, surprises[i]]),
    ),
  );
