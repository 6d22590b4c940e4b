/**
 * Draw beam search as a tree, step by step, for every width from 1 (greedy decoding) to 8; the slider works without
 * the server. Hover shows the path of a node, a click keeps it, arrow keys move, Esc releases. Event "width": where
 * the slider was released.
 *
 * @import { SendEvent } from "../../../../static/shared/runtime/events.js"
 *
 * @typedef {object} BeamSearchData
 * @property {string} title
 * @property {string} colour CSS variable
 * @property {string} source
 * @property {string | null} right the correct target
 * @property {string[]} tokens
 * @property {number} width
 * @property {number[]} starts where each width begins in the arrays, and the end
 * @property {number[][]} best for each width the nodes that were kept to the end
 * @property {string} address "nodes" (I32 "nodes 5") and "logs" (F32 "nodes 2")
 * @property {string} file
 *
 * @typedef {object} BeamSearchEvents
 * @property {number} width
 */
import * as math from "./math.js";
import { branchWidth } from "../../../../static/shared/charts/value_scale.js";
import { svgNode, tint } from "../../../../static/shared/runtime/dom.js";
import { arrayLoader } from "../../../../static/shared/runtime/array_store.js";
import { saveMenu, svgOf } from "../../../../static/shared/runtime/export_menu.js";
import { toCsv } from "../../../../static/shared/runtime/csv.js";
import { LiveElements } from "../../../../static/shared/runtime/view_state.js";
import { Selection } from "../../../../static/shared/runtime/selection.js";
import { SyncedValue } from "../../../../static/shared/runtime/synced_value.js";
import { defineComponent } from "../../../../static/shared/runtime/component.js";
import { formatProbability } from "../../../../static/shared/runtime/format.js";

const [BOX, GAP, ROW, HIGH, TOP] = [100, 30, 34, 28, 26]; // px: a node and what is between two, a row, a node's height, the head
const nodeLeft = ({ step }) => 2 + (step - 1) * (BOX + GAP);

/** The branch between two nodes, from the right of one to the left of the other. */
const branchPath = (x, from, to) => `M${x} ${from}C${x + GAP / 2} ${from} ${x + GAP / 2} ${to} ${x + GAP} ${to}`;

const PRESENTATION = { slides: [".control, h3, .scroller", ".lists, .words, .lineage-caption"] };

export default defineComponent((place, /** @type {SendEvent<BeamSearchEvents>} */ send) => {
  const width = new SyncedValue();
  /** @type {BeamSearchData | null} */
  let data = null;
  /** @type {any} */
  let all = null,
    nodes = [],
    steps = [],
    best = [],
    trouble = "";
  const selection = new Selection(showPath);
  const load = arrayLoader(
    (arrived) => {
      all = arrived;
      showWidth();
      scroller.scrollLeft = 0;
    },
    () => {
      trouble = "The tree did not arrive. Reload the page to try again.";
      update();
    },
  );
  const { node, update } = new LiveElements();
  const setWidth = (event) => {
    width.set(Number(event.target.value));
    showWidth();
  };
  const meterText = () => (width.value === 1 ? "1, greedy" : String(width.value)),
    sendWidth = (event) => send("width", Number(event.target.value)),
    value = () => width.value ?? 1,
    range = { type: "range", min: 1, max: 8, step: 1, value, oninput: setWidth, onchange: sendWidth },
    headingOf = () => (all ? math.headingText(width.value, bestOf(width.value), bestOf(1), data.right) : "");
  const tree = svgNode("svg.tree", { "aria-hidden": "true" }),
    scroller = node("div.scroller", { role: "application", tabindex: 0 }, tree),
    ends = node("div.ends"),
    widths = node("div.widths"),
    caption =
      "Columns: steps; the most likely sequences are at the top. Box: a token and the log-probability of the sequence up to it (at width 1 the token’s probability); bar: the token’s probability. Dashed: dropped (only the best are drawn). Round: ended. Bold: the path to the best sequence.";
  place.replaceChildren(
    node(
      "div.head",
      node("span.dot"),
      node("span.name", () => data.title),
      node("span.source", () => `reads ${data.source}`),
    ),
    node(
      "label.control",
      node("span", "Beam width"),
      node("input.slider", { "aria-label": "Beam width", ...range }),
      node("output.meter", meterText),
    ),
    node("h3.finding", { "aria-live": "polite" }, headingOf),
    scroller,
    node("p.words", { role: "status" }, () => trouble || describePath()),
    node("div.lists", ends, widths),
    node("p.lineage-caption", caption),
  );

  const nodeAt = (event) => {
    const target = event.target.closest?.("[data-at]");
    return target ? Number(target.dataset.at) : null;
  };
  for (const area of [scroller, ends]) {
    area.onpointerover = (event) => selection.point(nodeAt(event));
    area.onpointerleave = selection.leave;
    area.onclick = (event) => {
      const pointed = nodeAt(event);
      selection.press(pointed);
      if (area === scroller) return;
      if (selection.isKept) scrollTo(pointed);
      else selection.release();
    };
  }
  const move = (key, at) => {
    const next = nodes.length ? math.moveNode(at, key, nodes, steps) : null;
    if (next !== null) scrollTo(next);
    return next;
  };
  place.onkeydown = selection.onKeyDown(scroller, move, true);

  function scrollTo(one) {
    const x = nodeLeft(nodes[one]),
      { scrollLeft, clientWidth } = scroller;
    if (x - GAP < scrollLeft) scroller.scrollLeft = x - GAP;
    else if (x + BOX + GAP > scrollLeft + clientWidth) scroller.scrollLeft = x + BOX + GAP - clientWidth;
  }

  function bestOf(one) {
    const own = math.readNodes(all, [data.starts[one - 1], data.starts[one]]),
      first = data.best[one - 1][0];
    return { text: math.sequenceText(own, first, data.tokens), score: own[first].score };
  }

  function showWidth() {
    nodes = math.readNodes(all, [data.starts[width.value - 1], data.starts[width.value]]);
    steps = math.nodesByStep(nodes);
    best = data.best[width.value - 1];
    trouble = "";
    drawTree();
    listSequences();
    selection.release();
    saveMenu(place, { svg: () => svgOf(tree), csv: searchCsv, file: `${data.file}-width-${width.value}` });
  }

  function drawTree() {
    const rows = Math.max(...Array.from({ length: 8 }, (_, i) => largestStep(i))),
      way = new Set(math.pathToNode(nodes, best[0]));
    const wide = 4 + steps.length * (BOX + GAP) - GAP,
      high = TOP + rows * ROW + 2;
    tree.setAttribute("width", wide);
    tree.setAttribute("height", high);
    const y = new Map(steps.flatMap((column) => column.map((one, row) => [one, TOP + row * ROW + ROW / 2])));
    const nodeState = (one) =>
      `${nodes[one].kept ? "kept" : "dropped"}${way.has(one) ? " best" : ""}${nodes[one].ended ? " ended" : ""}`;
    const order = nodes.map((_, one) => one).sort((a, b) => Number(way.has(a)) - Number(way.has(b))); // the path of the best sequence is drawn on top
    tree.replaceChildren(
      ...steps.map((_, i) =>
        svgText({ x: nodeLeft({ step: i + 1 }) + BOX / 2, y: 14, "text-anchor": "middle", class: "step" }, i + 1),
      ),
      ...order
        .filter((one) => nodes[one].parent >= 0)
        .map((one) =>
          svgNode("path", {
            d: branchPath(nodeLeft(nodes[one]) - GAP, y.get(nodes[one].parent), y.get(one)),
            class: `branch ${nodeState(one)}`,
            "data-to": one,
            "stroke-width": nodes[one].kept ? branchWidth(Math.exp(nodes[one].log)) : 1,
          }),
        ),
      ...order.map((one) => drawNode(one, y.get(one), nodeState(one))),
    );
    scroller.ariaLabel = `${data.title}, ${data.source}: the tree of beam search with width ${width.value}. Arrow keys move, Escape clears.`;
  }

  /** The most nodes at a step of this width: the tree keeps its height whatever the width. */
  function largestStep(one) {
    const counts = [];
    for (let i = data.starts[one]; i < data.starts[one + 1]; i++)
      counts[all.nodes.data[5 * i]] = (counts[all.nodes.data[5 * i]] ?? 0) + 1;
    return Math.max(0, ...counts.filter(Boolean));
  }

  const svgText = (attributes, content) => svgNode("text", attributes, String(content));

  function drawNode(one, middle, state) {
    const { token, ended, log, score } = nodes[one],
      x = nodeLeft(nodes[one]),
      p = Math.exp(log),
      top = middle - HIGH / 2;
    return svgNode(
      "g",
      { class: `node ${state}`, "data-at": one },
      svgNode("rect.box", { x, y: top, width: BOX, height: HIGH, rx: ended ? HIGH / 2 : 5 }),
      svgNode("rect.bar", { x: x + 9, y: top + HIGH - 5, width: (BOX - 18) * p, height: 3, rx: 1 }),
      svgText(
        { x: x + 9, y: middle + 3, class: data.tokens[token].length > 1 ? "token long" : "token" },
        data.tokens[token],
      ),
      svgText(
        { x: x + BOX - 9, y: middle + 3, "text-anchor": "end", class: "log" },
        width.value === 1 ? formatProbability(p) : math.formatLog(score),
      ),
    );
  }

  /** Draw everything that depends on the pointer. */
  function showPath() {
    const { at } = selection,
      way = at === null ? [] : math.pathToNode(nodes, at);
    tree.classList.toggle("pointing", at !== null);
    for (const element of tree.querySelectorAll("[data-at], [data-to]"))
      element.classList.toggle("lit", way.includes(Number(element.dataset.at ?? element.dataset.to)));
    for (const element of ends.querySelectorAll("[data-at]"))
      element.classList.toggle("lit", Number(element.dataset.at) === at);
    update();
  }
  function describePath() {
    const { at, isKept } = selection,
      hint = isKept ? " Esc or a click lets go." : " A click keeps it.";
    if (at === null) return "Point at a token, or use the arrow keys.";
    return math.describeNode(nodes, at, data.tokens, steps[nodes[at].step - 1]) + hint;
  }

  const verdictText = (text) => (data.right === null ? "" : text === data.right ? "✓ right" : "✗ wrong");

  function listSequences() {
    const classes = ["rank", "written", "number", "verdict"],
      makeRow = (cells, attributes) =>
        node("tr", attributes, ...cells.map((cell, i) => node("td", { class: classes[i] }, cell))),
      makeTable = (caption, rows) => node("table", node("caption", caption), node("tbody", ...rows));
    const finals = math.finalNodes(nodes, best).map(({ at: one, pushed }, i) => {
      const text = math.sequenceText(nodes, one, data.tokens),
        written = `${text || "nothing"}${nodes[one].ended ? "" : " …"}`,
        verdict = [verdictText(text), pushed ? "dropped" : ""].filter(Boolean).join(", ");
      const cells = [i ? String(i + 1) : "best", written, math.formatLog(nodes[one].score), verdict];
      return makeRow(cells, { "data-at": one, class: i ? null : "best" });
    });
    const bests = data.best.map((_, i) => {
      const { text, score } = bestOf(i + 1),
        cells = [i ? String(i + 1) : "greedy", text || "nothing", math.formatLog(score), verdictText(text)];
      return makeRow(cells, { class: i + 1 === width.value ? "best" : null });
    });
    ends.replaceChildren(makeTable("Final sequences by log-probability", finals));
    widths.replaceChildren(makeTable("Best sequence for every width", bests));
  }

  function searchCsv() {
    const columns = "width,step,sequence,token,probability,log-probability,of the sequence,kept,ended";
    const rows = data.best.flatMap((_, i) => {
      const own = math.readNodes(all, [data.starts[i], data.starts[i + 1]]),
        way = new Set(math.pathToNode(own, data.best[i][0]));
      return own.map((one, place) => [
        ...[i + 1, one.step, math.sequenceText(own, place, data.tokens), data.tokens[one.token]],
        Number(Math.exp(one.log).toPrecision(5)),
        ...[one.log, one.score].map((value) => Number(value.toPrecision(6))),
        ...[one.kept, one.ended, way.has(place)].map(Number),
      ]);
    });
    return toCsv([...columns.split(","), "on the way to the best"], rows);
  }

  return {
    show(/** @type {BeamSearchData} */ newData) {
      const isOther = data?.title !== newData.title,
        previousWidth = width.value;
      width.receive(newData.width);
      data = newData;
      tint(place, data.colour);
      if (load(data.address)) all = null;
      else if (all && (isOther || width.value !== previousWidth)) showWidth();
      update();
    },
  };
}, PRESENTATION);
