/* Draw one next-token distribution: the most likely tokens first, at this temperature and at temperature 1. The rows are
   created once; while the temperature is dragged only lengths and words change. math.js makes the view that it draws. */

import { MOST, formatChoices } from "./math.js";
import { toBits } from "../../../../static/shared/charts/surprisal_colour.js";
import { tokenLabel } from "../../../../static/shared/runtime/visible_text.js";
import { saveMenu } from "../../../../static/shared/runtime/export_menu.js";
import { toCsv } from "../../../../static/shared/runtime/csv.js";
import { node as makeNode, tint } from "../../../../static/shared/runtime/dom.js";
import { LiveElements } from "../../../../static/shared/runtime/view_state.js";
import { screenSvg } from "../../../../static/shared/runtime/screen_svg.js";
import { formatCount, formatNumber, formatWeight } from "../../../../static/shared/runtime/format.js";

export function describeOthers({ kept, cut }, few) {
  if (kept === null) return "…and others";
  if (kept && cut) return `…and ${formatCount(kept)} others; ${formatCount(cut)} cut`;
  if (kept || cut) return `…and ${formatCount(kept || cut)} ${kept + cut === 1 ? "other" : "others"}`;
  return few ? "" : "…and no other";
}

/** A row of the distribution: the token, its probabilities, whether it is cut, and whether the sampling noise selects it. */
const NO_ROW = { id: null, learned: 0, p: 0, isCut: false, isSampled: false };

export function makeDistribution() {
  const { node, update } = new LiveElements();
  let model,
    several = false, // other models are shown too, so the name of this one stands on a line of its own
    view,
    context = "",
    note = "",
    rules;
  const labelOf = (id) => (id === null ? "" : tokenLabel(model.tokens[id] ?? "")),
    percent = (share) => `width: ${(100 * share).toFixed(2)}%`,
    isFew = () => view.vocabulary <= MOST,
    /** Whether what the sampling noise selects is none of the likeliest. */
    isBeyond = () => view.sampled.rank === null || view.sampled.rank >= view.rows.length;
  function rowAt(i) {
    const row = view.rows[i];
    if (!row) return NO_ROW;
    return { ...row, isCut: !row.kept && view.t > 0, isSampled: !isBeyond() && i === view.sampled.rank };
  }
  const beyondRow = () =>
    isBeyond() ? { ...NO_ROW, id: view.sampled.id, p: view.sampled.p, isSampled: true } : NO_ROW;
  function makeRow(read) {
    const state = () => (read().id === null ? "gone" : read().isCut ? "cut" : "");
    return node(
      "li",
      { class: () => `row ${state()}${read().isSampled ? " taken" : ""}` },
      makeNode(
        "span.place",
        node("span.label", { dir: "auto" }, () => labelOf(read().id)),
      ),
      makeNode(
        "span.track",
        node("i.learned", { style: () => percent(read().learned) }),
        node("i.now", { style: () => percent(read().p) }),
      ),
      node("span.value", () => (read().isCut ? "cut" : formatWeight(read().p))),
    );
  }
  const restText = () => `${describeOthers(view.others, isFew())}${isBeyond() ? ", one of them is chosen:" : ""}`;
  function restValue() {
    const { kept, cut, p } = view.others;
    if (isFew()) return "";
    return kept === 0 && view.t ? (cut ? "cut" : "") : formatWeight(p);
  }
  const isUncut = () => !(rules.greedy || rules.top_k || rules.top_p < 1 || rules.min_p > 0),
    makeKey = (kind, attributes, ...words) =>
      node("span.key", attributes, makeNode("i", { class: kind, "aria-hidden": "true" }), ...words),
    makeNumber = (read, words) => makeNode("div.number", node("span.figure", read), makeNode("span.words", words)),
    makeContext = (attributes) => node("q.context", { dir: "auto", ...attributes }, () => context),
    isSingle = () => !several;
  const root = node(
    "section.distribution",
    makeNode(
      "h3.title",
      node(
        "span.line",
        node("i.dot", { hidden: isSingle, "aria-hidden": "true" }),
        () => (several ? model.title : "After "),
        makeContext({ hidden: () => several }),
      ),
      node("span.line", { hidden: isSingle }, "after ", makeContext({})),
    ),
    makeNode(
      "p.keys",
      makeKey(
        "now",
        {},
        "at ",
        node("span.figures", () => formatNumber(view.t)),
      ),
      makeKey("learned", {}, "at temperature 1"),
      makeKey("die", {}, "chosen"),
      makeKey("now hatched", { hidden: isUncut }, "cut"),
    ),
    makeNode(
      "ol.rows",
      ...Array.from({ length: MOST }, (_, i) => makeRow(() => rowAt(i))),
      makeNode("li.row.rest", node("span", restText), node("span.value", restValue)),
      makeRow(beyondRow),
    ),
    makeNode(
      "div.numbers",
      makeNumber(() => formatNumber(toBits(view.entropy)), "bits, entropy of the choice"),
      makeNumber(() => formatChoices(view.entropy), "perplexity of the choice"),
    ),
    node("p.note", () => note),
  );

  function distributionCsv() {
    const columns = "after,temperature,id,token,probability at temperature 1,probability at this temperature,cut",
      cutOf = ({ kept }) => (kept || !view.t ? "" : "cut");
    const rows = view.rows.map((row) => {
      const { id, learned, p, kept } = row;
      return [context, view.t, id, model.tokens[id], learned, kept ? p : 0, cutOf(row)];
    });
    return toCsv(columns.split(","), rows);
  }

  return {
    root,
    /** Set the model. `hasOthers`: other models are shown too. */
    setModel(newModel, hasOthers, file) {
      [model, several] = [newModel, hasOthers];
      tint(root, model.colour);
      const widest = (model.widest ??= model.tokens.reduce((most, token) => Math.max(most, token.length), 1));
      root.style.setProperty("--label", `${Math.max(2, Math.min(widest, 12)) + 2.8}ch`);
      saveMenu(root, { svg: () => screenSvg(root), csv: distributionCsv, file: `${file}-choice` });
    },
    show(...shown) {
      [view, context, note, rules] = shown;
      update();
    },
  };
}
