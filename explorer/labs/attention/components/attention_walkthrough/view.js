/**
 * Show the computation of one head in seven steps, from the query of one token to the weighted sum, with the head's
 * own numbers. Pointing at a key or at a number of a vector shows it, a click keeps it; this sends no event. Events:
 * "asked": index of the token that was pressed; "step": the step that was selected.
 *
 * @import { SendEvent } from "../../../../static/shared/runtime/events.js"
 *
 * @typedef {object} WalkthroughData
 * @property {string[]} tokens
 * @property {number} asked index of the query token
 * @property {number} layer
 * @property {number} head
 * @property {number} width of the head
 * @property {string} address F32 queries, keys, values "time width", raw, scaled, weights "query key" (NaN where
 *    masked), mixed "query width"; see explorer/inspection/attention/logit_lens.py
 * @property {number} step 0 to 6
 * @property {"letter" | "token" | "word"} unit
 * @property {string} colour CSS variable
 * @property {string} file
 * @property {boolean} [turned] whether queries and keys are rotated (rotary positions); without it the formulas leave
 *    it open
 *
 * @typedef {object} WalkthroughEvents
 * @property {number} asked index of the query token
 * @property {number} step 0 to 6
 */
import * as math from "./math.js";
import { loadArrays } from "../../../../static/shared/runtime/array_store.js";
import { quoteToken, tokenLabel } from "../../../../static/shared/runtime/visible_text.js";
import { saveMenu } from "../../../../static/shared/runtime/export_menu.js";
import { toCsv } from "../../../../static/shared/runtime/csv.js";
import { icon, node, tint } from "../../../../static/shared/runtime/dom.js";
import { SyncedValue } from "../../../../static/shared/runtime/synced_value.js";
import { pointerPosition as inside } from "../../../../static/shared/runtime/pointer.js";
import { defineComponent } from "../../../../static/shared/runtime/component.js";
import { Theme } from "../../../../static/shared/runtime/theme.js";
import { screenSvg } from "../../../../static/shared/runtime/screen_svg.js";
import { KeyList } from "./key_rows.js";
import { tileGrid, paintShapes, makePalette, drawPicture, placeAt, pictureCaption, redrawings } from "./pictures.js";

const NARROW = 860,
  BETWEEN = 40; // px from which on the keys are beside the picture, and how far from it
const SIGHT = 24,
  SIGHT_BELOW = 14; // keys in sight at once: beside the picture, and below it
const [TALL, LOW, TALLEST, TALLEST_ABOVE] = [370, 280, 620, 420]; // px of the picture: at least beside the keys and above them, at most
const [PLACE, VALUE, LETTER] = [34, 78, 9.7]; // px of a row before its token and after its bar, and of a letter of the token
const TROUBLE = "The numbers of this head did not arrive. Reload the page to ask for them again.";
const rowHigh = (count) => (count <= 6 ? 56 : count <= 8 ? 44 : count <= 12 ? 34 : count <= 16 ? 28 : 22);

function setText(place, text) {
  if (place.textContent !== text) place.textContent = text;
}

/** Return a formula as nodes. */
function formulaNodes(parts) {
  return parts.map((part) => {
    if (typeof part === "string") return part;
    if (part.v) return node("i", part.v);
    if (part.sub) return node("sub", ...formulaNodes(part.sub));
    if (part.sup) return node("sup", ...formulaNodes(part.sup));
    if (part.root) return node("span.root", "√", node("span", ...formulaNodes(part.root)));
    if (part.result) return node("b", ...formulaNodes(part.result));
    return node("span.over", ...part.over.map((line) => node("span", ...formulaNodes(line))));
  });
}

/** A line that holds a formula; rebuilt only when its text changes. */
class Formula {
  constructor(name) {
    this.root = node("div", { class: name });
  }

  setFormula(parts) {
    const text = math.formulaText(parts);
    if (text !== this.text) this.root.replaceChildren(...formulaNodes(parts));
    return (this.text = text);
  }
}

const PRESENTATION = { slides: [".askers, .rail, .formula, .note", ".lens", ".keys"] };

export default defineComponent((place, /** @type {SendEvent<WalkthroughEvents>} */ send) => {
  const chips = node("div.chips", { role: "group", "aria-label": "Query token" });
  const askers = node("div.askers", node("span.label", "Query token"), chips);
  const steps = math.STEPS.map((name, i) => {
    return node(
      "button.step",
      { type: "button", onclick: () => goToStep(i) },
      node("span.number", String(i + 1)),
      node("span.name", name),
    );
  });
  const [back, next] = [
    { label: "Back", name: "arrow_back", by: -1 },
    { label: "Next", name: "arrow_forward", by: 1 },
  ].map(({ label, name, by }) => {
    return node(
      "button.lineage-button",
      { type: "button", onclick: () => goToStep(currentStep() + by) },
      ...(by < 0 ? [icon(name), label] : [label, icon(name)]),
    );
  });
  const rail = node(
    "div.rail",
    node("div.steps", { role: "group", "aria-label": "The seven steps" }, ...steps),
    node("div.turns", back, next),
  );
  const heading = node("h3.finding", { "aria-live": "polite" }),
    note = node("p.note");
  const rule = new Formula("rule"),
    sum = new Formula("sum");
  const title = node("h4.title"),
    canvas = node("canvas.picture", { role: "img" }),
    words = node("p.reading");
  const lens = node("div.lens", title, node("div.frame", canvas), words);
  const keys = new KeyList({
    keep: (at) => walk && keepKey(at),
    point: (at) => walk && currentStep() !== math.QUERY && hoverKey(at),
  });
  const trouble = node("p.trouble", { role: "status" });
  place.replaceChildren(
    askers,
    rail,
    heading,
    node("div.formula", rule.root, sum.root),
    note,
    node("div.stage", lens, keys.root),
    trouble,
  );

  const queryIndex = new SyncedValue(),
    walked = new SyncedValue();
  const theme = new Theme(place, () => {
    look = null;
    drawnState = "";
    requestFrame();
  });
  /** @type {WalkthroughData | null} */
  let data = null,
    loaded = null,
    walk = null,
    scale = null,
    look = null,
    size = null;
  let buttons = [],
    built = "",
    fitted = "",
    drawnState = "",
    turned = -1,
    waiting = 0,
    turn = 0; // what was made for which text, room, step; frames and requests
  let keptKey = null,
    hovered = null,
    keptPlace = null,
    hoveredPlace = null; // keys, and numbers of their vectors

  const currentStep = () => Math.max(0, Math.min(math.STEPS.length - 1, walked.value ?? 0));
  const currentQuery = () => Math.max(0, Math.min(data.tokens.length - 1, queryIndex.value ?? 0));
  const selectedKey = () => keptKey ?? walk.favourite;
  const requestFrame = () => {
    waiting ||= requestAnimationFrame(show);
  };
  const clearSelection = () => {
    [keptKey, hovered, keptPlace, hoveredPlace] = [null, null, null, null];
  };

  function goToStep(to) {
    if (to < 0 || to >= math.STEPS.length || to === currentStep()) return;
    walked.set(to);
    send("step", to);
    requestFrame();
  }

  function setQuery(at) {
    if (at === currentQuery()) return;
    queryIndex.set(at);
    send("asked", at);
    clearSelection();
    requestFrame();
  }

  function keepKey(at) {
    if (currentStep() === math.QUERY) return setQuery(at);
    keptKey = at;
    requestFrame();
  }

  function hoverKey(at) {
    if (at === hovered) return;
    hovered = at;
    requestFrame();
  }

  /** Create the buttons of the tokens, once per text. */
  function buildTokens() {
    const { tokens, unit } = data,
      state = JSON.stringify([tokens, unit]);
    if (state === built) return;
    built = state;
    drawnState = "";
    buttons = tokens.map((token, i) => {
      const chip = node("button.chip", { type: "button", tabindex: -1 }, tokenLabel(token));
      chip.ariaLabel = `${quoteToken(token)}, ${unit} ${i + 1}, asks`;
      return chip;
    });
    chips.replaceChildren(...buttons);
    keys.buildRows(tokens);
  }

  /** Set the sizes, which do not depend on the step, so that no step moves what is below. */
  function fitIn() {
    const wide = place.clientWidth,
      { tokens, width } = data,
      state = JSON.stringify([wide, built, width]);
    if (state === fitted || !wide) return;
    fitted = state;
    drawnState = "";
    const stacked = wide < NARROW,
      count = tokens.length,
      row = rowHigh(count),
      inSight = Math.min(count, stacked ? SIGHT_BELOW : SIGHT);
    const list = Math.max(row * inSight, stacked ? 0 : 240),
      room = stacked ? LOW : Math.max(TALL, list);
    const lensWide = stacked ? wide : Math.floor((wide - BETWEEN) * 0.54),
      keysWide = stacked ? wide : wide - BETWEEN - lensWide;
    const tiles = tileGrid(width, lensWide, room).high,
      high = Math.min(stacked ? TALLEST_ABOVE : TALLEST, Math.max(tiles, room) + 8);
    const token = Math.min(
      wide < 500 ? 84 : 120,
      Math.max(24, ...tokens.map((text) => Math.ceil(LETTER * [...tokenLabel(text)].length) + 4)),
    );
    const left = PLACE + token + 8,
      track = Math.max(60, keysWide - left - VALUE);
    size = { lens: lensWide, room, high, tiles, row, count, left, track };
    for (const [name, value] of Object.entries({ row, left, track, token, lens: lensWide, high, list }))
      place.style.setProperty(`--${name}`, `${value}px`);
    place.classList.toggle("few", count <= SIGHT);
  }

  function show() {
    waiting = 0;
    if (!data) return;
    const at = currentStep();
    buildTokens();
    fitIn();
    if (at !== turned) turnTo(at);
    if (!loaded || !size) return;
    if (walk?.arrays !== loaded.arrays || walk.wanted !== currentQuery()) {
      walk = Object.assign(math.walkOf(loaded.arrays, currentQuery()), {
        arrays: loaded.arrays,
        wanted: currentQuery(),
      });
      walk.favourite = math.largestKey(walk);
      scale = math.colourScales(loaded.arrays);
      drawnState = "";
    }
    look ??= makePalette(theme.colour, data.colour);
    const state = `${at} ${walk.asked}`,
      other = state !== drawnState;
    drawnState = state;
    if (other) showTokens(at);
    showSelection(at);
    if (other) keys.scrollToKey(at === math.QUERY ? walk.asked : selectedKey());
  }

  function turnTo(at) {
    turned = at;
    steps.forEach((one, i) => {
      if (i === at) one.setAttribute("aria-current", "step");
      else one.removeAttribute("aria-current");
      one.classList.toggle("done", i < at);
    });
    back.setAttribute("aria-disabled", at === 0); // not disabled: that would take the focus away, and with it the arrow keys
    next.setAttribute("aria-disabled", at === math.STEPS.length - 1);
  }

  const sceneAt = (at) => ({ given: data, arrays: loaded.arrays, walk, step: at, scale, look, size });

  /** Draw everything that depends on the step and the query. */
  function showTokens(at) {
    place.dataset.step = math.STEPS[at].toLowerCase();
    buttons.forEach((chip, i) => {
      chip.setAttribute("aria-pressed", i === walk.asked);
      chip.tabIndex = i === walk.asked ? 0 : -1;
      chip.classList.toggle("hidden", at >= math.MASK && Number.isNaN(walk.weights[i]));
    });
    revealChip(buttons[walk.asked]);
    keys.show(sceneAt(at));
    const numbers = Array.from({ length: walk.width }, (_, i) => i + 1);
    saveMenu(place, {
      svg: () => screenSvg(place, { skip: ".askers, .rail, .trouble, .best", canvases: redrawings(place) }),
      csv: () => toCsv([...math.COLUMNS, ...numbers], math.walkCsv(walk, data.tokens)),
      file: `${data.file}-${math.STEPS[at].toLowerCase()}`,
    });
  }

  function revealChip(chip) {
    const from = chip.offsetLeft - buttons[0].offsetLeft,
      { scrollLeft, clientWidth } = chips;
    if (from < scrollLeft || from + chip.offsetWidth > scrollLeft + clientWidth)
      chips.scrollLeft = from - (clientWidth - chip.offsetWidth) / 2;
  }

  /** A vector of many numbers may be higher than its frame, which then scrolls. */
  const pictureHeight = (at) => (at < math.SCALE || at === math.VALUES ? Math.max(size.high, size.tiles) : size.high);

  /** Show the hovered or focused key, otherwise the selected one. */
  function showSelection(at) {
    const on = hovered ?? selectedKey(),
      spot = hoveredPlace ?? keptPlace,
      framed = spot ?? (at === math.VALUES ? math.largestComponent(walk) : -1);
    const framedScene = { ...sceneAt(at), key: on, place: framed };
    setText(heading, math.describeStep(walk, at, on, data));
    rule.setFormula(math.generalFormula(walk, at, data));
    const text = sum.setFormula(math.filledFormula(walk, at, on, Math.max(0, framed)));
    setText(note, math.stepNote(walk, at, data));
    setText(title, at >= math.SOFTMAX && !walk.seen.length ? "" : math.describePicture(walk, at, on, data));
    paintShapes(canvas, drawPicture(framedScene, size.lens, size.high), look, size.lens, pictureHeight(at));
    const label = `${title.textContent}: ${text}`;
    if (canvas.ariaLabel !== label) canvas.ariaLabel = label;
    setText(words, pictureCaption({ ...framedScene, place: spot ?? -1 }));
    keys.markRows(at === math.QUERY ? -1 : on, at === math.QUERY ? walk.asked : selectedKey());
  }

  // The pointer and the keyboard.

  const chipAt = (event) => buttons.findIndex((one) => one.contains(event.target));
  chips.addEventListener("click", (event) => {
    const at = chipAt(event);
    if (walk && at >= 0) setQuery(at);
  });

  function keyAt(event) {
    const at = currentStep();
    if (!walk || at === math.SCALE || at === math.MASK || at === math.SOFTMAX) return null;
    const { x, y } = inside(event, canvas),
      place = placeAt(tileGrid(walk.width, size.lens, size.room), walk.width, x, y);
    return place < 0 ? null : place;
  }
  function hoverNumber(at) {
    canvas.style.cursor = at === null ? "" : "pointer";
    if (at === hoveredPlace) return;
    hoveredPlace = at;
    requestFrame();
  }
  canvas.addEventListener("pointermove", (event) => hoverNumber(keyAt(event)));
  canvas.addEventListener("pointerleave", () => hoverNumber(null));
  canvas.addEventListener("click", (event) => {
    const at = keyAt(event);
    keptPlace = at === keptPlace ? null : at;
    requestFrame();
  });

  place.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || !walk) return;
    const sideways = { ArrowLeft: -1, ArrowRight: 1 }[event.key],
      ends = { Home: -Infinity, End: Infinity }[event.key];
    const upright = { ArrowUp: -1, ArrowDown: 1 }[event.key] ?? ends,
      clampToken = (at) => Math.max(0, Math.min(buttons.length - 1, at));
    if (chips.contains(event.target) && (sideways ?? ends)) {
      const at = clampToken(chipAt(event) + (sideways ?? ends));
      setQuery(at);
      buttons[at].focus();
    } else if (keys.list.contains(event.target) && upright) {
      const at = clampToken(keys.rowOfEvent(event) + upright);
      keepKey(at);
      keys.rows[at].root.focus();
    } else if (sideways) goToStep(currentStep() + sideways);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  const redrawAll = () => {
    drawnState = "";
    requestFrame();
  }; // with the fonts that were not there yet
  document.fonts?.addEventListener("loadingdone", redrawAll);

  function receiveData(newData) {
    queryIndex.receive(newData.asked);
    walked.receive(newData.step);
  }

  /** Keep the previous picture until the new numbers have arrived. */
  async function loadData(newData) {
    const mine = ++turn;
    try {
      const numbers = await loadArrays(newData.address);
      if (mine !== turn) return;
      if (loaded) receiveData(newData);
      if (numbers !== loaded?.arrays) clearSelection();
      if (newData.colour !== data.colour) look = null;
      data = newData;
      loaded = { arrays: numbers };
      drawnState = "";
      setText(trouble, "");
    } catch {
      if (mine === turn) setText(trouble, TROUBLE);
    }
    place.classList.toggle("waiting", !loaded);
    requestFrame();
  }

  return {
    show(/** @type {WalkthroughData} */ newData) {
      if (!loaded) {
        receiveData(newData);
        data = newData; // its room is kept before its numbers are here
      }
      tint(place, newData.colour);
      place.classList.toggle("waiting", !loaded);
      loadData(newData);
      requestFrame();
    },
    resize: requestFrame,
    close() {
      turn++;
      cancelAnimationFrame(waiting);
      document.fonts?.removeEventListener("loadingdone", redrawAll);
    },
  };
}, PRESENTATION);
