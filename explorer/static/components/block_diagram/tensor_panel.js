/* Show the arrow that is open: its tensor as a heat map, the numbers of one cell and of each token, and the parameters of
   the box that made it. */
import { explain, numberAt, isHidden, formatValue, rowOf, shapeWords, largestMagnitude, statistics } from "./math.js";
import { mixColours, moveCell, scalePosition, labelledColumns } from "../../shared/charts/value_scale.js";
import { toCsv } from "../../shared/runtime/csv.js";
import { svgNode, node } from "../../shared/runtime/dom.js";
import { svgFile } from "../../shared/runtime/svg_file.js";
import { shortenToWidth } from "../../shared/runtime/text_metrics.js";

const AMOUNTS = new Set(["weights", "softmax"]);
const SIDE = 84,
  TALL = 340; // px of the tokens' names; the most that a heat map is high
const PICTURE = 96; // px, the most that a picture of weights is high

export class TensorPanel {
  /** @type {(...args: any[]) => void} */
  onset = () => {}; // (part of what is chosen)

  constructor(theme) {
    this.theme = theme;
    this.title = node("h3", {});
    this.from = node("p", { class: "from" });
    this.shape = node("p", { class: "shape" });
    this.pills = node("div", { class: "pills", role: "group", "aria-label": "Tensors of this box" });
    this.heads = node("div", { class: "pills heads", role: "group", "aria-label": "Head" });
    this.canvas = node("canvas");
    this.mark = node("i", { class: "mark" });
    this.side = node("div", { class: "side", "aria-hidden": "true" });
    this.foot = node("div", { class: "foot", "aria-hidden": "true" });
    this.map = node("div", { class: "map", tabindex: 0, role: "group" }, this.canvas, this.mark);
    this.cell = node("div", { class: "cell", role: "status" });
    this.rows = node("tbody");
    const heads = ["token", "mean", "variance", "norm"].map((name) => node("th", { scope: "col" }, name));
    this.table = node(
      "div",
      { class: "each", tabindex: 0, role: "group", "aria-label": "Mean, variance and norm of each token" },
      node("table", {}, node("thead", {}, node("tr", {}, ...heads)), this.rows),
    );
    this.learned = node("div", { class: "learned" });
    this.root = node(
      "section",
      { class: "panel", "aria-label": "What is opened" },
      this.title,
      this.from,
      this.shape,
      this.pills,
      this.heads,
      node("div", { class: "plot" }, this.side, this.map, this.foot),
      node("div", { class: "below" }, this.cell, this.table),
      this.learned,
    );
    this.map.onpointermove = (event) => event.pointerType !== "touch" && this.#selectPosition(event, false);
    this.map.onpointerleave = () => this.#explainNumber(this.now);
    this.map.onclick = (event) => this.#selectPosition(event, true);
    this.map.onkeydown = (event) => this.#onKeyDown(event);
  }

  /** `model` as in math.js, with names, boxes and total; `now` is {open, token, unit, head}. */
  show(model, choice) {
    this.model = model;
    this.now = choice;
    this.flow = model.flows[choice.open];
    const { flow } = this,
      box = model.boxes.find(({ flows }) => flows.includes(choice.open)) ?? null;
    const alias = box ?? model.boxes.find(({ flows }) => flows.includes(flow.same));
    this.title.textContent = flow.title;
    this.from.replaceChildren(
      ...(flow.tap
        ? [`${alias ? `${alias.title} · ` : ""}tap `, node("code", {}, flow.tap)]
        : [
            flow.made === "ids"
              ? "What the model is given."
              : `${alias ? `${alias.title} · ` : ""}computed with the model’s own layers from what its taps saw`,
          ]),
    );
    this.shape.textContent = shapeWords(flow);
    this.#showChoices(
      this.pills,
      (alias?.flows.length ?? 0) > 1 ? alias.flows.map((name) => [name, model.flows[name].title]) : [],
      choice.open,
      (name) => this.onset({ open: name }),
    );
    const count = flow.shape.length === 3 ? flow.shape[0] : 0;
    this.#showChoices(
      this.heads,
      Array.from({ length: count > 1 ? count : 0 }, (_, h) => [h, `head ${h}`]),
      this.#headIndex(),
      (h) => this.onset({ head: h }),
    );
    this.names = model.names[flow.rows].slice(0, flow.shape.at(-2));
    this.columns = model.names[flow.columns] ?? null;
    this.#paintMap();
    this.#showTokens();
    this.#showWeights(alias);
    this.#explainNumber(choice);
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

  #showChoices(place, choices, chosen, pick) {
    place.hidden = !choices.length;
    const same =
      place.children.length === choices.length &&
      choices.every(([, title], i) => place.children[i].textContent === title);
    if (!same)
      place.replaceChildren(
        ...choices.map(([, title]) => node("button", { type: "button", class: "lineage-button" }, title)),
      );
    choices.forEach(([value], i) => {
      place.children[i].setAttribute("aria-pressed", String(value === chosen));
      place.children[i].onclick = () => pick(value);
    });
  }

  /* ---- the heat map ---- */

  #colourStops(name) {
    return Array.from({ length: 7 }, (_, i) =>
      this.theme
        .colour(`--${name}-${i}`)
        .match(/[\d.]+/g)
        .slice(0, 3)
        .map(Number),
    );
  }

  #paintMap() {
    const { flow, model } = this,
      [rows, columns] = flow.shape.slice(-2),
      image = new ImageData(columns, rows),
      amount = AMOUNTS.has(flow.made);
    const most = amount ? null : largestMagnitude(flow.data),
      stops = this.#colourStops(amount ? "amount" : "sign"),
      h = this.#headIndex();
    const high = Math.max(Math.min(22, TALL / rows), 7) * rows;
    this.canvas.width = columns;
    this.canvas.height = rows;
    for (let r = 0; r < rows; r++)
      for (let c = 0; c < columns; c++) {
        const value = flow.shape.length === 3 ? numberAt(flow, h, r, c) : numberAt(flow, r, c);
        if (!isHidden(model, this.now.open, h, r, c))
          image.data.set([...mixColours(stops, scalePosition(value, most)), 255], 4 * (r * columns + c));
      }
    this.canvas.getContext("2d").putImageData(image, 0, 0);
    this.map.style.height = `${high}px`;
    this.side.style.height = `${high}px`;
    this.side.replaceChildren(
      ...labelledColumns(rows, high, 15).map((r) => {
        const name = node("span", {}, shortenToWidth(this.names[r] ?? String(r), SIDE - 10, 13));
        name.style.top = `${(100 * (r + 0.5)) / rows}%`;
        return name;
      }),
    );
    const width = this.map.clientWidth,
      longest = this.columns ? Math.max(...this.columns.map((name) => name.length)) : 4;
    this.foot.replaceChildren(
      ...labelledColumns(columns, width, this.columns ? (longest > 1 ? 8 : 3) + 7.5 * Math.min(10, longest) : 70).map(
        (c) => {
          const name = node("span", {}, this.columns ? shortenToWidth(this.columns[c] ?? "", 80, 13) : String(c));
          name.style.left = `${(100 * (c + 0.5)) / columns}%`;
          return name;
        },
      ),
    );
    this.map.ariaLabel = `${flow.title}: ${shapeWords(flow)}. Arrow keys move, Enter keeps a number.`;
  }

  #positionOfEvent(event) {
    const box = this.map.getBoundingClientRect(),
      [rows, columns] = this.flow.shape.slice(-2);
    const clampIndex = (part, count) => Math.max(0, Math.min(count - 1, Math.floor(part * count)));
    return {
      token: clampIndex((event.clientY - box.top) / box.height, rows),
      unit: clampIndex((event.clientX - box.left) / box.width, columns),
    };
  }
  #selectPosition(event, keep) {
    const to = this.#positionOfEvent(event);
    if (keep) this.onset(to);
    else this.#explainNumber(to);
  }
  #onKeyDown(event) {
    event.stopPropagation(); // Streamlit reruns the page at an "r"
    const from = this.reading,
      to = moveCell({ row: from.token, time: from.unit }, event.key, ...this.flow.shape.slice(-2));
    if (to) this.#explainNumber({ token: to.row, unit: to.time });
    else if (event.key === "Enter" || event.key === " ") this.onset(this.reading);
    else return;
    event.preventDefault();
  }

  /** Show one number and how it is computed. */
  #explainNumber(choice) {
    const { flow, model, now } = this,
      { r, c, place } = this.#clampPosition(choice),
      [rows, columns] = flow.shape.slice(-2);
    this.reading = { token: r, unit: c };
    this.mark.style.cssText = `left:${(100 * c) / columns}%;top:${(100 * r) / rows}%;width:${100 / columns}%;height:${100 / rows}%`;
    const value = numberAt(flow, ...place),
      explanation = explain(model, now.open, place),
      column = this.columns ? `“${this.columns[c]}”` : `number ${c}`;
    const head = node(
      "p",
      { class: "value" },
      `“${this.names[r]}”, ${column}: `,
      node("b", {}, flow.made === "ids" ? String(value) : formatValue(value)),
    );
    const parts = explanation
      ? [
          node("p", { class: "formula" }, explanation.formula),
          node("ul", {}, ...explanation.steps.map((step) => node("li", {}, step))),
          node("p", { class: "result" }, `= ${formatValue(explanation.value)}`),
        ]
      : [
          node(
            "p",
            { class: "formula" },
            flow.made === "blocks"
              ? "Made in blocks that are closed: open one with the stepper above."
              : "Each token is a number: its place in the vocabulary.",
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
        ? Array.from({ length: flow.shape[2] }, (_, c) => numberAt(flow, h, r, c))
        : rowOf(flow, r);
    this.rows.replaceChildren(
      ...Array.from({ length: flow.shape.at(-2) }, (_, r) => {
        const { mean, variance, norm } = statistics(rowValues(r)),
          chosen = r === this.#clampPosition(this.now).r;
        return node(
          "tr",
          { class: chosen ? "chosen" : null },
          node("th", { scope: "row" }, this.names[r] ?? String(r)),
          ...[mean, variance, norm].map((value) => node("td", {}, formatValue(value))),
        );
      }),
    );
  }

  /* ---- what was learned ---- */

  #showWeights(box) {
    const names = box?.parameters ?? [],
      { model } = this,
      formatCount = (count) => count.toLocaleString("en");
    const formatPercent = (count) => {
      const part = (100 * count) / model.total;
      return `${part >= 10 || part === 0 ? part.toFixed(0) : part.toFixed(part >= 1 ? 1 : 2)} %`;
    };
    const intro = node(
      "p",
      { class: "share" },
      names.length
        ? node("b", {}, `${formatCount(box.count)} parameters`)
        : `${box ? `${box.title}: nothing is learned here.` : "Nothing is learned here."}`,
      names.length ? `, ${formatPercent(box.count)} of the model’s ${formatCount(model.total)}` : "",
    );
    this.learned.replaceChildren(
      intro,
      ...names.map((name) => {
        const { shape, data } = model.parameters[name],
          count = shape.reduce((a, b) => a * b, 1);
        const caption = node(
          "figcaption",
          {},
          node("code", {}, name),
          ` ${shape.join(" × ")}${shape.length > 1 ? ` = ${formatCount(count)}` : ""}`,
        );
        if (!data) return node("figure", {}, caption);
        const [rows, columns] = shape.length === 2 ? shape : [1, shape[0]],
          canvas = node("canvas", { width: columns, height: rows, role: "img" }),
          most = largestMagnitude(data);
        canvas.ariaLabel = `${name}: weights from −${formatValue(most)} to ${formatValue(most)}`;
        const image = new ImageData(columns, rows),
          stops = this.#colourStops("sign");
        data.forEach((value, i) => image.data.set([...mixColours(stops, scalePosition(value, most)), 255], 4 * i));
        canvas.getContext("2d").putImageData(image, 0, 0);
        canvas.style.height = `${rows === 1 ? 14 : Math.min(PICTURE, Math.max(24, 3 * rows))}px`;
        return node(
          "figure",
          {},
          caption,
          canvas,
          node("span", { class: "most" }, `−${formatValue(most)} to ${formatValue(most)}`),
        );
      }),
    );
  }

  /* ---- saving ---- */

  svg() {
    const { flow } = this,
      wide = Math.max(320, this.map.clientWidth),
      high = this.map.clientHeight,
      [rows] = flow.shape.slice(-2);
    const text = (words, x, y, more = {}) =>
      svgNode("text", { x, y, fill: this.theme.colour("--ink"), "font-size": 14, ...more }, words);
    const names = [...this.side.children].map((name) =>
      text(name.textContent, 16 + SIDE - 8, 60 + (parseFloat(name.style.top) / 100) * high, {
        "text-anchor": "end",
        "dominant-baseline": "central",
        "font-size": 13,
      }),
    );
    return svgFile(
      wide + SIDE + 32,
      high + 84,
      this.theme.colour("--page"),
      text(flow.title, 16, 28, { "font-weight": 600, "font-size": 16 }),
      text(shapeWords(flow), 16, 48, { fill: this.theme.colour("--soft") }),
      ...(rows ? names : []),
      svgNode("image", {
        x: 16 + SIDE,
        y: 60,
        width: wide,
        height: high,
        href: this.canvas.toDataURL(),
        preserveAspectRatio: "none",
        style: "image-rendering:pixelated",
      }),
    );
  }
  csv() {
    const { flow } = this,
      [rows, columns] = flow.shape.slice(-2),
      heads = flow.shape.length === 3 ? flow.shape[0] : 1,
      lines = [];
    for (let h = 0; h < heads; h++)
      for (let r = 0; r < rows; r++)
        for (let c = 0; c < columns; c++) {
          lines.push([
            flow.shape.length === 3 ? h : "",
            r,
            this.names[r],
            c,
            this.columns?.[c] ?? "",
            Number((flow.shape.length === 3 ? numberAt(flow, h, r, c) : numberAt(flow, r, c)).toPrecision(7)),
          ]);
        }
    return toCsv(["head", "row", "token", "column", "column name", flow.title], lines);
  }
}
