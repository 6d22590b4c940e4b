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
import { icon, node as makeNode, tint } from "../../../../static/shared/runtime/dom.js";
import { SyncedValue } from "../../../../static/shared/runtime/synced_value.js";
import { LiveElements } from "../../../../static/shared/runtime/view_state.js";
import { colourRamp } from "../../../../static/shared/charts/heatmap.js";
import { pointerPosition } from "../../../../static/shared/runtime/pointer.js";
import { defineComponent } from "../../../../static/shared/runtime/component.js";
import { Theme } from "../../../../static/shared/runtime/theme.js";
import { screenSvg } from "../../../../static/shared/runtime/screen_svg.js";
import { keyList } from "./key_rows.js";
import { tileGrid, drawPicture, placeAt, pictureCaption } from "./pictures.js";

const NARROW = 860,
  BETWEEN = 40; // px from which on the keys are beside the picture, and how far from it
const SIGHT = 24,
  SIGHT_BELOW = 14; // keys in sight at once: beside the picture, and below it
const [TALL, LOW, TALLEST, TALLEST_ABOVE] = [370, 280, 620, 420]; // px of the picture: at least beside the keys and above them, at most
const [PLACE, VALUE, LETTER] = [34, 78, 9.7]; // px of a row before its token and after its bar, and of a letter of the token
const TROUBLE = "The numbers of this head did not arrive. Reload the page to ask for them again.";
const rowHigh = (count) => (count <= 6 ? 56 : count <= 8 ? 44 : count <= 12 ? 34 : count <= 16 ? 28 : 22);

function formulaNodes(parts) {
  return parts.map((part) => {
    if (typeof part === "string") return part;
    if (part.over) return makeNode("span.over", ...part.over.map((line) => makeNode("span", ...formulaNodes(line))));
    if (part.root) return makeNode("span.root", "√", makeNode("span", ...formulaNodes(part.root)));
    const [[kind, inner]] = Object.entries(part);
    return makeNode({ v: "i", result: "b" }[kind] ?? kind, ...formulaNodes([inner].flat()));
  });
}

const PRESENTATION = { slides: [".askers, .rail, .formula, .note", ".lens", ".keys"] };

export default defineComponent((place, /** @type {SendEvent<WalkthroughEvents>} */ send) => {
  const queryIndex = new SyncedValue(),
    walked = new SyncedValue();
  /** @type {WalkthroughData | null} */
  let data = null;
  /** @type {any} */
  let arrays = null;
  let walk, scale, shades, size;
  let drawnState = "",
    trouble = "",
    texts = { heading: "", note: "", title: "", caption: "", picture: "" },
    waiting = 0,
    turn = 0, // numbers of the requests for a frame and for arrays
    keptKey = null,
    hoveredKey = null,
    keptPlace = null,
    hoveredPlace = null; // keys, and numbers of their vectors

  const currentStep = () => Math.max(0, Math.min(math.STEPS.length - 1, walked.value ?? 0)),
    currentQuery = () => Math.max(0, Math.min(data.tokens.length - 1, queryIndex.value ?? 0)),
    selectedKey = () => keptKey ?? walk.favourite;
  const { node, svg, button, list, update } = new LiveElements();

  const makeChip = (token, i, inner) => {
    const isHidden = () => walk && currentStep() >= math.MASK && Number.isNaN(walk.weights[i]);
    return inner.node(
      "button",
      {
        type: "button",
        class: () => (isHidden() ? "chip hidden" : "chip"),
        tabindex: () => (i === walk?.asked ? 0 : -1),
        "aria-pressed": () => i === walk?.asked,
        "aria-label": () => `${quoteToken(token)}, ${data.unit} ${i + 1}, asks`,
        onclick: () => walk && setQuery(i),
      },
      tokenLabel(token),
    );
  };
  const makeStep = (name, i) =>
    node(
      "button",
      {
        type: "button",
        class: () => (i < currentStep() ? "step done" : "step"),
        "aria-current": () => (i === currentStep() ? "step" : null),
        onclick: () => goToStep(i),
      },
      node("span.number", String(i + 1)),
      node("span.name", name),
    );
  // Not disabled at the ends: that would take the focus away, and with it the arrow keys.
  const makeTurn = (by, isEnd, ...parts) =>
    button({ "aria-disabled": isEnd, onclick: () => goToStep(currentStep() + by) }, ...parts);
  const chips = node(
    "div.chips",
    { role: "group", "aria-label": "Query token" },
    list(() => data?.tokens ?? [], makeChip),
  );
  const rule = makeFormula("rule"),
    sum = makeFormula("sum"),
    picture = svg("svg.picture", { role: "img", "aria-label": () => texts.picture });
  const keys = keyList(
    (at) => walk && keepKey(at),
    (at) => walk && currentStep() !== math.QUERY && hoverKey(at),
  );
  place.replaceChildren(
    node("div.askers", node("span.label", "Query token"), chips),
    node(
      "div.rail",
      node("div.steps", { role: "group", "aria-label": "The seven steps" }, ...math.STEPS.map(makeStep)),
      node(
        "div.turns",
        makeTurn(-1, () => currentStep() === 0, icon("arrow_back"), "Back"),
        makeTurn(1, () => currentStep() === math.STEPS.length - 1, "Next", icon("arrow_forward")),
      ),
    ),
    node("h3.finding", { "aria-live": "polite" }, () => texts.heading),
    node("div.formula", rule.root, sum.root),
    node("p.note", () => texts.note),
    node(
      "div.stage",
      node(
        "div.lens",
        node("h4.title", () => texts.title),
        node("div.frame", picture),
        node("p.reading", () => texts.caption),
      ),
      keys.root,
    ),
    node("p.trouble", { role: "status" }, () => trouble),
  );
  const theme = new Theme(place, () => {
    shades = null;
    redraw();
  });

  /** A line that holds a formula; rebuilt only when its text changes. */
  function makeFormula(name) {
    const root = makeNode(`div.${name}`);
    let text = "";
    const setFormula = (parts) => {
      const newText = math.formulaText(parts);
      if (newText !== text) root.replaceChildren(...formulaNodes(parts));
      return (text = newText);
    };
    return { root, setFormula };
  }

  function requestFrame() {
    waiting ||= requestAnimationFrame(show);
  }
  function redraw() {
    drawnState = "";
    requestFrame();
  }
  function clearSelection() {
    keptKey = hoveredKey = keptPlace = hoveredPlace = null;
  }
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
    if (at === hoveredKey) return;
    hoveredKey = at;
    requestFrame();
  }

  /** Set the sizes, which do not depend on the step, so that no step moves what is below. */
  function fitIn() {
    const wide = place.clientWidth,
      { tokens, width } = data;
    if (!wide) return;
    const stacked = wide < NARROW,
      count = tokens.length,
      row = rowHigh(count),
      inSight = Math.min(count, stacked ? SIGHT_BELOW : SIGHT);
    const listHigh = Math.max(row * inSight, stacked ? 0 : 240),
      room = stacked ? LOW : Math.max(TALL, listHigh);
    const lens = stacked ? wide : Math.floor((wide - BETWEEN) * 0.54),
      keysWide = stacked ? wide : wide - BETWEEN - lens;
    const tiles = tileGrid(width, lens, room).high,
      high = Math.min(stacked ? TALLEST_ABOVE : TALLEST, Math.max(tiles, room) + 8);
    const longest = Math.max(24, ...tokens.map((text) => Math.ceil(LETTER * [...tokenLabel(text)].length) + 4)),
      token = Math.min(wide < 500 ? 84 : 120, longest),
      left = PLACE + token + 8,
      track = Math.max(60, keysWide - left - VALUE);
    const sizes = { row, left, track, token, lens, high };
    for (const [name, value] of Object.entries({ ...sizes, list: listHigh }))
      place.style.setProperty(`--${name}`, `${value}px`);
    place.classList.toggle("few", count <= SIGHT);
    size = { ...sizes, room, tiles };
  }

  function show() {
    waiting = 0;
    if (!data) return;
    const step = currentStep();
    fitIn();
    update();
    if (!arrays || !size) return;
    if (walk?.arrays !== arrays || walk.wanted !== currentQuery()) {
      const newWalk = math.walkOf(arrays, currentQuery());
      walk = { ...newWalk, arrays, wanted: currentQuery(), favourite: math.largestKey(newWalk) };
      scale = math.colourScales(arrays);
      drawnState = "";
    }
    shades ??= colourRamp(theme.colour, "sign");
    const state = JSON.stringify([step, walk.asked, data.tokens, data.unit, size]),
      isOther = state !== drawnState;
    drawnState = state;
    if (isOther) showTokens(step);
    showSelection(step);
    if (isOther) keys.scrollToKey(step === math.QUERY ? walk.asked : selectedKey());
  }

  const sceneAt = (step) => ({ ...data, arrays, walk, step, scale, shades, size });

  /** Draw everything that depends on the step and the query. */
  function showTokens(step) {
    place.dataset.step = math.STEPS[step].toLowerCase();
    update();
    revealChip(chips.children[walk.asked]);
    keys.show(sceneAt(step));
    const numbers = Array.from({ length: walk.width }, (_, i) => i + 1);
    saveMenu(place, {
      svg: () => screenSvg(place, { skip: ".askers, .rail, .trouble, .best" }),
      csv: () => toCsv([...math.COLUMNS, ...numbers], math.walkCsv(walk, data.tokens)),
      file: `${data.file}-${math.STEPS[step].toLowerCase()}`,
    });
  }
  function revealChip(chip) {
    const from = chip.offsetLeft - chips.children[0].offsetLeft,
      { scrollLeft, clientWidth } = chips;
    if (from < scrollLeft || from + chip.offsetWidth > scrollLeft + clientWidth)
      chips.scrollLeft = from - (clientWidth - chip.offsetWidth) / 2;
  }

  /** Show the hovered or focused key, otherwise the selected one. */
  function showSelection(step) {
    const key = hoveredKey ?? selectedKey(),
      spot = hoveredPlace ?? keptPlace,
      framed = spot ?? (step === math.VALUES ? math.largestComponent(walk) : -1),
      scene = { ...sceneAt(step), key, place: framed };
    rule.setFormula(math.generalFormula(walk, step, data));
    const formula = sum.setFormula(math.filledFormula(walk, step, key, Math.max(0, framed))),
      title = step >= math.SOFTMAX && !walk.seen.length ? "" : math.describePicture(walk, step, key, data);
    texts = {
      heading: math.describeStep(walk, step, key, data),
      note: math.stepNote(walk, step, data),
      title,
      caption: pictureCaption({ ...scene, place: spot ?? -1 }),
      picture: `${title}: ${formula}`,
    };
    // A vector of many numbers may be higher than its frame, which then scrolls.
    const showsVectors = step < math.SCALE || step === math.VALUES,
      height = showsVectors ? Math.max(size.high, size.tiles) : size.high;
    for (const [name, value] of Object.entries({ width: size.lens, height })) picture.setAttribute(name, value);
    picture.replaceChildren(...drawPicture(scene, size.lens, size.high).filter(Boolean));
    update();
    keys.markRows(step === math.QUERY ? -1 : key, step === math.QUERY ? walk.asked : selectedKey());
  }

  // The pointer and the keyboard.

  function placeOfEvent(event) {
    if (!walk || [math.SCALE, math.MASK, math.SOFTMAX].includes(currentStep())) return null;
    const { x, y } = pointerPosition(event, picture.parentElement),
      at = placeAt(tileGrid(walk.width, size.lens, size.room), walk.width, x, y + picture.parentElement.scrollTop);
    return at < 0 ? null : at;
  }
  function hoverNumber(at) {
    picture.style.cursor = at === null ? "" : "pointer";
    if (at === hoveredPlace) return;
    hoveredPlace = at;
    requestFrame();
  }
  picture.onpointermove = (event) => hoverNumber(placeOfEvent(event));
  picture.onpointerleave = () => hoverNumber(null);
  picture.onclick = (event) => {
    const at = placeOfEvent(event);
    keptPlace = at === keptPlace ? null : at;
    requestFrame();
  };
  place.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || !walk) return;
    const sideways = { ArrowLeft: -1, ArrowRight: 1 }[event.key],
      ends = { Home: -Infinity, End: Infinity }[event.key],
      upright = { ArrowUp: -1, ArrowDown: 1 }[event.key] ?? ends,
      clampToken = (at) => Math.max(0, Math.min(data.tokens.length - 1, at));
    if (chips.contains(event.target) && (sideways ?? ends)) {
      const at = clampToken([...chips.children].indexOf(event.target) + (sideways ?? ends));
      setQuery(at);
      chips.children[at].focus();
    } else if (keys.list.contains(event.target) && upright) {
      const at = clampToken(keys.rowOfEvent(event) + upright);
      keepKey(at);
      keys.list.children[at].focus();
    } else if (sideways) goToStep(currentStep() + sideways);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  function receiveData(newData) {
    queryIndex.receive(newData.asked);
    walked.receive(newData.step);
    data = newData;
  }
  /** Keep the previous picture until the new numbers have arrived. */
  async function loadData(newData) {
    const mine = ++turn,
      numbers = await loadArrays(newData.address).catch(() => null);
    if (mine !== turn) return;
    trouble = numbers ? "" : TROUBLE;
    if (numbers) {
      if (arrays) receiveData(newData);
      if (numbers !== arrays) clearSelection();
      data = newData;
      arrays = numbers;
    }
    place.classList.toggle("waiting", !arrays);
    redraw();
  }

  return {
    show(/** @type {WalkthroughData} */ newData) {
      if (!arrays) receiveData(newData); // its room is kept before its numbers are here
      tint(place, newData.colour);
      place.classList.toggle("waiting", !arrays);
      loadData(newData);
      requestFrame();
    },
    resize: requestFrame,
    close() {
      turn++;
      cancelAnimationFrame(waiting);
    },
  };
}, PRESENTATION);
