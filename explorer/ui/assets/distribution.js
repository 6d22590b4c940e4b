/* The figure of one choice: what may come next, the likeliest first, at this temperature and as learned. Its rows are made
   once; while a temperature is dragged only lengths and words change. See choices.js for the view that it draws. */

import { MOST, choices, probability, twoBits } from "./choices.js";
import { readable } from "./readable.js";
import { saveMenu, toCsv } from "./save.js";
import { colours, draw, node, svgFile, tinted } from "./svg.js";

const LETTER = 9.7; // px of one letter of 16 px in a drawing: all are equally wide
const shortened = (text) => (text.length > 18 ? `${text.slice(0, 17)}…` : text);

const swatch = (kind, ...words) => node("span", { class: "key" }, node("i", { class: kind, "aria-hidden": "true" }), ...words);

function say(place, text) {
  if (place.data !== text) place.data = text;
}

/** The words for all that is not among the likeliest. */
export function others({ kept, cut }, few) {
  const count = (n) => n.toLocaleString("en");
  if (kept === null) return "…and others";
  if (kept && cut) return `…and ${count(kept)} others; ${count(cut)} cut`;
  if (kept || cut) return `…and ${count(kept || cut)} ${kept + cut === 1 ? "other" : "others"}`;
  return few ? "" : "…and no other";
}

class Row {
  constructor() {
    [this.word, this.number] = [document.createTextNode(""), document.createTextNode("")];
    this.label = node("span", { class: "label", dir: "auto" }, this.word);
    [this.learned, this.now] = [node("i", { class: "learned" }), node("i", { class: "now" })];
    this.root = node("li", { class: "row" }, node("span", { class: "place" }, this.label),
      node("span", { class: "track" }, this.learned, this.now), node("span", { class: "value" }, this.number));
    this.state = "";
  }

  /** `kind`: "", "cut", "gone" (there is no such row now); `taken`: the dice choose it. */
  show(word, learned, p, kind, taken) {
    say(this.word, word);
    say(this.number, kind === "cut" ? "cut" : probability(p));
    const state = `row ${kind}${taken ? " taken" : ""}`;
    if (state !== this.state) this.root.className = this.state = state;
    this.learned.style.width = `${(100 * learned).toFixed(2)}%`;
    this.now.style.width = `${(100 * p).toFixed(2)}%`;
  }
}

export class Distribution {
  rows = Array.from({ length: MOST }, () => new Row());
  beyond = new Row(); // what the dice choose, where it is none of the likeliest
  context = node("q", { class: "context", dir: "auto" });
  time = document.createTextNode("");
  rest = document.createTextNode("");
  restValue = document.createTextNode("");
  entropy = document.createTextNode("");
  perplexity = document.createTextNode("");
  note = node("p", { class: "note" });
  dot = node("i", { class: "dot", "aria-hidden": "true" });
  whose = document.createTextNode("");
  after = document.createTextNode("");
  first = node("span", { class: "line" }, this.dot, this.whose);
  second = node("span", { class: "line" });

  constructor() {
    const number = (value, words) => node("div", { class: "number" }, node("span", { class: "figure" }, value), node("span", { class: "words" }, words));
    this.title = node("h3", { class: "title" }, this.first, this.second);
    this.cutKey = swatch("now hatched", "cut");
    this.root = node("section", { class: "distribution" },
      this.title,
      node("p", { class: "keys" }, swatch("now", "at ", node("span", { class: "figures" }, this.time)), swatch("learned", "as learned"),
        swatch("die", "chosen by the dice"), this.cutKey),
      node("ol", { class: "rows" }, ...this.rows.map(({ root }) => root),
        node("li", { class: "row rest" }, node("span", {}, this.rest), node("span", { class: "value" }, this.restValue)), this.beyond.root),
      node("div", { class: "numbers" }, number(this.entropy, "bits, entropy of the choice"), number(this.perplexity, "perplexity of the choice")),
      this.note);
    saveMenu(this.root, { svg: () => this.drawing(), csv: () => this.table() });
  }

  /** Whose choice it is. `several`: there are others beside it, so its name is said, on a line of its own. */
  of(model, several, file) {
    this.model = model;
    tinted(this.root, model.colour);
    this.dot.hidden = this.second.hidden = !several;
    this.whose.data = several ? model.title : "";
    this.after.data = several ? "after " : "After ";
    (several ? this.second : this.first).append(this.after, this.context);
    const widest = model.widest ??= model.tokens.reduce((most, token) => Math.max(most, token.length), 1);
    this.root.style.setProperty("--label", `${Math.max(2, Math.min(widest, 12)) + 2.8}ch`);
    saveMenu(this.root, { svg: () => this.drawing(), csv: () => this.table(), file: `${file}-choice` });
  }

  token(id) { return readable(this.model.tokens[id] ?? ""); }

  show(view, context, note, rules) {
    this.view = view;
    this.said = context;
    if (this.context.textContent !== context) this.context.textContent = context;
    if (this.note.textContent !== note) this.note.textContent = note;
    say(this.time, view.t.toFixed(2));
    this.cutKey.hidden = !(rules.greedy || rules.top_k || rules.top_p < 1 || rules.min_p > 0);
    const taken = view.dice.rank !== null && view.dice.rank < view.rows.length ? view.dice.rank : -1;
    this.rows.forEach((row, i) => {
      const one = view.rows[i];
      if (one) row.show(this.token(one.id), one.learned, one.p, one.kept || !view.t ? "" : "cut", i === taken);
      else row.show("", 0, 0, "gone", false);
    });
    const few = view.vocabulary <= MOST;
    say(this.rest, taken < 0 ? `${others(view.others, few)}, one of them the dice choose:` : others(view.others, few));
    say(this.restValue, this.rested(view));
    this.beyond.show(taken < 0 ? this.token(view.dice.id) : "", 0, taken < 0 ? view.dice.p : 0, taken < 0 ? "" : "gone", taken < 0);
    say(this.entropy, twoBits(view.entropy));
    say(this.perplexity, choices(view.entropy));
  }

  rested({ t, others: { kept, cut, p }, vocabulary }) {
    if (vocabulary <= MOST) return "";
    return kept === 0 && t ? (cut ? "cut" : "") : probability(p);
  }

  table() {
    const { rows, t } = this.view;
    const line = ({ id, learned, p, kept }) => [this.said, t, id, this.model.tokens[id], learned, kept ? p : 0, kept || !t ? "" : "cut"];
    return toCsv(["after", "temperature", "id", "token", "probability as learned", "probability at this temperature", "cut"], rows.map(line));
  }

  /** The figure as a file that needs neither page nor styles. */
  drawing() {
    const { get, done } = colours(this.root), { view } = this, { rows, t, dice, entropy, vocabulary } = view;
    const names = rows.map(({ id }) => shortened(this.token(id))), wide = (name) => LETTER * name.length + 14;
    const [left, top, high, long] = [30 + Math.max(...names.map(wide)), 96, 28, 360], right = left + long + 70;
    const ink = (x, y, text, size = 15, more = {}) => draw("text", { x, y, "font-size": size, fill: get("--ink"), ...more }, text);
    const soft = { fill: get("--soft") }, atEnd = { "text-anchor": "end" }, colour = get(this.model.colour);
    const row = ({ learned, p, kept }, name, y, taken) => {
      const stays = kept || !t, [x, width] = [left - 8 - wide(name), wide(name)];
      const hollow = { fill: "none", stroke: colour, "stroke-dasharray": "2 2" };
      return [draw("rect", { x: left, y: y - 11, width: long * learned, height: 20, fill: colour, "fill-opacity": 0.28 }),
        draw("rect", { x: left, y: y - 6, width: long * p, height: 10, ...(stays ? { fill: colour } : hollow) }),
        taken && draw("rect", { x, y: y - 13, width, height: 25, rx: 5, fill: "none", stroke: get("--ink"), "stroke-width": 2 }),
        ink(x + width / 2, y + 5, name, 16, { "text-anchor": "middle", "font-family": '"Source Code", monospace' }),
        ink(right, y + 5, stays ? probability(p) : "cut", 15, { ...atEnd, ...(stays ? {} : soft) })];
    };
    const below = top + high * rows.length, beyond = dice.rank === null || dice.rank >= rows.length;
    const parts = [ink(24, 36, `After “${this.said}”, what next?`, 20, { "font-weight": 600 }),
      ink(24, 62, `${this.model.title}: solid at ${t.toFixed(2)}, pale as learned, framed what the dice choose`, 14, soft),
      ...rows.flatMap((one, i) => row(one, names[i], top + high * i, i === dice.rank)),
      draw("line", { x1: left, x2: left, y1: top - 14, y2: below - 14, stroke: get("--soft") }),
      ink(24, below + 5, others(view.others, vocabulary <= MOST), 15, soft), ink(right, below + 5, this.rested(view), 15, { ...atEnd, ...soft }),
      beyond && ink(24, below + 30, `The dice choose “${this.token(dice.id)}”, ${probability(dice.p)}.`),
      ink(24, below + 58, `entropy ${twoBits(entropy)} bits, perplexity ${choices(entropy)}`)];
    const page = get("--page");
    done();
    return svgFile(right + 24, below + 80, page, ...parts.filter(Boolean));
  }
}
