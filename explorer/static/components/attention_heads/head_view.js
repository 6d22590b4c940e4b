/* Draw one head enlarged: lines from query tokens (left) to key tokens (right), or its matrix. The layer `below` changes with
   the head, the layer `above` follows the pointer. */
import { describeQuery, fullColourWeight, headCells, strongestKeys, FULL } from "./math.js";
import { paintCells } from "../../shared/charts/heatmap.js";
import { moveIndex } from "../../shared/charts/value_scale.js";
import { svgNode } from "../../shared/runtime/dom.js";
import { labelLength, quoteToken, tokenLabel } from "../../shared/runtime/visible_text.js";
import { pointerPosition } from "../../shared/runtime/pointer.js";
import { isScreened, limitHeight } from "../../shared/runtime/component.js";
import { formatWeight } from "../../shared/runtime/format.js";
import { LiveElements } from "../../shared/runtime/view_state.js";

const TALLEST = 768; // px of a long text
export const VISIBLE_WEIGHT = 0.02; // the weakest line that is drawn
/** Return the smallest weight that is drawn; in a long text the weakest lines would hide the others. */
export const smallestVisible = (count) => (count > 32 ? 2 * VISIBLE_WEIGHT : VISIBLE_WEIGHT);
const VALUES = 12; // values that are written beside the tokens: the strongest, and none below NAMED
const NAMED = 0.045;
const BUCKETS = 24; // widths of lines

/** Return the width of the widest token in px: its letters are all of one width. */
const widestLabel = (texts, width, font) =>
  Math.min(
    width * 0.28,
    Math.max(16, ...texts.map((text) => Math.ceil(labelLength(tokenLabel(text)) * font * 0.6 + 9))),
  );

/** Cut a label that is wider than `width` px. */
function fitLabel(label, width, font) {
  const most = Math.floor(width / (font * 0.6));
  if (labelLength(label) <= most) return label;
  let letters = [...label];
  while (letters.length && labelLength(letters.join("")) > most - 1) letters = letters.slice(0, -1);
  return `${letters.join("")}…`;
}

/** Return how far (px) the label of a low row is above and below it. */
const overhang = (font, cell) => Math.max(0, Math.ceil((font + 3 - cell) / 2));

/**
 * Return where a head is drawn, in px: the ends of its lines, or the edges of its matrix, the height of a row and of its
 * letters, and how many rows have one label.
 */
function layoutHead({ tokens, keys, kind }, width) {
  const count = Math.max(tokens.length, keys.length),
    [least, smallest] = isScreened() ? [2, 14] : [6, 11],
    high = Math.max(least, Math.min(count > 12 ? 24 : 34, limitHeight(TALLEST, 360) / count)),
    cell = high >= 12 ? Math.floor(high) : high,
    font = Math.max(smallest, Math.min(count > 12 ? 16 : 18, Math.round(cell * 0.8)));
  if (kind !== "matrix") {
    const left = Math.ceil(widestLabel([...tokens, ...keys], width, font)) + 8,
      top = overhang(font, cell),
      every = Math.ceil((smallest + 0.5) / cell);
    return { left, right: width - left - 42, top, cell, font, every, height: Math.ceil(cell * count) + 2 * top };
  }
  const left = Math.ceil(widestLabel(tokens, width, font)) + 8,
    isShort = keys.every((text) => labelLength(tokenLabel(text)) <= 1),
    top = isShort ? 20 : Math.min(96, Math.ceil(widestLabel(keys, width, font)) + 8),
    room = Math.min(width - left - 2, 720),
    widest = Math.min(room / keys.length, limitHeight(Infinity, 370 - top) / tokens.length),
    side = widest >= 4 ? Math.min(64, Math.floor(widest)) : widest,
    letters = Math.max(isScreened() ? 14 : 10, Math.min(15, side * 0.75)),
    height = Math.ceil(top + side * tokens.length) + Math.max(2, overhang(letters, side)),
    every = Math.ceil((isScreened() ? 15 : 11) / side);
  return { left, right: left + side * keys.length, top, cell: side, font: letters, every, height };
}

/** `keep(query)` is called when a query token is pressed. */
export function headView(keep) {
  const { node, svg, keyed, update } = new LiveElements();
  /** @type {any} */
  let state = null; // { view, layer, head, tokens, keys, kind of the view, look, asked, unit }
  let width = 0,
    /** @type {any} */
    box = null,
    /** @type {{side: "left" | "right", at: number, key?: number} | null} */
    hover = null,
    marks = { left: new Map(), right: new Map() }, // the text beside each highlighted token; none at the token itself
    reading = "",
    whole = "", // tokens that are cut where they are quoted
    frame = 0;
  const isMatrix = () => state?.kind === "matrix",
    shownQuery = () => (hover?.side === "right" ? null : (hover?.at ?? state.asked));

  const isNear = (side, i) => box.every > 1 && [...marks[side].keys()].some((at) => Math.abs(at - i) < box.every); // a highlighted label lies on it
  const makeToken = (side, tag, isSilent, attributes) => (token, inner, i) =>
    inner.node(
      tag,
      {
        style: () => `top: ${box.top + i * box.cell}px`,
        ".thin": () => i % box.every,
        ".never": () => isSilent(i),
        ".lit": () => marks[side].has(i),
        ".pivot": () => marks[side].get(i) === "",
        ".near": () => isNear(side, i),
        ...attributes(i),
      },
      inner.node("span", () => tokenLabel(token())),
      inner.node("b.weight", () => marks[side].get(i) ?? ""),
    );
  const makeQuery = makeToken(
    "left",
    "button",
    (i) => state.view.silent[i],
    (i) => ({
      type: "button",
      tabindex: () => (i === state.asked ? 0 : -1), // the one that Tab reaches
      "aria-pressed": () => i === state.asked,
    }),
  );
  const makeKey = makeToken(
    "right",
    "span",
    (i) => state.view.hidden[i],
    () => ({}),
  );
  const queries = node(
    "div.asks",
    { role: "group", "aria-label": "Query tokens", onkeydown: moveFocus },
    keyed(() => state?.tokens ?? [], makeQuery),
  );
  const visibleKeys = () => (isMatrix() ? [] : (state?.keys ?? [])),
    blocked = () => (hover?.side === "right" ? state.view.keys : state.view.reach(shownQuery()));
  const cells = node("canvas.cells", { "aria-hidden": "true", hidden: () => !isMatrix() }),
    below = svgNode("g.below"),
    above = svgNode("g.above");
  const name = () => `The ${isMatrix() ? "matrix" : "lines"} of layer ${state.layer + 1}, head ${state.head + 1}`;
  const stage = node(
    "div.stage",
    {
      ".dim": () => !isMatrix(),
      title: () => whole,
      style: () =>
        `height: ${box.height}px; --high: ${box.cell}px; --font: ${box.font}px; --left: ${box.left}px; --answers: ${box.right}px`,
      onpointermove: pointAt,
      onpointerdown: pointAt,
      onpointerleave: () => setHover(null),
      onclick: (event) => {
        const pressed = indexOf(event.target),
          at = pressed >= 0 ? pressed : hover?.side === "left" ? hover.at : -1;
        if (at >= 0) keep(at);
      },
    },
    cells,
    svg("svg", { role: "img", "aria-label": name, width: () => width, height: () => box.height }, below, above),
    queries,
    node("div.answers", { "aria-hidden": "true" }, keyed(visibleKeys, makeKey)),
    // over the masked keys
    node("i.veil", { style: () => `transform: translateY(${box.top + box.cell * blocked()}px)` }),
  );
  const root = node(
    "div.gaze",
    { ".matrix": isMatrix },
    stage,
    node("p.reading", () => reading),
  );

  const rowMiddle = (i) => Number((box.top + (i + 0.5) * box.cell).toFixed(1)),
    columnMiddle = (i) => box.left + (i + 0.5) * box.cell;
  /** A curve that is horizontal at both ends. */
  function curve(from, to) {
    const { left, right } = box,
      bend = Math.round((right - left) * 0.42),
      [y0, y1] = [rowMiddle(from), rowMiddle(to)];
    return `M${left} ${y0}C${left + bend} ${y0} ${right - bend} ${y1} ${right} ${y1}`;
  }
  const lineWidth = (share) => 0.6 + share * Math.min(7.5, box.cell * 0.5);
  const fullWeight = (query) => fullColourWeight(state.view, state.layer, state.head, query, state.look.scale) / FULL,
    weightAt = (query, key) => state.view.at(state.layer, state.head, query, key);

  function drawLines() {
    const { view } = state,
      least = smallestVisible(view.queries),
      paths = Array(BUCKETS).fill("");
    for (let query = 0; query < view.queries; query++) {
      const full = fullWeight(query);
      for (let key = 0; key < view.reach(query); key++) {
        const share = weightAt(query, key) / full;
        if (share >= least) paths[Math.min(BUCKETS - 1, Math.floor(share * BUCKETS))] += curve(query, key);
      }
    }
    return paths.map((d, i) => {
      const share = (i + 0.5) / BUCKETS;
      return svgNode("path", { d, "stroke-width": lineWidth(share), opacity: 0.1 + 0.42 * share });
    });
  }

  function drawMatrix() {
    const { view, layer, head, keys, look } = state,
      ratio = devicePixelRatio || 1,
      gap = box.cell >= 14 ? Math.round(2 * ratio) : box.cell >= 6 ? Math.round(ratio) : 0,
      [wide, high] = [view.keys, view.queries].map((count) => Math.max(1, Math.round(count * box.cell * ratio)));
    Object.assign(cells, { width: wide, height: high });
    cells.style.cssText = `left: ${box.left}px; top: ${box.top}px; width: ${wide / ratio}px; height: ${high / ratio}px`;
    paintCells(cells, headCells(view, layer, head, look.scale), look.shades, gap);
    const labels = keys.map((text, i) => {
      const isShort = box.top <= 20,
        place = isShort
          ? { x: columnMiddle(i), y: box.top - 9, "text-anchor": "middle" }
          : { transform: `translate(${columnMiddle(i)} ${box.top - 5}) rotate(-90)` },
        label = isShort ? tokenLabel(text) : fitLabel(tokenLabel(text), box.top - 6, box.font);
      const look = { "font-size": box.font, opacity: view.hidden[i] ? 0.45 : null };
      return i % box.every ? null : svgNode("text.label", { ...place, ...look }, label);
    });
    const drawNumber = (query, key) => {
      const weight = weightAt(query, key),
        isDark = weight / fullWeight(query) > 0.6,
        place = { x: columnMiddle(key) - 1, y: rowMiddle(query), "font-size": box.cell >= 44 ? 15 : 12 };
      return weight >= 0.005 && svgNode("text.number", { ...place, ".dark": isDark }, formatWeight(weight, 2));
    };
    const numbers =
      box.cell < 32 ? [] : state.tokens.flatMap((_, query) => keys.map((_, key) => drawNumber(query, key)));
    return [...labels, ...numbers].filter(Boolean);
  }

  /** Draw what follows the pointer: the hovered or focused token, otherwise the selected query. */
  function drawHover() {
    frame = 0;
    if (!state || !width) return;
    const query = shownQuery();
    above.replaceChildren(...(isMatrix() ? frameCells(query) : highlightLines(query)));
    [reading, whole] = [describeSelection(query), cutTokens()];
    update();
  }

  /** Frame the row of the query, and the column under the pointer. */
  function frameCells(query) {
    const { view } = state,
      { left, top, cell } = box,
      key = hover?.key ?? -1,
      first = view.causal ? key : 0;
    marks = { left: new Map([[query, ""]]), right: new Map() };
    const row = { x: left - 2, y: top + query * cell - 1.5, width: cell * view.reach(query) + 2.5, height: cell + 1.5 };
    const column = { x: left + key * cell - 1, y: top + first * cell - 1, width: cell };
    const height = (view.queries - first) * cell + 0.5;
    return [
      svgNode("rect", { ...row, "stroke-width": 1.5 }),
      ...(key >= 0 && key < view.keys ? [svgNode("rect", { ...column, height, opacity: 0.55 })] : []),
    ];
  }

  /** Highlight the lines of the query, or those to the key under the pointer, and write the strongest weights. */
  function highlightLines(query) {
    const { view, layer, head } = state,
      isKey = hover?.side === "right",
      lines = isKey
        ? state.tokens.map((_, from) => [from, hover.at, weightAt(from, hover.at)])
        : strongestKeys(view, layer, head, query, view.keys, 0.004).map(([key, weight]) => [query, key, weight]);
    const end = isKey ? 0 : 1, // of a line, at which its value stands if there is room
      strong = [];
    for (const line of lines.filter(([, , weight]) => weight >= NAMED).sort((a, b) => b[2] - a[2]))
      if (strong.length < VALUES && strong.every((other) => Math.abs(other[end] - line[end]) * box.cell >= 11))
        strong.push(line);
    const values = new Map(strong.map((line) => [line[end], formatWeight(line[2], 2)])),
      pivot = new Map([[isKey ? hover.at : query, ""]]);
    marks = isKey ? { left: values, right: pivot } : { left: pivot, right: values };
    return lines
      .filter(([, , weight]) => weight >= (isKey ? VISIBLE_WEIGHT : 0))
      .map(([from, to, weight]) => {
        const share = weight / fullWeight(from),
          look = { "stroke-width": lineWidth(share) + 0.4, opacity: Math.min(1, 0.35 + 0.75 * share) };
        return svgNode("path", { d: curve(from, to), ...look });
      });
  }

  const quoteQuery = (at) => quoteToken(state.tokens[at]),
    quoteKey = (at) => quoteToken(state.keys[at]),
    describe = (query) => describeQuery(state.view, state.layer, state.head, query, quoteKey, quoteQuery);
  /** Return in full the tokens that are cut in the sentence. */
  function cutTokens() {
    if (!hover) return "";
    const pointed = [(hover.side === "right" ? state.keys : state.tokens)[hover.at], state.keys[hover.key]];
    return pointed
      .filter((token) => token !== undefined && quoteToken(token).includes("…"))
      .map(tokenLabel)
      .join("\n");
  }
  function describeSelection(query) {
    const { view, tokens } = state;
    if (hover?.side === "right") {
      const name = quoteKey(hover.at);
      if (view.hidden[hover.at]) return `No query attends to ${name}: it is masked.`;
      const from = tokens
        .map((_, i) => [i, weightAt(i, hover.at)])
        .filter(([, weight]) => weight >= NAMED)
        .sort((a, b) => b[1] - a[1])
        .slice(0, 3)
        .map(([i, weight]) => `${quoteQuery(i)} ${formatWeight(weight, 2)}`);
      if (!from.length) return `No query attends to ${name} with more than 0.04.`;
      return `${name} gets attention from ${from.join(", ")}.`;
    }
    if (!(isMatrix() && hover?.key >= 0)) return query >= 0 ? describe(query) : "";
    const weight = weightAt(query, hover.key),
      pair = (verb) => `${quoteQuery(query)} ${verb} to ${quoteKey(hover.key)}`;
    if (Number.isNaN(weight)) return `${pair("cannot attend")}: the pair is masked.`;
    return `${pair("attends")} with ${formatWeight(weight, 4)}.`;
  }

  function setHover(next) {
    if (JSON.stringify(next) === JSON.stringify(hover)) return;
    hover = next;
    frame ||= requestAnimationFrame(drawHover);
  }
  function pointAt(event) {
    if (!state || !box) return;
    const { x, y } = pointerPosition(event, stage),
      at = Math.floor((y - box.top) / box.cell),
      key = Math.floor((x - box.left) / box.cell),
      side = !isMatrix() && x > (box.left + box.right) / 2 ? "right" : "left",
      count = (side === "right" ? state.keys : state.tokens).length;
    if (at < 0 || at >= count || (isMatrix() && key >= state.keys.length)) return setHover(null);
    setHover(isMatrix() ? { side, at, key } : { side, at });
  }
  const indexOf = (target) => [...queries.children].findIndex((one) => one.contains(target));
  queries.addEventListener("focusin", ({ target }) => {
    const at = indexOf(target);
    if (at < 0 || !target.matches(":focus-visible")) return;
    target.ariaLabel = `Token ${at + 1}: ${describe(at)}`;
    setHover({ side: "left", at });
  });
  queries.addEventListener("focusout", () => setHover(null));
  function moveFocus(event) {
    const count = state.tokens.length,
      at = indexOf(event.target),
      pages = { PageUp: Math.max(0, at - 10), PageDown: Math.min(count - 1, at + 10) };
    const to = pages[event.key] ?? moveIndex(event.key, at, count);
    if (at < 0 || to === null) return;
    event.preventDefault();
    queries.children[to]?.focus();
  }

  return {
    root,
    /** Show a head. */
    show(newState, newWidth) {
      state = newState;
      if (newWidth) width = newWidth;
      if (!width) return;
      const pointed = hover?.side === "right" ? (isMatrix() ? [] : state.keys) : state.tokens;
      if (hover?.at >= pointed.length) hover = null;
      box = layoutHead(state, width);
      below.replaceChildren(...(isMatrix() ? drawMatrix() : drawLines()));
      drawHover();
    },
    close: () => cancelAnimationFrame(frame),
  };
}
