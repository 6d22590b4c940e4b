/* Show the arrow that is open: its tensor as a heat map, the numbers of one cell and of each token, and the parameters of
   the box that made it. */
import * as math from "./math.js";
import { HeatMap, arrayGrid, colourRamp, labelCells, paintPixels } from "../../../../static/shared/charts/heatmap.js";
import { moveCell, scalePosition } from "../../../../static/shared/charts/value_scale.js";
import { toCsv } from "../../../../static/shared/runtime/csv.js";
import { limitHeight } from "../../../../static/shared/runtime/component.js";
import { LiveElements } from "../../../../static/shared/runtime/view_state.js";
import { node } from "../../../../static/shared/runtime/dom.js";
import { screenSvg } from "../../../../static/shared/runtime/screen_svg.js";
import { shortenToWidth } from "../../../../static/shared/runtime/text_metrics.js";
import { formatCount, formatPercent, formatUnits } from "../../../../static/shared/runtime/format.js";

const AMOUNTS = new Set(["weights", "softmax"]);
const SIDE = 84,
  TALL = 340; // px of the tokens' names; the most that a heat map is high
const PICTURE = 96; // px, the most that a picture of weights is high

export class TensorPanel {
  #live = new LiveElements();

  /** `set` receives the part of the choice that the user changes. */
  constructor(theme, set) {
    const { node, buttonChoice } = this.#live;
    this.theme = theme;
    this.from = node("p.from");
    const pills = buttonChoice(
        "Tensors of this box",
        () => this.#tensors(),
        () => this.now.open,
        (open) => set({ open }),
        { root: "pills", button: "lineage-button" },
      ),
      heads = buttonChoice(
        "Head",
        () => this.#headNames(),
        () => String(this.#headIndex()),
        (head) => set({ head: Number(head) }),
        { root: "pills heads", button: "lineage-button" },
      );
    this.side = node("div.side", { "aria-hidden": "true" });
    this.foot = node("div.foot", { "aria-hidden": "true" });
    this.map = new HeatMap({ tabindex: 0, role: "group" });
    this.cell = node("div.cell", { role: "status" });
    this.rows = node("tbody");
    const titles = ["token", "mean", "variance", "norm"].map((name) => node("th", { scope: "col" }, name)),
      label = "Mean, variance and norm of each token",
      table = node("table", node("thead", node("tr", ...titles)), this.rows);
    this.table = node("div.each", { tabindex: 0, role: "group", "aria-label": label }, table);
    this.learned = node("div.learned");
    this.root = node(
      "section.panel",
      { "aria-label": "The selected tensor", inert: "" }, // until there is a tensor
      node("h3", () => this.flow.title),
      this.from,
      node("p.shape", () => math.shapeWords(this.flow)),
      pills,
      heads,
      node("div.plot", this.side, this.map.root, this.foot),
      node("div.below", this.cell, this.table),
      this.learned,
    );
    this.set = set;
    this.map.onpoint = ({ row, column }) => this.#explainNumber({ token: row, unit: column });
    this.map.onpick = ({ row, column }) => set({ token: row, unit: column });
    this.map.root.onpointerleave = () => this.#explainNumber(this.now);
    this.map.root.onkeydown = (event) => this.#onKeyDown(event);
  }

  /** `model` as in math.js, with names, boxes and total; `now` is {open, token, unit, head}. */
  show(model, choice) {
    const isNew = JSON.stringify(choice) !== JSON.stringify(this.now);
    this.model = model;
    this.now = choice;
    this.flow = model.flows[choice.open];
    const { flow } = this,
      box = model.boxes.find(({ flows }) => flows.includes(choice.open)) ?? null;
    const alias = box ?? model.boxes.find(({ flows }) => flows.includes(flow.same));
    this.alias = alias;
    const origin = alias ? `${alias.title} · ` : "",
      ids = flow.made === "ids" ? "The input of the model." : `${origin}computed with the model’s own layers`;
    this.from.replaceChildren(...(flow.tap ? [`${origin}recorded as `, node("code", flow.tap)] : [ids]));
    this.#live.update();
    this.names = model.names[flow.rows].slice(0, flow.shape.at(-2));
    this.columns = model.names[flow.columns] ?? null;
    this.#paintMap();
    this.#showTokens();
    this.#showWeights(alias);
    this.#explainNumber(isNew ? choice : this.reading); // an answer of the server moves no cursor
    this.root.inert = false;
  }

  #headIndex() {
    return Math.min(this.now.head, this.flow.shape.at(-3) ? this.flow.shape[0] - 1 : 0);
  }
  #clampPosition({ token, unit }) {
    const [rows, columns] = this.flow.shape.slice(-2),
      r = Math.min(token, rows - 1),
      c = Math.min(unit, columns - 1);
    return { r, c, place: this.flow.shape.length === 3 ? [this.#headIndex(), r, c] : [r, c] };
  }

  #tensors() {
    const { flows = [] } = this.alias ?? {};
    return Object.fromEntries(flows.map((name) => [name, this.model.flows[name].title]));
  }
  #headNames() {
    const { shape } = this.flow,
      count = shape.length === 3 ? shape[0] : 0;
    return Object.fromEntries(Array.from({ length: count }, (_, h) => [h, `head ${h}`]));
  }

  /* ---- the heat map ---- */

  #paintMap() {
    const { flow, model } = this,
      [rows, columns] = flow.shape.slice(-2),
      amount = AMOUNTS.has(flow.made);
    const most = amount ? null : math.largestMagnitude(flow.data),
      h = this.#headIndex();
    const high = Math.max(Math.min(22, limitHeight(TALL, 250) / rows), 7) * rows;
    const shareAt = (r, c) => {
      if (math.isHidden(model, this.now.open, h, r, c)) return NaN;
      return scalePosition(flow.shape.length === 3 ? math.numberAt(flow, h, r, c) : math.numberAt(flow, r, c), most);
    };
    const row = (r) => Float32Array.from({ length: columns }, (_, c) => shareAt(r, c));
    this.map.show({ rows, columns, row }, colourRamp(this.theme.colour, amount ? "amount" : "sign"));
    this.map.root.style.height = `${high}px`;
    this.side.style.height = `${high}px`;
    labelCells(this.side, rows, (r) => shortenToWidth(this.names[r] ?? String(r), SIDE - 10, 13), "top", high, 15);
    const longest = this.columns ? Math.max(...this.columns.map((name) => name.length)) : 4;
    labelCells(
      this.foot,
      columns,
      (c) => (this.columns ? shortenToWidth(this.columns[c] ?? "", 80, 13) : String(c)),
      "left",
      this.map.root.clientWidth,
      this.columns ? (longest > 1 ? 8 : 3) + 7.5 * Math.min(10, longest) : 70,
    );
    this.map.root.ariaLabel = `${flow.title}: ${math.shapeWords(flow)}. Arrow keys move, Enter keeps a number.`;
  }

  #onKeyDown(event) {
    event.stopPropagation(); // Streamlit reruns the page at an "r"
    const from = this.reading,
      to = moveCell({ row: from.token, column: from.unit }, event.key, ...this.flow.shape.slice(-2));
    if (to) this.#explainNumber({ token: to.row, unit: to.column });
    else if (event.key === "Enter" || event.key === " ") this.set(this.reading);
    else return;
    event.preventDefault();
  }

  #explainNumber(choice) {
    const { flow, model, now } = this,
      { r, c, place } = this.#clampPosition(choice);
    this.reading = { token: r, unit: c };
    this.map.markCell({ row: r, column: c });
    const value = math.numberAt(flow, ...place),
      explanation = math.explain(model, now.open, place),
      column = this.columns ? `“${this.columns[c]}”` : `number ${c}`;
    const shown = node("b", flow.made === "ids" ? String(value) : math.formatValue(value)),
      head = node("p.value", `“${this.names[r]}”, ${column}: `, shown),
      formula = (words) => node("p.formula", words);
    const parts = explanation
      ? [
          formula(explanation.formula),
          node("ul", ...explanation.steps.map((step) => node("li", step))),
          node("p.result", `= ${math.formatValue(explanation.value)}`),
        ]
      : [
          formula(
            flow.made === "blocks"
              ? "Computed in other blocks: choose one in the settings."
              : "Each token is a number: its index in the vocabulary.",
          ),
        ];
    this.cell.replaceChildren(head, ...parts);
  }

  #showTokens() {
    const { flow } = this,
      h = this.#headIndex(),
      own = flow.made === "ids" || flow.made === "mask";
    this.table.hidden = own;
    if (own) return;
    const rowValues = (r) =>
      flow.shape.length === 3
        ? Array.from({ length: flow.shape[2] }, (_, c) => math.numberAt(flow, h, r, c))
        : math.rowOf(flow, r);
    this.rows.replaceChildren(
      ...Array.from({ length: flow.shape.at(-2) }, (_, r) => {
        const { mean, variance, norm } = math.statistics(rowValues(r)),
          chosen = r === this.#clampPosition(this.now).r;
        return node(
          "tr",
          { class: chosen ? "chosen" : null },
          node("th", { scope: "row" }, this.names[r] ?? String(r)),
          ...[mean, variance, norm].map((value) => node("td", math.formatValue(value))),
        );
      }),
    );
  }

  /* ---- what was learned ---- */

  #showWeights(box) {
    const names = box?.parameters ?? [],
      { model } = this;
    const intro = node(
      "p.share",
      names.length
        ? node("b", formatUnits(box.count, "parameter"))
        : `${box ? `${box.title}: no parameters.` : "No parameters."}`,
      names.length ? `, ${formatPercent(box.count / model.total)} of the model’s ${formatCount(model.total)}` : "",
    );
    this.learned.replaceChildren(
      intro,
      ...names.map((name) => {
        const { shape, data } = model.parameters[name],
          count = shape.reduce((a, b) => a * b, 1);
        const caption = node(
          "figcaption",
          node("code", name),
          ` ${shape.join(" × ")}${shape.length > 1 ? ` = ${formatCount(count)}` : ""}`,
        );
        if (!data) return node("figure", caption);
        const rows = shape.length === 2 ? shape[0] : 1,
          canvas = node("canvas", { role: "img" }),
          most = math.largestMagnitude(data);
        canvas.ariaLabel = `${name}: weights from −${math.formatValue(most)} to ${math.formatValue(most)}`;
        const position = (value) => scalePosition(value, most);
        paintPixels(canvas, arrayGrid(data, rows, position), colourRamp(this.theme.colour, "sign"));
        canvas.style.height = `${rows === 1 ? 14 : Math.min(PICTURE, Math.max(24, 3 * rows))}px`;
        return node(
          "figure",
          caption,
          canvas,
          node("span.most", `−${math.formatValue(most)} to ${math.formatValue(most)}`),
        );
      }),
    );
  }

  /* ---- saving ---- */

  svg() {
    return screenSvg(this.root, { skip: ".from, .pills, .below, .learned" });
  }
  csv() {
    const { flow } = this,
      [rows, columns] = flow.shape.slice(-2),
      hasHeads = flow.shape.length === 3;
    const line = (h, r, c) => {
      const value = hasHeads ? math.numberAt(flow, h, r, c) : math.numberAt(flow, r, c),
        column = this.columns?.[c] ?? "";
      return [hasHeads ? h : "", r, this.names[r], c, column, Number(value.toPrecision(7))];
    };
    const count = (length, make) => Array.from({ length }, (_, i) => make(i)),
      lines = count(hasHeads ? flow.shape[0] : 1, (h) => count(rows, (r) => count(columns, (c) => line(h, r, c)))).flat(
        2,
      );
    return toCsv(["head", "row", "token", "column", "column name", flow.title], lines);
  }
}
