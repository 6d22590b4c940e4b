/* Draw one head enlarged: lines from query tokens (left) to key tokens (right), or its matrix. There are two canvases: the
   lower one changes with the head, the upper one follows the pointer. */
import { describeQuery, fullColourWeight, headCells, strongestKeys } from "./math.js";
import { paintCells } from "../../shared/charts/heatmap.js";
import { setTextIfChanged, node } from "../../shared/runtime/dom.js";
import { labelLength, quoteToken, tokenLabel } from "../../shared/runtime/visible_text.js";
import { pointerPosition } from "../../shared/runtime/pointer.js";
import { isScreened, limitHeight } from "../../shared/runtime/component.js";
import { formatWeight } from "../../shared/runtime/format.js";

export const TALLEST = 768,
  VISIBLE_WEIGHT = 0.02; // px of a long text; the weakest line that is drawn
/** Return the smallest weight that is drawn; in a long text the weakest lines would hide the others. */
export const smallestVisible = (count) => (count > 32 ? 2 * VISIBLE_WEIGHT : VISIBLE_WEIGHT);
const VALUES = 12,
  NAMED = 0.045; // values written beside the tokens: the strongest, and none below
const BUCKETS = 24; // widths of lines

/** Sizes of a drawing of `count` tokens. */
export function rowSizes(count) {
  const [least, smallest] = isScreened() ? [2, 14] : [6, 11]; // px of a row, and of its letters
  const high = Math.max(least, Math.min(count > 12 ? 24 : 34, limitHeight(TALLEST, 360) / count));
  const line = high >= 12 ? Math.floor(high) : high;
  return {
    high: line,
    font: Math.max(smallest, Math.min(count > 12 ? 16 : 18, Math.round(line * 0.8))),
    every: Math.ceil((smallest + 0.5) / line),
  };
}

/** Width of a token in px: its letters are all of one width. */
export const lineWidth = (text, font) => Math.ceil(labelLength(tokenLabel(text)) * font * 0.6 + 9);

/** Cut a label that is wider than `width` px. */
export function fitLabel(label, width, font) {
  const most = Math.floor(width / (font * 0.6));
  if (labelLength(label) <= most) return label;
  let letters = [...label];
  while (letters.length && labelLength(letters.join("")) > most - 1) letters = letters.slice(0, -1);
  return `${letters.join("")}…`;
}

/** Return the opacity and width of a line. */
export const lineStyle = (share, high) => ({
  width: 0.6 + share * Math.min(7.5, high * 0.5),
  alpha: 0.1 + 0.42 * share,
});

/** Add a curve that is horizontal at both ends to the path. */
export function drawCurve(pen, x0, y0, x1, y1) {
  const bend = (x1 - x0) * 0.42;
  pen.moveTo(x0, y0);
  pen.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
}

/** Return how far (px) the label of a low row is above and below it. */
const overhang = (/** @type {any} */ { font, cell }) => Math.max(0, Math.ceil((font + 3 - cell) / 2));

/** `does` = { keep(query) }. */
export function headView(does) {
  const below = node("canvas", { class: "below", role: "img" }),
    above = node("canvas", { class: "above", "aria-hidden": "true" });
  const queries = node("div", { class: "asks", role: "group", "aria-label": "Query tokens" }),
    answers = node("div", { class: "answers", "aria-hidden": "true" });
  const stage = node("div", { class: "stage" }, below, above, queries, answers);
  const cellsOf = document.createElement("canvas"); // the matrix alone
  const veil = node("i", { class: "veil" });
  const reading = node("p", { class: "reading" });
  const root = node("div", { class: "gaze" }, stage, reading);
  let state = null; // { view, layer, head, tokens, kinds: keys, look, view kind, asked, unit }
  let size = { width: 0, height: 0 },
    built = "",
    hover = null,
    lefts = [],
    rights = [],
    box = null,
    frame = 0,
    lit = [];

  const shownQuery = () => (hover?.side === "right" ? null : (hover?.at ?? state.asked));
  const tokenQuoter = (tokens) => (at) => quoteToken(tokens[at]);

  function buildTokens() {
    const { tokens, keys, kind, view } = state,
      { high, font, every } = rowSizes(Math.max(tokens.length, keys.length));
    const layout = JSON.stringify([kind, tokens, keys, size.width, limitHeight(TALLEST), [...view.hidden]]);
    if (layout === built) return;
    const focus = lefts.indexOf(root.getRootNode().activeElement);
    built = layout;
    lit = [];
    root.classList.toggle("matrix", kind === "matrix");
    const widestText = (texts) =>
      Math.min(size.width * 0.28, Math.max(16, ...texts.map((text) => lineWidth(text, font))));
    if (kind === "matrix") {
      const left = Math.ceil(widestText(tokens)) + 8,
        tall = keys.every((text) => labelLength(tokenLabel(text)) <= 1)
          ? 20
          : Math.min(96, Math.ceil(widestText(keys)) + 8);
      const room = Math.min(size.width - left - 2, 720),
        cell = Math.min(room / keys.length, limitHeight(Infinity, 370 - tall) / tokens.length);
      const side = cell >= 4 ? Math.min(64, Math.floor(cell)) : cell;
      const right = left + side * keys.length,
        bottom = tall + side * tokens.length;
      box = {
        left,
        top: tall,
        cell: side,
        font: Math.max(isScreened() ? 14 : 10, Math.min(15, side * 0.75)),
        every: Math.ceil((isScreened() ? 15 : 11) / side),
        right,
        bottom,
      };
      size.height = Math.ceil(box.bottom) + Math.max(2, overhang(box));
    } else {
      const wide = Math.ceil(Math.max(widestText(tokens), widestText(keys))) + 8;
      const top = overhang({ font, cell: high });
      box = { left: wide, right: size.width - wide - 42, top, cell: high, font, every };
      size.height = Math.ceil(high * Math.max(tokens.length, keys.length)) + 2 * top;
    }
    stage.style.height = `${size.height}px`;
    stage.style.setProperty("--high", `${box.cell}px`);
    stage.style.setProperty("--font", `${box.font}px`);
    stage.style.setProperty("--left", `${box.left}px`);
    stage.style.setProperty("--answers", `${box.right}px`);
    for (const canvas of [below, above]) {
      const ratio = devicePixelRatio || 1;
      canvas.width = Math.round(size.width * ratio);
      canvas.height = Math.round(size.height * ratio);
      canvas.style.width = `${size.width}px`;
      canvas.style.height = `${size.height}px`;
    }
    const placeToken = (one, i, thin) => {
      one.style.top = `${box.top + i * box.cell}px`;
      if (i % box.every) one.classList.add("thin");
      if (thin) one.classList.add("never");
      return one;
    };
    lefts = tokens.map((text, i) =>
      placeToken(
        node(
          "button",
          { type: "button", tabindex: -1 },
          node("span", {}, tokenLabel(text)),
          node("b", { class: "weight" }),
        ),
        i,
        view.silent[i],
      ),
    );
    rights =
      kind === "matrix"
        ? []
        : keys.map((text, i) =>
            placeToken(
              node("span", {}, node("span", {}, tokenLabel(text)), node("b", { class: "weight" })),
              i,
              view.hidden[i],
            ),
          );
    queries.replaceChildren(...lefts);
    answers.replaceChildren(...rights, veil);
    if (focus >= 0) lefts[Math.min(focus, lefts.length - 1)]?.focus();
  }

  /** Make the selected query the one that Tab reaches. */
  let pressed = null; // the query token that is marked as pressed, and the buttons it was marked in
  function markSelectedQuery() {
    if (pressed?.asked === state.asked && pressed.lefts === lefts) return;
    pressed = { asked: state.asked, lefts };
    lefts.forEach((one, i) => {
      one.tabIndex = i === state.asked ? 0 : -1;
      one.setAttribute("aria-pressed", i === state.asked);
    });
  }

  const rowMiddle = (i) => box.top + (i + 0.5) * box.cell;
  /** @returns {any} */
  function prepareCanvas(canvas) {
    const ratio = devicePixelRatio || 1,
      context = canvas.getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    return context;
  }

  /** Draw the attention of the head on the lower canvas, or into a file. */
  function drawBase(context = prepareCanvas(below)) {
    const { view, layer, head, kind, look } = state;
    below.ariaLabel = `${kind === "matrix" ? "The matrix" : "The lines"} of layer ${layer + 1}, head ${head + 1}`;
    if (kind === "matrix") return drawMatrix(context);
    const least = smallestVisible(view.queries),
      buckets = Array.from({ length: BUCKETS }, () => []);
    for (let asking = 0; asking < view.queries; asking++) {
      const row = view.row(layer, head, asking),
        reach = view.reach(asking),
        full = fullColourWeight(view, layer, head, asking, look.scale);
      for (let key = 0; key < reach; key++) {
        const share = view.data[row + key] / full;
        if (share >= least && !view.hidden[key])
          buckets[Math.min(BUCKETS - 1, Math.floor(share * BUCKETS))].push(asking, key);
      }
    }
    context.strokeStyle = look.soft;
    context.lineCap = "round";
    buckets.forEach((pairs, i) => {
      if (!pairs.length) return;
      const { width, alpha } = lineStyle((i + 0.5) / BUCKETS, box.cell);
      context.globalAlpha = alpha;
      context.lineWidth = width;
      context.beginPath();
      for (let p = 0; p < pairs.length; p += 2)
        drawCurve(context, box.left, rowMiddle(pairs[p]), box.right, rowMiddle(pairs[p + 1]));
      context.stroke();
    });
    context.globalAlpha = 1;
  }

  function drawMatrix(context) {
    const { view, layer, head, keys, look } = state,
      ratio = devicePixelRatio || 1;
    const [wide, tall] = [view.keys, view.queries].map((count) => Math.max(1, Math.round(count * box.cell * ratio)));
    if (cellsOf.width !== wide || cellsOf.height !== tall) Object.assign(cellsOf, { width: wide, height: tall });
    const gap = box.cell >= 14 ? Math.round(2 * ratio) : box.cell >= 6 ? Math.round(ratio) : 0;
    paintCells(cellsOf, headCells(view, layer, head, look.scale), look.shades, gap);
    context.imageSmoothingEnabled = false;
    context.drawImage(cellsOf, box.left, box.top, wide / ratio, tall / ratio);
    context.font = `${box.font}px "Source Code", monospace`;
    context.fillStyle = look.soft;
    context.textBaseline = "middle";
    keys.forEach((text, i) => {
      if (i % box.every) return;
      const x = box.left + (i + 0.5) * box.cell;
      context.globalAlpha = view.hidden[i] ? 0.45 : 1;
      if (box.top <= 20) {
        context.textAlign = "center";
        return context.fillText(tokenLabel(text), x, box.top - 9);
      }
      context.save();
      context.translate(x, box.top - 5);
      context.rotate(-Math.PI / 2);
      context.textAlign = "left";
      context.fillText(fitLabel(tokenLabel(text), box.top - 6, box.font), 0, 0);
      context.restore();
    });
    context.globalAlpha = 1;
    if (box.cell < 32) return;
    context.textAlign = "center";
    context.font = `${box.cell >= 44 ? 15 : 12}px "Source Sans", sans-serif`;
    for (let asking = 0; asking < view.queries; asking++) {
      const full = fullColourWeight(view, layer, head, asking, look.scale) / 65535;
      for (let key = 0; key < view.reach(asking); key++) {
        const weight = view.at(layer, head, asking, key);
        if (!(weight >= 0.005)) continue;
        context.fillStyle = weight / full > 0.6 ? look.page : look.ink;
        context.fillText(formatWeight(weight, 2), box.left + (key + 0.5) * box.cell - 1, rowMiddle(asking));
      }
    }
  }

  /** Draw on the upper canvas, or into a file, and in the tokens: the hovered or focused token, otherwise the selected
      query. */
  function drawHover(context = prepareCanvas(above)) {
    const { view, layer, head, look, kind } = state,
      asking = shownQuery();
    stage.classList.toggle("dim", kind !== "matrix");
    if (kind === "matrix") {
      if (asking >= 0) {
        context.strokeStyle = look.ink;
        context.lineWidth = 1.5;
        context.strokeRect(
          box.left - 2,
          box.top + asking * box.cell - 1.5,
          box.cell * view.reach(asking) + 2.5,
          box.cell + 1.5,
        );
        if (hover?.key >= 0 && hover.key < view.keys) {
          context.globalAlpha = 0.55;
          context.lineWidth = 1;
          const top = view.causal ? hover.key : 0;
          context.strokeRect(
            box.left + hover.key * box.cell - 1,
            box.top + top * box.cell - 1,
            box.cell,
            (view.queries - top) * box.cell + 0.5,
          );
          context.globalAlpha = 1;
        }
      }
      highlightTokens([[asking, ""]], []);
      return describeSelection(asking);
    }
    const lines = [];
    if (hover?.side === "right") {
      for (let from = 0; from < view.queries; from++) {
        const weight = view.at(layer, head, from, hover.at);
        if (weight >= VISIBLE_WEIGHT)
          lines.push([
            from,
            hover.at,
            weight,
            weight / (fullColourWeight(view, layer, head, from, look.scale) / 65535),
          ]);
      }
    } else if (asking >= 0) {
      const full = fullColourWeight(view, layer, head, asking, look.scale) / 65535;
      for (const [key, weight] of strongestKeys(view, layer, head, asking, view.keys, 0.004))
        lines.push([asking, key, weight, weight / full]);
    }
    context.strokeStyle = look.colour;
    context.lineCap = "round";
    for (const [from, to, , share] of lines) {
      const { width } = lineStyle(share, box.cell);
      context.globalAlpha = Math.min(1, 0.35 + 0.75 * share);
      context.lineWidth = width + 0.4;
      context.beginPath();
      drawCurve(context, box.left, rowMiddle(from), box.right, rowMiddle(to));
      context.stroke();
    }
    context.globalAlpha = 1;
    const strong = [],
      end = hover?.side === "right" ? 0 : 1; // the end of a line at which its value stands, if there is room
    for (const line of lines.filter(([, , weight]) => weight >= NAMED).sort((a, b) => b[2] - a[2])) {
      if (strong.length < VALUES && strong.every((other) => Math.abs(other[end] - line[end]) * box.cell >= 11))
        strong.push(line);
    }
    if (hover?.side === "right")
      highlightTokens(
        strong.map(([from, , weight]) => [from, formatWeight(weight, 2)]),
        [[hover.at, ""]],
      );
    else
      highlightTokens(
        [[asking, ""]],
        strong.map(([, to, weight]) => [to, formatWeight(weight, 2)]),
      );
    const blocked = hover?.side === "right" ? view.keys : view.reach(asking);
    veil.style.transform = `translateY(${box.top + box.cell * blocked}px)`; // over the masked keys
    describeSelection(asking);
  }

  /** Highlight tokens and write their weights; only nodes that change are updated. */
  function highlightTokens(left, right) {
    const labels = [
      ...left.map(([i, text]) => [lefts[i], text]),
      ...right.map(([i, text]) => [rights[i], text]),
    ].filter(([one]) => one);
    for (const [one] of lit)
      if (!labels.some(([other]) => other === one)) {
        one.classList.remove("lit", "pivot");
        setTextIfChanged(one.lastChild, "");
      }
    for (const [one, text] of labels) {
      one.classList.add("lit");
      one.classList.toggle("pivot", !text);
      setTextIfChanged(one.lastChild, text);
    }
    lit = labels;
    if (box.every > 1) for (const list of [lefts, rights]) hideNeighbours(list);
  }

  /** Hide the labels on which a highlighted one lies. */
  function hideNeighbours(list) {
    const highlighted = list.flatMap((one, i) => (one.classList.contains("lit") ? [i] : []));
    list.forEach((one, i) =>
      one.classList.toggle(
        "near",
        highlighted.some((at) => Math.abs(at - i) < box.every),
      ),
    );
  }

  function describeSelection(asking) {
    const { view, layer, head, tokens, keys } = state;
    let text;
    const pointed = hover ? [hover.side === "right" ? keys[hover.at] : tokens[hover.at], keys[hover.key]] : [],
      cut = pointed.filter((token) => token !== undefined && quoteToken(token).includes("…"));
    const whole = cut.map(tokenLabel).join("\n");
    if (stage.title !== whole) stage.title = whole;
    if (hover?.side === "right") {
      const all = Array.from({ length: view.queries }, (_, i) => [i, view.at(layer, head, i, hover.at)]);
      const from = all
        .filter(([, weight]) => weight >= NAMED)
        .sort((a, b) => b[1] - a[1])
        .slice(0, 3);
      const name = tokenQuoter(keys)(hover.at);
      text = view.hidden[hover.at]
        ? `No query attends to ${name}: it is masked.`
        : from.length
          ? `${name} gets attention from ${from.map(([i, weight]) => `${tokenQuoter(tokens)(i)} ${formatWeight(weight, 2)}`).join(", ")}.`
          : `No query attends to ${name} with more than 0.04.`;
    } else if (hover?.key >= 0 && state.kind === "matrix") {
      const weight = view.at(layer, head, asking, hover.key),
        pair = `${tokenQuoter(tokens)(asking)} ${Number.isNaN(weight) ? "cannot attend" : "attends"} to ${tokenQuoter(keys)(hover.key)}`;
      text = Number.isNaN(weight) ? `${pair}: the pair is masked.` : `${pair} with ${formatWeight(weight, 4)}.`;
    } else text = asking >= 0 ? describeQuery(view, layer, head, asking, tokenQuoter(keys), tokenQuoter(tokens)) : "";
    setTextIfChanged(reading, text);
  }

  const drawFrame = () => {
    frame = 0;
    if (state && size.width) drawHover();
  };
  const requestFrame = () => {
    frame ||= requestAnimationFrame(drawFrame);
  };
  function updateHover(event) {
    if (!state || !box) return;
    const { x, y } = pointerPosition(event, stage);
    const at = Math.floor((y - box.top) / box.cell);
    let next = null;
    if (state.kind === "matrix") {
      const key = Math.floor((x - box.left) / box.cell);
      if (at >= 0 && at < state.tokens.length && key < state.keys.length) next = { side: "left", at, key };
    } else {
      const side = x > (box.left + box.right) / 2 ? "right" : "left",
        count = side === "right" ? state.keys.length : state.tokens.length;
      if (at >= 0 && at < count) next = { side, at };
    }
    if (next?.side === hover?.side && next?.at === hover?.at && next?.key === hover?.key) return;
    hover = next;
    requestFrame();
  }
  stage.addEventListener("pointermove", updateHover);
  stage.addEventListener("pointerdown", updateHover);
  stage.addEventListener("pointerleave", () => {
    hover = null;
    requestFrame();
  });
  stage.addEventListener("click", (event) => {
    const pressed = lefts.findIndex((one) => one.contains(event.target));
    const at = pressed >= 0 ? pressed : hover?.side === "left" ? hover.at : -1;
    if (at >= 0) does.keep(at);
  });
  queries.addEventListener("focusin", (event) => {
    const at = lefts.findIndex((one) => one.contains(event.target));
    if (at < 0 || !event.target.matches(":focus-visible")) return;
    hover = { side: "left", at };
    lefts[at].ariaLabel =
      `Token ${at + 1}: ${describeQuery(state.view, state.layer, state.head, at, tokenQuoter(state.keys), tokenQuoter(state.tokens))}`;
    requestFrame();
  });
  queries.addEventListener("focusout", () => {
    hover = null;
    requestFrame();
  });
  queries.addEventListener("keydown", (event) => {
    const at = lefts.indexOf(event.target);
    const to = {
      ArrowUp: at - 1,
      ArrowDown: at + 1,
      PageUp: Math.max(0, at - 10),
      PageDown: Math.min(lefts.length - 1, at + 10),
      Home: 0,
      End: lefts.length - 1,
    }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    lefts[to]?.focus();
  });

  return {
    root,
    /** What draws the two canvases, for a saved file. */
    canvases: new Map([
      [below, drawBase],
      [above, drawHover],
    ]),
    /** Show a head. */
    show(newState, width) {
      state = newState;
      if (width) size.width = width;
      if (!size.width) return;
      if (hover && hover.at >= (hover.side === "right" ? state.keys : state.tokens).length) hover = null;
      buildTokens();
      markSelectedQuery();
      drawBase();
      drawHover();
    },
    close: () => cancelAnimationFrame(frame),
  };
}
