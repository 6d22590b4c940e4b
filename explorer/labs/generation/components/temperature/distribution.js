/* Draw one next-token distribution: the most likely tokens first, at this temperature and at temperature 1. The rows are
   created once; while the temperature is dragged only lengths and words change. math.js makes the view that it draws. */

import { MOST, formatChoices } from "./math.js";
import { toBits } from "../../../../static/shared/charts/surprisal_colour.js";
import { tokenLabel } from "../../../../static/shared/runtime/visible_text.js";
import { saveMenu } from "../../../../static/shared/runtime/export_menu.js";
import { toCsv } from "../../../../static/shared/runtime/csv.js";
import { node, tint } from "../../../../static/shared/runtime/dom.js";
import { screenSvg } from "../../../../static/shared/runtime/screen_svg.js";
import { formatCount, formatNumber, formatWeight } from "../../../../static/shared/runtime/format.js";

const legendKey = (kind, ...words) => node("span.key", node("i", { class: kind, "aria-hidden": "true" }), ...words);

function setData(place, text) {
  if (place.data !== text) place.data = text;
}

/** Describe the tokens that are not among the most likely ones. */
export function describeOthers({ kept, cut }, few) {
  if (kept === null) return "…and others";
  if (kept && cut) return `…and ${formatCount(kept)} others; ${formatCount(cut)} cut`;
  if (kept || cut) return `…and ${formatCount(kept || cut)} ${kept + cut === 1 ? "other" : "others"}`;
  return few ? "" : "…and no other";
}

class Row {
  constructor() {
    this.word = document.createTextNode("");
    this.number = document.createTextNode("");
    this.label = node("span.label", { dir: "auto" }, this.word);
    this.learned = node("i.learned");
    this.now = node("i.now");
    this.root = node(
      "li.row",
      node("span.place", this.label),
      node("span.track", this.learned, this.now),
      node("span.value", this.number),
    );
    this.state = "";
  }

  /** `kind`: "", "cut", "gone" (there is no such row now); `taken`: the sampling noise selects it. */
  show(word, learned, p, kind, isSampled) {
    setData(this.word, word);
    setData(this.number, kind === "cut" ? "cut" : formatWeight(p));
    const state = `row ${kind}${isSampled ? " taken" : ""}`;
    if (state !== this.state) this.root.className = this.state = state;
    this.learned.style.width = `${(100 * learned).toFixed(2)}%`;
    this.now.style.width = `${(100 * p).toFixed(2)}%`;
  }
}

export class Distribution {
  rows = Array.from({ length: MOST }, () => new Row());
  beyond = new Row(); // what the sampling noise selects, where it is none of the likeliest
  context = node("q.context", { dir: "auto" });
  time = document.createTextNode("");
  rest = document.createTextNode("");
  restValue = document.createTextNode("");
  entropy = document.createTextNode("");
  perplexity = document.createTextNode("");
  note = node("p.note");
  dot = node("i.dot", { "aria-hidden": "true" });
  whose = document.createTextNode("");
  after = document.createTextNode("");
  first = node("span.line", this.dot, this.whose);
  second = node("span.line");

  constructor() {
    const makeNumber = (value, words) => node("div.number", node("span.figure", value), node("span.words", words));
    this.title = node("h3.title", this.first, this.second);
    this.cutKey = legendKey("now hatched", "cut");
    this.root = node(
      "section.distribution",
      this.title,
      node(
        "p.keys",
        legendKey("now", "at ", node("span.figures", this.time)),
        legendKey("learned", "at temperature 1"),
        legendKey("die", "chosen"),
        this.cutKey,
      ),
      node(
        "ol.rows",
        ...this.rows.map(({ root }) => root),
        node("li.row.rest", node("span", this.rest), node("span.value", this.restValue)),
        this.beyond.root,
      ),
      node(
        "div.numbers",
        makeNumber(this.entropy, "bits, entropy of the choice"),
        makeNumber(this.perplexity, "perplexity of the choice"),
      ),
      this.note,
    );
    saveMenu(this.root, { svg: () => screenSvg(this.root), csv: () => this.distributionCsv() });
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
    saveMenu(this.root, { svg: () => screenSvg(this.root), csv: () => this.distributionCsv(), file: `${file}-choice` });
  }

  labelOf(id) {
    return tokenLabel(this.model.tokens[id] ?? "");
  }

  show(view, context, note, rules) {
    this.view = view;
    this.contextText = context;
    if (this.context.textContent !== context) this.context.textContent = context;
    if (this.note.textContent !== note) this.note.textContent = note;
    setData(this.time, formatNumber(view.t));
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
      sampledRow < 0 ? `${describeOthers(view.others, few)}, one of them is chosen:` : describeOthers(view.others, few),
    );
    setData(this.restValue, this.describeRest(view));
    this.beyond.show(
      sampledRow < 0 ? this.labelOf(view.sampled.id) : "",
      0,
      sampledRow < 0 ? view.sampled.p : 0,
      sampledRow < 0 ? "" : "gone",
      sampledRow < 0,
    );
    setData(this.entropy, formatNumber(toBits(view.entropy)));
    setData(this.perplexity, formatChoices(view.entropy));
  }

  describeRest({ t, others: { kept, cut, p }, vocabulary }) {
    if (vocabulary <= MOST) return "";
    return kept === 0 && t ? (cut ? "cut" : "") : formatWeight(p);
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
      ["after", "temperature", "id", "token", "probability at temperature 1", "probability at this temperature", "cut"],
      rows.map(csvRow),
    );
  }
}
