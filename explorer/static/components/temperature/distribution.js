/* Draw one next-token distribution: the most likely tokens first, at this temperature and at temperature 1. The rows are
   created once; while the temperature is dragged only lengths and words change. math.js makes the view that it draws. */

import { MOST, choices, probability, twoBits } from "./math.js";
import { tokenLabel } from "../../shared/runtime/visible_text.js";
import { saveMenu } from "../../shared/runtime/export_menu.js";
import { toCsv } from "../../shared/runtime/csv.js";
import { svgNode, node, tint } from "../../shared/runtime/dom.js";
import { resolveColours, svgFile } from "../../shared/runtime/svg_file.js";

const LETTER = 9.7; // px of one letter of 16 px in a drawing: all are equally wide
const shortenText = (text) => (text.length > 18 ? `${text.slice(0, 17)}…` : text);

const legendKey = (kind, ...words) =>
  node("span", { class: "key" }, node("i", { class: kind, "aria-hidden": "true" }), ...words);

function setData(place, text) {
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
    this.word = document.createTextNode("");
    this.number = document.createTextNode("");
    this.label = node("span", { class: "label", dir: "auto" }, this.word);
    this.learned = node("i", { class: "learned" });
    this.now = node("i", { class: "now" });
    this.root = node(
      "li",
      { class: "row" },
      node("span", { class: "place" }, this.label),
      node("span", { class: "track" }, this.learned, this.now),
      node("span", { class: "value" }, this.number),
    );
    this.state = "";
  }

  /** `kind`: "", "cut", "gone" (there is no such row now); `taken`: the sampling noise selects it. */
  show(word, learned, p, kind, taken) {
    setData(this.word, word);
    setData(this.number, kind === "cut" ? "cut" : probability(p));
    const state = `row ${kind}${taken ? " taken" : ""}`;
    if (state !== this.state) this.root.className = this.state = state;
    this.learned.style.width = `${(100 * learned).toFixed(2)}%`;
    this.now.style.width = `${(100 * p).toFixed(2)}%`;
  }
}

export class Distribution {
  rows = Array.from({ length: MOST }, () => new Row());
  beyond = new Row(); // what the sampling noise selects, where it is none of the likeliest
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
    const number = (value, words) =>
      node(
        "div",
        { class: "number" },
        node("span", { class: "figure" }, value),
        node("span", { class: "words" }, words),
      );
    this.title = node("h3", { class: "title" }, this.first, this.second);
    this.cutKey = legendKey("now hatched", "cut");
    this.root = node(
      "section",
      { class: "distribution" },
      this.title,
      node(
        "p",
        { class: "keys" },
        legendKey("now", "at ", node("span", { class: "figures" }, this.time)),
        legendKey("learned", "as learned"),
        legendKey("die", "chosen by the dice"),
        this.cutKey,
      ),
      node(
        "ol",
        { class: "rows" },
        ...this.rows.map(({ root }) => root),
        node(
          "li",
          { class: "row rest" },
          node("span", {}, this.rest),
          node("span", { class: "value" }, this.restValue),
        ),
        this.beyond.root,
      ),
      node(
        "div",
        { class: "numbers" },
        number(this.entropy, "bits, entropy of the choice"),
        number(this.perplexity, "perplexity of the choice"),
      ),
      this.note,
    );
    saveMenu(this.root, { svg: () => this.drawing(), csv: () => this.table() });
  }

  /** Whose choice it is. `several`: there are others next to it, so its name is said, on a line of its own. */
  setModel(model, several, file) {
    this.model = model;
    tint(this.root, model.colour);
    this.dot.hidden = this.second.hidden = !several;
    this.whose.data = several ? model.title : "";
    this.after.data = several ? "after " : "After ";
    (several ? this.second : this.first).append(this.after, this.context);
    const widest = (model.widest ??= model.tokens.reduce((most, token) => Math.max(most, token.length), 1));
    this.root.style.setProperty("--label", `${Math.max(2, Math.min(widest, 12)) + 2.8}ch`);
    saveMenu(this.root, { svg: () => this.drawing(), csv: () => this.table(), file: `${file}-choice` });
  }

  token(id) {
    return tokenLabel(this.model.tokens[id] ?? "");
  }

  show(view, context, note, rules) {
    this.view = view;
    this.said = context;
    if (this.context.textContent !== context) this.context.textContent = context;
    if (this.note.textContent !== note) this.note.textContent = note;
    setData(this.time, view.t.toFixed(2));
    this.cutKey.hidden = !(rules.greedy || rules.top_k || rules.top_p < 1 || rules.min_p > 0);
    const taken = view.dice.rank !== null && view.dice.rank < view.rows.length ? view.dice.rank : -1;
    this.rows.forEach((row, i) => {
      const one = view.rows[i];
      if (one) row.show(this.token(one.id), one.learned, one.p, one.kept || !view.t ? "" : "cut", i === taken);
      else row.show("", 0, 0, "gone", false);
    });
    const few = view.vocabulary <= MOST;
    setData(
      this.rest,
      taken < 0 ? `${others(view.others, few)}, one of them the dice choose:` : others(view.others, few),
    );
    setData(this.restValue, this.describeRest(view));
    this.beyond.show(
      taken < 0 ? this.token(view.dice.id) : "",
      0,
      taken < 0 ? view.dice.p : 0,
      taken < 0 ? "" : "gone",
      taken < 0,
    );
    setData(this.entropy, twoBits(view.entropy));
    setData(this.perplexity, choices(view.entropy));
  }

  describeRest({ t, others: { kept, cut, p }, vocabulary }) {
    if (vocabulary <= MOST) return "";
    return kept === 0 && t ? (cut ? "cut" : "") : probability(p);
  }

  table() {
    const { rows, t } = this.view;
    const line = ({ id, learned, p, kept }) => [
      this.said,
      t,
      id,
      this.model.tokens[id],
      learned,
      kept ? p : 0,
      kept || !t ? "" : "cut",
    ];
    return toCsv(
      ["after", "temperature", "id", "token", "probability as learned", "probability at this temperature", "cut"],
      rows.map(line),
    );
  }

  /** The figure as a file that needs neither page nor styles. */
  drawing() {
    const { get, done } = resolveColours(this.root),
      { view } = this,
      { rows, t, dice, entropy, vocabulary } = view;
    const names = rows.map(({ id }) => shortenText(this.token(id))),
      wide = (name) => LETTER * name.length + 14;
    const [left, top, high, long] = [30 + Math.max(...names.map(wide)), 96, 28, 360],
      right = left + long + 70;
    const ink = (x, y, text, size = 15, more = {}) =>
      svgNode("text", { x, y, "font-size": size, fill: get("--ink"), ...more }, text);
    const soft = { fill: get("--soft") },
      atEnd = { "text-anchor": "end" },
      colour = get(this.model.colour);
    const row = ({ learned, p, kept }, name, y, taken) => {
      const stays = kept || !t,
        [x, width] = [left - 8 - wide(name), wide(name)];
      const hollow = { fill: "none", stroke: colour, "stroke-dasharray": "2 2" };
      return [
        svgNode("rect", { x: left, y: y - 11, width: long * learned, height: 20, fill: colour, "fill-opacity": 0.28 }),
        svgNode("rect", { x: left, y: y - 6, width: long * p, height: 10, ...(stays ? { fill: colour } : hollow) }),
        taken &&
          svgNode("rect", {
            x,
            y: y - 13,
            width,
            height: 25,
            rx: 5,
            fill: "none",
            stroke: get("--ink"),
            "stroke-width": 2,
          }),
        ink(x + width / 2, y + 5, name, 16, { "text-anchor": "middle", "font-family": '"Source Code", monospace' }),
        ink(right, y + 5, stays ? probability(p) : "cut", 15, { ...atEnd, ...(stays ? {} : soft) }),
      ];
    };
    const below = top + high * rows.length,
      beyond = dice.rank === null || dice.rank >= rows.length;
    const parts = [
      ink(24, 36, `After “${this.said}”, what next?`, 20, { "font-weight": 600 }),
      ink(
        24,
        62,
        `${this.model.title}: solid at ${t.toFixed(2)}, pale as learned, framed what the dice choose`,
        14,
        soft,
      ),
      ...rows.flatMap((one, i) => row(one, names[i], top + high * i, i === dice.rank)),
      svgNode("line", { x1: left, x2: left, y1: top - 14, y2: below - 14, stroke: get("--soft") }),
      ink(24, below + 5, others(view.others, vocabulary <= MOST), 15, soft),
      ink(right, below + 5, this.describeRest(view), 15, { ...atEnd, ...soft }),
      beyond && ink(24, below + 30, `The dice choose “${this.token(dice.id)}”, ${probability(dice.p)}.`),
      ink(24, below + 58, `entropy ${twoBits(entropy)} bits, perplexity ${choices(entropy)}`),
    ];
    const page = get("--page");
    done();
    return svgFile(right + 24, below + 80, page, ...parts.filter(Boolean));
  }
}
