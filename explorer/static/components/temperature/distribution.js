/* Draw one next-token distribution: the most likely tokens first, at this temperature and at temperature 1. The rows are
   created once; while the temperature is dragged only lengths and words change. math.js makes the view that it draws. */

import { MOST, formatChoices, formatProbability, twoBits } from "./math.js";
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

/** Describe the tokens that are not among the most likely ones. */
export function describeOthers({ kept, cut }, few) {
  const formatCount = (n) => n.toLocaleString("en");
  if (kept === null) return "…and others";
  if (kept && cut) return `…and ${formatCount(kept)} others; ${formatCount(cut)} cut`;
  if (kept || cut) return `…and ${formatCount(kept || cut)} ${kept + cut === 1 ? "other" : "others"}`;
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
  show(word, learned, p, kind, isSampled) {
    setData(this.word, word);
    setData(this.number, kind === "cut" ? "cut" : formatProbability(p));
    const state = `row ${kind}${isSampled ? " taken" : ""}`;
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
    const makeNumber = (value, words) =>
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
        makeNumber(this.entropy, "bits, entropy of the choice"),
        makeNumber(this.perplexity, "perplexity of the choice"),
      ),
      this.note,
    );
    saveMenu(this.root, { svg: () => this.distributionSvg(), csv: () => this.distributionCsv() });
  }

  /** Set the model. `several`: other models are shown too, so its name stands on a line of its own. */
  setModel(model, several, file) {
    this.model = model;
    tint(this.root, model.colour);
    this.dot.hidden = this.second.hidden = !several;
    this.whose.data = several ? model.title : "";
    this.after.data = several ? "after " : "After ";
    (several ? this.second : this.first).append(this.after, this.context);
    const widest = (model.widest ??= model.tokens.reduce((most, token) => Math.max(most, token.length), 1));
    this.root.style.setProperty("--label", `${Math.max(2, Math.min(widest, 12)) + 2.8}ch`);
    saveMenu(this.root, {
      svg: () => this.distributionSvg(),
      csv: () => this.distributionCsv(),
      file: `${file}-choice`,
    });
  }

  labelOf(id) {
    return tokenLabel(this.model.tokens[id] ?? "");
  }

  show(view, context, note, rules) {
    this.view = view;
    this.contextText = context;
    if (this.context.textContent !== context) this.context.textContent = context;
    if (this.note.textContent !== note) this.note.textContent = note;
    setData(this.time, view.t.toFixed(2));
    this.cutKey.hidden = !(rules.greedy || rules.top_k || rules.top_p < 1 || rules.min_p > 0);
    const sampledRow = view.sampled.rank !== null && view.sampled.rank < view.rows.length ? view.sampled.rank : -1;
    this.rows.forEach((row, i) => {
      const one = view.rows[i];
      if (one) row.show(this.labelOf(one.id), one.learned, one.p, one.kept || !view.t ? "" : "cut", i === sampledRow);
      else row.show("", 0, 0, "gone", false);
    });
    const few = view.vocabulary <= MOST;
    setData(
      this.rest,
      sampledRow < 0
        ? `${describeOthers(view.others, few)}, one of them the dice choose:`
        : describeOthers(view.others, few),
    );
    setData(this.restValue, this.describeRest(view));
    this.beyond.show(
      sampledRow < 0 ? this.labelOf(view.sampled.id) : "",
      0,
      sampledRow < 0 ? view.sampled.p : 0,
      sampledRow < 0 ? "" : "gone",
      sampledRow < 0,
    );
    setData(this.entropy, twoBits(view.entropy));
    setData(this.perplexity, formatChoices(view.entropy));
  }

  describeRest({ t, others: { kept, cut, p }, vocabulary }) {
    if (vocabulary <= MOST) return "";
    return kept === 0 && t ? (cut ? "cut" : "") : formatProbability(p);
  }

  distributionCsv() {
    const { rows, t } = this.view;
    const csvRow = ({ id, learned, p, kept }) => [
      this.contextText,
      t,
      id,
      this.model.tokens[id],
      learned,
      kept ? p : 0,
      kept || !t ? "" : "cut",
    ];
    return toCsv(
      ["after", "temperature", "id", "token", "probability as learned", "probability at this temperature", "cut"],
      rows.map(csvRow),
    );
  }

  /** Return the figure as an SVG file without external styles. */
  distributionSvg() {
    const { get, done } = resolveColours(this.root),
      { view } = this,
      { rows, t, sampled, entropy, vocabulary } = view;
    const names = rows.map(({ id }) => shortenText(this.labelOf(id))),
      labelWidth = (name) => LETTER * name.length + 14;
    const [left, top, high, long] = [30 + Math.max(...names.map(labelWidth)), 96, 28, 360],
      right = left + long + 70;
    const svgText = (x, y, text, size = 15, more = {}) =>
      svgNode("text", { x, y, "font-size": size, fill: get("--ink"), ...more }, text);
    const soft = { fill: get("--soft") },
      atEnd = { "text-anchor": "end" },
      colour = get(this.model.colour);
    const drawRow = ({ learned, p, kept }, name, y, isSampled) => {
      const stays = kept || !t,
        [x, width] = [left - 8 - labelWidth(name), labelWidth(name)];
      const hollow = { fill: "none", stroke: colour, "stroke-dasharray": "2 2" };
      return [
        svgNode("rect", { x: left, y: y - 11, width: long * learned, height: 20, fill: colour, "fill-opacity": 0.28 }),
        svgNode("rect", { x: left, y: y - 6, width: long * p, height: 10, ...(stays ? { fill: colour } : hollow) }),
        isSampled &&
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
        svgText(x + width / 2, y + 5, name, 16, { "text-anchor": "middle", "font-family": '"Source Code", monospace' }),
        svgText(right, y + 5, stays ? formatProbability(p) : "cut", 15, { ...atEnd, ...(stays ? {} : soft) }),
      ];
    };
    const bottom = top + high * rows.length,
      beyond = sampled.rank === null || sampled.rank >= rows.length;
    const parts = [
      svgText(24, 36, `After “${this.contextText}”, what next?`, 20, { "font-weight": 600 }),
      svgText(
        24,
        62,
        `${this.model.title}: solid at ${t.toFixed(2)}, pale as learned, framed what the dice choose`,
        14,
        soft,
      ),
      ...rows.flatMap((one, i) => drawRow(one, names[i], top + high * i, i === sampled.rank)),
      svgNode("line", { x1: left, x2: left, y1: top - 14, y2: bottom - 14, stroke: get("--soft") }),
      svgText(24, bottom + 5, describeOthers(view.others, vocabulary <= MOST), 15, soft),
      svgText(right, bottom + 5, this.describeRest(view), 15, { ...atEnd, ...soft }),
      beyond &&
        svgText(24, bottom + 30, `The dice choose “${this.labelOf(sampled.id)}”, ${formatProbability(sampled.p)}.`),
      svgText(24, bottom + 58, `entropy ${twoBits(entropy)} bits, perplexity ${formatChoices(entropy)}`),
    ];
    const page = get("--page");
    done();
    return svgFile(right + 24, bottom + 80, page, ...parts.filter(Boolean));
  }
}
