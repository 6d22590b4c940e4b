/* Draw all tokens of a text, one below the other, for one step of the attention walkthrough: their vectors as tiles, or
   their scores and weights as bars with numbers. The list scrolls; the largest are named above it. Scenes: see pictures.js. */
import * as math from "./math.js";
import { quoteToken, tokenLabel } from "../../../../static/shared/runtime/visible_text.js";
import { pointerPosition } from "../../../../static/shared/runtime/pointer.js";
import { node } from "../../../../static/shared/runtime/dom.js";
import { LiveElements } from "../../../../static/shared/runtime/view_state.js";
import { weightedScale } from "./pictures.js";
import { paintCells } from "../../../../static/shared/charts/heatmap.js";
import { scalePosition } from "../../../../static/shared/charts/value_scale.js";
import { formatNumber, formatWeight } from "../../../../static/shared/runtime/format.js";

const NAMED = 4; // of the strongest
const SUM = 26; // px of the tiles of the sum

/** Paint vectors as tiles without numbers: a row of `pitch` px for each, in which its tiles are `high` px high. */
function paintVectors(canvas, vectors, end, { size, shades }, pitch, high) {
  const ratio = devicePixelRatio || 1,
    [width, height] = [size.track, pitch * vectors.length],
    gap = size.track / vectors[0].length >= 8 ? 1.5 : 0.5,
    row = (r) => Float32Array.from(vectors[r], (value) => scalePosition(value, end)),
    style = { width: `${width}px`, height: `${height}px`, marginTop: `${(pitch - high) / 2}px` };
  Object.assign(canvas, { width: Math.round(width * ratio), height: Math.round(height * ratio) });
  Object.assign(canvas.style, style);
  const grid = { rows: vectors.length, columns: vectors[0].length, row };
  paintCells(canvas, grid, shades, Math.round(gap * ratio), Math.round((pitch - high) * ratio));
}

function rowVectors({ walk, step, arrays }) {
  const { data, shape } = arrays.queries,
    count = step === math.QUERY ? shape[0] : walk.count;
  const vectorOf = {
    [math.QUERY]: (i) => data.subarray(i * shape[1], (i + 1) * shape[1]),
    [math.KEYS]: walk.key,
    [math.VALUES]: (i) => math.weightedValue(walk, i),
  }[step];
  return Array.from({ length: count }, (_, i) => vectorOf(i));
}

/** Draw the rows; `keep(key)` and `point(key or null)` are called when one is pressed or pointed at. */
export function keyList(keep, point) {
  let scene = null,
    axis = null, // of the bars; null where vectors are shown
    zero = 0; // share of the axis
  const rows = new LiveElements();
  const isHidden = (i) => scene.step >= math.MASK && Number.isNaN(scene.walk.weights[i]),
    asks = (i) => scene.step === math.QUERY && i === scene.walk.asked,
    length = (value) => value / (axis.high - axis.low || 1);
  const barStyle = (value) =>
    `transform: ${Number.isNaN(value) ? "scaleX(0)" : `translateX(${100 * (zero + length(Math.min(0, value)))}%) scaleX(${length(Math.abs(value))})`}`;
  /** The note at the end of a row: the number by which keys are compared at this step. */
  function rowNote(i) {
    const { walk, step } = scene;
    if (step < math.SCORES) return asks(i) ? "query" : "";
    if (isHidden(i)) return step === math.MASK ? formatNumber(-Infinity) : ""; // empty, not zero
    if (step >= math.SOFTMAX) return formatWeight(walk.weights[i]);
    return formatNumber((step === math.SCORES ? walk.raw : walk.scaled)[i]);
  }
  function describeRow(i) {
    const number = scene.step < math.SCORES || !rowNote(i) ? "" : `: ${rowNote(i)}`;
    return `${scene.unit} ${i + 1}, ${quoteToken(scene.tokens[i])}${isHidden(i) ? ", hidden" : number}`;
  }
  const makeBar = (inner, name, valueOf) =>
    inner.node("i", { class: () => (valueOf() < 0 ? `${name} minus` : name), style: () => barStyle(valueOf()) });
  const makeRow = (token, i, inner) =>
    inner.node(
      "button",
      {
        type: "button",
        class: () => `row${isHidden(i) ? " hidden" : ""}${asks(i) ? " asks" : ""}`,
        "aria-label": () => describeRow(i),
      },
      node("span.place", String(i + 1)),
      node("span.token", tokenLabel(token)),
      node(
        "span.track",
        makeBar(inner, "ghost", () => axis?.ghost?.[i] ?? NaN),
        makeBar(inner, "bar", () => (axis && !isHidden(i) ? axis.values[i] : NaN)),
      ),
      inner.node("span.value", () => rowNote(i)),
    );
  const best = node("div.best"),
    strips = node("canvas.strips", { "aria-hidden": "true" }),
    label = () => (scene.step === math.QUERY ? "Tokens that may ask" : "Keys: choose one to see its numbers"),
    list = rows.node(
      "div.rows",
      { role: "group", "aria-label": label, style: () => `--zero: ${zero}` },
      rows.list(() => scene.tokens, makeRow),
    ),
    scroller = node("div.scroller", strips, list),
    foot = node("div.foot"),
    sum = node("canvas.foot-strip", { role: "img" });
  /** The row of an event; -1: none. */
  const rowOfEvent = (event) => [...list.children].findIndex((row) => row.contains(event.target));
  list.onpointermove = (event) => {
    if (event.pointerType === "touch") return;
    const at = Math.floor(pointerPosition(event, list).y / scene.size.row);
    point(at >= 0 && at < scene.tokens.length ? at : null);
  };
  list.onpointerleave = () => point(null);
  list.onclick = (event) => rowOfEvent(event) >= 0 && keep(rowOfEvent(event));

  function showStrongest() {
    const { tokens, unit, walk, step } = scene,
      values = step >= math.SOFTMAX ? walk.weights : step >= math.SCALE ? walk.scaled : walk.raw,
      format = step >= math.SOFTMAX ? formatWeight : formatNumber;
    const hint = {
      [math.QUERY]: walk.count === 1 ? "" : `Click a ${unit} to make it the query.`,
      [math.KEYS]: walk.count === 1 ? "" : `Point at a ${unit}; press it to stay there.`,
    }[step];
    const nothing = walk.count === 1 || (step >= math.MASK && !walk.seen.length) ? "" : null,
      alike = step >= math.SOFTMAX && walk.uniform ? "All alike." : null,
      text = hint ?? nothing ?? alike;
    if (text !== null) return best.replaceChildren(node("span.label.hint", text));
    const buttons = math.strongestKeys(walk, step, NAMED).map((i) => {
      const onclick = () => {
        keep(i);
        scrollToKey(i);
      };
      const name = `${quoteToken(tokens[i])}, ${unit} ${i + 1}: ${format(values[i])}`,
        events = { onclick, onpointerenter: () => point(i), onpointerleave: () => point(null) },
        parts = [node("span.code", tokenLabel(tokens[i])), node("span", format(values[i]))];
      return node("button.strong", { type: "button", "aria-label": name, ...events }, ...parts);
    });
    best.replaceChildren(node("span.label", "Strongest"), ...buttons);
  }

  function footParts() {
    const { walk, step, scale } = scene,
      makeLabel = (text) => node("span.foot-label", text);
    if (step < math.SCORES) {
      const digits = math.digitsOf(scale.asking),
        [low, high] = [-scale.asking, scale.asking].map((value) => node("span", formatNumber(value, digits)));
      return [node("div.legend", low, node("i.ramp"), high)];
    }
    if (step >= math.MASK && !walk.seen.length) return [];
    if (step === math.VALUES) {
      paintVectors(sum, [walk.mixed], weightedScale(walk), scene, SUM, SUM);
      sum.ariaLabel = `The sum: ${Array.from(walk.mixed, (value) => formatNumber(value)).join(", ")}`;
      return [makeLabel(walk.off ? "zeros" : "sum"), node("span.foot-track", sum)];
    }
    const makeTick = (text, from) => {
      const side = from < 0.06 ? "start" : from > 0.94 ? "end" : "";
      return node("span", { class: `tick ${side}`, style: `left: ${100 * from}%` }, text);
    };
    const ticks = [
      makeTick("0", zero),
      axis.low < 0 && zero > 0.12 ? makeTick(formatNumber(axis.low, 1), 0) : null,
      axis.high > 0 && zero < 0.88 ? makeTick(formatNumber(axis.high, 1), 1) : null,
    ];
    const weights = walk.seen.reduce((all, i) => all + walk.weights[i], 0),
      total = step === math.SOFTMAX ? formatNumber(weights, 3) : "";
    return [makeLabel(total && "sum"), node("span.foot-track", ...ticks), node("b.foot-value", total)];
  }

  function scrollToKey(i) {
    const high = scene.size.row,
      top = i * high,
      { scrollTop, clientHeight } = scroller;
    if (top < scrollTop || top + high > scrollTop + clientHeight)
      scroller.scrollTop = top - high * Math.floor(clientHeight / high / 2);
  }

  return {
    root: node("div.keys", best, scroller, foot),
    list,
    rowOfEvent,
    scrollToKey,
    show(newScene) {
      scene = newScene;
      const { walk, step, size, scale } = scene;
      axis = step < math.SCORES || step === math.VALUES ? null : math.barScale(walk, step);
      zero = axis ? -length(axis.low) : 0;
      rows.update();
      strips.hidden = Boolean(axis);
      const end = step === math.VALUES ? weightedScale(walk) : scale.asking;
      if (!axis) paintVectors(strips, rowVectors(scene), end, scene, size.row, Math.min(30, size.row - 4));
      showStrongest();
      foot.replaceChildren(...footParts());
    },
    /** Mark the hovered key (-1: none) and the one that Tab reaches. */
    markRows(hovered, selected) {
      [...list.children].forEach((row, i) => {
        row.classList.toggle("looked", i === hovered);
        row.ariaPressed = String(i === selected);
        row.tabIndex = i === selected ? 0 : -1;
      });
    },
  };
}
