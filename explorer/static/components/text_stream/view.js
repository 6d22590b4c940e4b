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
import { icon, svgNode, node, tint } from "../../shared/runtime/dom.js";
import { Writers, requestKey, mean, rules, settings, status, problemText } from "./event_stream.js";
import { toBits, formatOdds, quotePiece, formatUnits } from "../../shared/charts/surprisal_colour.js";
import { resolveColours, svgFile } from "../../shared/runtime/svg_file.js";
import { shortenToWidth } from "../../shared/runtime/text_metrics.js";
import { defineComponent } from "../../shared/runtime/component.js";
import { TokenText, drawTokenText, drawLegend } from "../../shared/charts/token_text.js";

const EVERY = 200; // ms between two numbers of the speed: faster nobody reads
const TWICE = 400; // ms in which a second press is not meant to stop what the first began
const NEAR = 32; // px from its end where a reader still follows a text

const unitOf = ({ model }, data) => model.unit ?? data.unit; // of a text that is requested with these data
const set = (place, text) => {
  if (place.textContent !== text) place.textContent = text;
};

/** One model: its nodes stay, so that a text that is being read or marked is not taken away. */
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
  written = null; // the text of event_stream.js that is here

  constructor() {
    const { root } = this.text;
    root.addEventListener(
      "scroll",
      () => {
        this.follows = root.scrollHeight - root.scrollTop - root.clientHeight < NEAR;
      },
      { passive: true },
    );
    root.addEventListener("pointerover", (event) => this.describe(TokenText.tokenOfEvent(event)));
    root.addEventListener("pointerleave", () => this.describe(null));
  }

  show(model) {
    tint(this.root, model.colour);
    set(this.name, model.title);
    this.text.root.ariaLabel = `What ${model.title} writes`;
    if (this.written || this.prompt === model.prompt) return;
    this.prompt = model.prompt;
    this.text.startText(model.prompt);
  }

  /** Take up a text that has just begun. */
  begin(written, asking) {
    this.written = written;
    this.unit = unitOf(written, asking);
    this.follows = true;
    this.at = null;
    this.prompt = written.model.prompt;
    this.text.startText(written.model.prompt, asking.full);
  }

  /** What has arrived since. It reads nothing of the layout, and writes the scroll once. */
  grow() {
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
    set(this.status, this.written ? status(this.written, this.unit) : "");
    if (this.at === null || this.at === undefined) this.describe(null);
  }

  describe(at) {
    const { written, unit } = this;
    this.at = at;
    this.text.markToken("pointed", at ?? -1);
    if (at !== null && written) {
      const surprise = written.surprises[at];
      return set(
        this.note,
        `${quotePiece(written.pieces[at], written.ids[at])}: as learned ${formatOdds(surprise)}, ${toBits(surprise).toFixed(1)} bits`,
      );
    }
    const surprise = written && mean(written.surprises);
    set(
      this.note,
      surprise === null ? "" : `${toBits(surprise).toFixed(2)} bits a ${unit}: how surprised it is by its own text`,
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
  const news = node("span", { class: "news", role: "status" });
  place.replaceChildren(node("div", { class: "controls" }, button, about, key), list, caption, news);

  const panels = new Map();
  const writers = new Writers({ open: (address) => new EventSource(address), now: () => performance.now(), changed });
  /** @type {TextStreamData} */
  let data,
    writing = null,
    pressed = 0,
    frame = 0,
    told = -Infinity; // `writing`: the data that the texts on the screen were asked with

  button.onclick = () => {
    const now = performance.now(),
      twice = now - pressed < TWICE;
    pressed = now;
    if (writers.busy) {
      if (!twice) writers.stop();
    } else begin();
  };
  place.addEventListener("keydown", (event) => event.stopPropagation()); // Streamlit reruns the page at an "r"

  function begin() {
    writing = data;
    arrange();
    writers.begin(data.models, data.most);
    writers.texts.forEach((text) => panels.get(text.model.name).begin(text, data));
    told = -Infinity;
    requestPaint();
  }

  function changed(text) {
    if (text.over) {
      told = -Infinity; // the last number is said at once
      set(news, `${text.model.title}: ${problemText(text) || status(text, unitOf(text, writing))}`);
      if (!writers.busy) queueMicrotask(() => arrange(true)); // new data may have been waiting for this
    }
    requestPaint();
  }

  function requestPaint() {
    frame ||= requestAnimationFrame(paint);
  }

  function paint(now) {
    frame = 0;
    for (const panel of panels.values()) panel.grow();
    if (now - told >= EVERY) {
      told = now;
      for (const panel of panels.values()) panel.updateStatus();
    }
    mark();
  }

  function mark() {
    const { busy } = writers;
    set(button.firstChild, busy ? "stop" : "edit");
    set(label, busy ? "Stop" : "Write");
    button.disabled = !busy && !data.models.length;
  }

  /**
   * Panels for the models that are being written, or else those that the page names. A text that has just ended stays
   * (`ended`), whatever the page names by now: it may be read, and goes when the page says something new.
   */
  function arrange(ended = false) {
    const now = writers.busy ? writing : data,
      names = new Set(now.models.map(({ name }) => name));
    const models = ended ? [...now.models, ...writing.models.filter(({ name }) => !names.has(name))] : now.models;
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
    set(about, data.models.length ? settings(data) : "No model is chosen.");
    const stale = writing && requestKey(writing) !== requestKey(data);
    set(
      caption,
      stale
        ? `On the screen, as it was asked: ${settings(writing)}. Write uses what is set now.`
        : "The same seed gives the same text.",
    );
    mark();
  }

  const shown = () => [...panels.values()].filter(({ written }) => written);
  return {
    show(/** @type {TextStreamData} */ given) {
      data = given;
      arrange();
      saveMenu(place, {
        svg: () => drawing(place, shown(), writing),
        txt: () => plain(shown(), writing),
        csv: () => table(shown()),
        file: data.file,
      });
    },
    close() {
      writers.stop();
      cancelAnimationFrame(frame);
    },
  };
});

/** What is on the screen, as a text. */
const plain = (panels, data) =>
  panels
    .map(({ written }) => {
      const { model, pieces } = written;
      return `${model.title} · ${rules(data)} · ${status(written, unitOf(written, data))}\n\n${model.prompt}${pieces.join("")}\n`;
    })
    .join("\n\n");

const table = (panels) =>
  toCsv(
    ["model", "place", "id", "piece", "surprise in nats"],
    panels.flatMap(({ written: { model, pieces, ids, surprises } }) =>
      pieces.map((piece, i) => [model.title, i, ids[i], piece, surprises[i]]),
    ),
  );

/** The texts below each other, as a drawing of fixed size that needs neither page nor fonts. */
function drawing(place, panels, data) {
  const { get, done } = resolveColours(place),
    [width, edge] = [960, 24],
    marks = [];
  let y = 16;
  for (const { written } of panels) {
    const { model, pieces, surprises } = written,
      text = drawTokenText(
        { prompt: model.prompt, pieces, surprises, full: data.full },
        edge,
        y + 36,
        width - 2 * edge,
        get,
      );
    const head = `${model.title} · ${rules(data)} · ${formatUnits(pieces.length, unitOf(written, data))}`;
    marks.push(svgNode("circle", { cx: edge + 5, cy: y + 14, r: 5, fill: get(model.colour) }));
    marks.push(
      svgNode(
        "text",
        { x: edge + 18, y: y + 20, "font-size": 16, "font-weight": 600, fill: get("--ink") },
        shortenToWidth(head, width - 2 * edge - 18, 16, 600),
      ),
    );
    marks.push(...text.marks);
    y += 36 + text.height + 24;
  }
  const page = get("--page");
  done();
  return svgFile(width, Math.max(y, 80), page, ...marks);
}
