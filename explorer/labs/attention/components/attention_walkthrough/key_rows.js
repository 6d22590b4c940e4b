/* Draw all tokens of a text, one below the other, for one step of the attention walkthrough: their vectors as tiles, or
   their scores and weights as bars with numbers. The list scrolls; the largest are named above it.

   A scene is { given: the data of view.js, walk: see math.js, step, scale, arrays, look: the palette, size }. */
import * as math from "./math.js";
import { quoteToken, tokenLabel } from "../../../../static/shared/runtime/visible_text.js";
import { pointerPosition } from "../../../../static/shared/runtime/pointer.js";
import { node } from "../../../../static/shared/runtime/dom.js";
import { shortenToWidth } from "../../../../static/shared/runtime/text_metrics.js";
import { paintShapes, weightedScale } from "./pictures.js";
import { formatNumber, formatWeight } from "../../../../static/shared/runtime/format.js";

const NAMED = 4; // of the strongest
const SUM = 26; // px of the tiles of the sum

/** Whether a step shows vectors; the others show one number a key. */
const showsVectors = (step) => step < math.SCORES || step === math.VALUES;

/** Draw one vector per row as tiles without numbers, or only the weighted sum of the values. */
function vectorTiles({ walk, step, scale, arrays, size }, sum = false) {
  const cell = size.track / walk.width,
    gap = cell >= 8 ? 1.5 : 0.5,
    high = sum ? SUM : Math.min(30, size.row - 4);
  const end = step === math.VALUES ? weightedScale(walk) : scale.asking,
    { data, shape } = arrays.queries;
  const vectorOf = (i) => {
    if (sum) return walk.mixed;
    if (step === math.VALUES) return math.weightedValue(walk, i);
    return step === math.QUERY ? data.subarray(i * shape[1], (i + 1) * shape[1]) : walk.key(i);
  };
  return Array.from({ length: sum ? 1 : step === math.QUERY ? shape[0] : walk.count }, (_, i) => i).flatMap((i) => {
    const top = sum ? 0 : i * size.row + (size.row - high) / 2;
    return Array.from(vectorOf(i), (value, n) => ({
      rect: [n * cell, top, cell - gap, high],
      fill: value / end,
    })).filter(({ fill }) => !Number.isNaN(fill));
  });
}

/** Return the note at the end of a row: the number by which keys are compared at this step. */
function rowNote({ walk, step }, i) {
  if (step < math.SCORES) return step === math.QUERY && i === walk.asked ? "query" : "";
  if (step >= math.MASK && Number.isNaN(walk.weights[i])) return step === math.MASK ? formatNumber(-Infinity) : ""; // empty, not zero
  if (step >= math.SOFTMAX) return formatWeight(walk.weights[i]);
  return formatNumber((step === math.SCORES ? walk.raw : walk.scaled)[i]);
}

class KeyRow {
  constructor(token, key) {
    const name = node("span.token", tokenLabel(token));
    this.ghost = node("i.ghost");
    this.bar = node("i.bar");
    this.value = document.createTextNode("");
    this.root = node(
      "button.row",
      { type: "button", tabindex: -1, "aria-pressed": "false" },
      node("span.place", String(key + 1)),
      name,
      node("span.track", this.ghost, this.bar),
      node("span.value", this.value),
    );
  }
}

/** `does` = { keep(key), point(key or null) }. */
export class KeyList {
  rows = [];
  best = node("div.best");
  strips = node("canvas.strips", { "aria-hidden": "true" });
  list = node("div.rows", { role: "group" });
  scroller = node("div.scroller", this.strips, this.list);
  foot = node("div.foot");
  sum = node("canvas.foot-strip", { role: "img" });
  root = node("div.keys", this.best, this.scroller, this.foot);

  constructor(does) {
    this.does = does;
    this.list.addEventListener("pointermove", (event) => {
      if (event.pointerType !== "touch") does.point(this.#rowUnder(event));
    });
    this.list.addEventListener("pointerleave", () => does.point(null));
    this.list.addEventListener("click", (event) => {
      const at = this.rowOfEvent(event);
      if (at >= 0) does.keep(at);
    });
  }

  #rowUnder(event) {
    const at = Math.floor(pointerPosition(event, this.list).y / this.high);
    return at >= 0 && at < this.rows.length ? at : null;
  }

  /** Return the row of an event; -1: none. */
  rowOfEvent(event) {
    return this.rows.findIndex(({ root }) => root.contains(event.target));
  }

  buildRows(tokens) {
    this.rows = tokens.map((token, i) => new KeyRow(token, i));
    this.list.replaceChildren(...this.rows.map(({ root }) => root));
  }

  show(scene) {
    const { given, walk, step, size, look } = scene,
      { tokens, unit } = given,
      axis = showsVectors(step) ? null : math.barScale(walk, step);
    const span = axis ? axis.high - axis.low || 1 : 1,
      zero = axis ? -axis.low / span : 0;
    this.high = size.row;
    this.list.ariaLabel = step === math.QUERY ? "Tokens that may ask" : "Keys: choose one to see its numbers";
    this.list.style.setProperty("--zero", zero);
    const barLength = (value) =>
      Number.isNaN(value)
        ? "scaleX(0)"
        : `translateX(${100 * (zero + Math.min(0, value) / span)}%) scaleX(${Math.abs(value) / span})`;
    this.rows.forEach(({ root, bar, ghost, value }, i) => {
      const hidden = step >= math.MASK && Number.isNaN(walk.weights[i]),
        number = axis && !hidden ? axis.values[i] : NaN,
        text = rowNote(scene, i);
      root.classList.toggle("hidden", hidden);
      root.classList.toggle("asks", step === math.QUERY && i === walk.asked);
      bar.style.transform = barLength(number);
      ghost.style.transform = barLength(axis?.ghost ? axis.ghost[i] : NaN);
      bar.classList.toggle("minus", number < 0);
      ghost.classList.toggle("minus", number < 0);
      if (value.data !== text) value.data = text;
      root.ariaLabel = `${unit} ${i + 1}, ${quoteToken(tokens[i])}${hidden ? ", hidden" : text && text !== "query" ? `: ${text}` : ""}`;
    });
    this.strips.style.display = axis ? "none" : "";
    if (!axis) paintShapes(this.strips, vectorTiles(scene), look, size.track, size.row * size.count);
    this.#nameBest(scene);
    this.#drawFoot(scene, axis, zero);
  }

  #nameBest({ given, walk, step }) {
    const { tokens, unit } = given,
      values = step >= math.SOFTMAX ? walk.weights : step >= math.SCALE ? walk.scaled : walk.raw,
      digits = step >= math.SOFTMAX ? formatWeight : formatNumber;
    const showHint = (text) => this.best.replaceChildren(node("span.label.hint", text));
    if (step === math.QUERY) return showHint(walk.count === 1 ? "" : `Click a ${unit} to make it the query.`);
    if (walk.count === 1 || (step >= math.MASK && !walk.seen.length)) return showHint("");
    if (step < math.SCORES) return showHint(`Point at a ${unit}; press it to stay there.`);
    if (step >= math.SOFTMAX && walk.uniform) return showHint("All alike.");
    this.best.replaceChildren(
      node("span.label", "Strongest"),
      ...math.strongestKeys(walk, step, NAMED).map((i) => {
        const row = node(
          "button.strong",
          { type: "button" },
          node("span.code", shortenToWidth(tokenLabel(tokens[i]), 110, 15)),
          node("span", digits(values[i])),
        );
        row.ariaLabel = `${quoteToken(tokens[i])}, ${unit} ${i + 1}: ${digits(values[i])}`;
        row.onclick = () => {
          this.does.keep(i);
          this.scrollToKey(i);
        };
        row.onpointerenter = () => this.does.point(i);
        row.onpointerleave = () => this.does.point(null);
        return row;
      }),
    );
  }

  /** Draw the scale and the sum below the list. */
  #drawFoot(scene, axis, zero) {
    const { walk, step, scale, look, size } = scene,
      makeLabel = (text) => node("span.foot-label", text);
    if (step < math.SCORES) {
      const digits = math.digitsOf(scale.asking),
        [low, high] = [-scale.asking, scale.asking].map((value) => node("span", formatNumber(value, digits)));
      return this.foot.replaceChildren(node("div.legend", low, node("i.ramp"), high));
    }
    if (step >= math.MASK && !walk.seen.length) return this.foot.replaceChildren();
    if (step === math.VALUES) {
      paintShapes(this.sum, vectorTiles(scene, true), look, size.track, SUM);
      this.sum.ariaLabel = `The sum: ${Array.from(walk.mixed, (value) => formatNumber(value)).join(", ")}`;
      return this.foot.replaceChildren(makeLabel(walk.off ? "zeros" : "sum"), node("span.foot-track", this.sum));
    }
    const makeTick = (text, from) => {
      const tick = node("span", { class: `tick ${from < 0.06 ? "start" : from > 0.94 ? "end" : ""}` }, text);
      tick.style.left = `${100 * from}%`;
      return tick;
    };
    const ticks = [makeTick("0", zero)];
    if (axis.low < 0 && zero > 0.12) ticks.push(makeTick(formatNumber(axis.low, 1), 0));
    if (axis.high > 0 && zero < 0.88) ticks.push(makeTick(formatNumber(axis.high, 1), 1));
    const total =
      step === math.SOFTMAX
        ? formatNumber(
            walk.seen.reduce((all, i) => all + walk.weights[i], 0),
            3,
          )
        : "";
    this.foot.replaceChildren(
      makeLabel(total && "sum"),
      node("span.foot-track", ...ticks),
      node("b.foot-value", total),
    );
  }

  /** Mark the hovered key (-1: none) and the one that Tab reaches. Only rows that change are updated. */
  markRows(hovered, selected) {
    const [hoveredRow, pressed] = [this.rows[hovered]?.root, this.rows[selected].root];
    if (hoveredRow !== this.now) {
      this.now?.classList.remove("looked");
      hoveredRow?.classList.add("looked");
    }
    if (pressed !== this.pressed) {
      for (const [one, yes] of [
        [this.pressed, false],
        [pressed, true],
      ]) {
        one?.setAttribute("aria-pressed", yes);
        if (one) one.tabIndex = yes ? 0 : -1;
      }
    }
    this.now = hoveredRow;
    this.pressed = pressed;
  }

  /** Scroll a key into view. */
  scrollToKey(i) {
    const top = i * this.high,
      scrollTop = this.scroller.scrollTop,
      room = this.scroller.clientHeight;
    if (top < scrollTop || top + this.high > scrollTop + room)
      this.scroller.scrollTop = top - this.high * Math.floor(room / this.high / 2);
  }
}
