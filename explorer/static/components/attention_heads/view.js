/**
 * Draw the attention of every layer and head over one text, one head enlarged with its scores, and the effect of
 * interventions.
 *
 * @typedef {{off: number[][], flat: number[][], unmasked: boolean, unplaced: boolean}} Interventions heads are [layer, head]
 *
 * @typedef {{tokens: string[], ids: number[], unit: "letter" | "token" | "word", layers: number, heads: number,
 *   causal: boolean, masked: number[], colour: string, title: string, file: string}} Attention the text and the model;
 *   `masked` are keys that no query attends to, `colour` is a CSS variable
 *
 * @typedef {{open: number[], asked: number, scale: "one" | "row", sort: string, view: "lines" | "matrix",
 *   step: number | null, touch: Interventions}} Choices the open head [layer, head], the index of the selected query token,
 *   "place" or the name of a score, the step of the training; null: the last
 *
 * @typedef {object} Numbers
 * @property {string[]} [keys] the key tokens, if the queries attend to another text: cross-attention
 * @property {Record<string, string>} [kinds] the kinds of attention of a model that has several, with their titles
 * @property {string} [kind] the one whose weights are shown
 * @property {string} address array "weights" (U16 "layers heads cells", see math.js) at `step` and with `touch`
 * @property {any} snapshots null or {steps, curve: {steps, losses}, unit: "nats", address}; its address answers with
 *    {address} of the array "weights" (U16 "steps layers heads cells") once the snapshots are computed
 * @property {{mask: boolean, positions: boolean}} can which interventions the model allows
 * @property {number[][] | null} worth head importance: rise of the loss without that head, [layer][head]
 * @property {number[][] | null} worth_error its standard error
 * @property {string} worth_of the text on which it is measured, "held-out text"
 * @property {boolean} [fixed] whether no intervention is offered
 * @property {any} [answers] {where, rows: [{text, now, before}], changed}: what the model predicts at `asked`; null: the
 *    model has no output layer
 *
 * @typedef {Attention & Choices & Numbers} AttentionHeadsData
 *
 * @typedef {object} AttentionHeadsEvents
 * @property {number[]} open [layer, head]
 * @property {number} asked index of the query token
 * @property {string} scale "one" or "row"
 * @property {string} sort "place" or a score
 * @property {string} view "lines" or "matrix"
 * @property {string} kind one of `kinds`
 * @property {number} step of the training, when the slider is released
 * @property {Interventions} touch after each press
 */
import * as math from "./math.js";
import { headGrid } from "./head_grid.js";
import { headRanking } from "./head_ranking.js";
import { headScoresPanel, scoreTitles, scoreFormat } from "./head_scores.js";
import { VISIBLE_WEIGHT, headView, smallestVisible } from "./head_view.js";
import { gridCsv, headCsv, scoresCsv, trainingCsv } from "./export.js";
import { trainingSlider } from "./snapshot_slider.js";
import { loadArrays } from "../../shared/runtime/array_store.js";
import { defineComponent, isScreened } from "../../shared/runtime/component.js";
import { node as makeNode, tint } from "../../shared/runtime/dom.js";
import { saveMenu } from "../../shared/runtime/export_menu.js";
import { formatWeight, headName } from "../../shared/runtime/format.js";
import { screenSvg } from "../../shared/runtime/screen_svg.js";
import { SyncedValue } from "../../shared/runtime/synced_value.js";
import { Theme } from "../../shared/runtime/theme.js";
import { LiveElements } from "../../shared/runtime/view_state.js";
import { tokenLabel } from "../../shared/runtime/visible_text.js";
import { colourRamp } from "../../shared/charts/heatmap.js";

const SOON = 1500; // ms from the first drawing to the request for snapshots
/** @type {Interventions} */
const NOTHING = { off: [], flat: [], unmasked: false, unplaced: false };
const KEPT = ["open", "asked", "scale", "sort", "view", "step", "touch", "kind"];

const PRESENTATION = {
  slides: [".first, .heads, .third, .model-answers, .buttons", ".second", ".third, .habits-figure, .said, .worth"],
  controls: ".training",
};

export default defineComponent((place, /** @type {SendEvent<AttentionHeadsEvents>} */ send) => {
  const synced = Object.fromEntries(KEPT.map((name) => [name, new SyncedValue()]));
  /** @type {AttentionHeadsData | null} */
  let data = null,
    requestedData = null;
  /** @type {any} */
  let state = null, // what the page and the visitor have chosen, see `readState`
    loaded = null, // the array of the weights
    later = null, // the weights of all snapshots: {address, array}
    view = null,
    look = null; // {shades, scale} of the colours
  let widths = null, // px of the grid and of the open head
    fetching = "",
    timer = null,
    frame = 0,
    pointed = null,
    measured = new Map(), // the scores of the heads
    settling = false, // whether the slider of the training is being moved
    begun = null,
    drawn = {};

  const { node, button, buttonChoice, list, update } = new LiveElements();
  const toggleHead = (name, layer, head) =>
    setInterventions({ [name]: math.toggleHead(readState().touch[name], layer, head) });
  const openHead = (layer, head) => sendEvent("open", [layer, head]);
  const training = trainingSlider({ move: moveToStep, settle: releaseStep, reach: fetchSnapshots });
  const grid = headGrid({
    open: openHead,
    flip: (layer, head) => toggleHead("off", layer, head),
    flipLayer: (layer) => setInterventions({ off: math.toggleLayer(readState().touch.off, layer, data.heads) }),
    point: (layer, head) => {
      pointed = layer == null ? null : [layer, head];
      requestPaint();
    },
  });
  const large = headView((at) => sendEvent("asked", at));
  const ranking = headRanking(openHead, requestPaint);
  const isAtEnd = () => !snapshotSteps().length || stepIndex() === snapshotSteps().length - 1;
  const readScores = () => {
    const { open, touch } = state,
      [layer, head] = open;
    return {
      scores: scoresOf(layer, head),
      unit: keyUnit(),
      keys: view.hidden.reduce((count, one) => count - one, view.keys),
      cross: view.cross,
      touch,
      open,
      rise: data.worth?.[layer]?.[head],
      error: data.worth_error?.[layer]?.[head],
      text: data.worth_of,
      lossUnit: data.snapshots?.unit ?? "nats",
      isEnd: isAtEnd(),
    };
  };
  const scoresPanel = headScoresPanel({ node, button }, readScores, {
    flip: () => toggleHead("off", ...readState().open),
    flatten: () => toggleHead("flat", ...readState().open),
  });
  const choose = (label, options, name) =>
    buttonChoice(
      label,
      options,
      () => (data ? state[name] : ""),
      (value) => sendEvent(name, value),
    );
  const sortOption = ([value, text]) => makeNode("option", { value }, text),
    sortLabel = () => (isLarge() ? "Score by which heads are highlighted" : "Order of the heads"),
    onsort = (event) => sendEvent("sort", event.target.value);
  const hasEmpty = () => view.causal || data.masked?.length > 0;
  const heads = node(
    "div.heads",
    node(
      "details.lineage-about",
      node("summary", () => (isLarge() ? "Highlight and colours" : "Order and colours")),
      node(
        "div.order",
        node(
          "select.lineage-select",
          { "aria-label": sortLabel, value: () => state.sort, onchange: onsort },
          list(sortOptions, sortOption),
        ),
        choose("Scale of the colours", () => ({ one: "0 to 1", row: "by row" }), "scale"),
      ),
    ),
    grid.root,
    ranking.root,
    node(
      "div.legend",
      node("span", "0"),
      node("i.ramp"),
      node("span", () => (state.scale === "row" ? "largest of its row" : "1")),
      node("i.none", { hidden: () => !hasEmpty() }),
      node("span.empty", { hidden: () => !hasEmpty() }, () => `empty: ${view.causal ? "masked (later)" : "padding"}`),
    ),
    node("p.words", { ".hint": () => !pointed }, node("b", pointedTitle), pointedWords),
  );
  const first = node(
    "section.first",
    node(
      "div.kinds",
      { hidden: () => !data.kinds || Object.keys(data.kinds).length < 2 },
      choose("Kind of attention", () => data.kinds ?? {}, "kind"),
    ),
    heads,
    training.root,
  );
  const second = node(
    "section.second",
    node(
      "div.title",
      node("h3", () => headName(...state.open)),
      choose("View of the open head", () => ({ lines: "lines", matrix: "matrix" }), "view"),
    ),
    node("p.under", describeAxes),
    large.root,
  );
  const makeAnswer = ({ text, now, before }) =>
    makeNode(
      "div.answer-row",
      makeNode("span.answer-text", { title: [...text].length > 8 ? tokenLabel(text) : null }, tokenLabel(text)),
      makeNode(
        "div.answer-bar",
        makeNode("i.before", { style: `width: ${100 * before}%` }),
        makeNode("i.now", { style: `width: ${100 * now}%` }),
      ),
      makeNode("b", formatWeight(now, 2)),
    );
  const answers = node(
    "div.model-answers",
    { role: "status", hidden: () => !data.answers },
    node("h3", "What the model predicts"),
    node("p.under", () => data.answers?.where ?? ""),
    node(
      "div.answer-rows",
      list(() => data.answers?.rows ?? [], makeAnswer),
    ),
    node("p.under.answer-key", () => (data.answers?.changed ? "Solid: with the intervention. Pale: unchanged." : "")),
  );
  const describeTouch = () => {
    const description = math.describeInterventions(state.touch),
      isDragged = description && !showsServerStep();
    return isDragged ? `${description} While you drag, the training steps are shown without it.` : description;
  };
  const makeSwitch = (field, can, object) =>
    button(
      { hidden: () => !data.can?.[can], onclick: () => setInterventions({ [field]: !readState().touch[field] }) },
      () => `${state.touch[field] ? "Restore" : "Remove"} ${object}`,
    );
  const third = node(
    "section.third",
    answers,
    node(
      "details.lineage-about.actions",
      node("summary", "Change the model"),
      node(
        "div.buttons",
        scoresPanel.buttons,
        makeSwitch("unmasked", "mask", "the causal mask"),
        makeSwitch("unplaced", "positions", "positions"),
      ),
    ),
    button(
      { hidden: () => !math.describeInterventions(state.touch), onclick: () => setInterventions(NOTHING) },
      "Reset",
    ),
    node("p.touched", { role: "status" }, describeTouch),
    scoresPanel.root,
  );
  const parts = node("div.parts", { ".large": isLarge, ".fixed": () => data.fixed }, first, second, third);
  const trouble = makeNode(
    "div.trouble",
    { hidden: true },
    makeNode("p", "The attention weights of this text did not arrive."),
    button({ onclick: fetchAll }, "Try again"),
  );
  place.replaceChildren(parts, trouble);
  parts.hidden = true;
  const theme = new Theme(place, () => {
    look = null;
    requestPaint();
  });
  const watch = new ResizeObserver(() => {
    // A slide shows one of them; the other one keeps its width.
    const next = [first.clientWidth || widths?.[0], second.clientWidth || widths?.[1]];
    if (String(next) === String(widths)) return;
    widths = next;
    requestPaint();
  });
  watch.observe(first);
  watch.observe(second);

  /** Return the state shared with the page, clamped to valid indices. */
  function readState() {
    const clampIndex = (value, count) => Math.max(0, Math.min(count - 1, Math.round(Number(value) || 0)));
    const [layer, head] = synced.open.value ?? [0, 0];
    return {
      open: [clampIndex(layer, data.layers), clampIndex(head, data.heads)],
      asked: clampIndex(synced.asked.value ?? data.tokens.length - 1, data.tokens.length),
      scale: synced.scale.value === "row" ? "row" : "one",
      view: synced.view.value === "matrix" ? "matrix" : "lines",
      sort: sortOptions().some(([value]) => value === synced.sort.value) ? synced.sort.value : "place",
      touch: { ...NOTHING, ...synced.touch.value },
      kind: synced.kind.value,
    };
  }
  /**
   * @template {keyof AttentionHeadsEvents} Name
   * @param {Name} name
   * @param {AttentionHeadsEvents[Name]} value
   */
  function sendEvent(name, value) {
    synced[name].set(value);
    send(name, value);
    requestPaint();
  }
  function setInterventions(change) {
    sendEvent("touch", { ...readState().touch, ...change });
  }

  /* The training */
  const snapshotSteps = () => data.snapshots?.steps ?? [];
  function stepIndex() {
    const steps = snapshotSteps(),
      distances = steps.map((step) => Math.abs(step - (synced.step.value ?? steps.at(-1))));
    return distances.indexOf(Math.min(...distances));
  }
  const loadedSnapshots = () => (later && later.address === data.snapshots?.address ? later.array : null);
  const isUnchanged = () => !math.describeInterventions({ ...NOTHING, ...data.touch }); // on the server
  const showsServerStep = () =>
    !snapshotSteps().length || snapshotSteps()[stepIndex()] === (data.step ?? snapshotSteps().at(-1));
  function moveToStep(index) {
    if (!snapshotSteps().length) return;
    fetchSnapshots();
    if (!settling) begun = synced.step.value;
    synced.step.value = snapshotSteps()[index];
    settling = true;
    requestPaint();
  }
  function releaseStep(index) {
    const from = begun ?? snapshotSteps().at(-1),
      to = snapshotSteps()[index];
    if (settling && to !== undefined && to !== from) sendEvent("step", to);
    settling = false;
    requestPaint();
  }

  /** Read the weights of the shown step: from a snapshot if loaded, with interventions only as the page sent them. */
  function updateView() {
    const packed = loadedSnapshots(),
      step = packed && (isUnchanged() || !showsServerStep()) ? stepIndex() : null,
      array = step === null ? loaded : packed;
    if (view?.data === array.data && view.step === step && view.of === data) return;
    view = Object.assign(math.readWeights(array, data, step), { step, of: data });
    measured = new Map();
  }
  function scoresOf(layer, head) {
    const key = layer * data.heads + head;
    if (!measured.has(key)) measured.set(key, math.headScores(view, layer, head, data.ids));
    return measured.get(key);
  }
  function isLarge() {
    return data.layers * data.heads > math.MOST_SORTED;
  }
  /** Return the unit of the keys: those of cross-attention are of another text. */
  const keyUnit = () => (data.keys ? `source ${data.unit}` : data.unit);
  const scoreBy = (scoreName) => (layer, head) =>
    scoreName === "worth" ? (data.worth?.[layer][head] ?? NaN) : scoresOf(layer, head)[scoreName];

  /* Drawing: at most once a frame, and tiles and the open head only if they have changed. */
  function requestPaint() {
    frame ||= requestAnimationFrame(paint);
  }
  function drawIfChanged(name, draw, ...causes) {
    if (drawn[name]?.every((cause, i) => cause === causes[i])) return;
    drawn[name] = causes;
    draw();
  }
  function paint() {
    frame = 0;
    if (!data || !widths?.[0]) return;
    updateView();
    state = readState();
    if (look?.scale !== state.scale) look = { shades: colourRamp(theme.colour), scale: state.scale };
    const { sort, open, asked, touch } = state,
      [layer, head] = open,
      [width, headWidth] = widths,
      value = scoreBy(sort),
      digits = scoreFormat(sort),
      isRanked = isLarge() && sort !== "place",
      { tokens, keys = tokens, snapshots } = data;
    const step = { at: stepIndex(), isLoading: !showsServerStep() && !loadedSnapshots(), isAblated: !isUnchanged() };
    training.show(snapshots && { ...snapshots, ...step, width });
    ranking.show(isRanked ? { view, name: sort, value, digits, width, open } : null);
    const isFaint = (...place) => isRanked && !ranking.passes(value(...place));
    grid.show({ view, sort, value, digits, open, touch, asked, isFaint, isMoving: settling }, width);
    drawIfChanged("tiles", () => grid.paintTiles(view, look), view, look, grid.orderOf(), width);
    const shown = { view, layer, head, tokens, keys, kind: state.view, look, asked, unit: data.unit };
    drawIfChanged("head", () => large.show(shown, headWidth), ...Object.values(shown), headWidth, isScreened());
    update();
  }
  /** Return the sentence about what is left and right, or what the rows and columns of the matrix are. */
  function describeAxes() {
    const [query, key] = data.keys ? ["target token (query)", "source token (key: where it looks)"] : ["query", "key"];
    if (state.view === "matrix")
      return data.keys
        ? `rows: ${query}, columns: ${key}`
        : `rows: ${query} token, columns: ${key} token (where it looks)`;
    const least = smallestVisible(data.tokens.length),
      lines = least > VISIBLE_WEIGHT ? ` (weights from ${least} on)` : "";
    return `left: ${query}, right: ${key}${data.keys ? "" : " (where it looks)"}${lines}`;
  }
  /** Describe the head under the pointer, or say what a click does. */
  function pointedTitle() {
    if (!pointed) return "";
    const score = isLarge() && state.sort !== "place" ? scoreBy(state.sort)(...pointed) : NaN;
    return `${headName(...pointed)}${Number.isNaN(score) ? "" : `: ${scoreFormat(state.sort)(score)}`}. `;
  }
  function pointedWords() {
    if (pointed) {
      const off = math.includesHead(state.touch.off, ...pointed) ? " It is switched off: its output is zero." : "";
      return math.describeHead(scoresOf(...pointed), keyUnit()) + off;
    }
    return "Click a head to open it.";
  }
  /** Return the scores by which the heads are sorted or highlighted, with their titles. */
  function sortOptions() {
    const names = [...math.scoreNames(data.keys), "spread", ...(data.worth ? ["worth"] : [])],
      titles = scoreTitles(keyUnit());
    return [["place", isLarge() ? "no highlight" : "by layer"], ...names.map((one) => [one, titles[one]])];
  }

  function showData() {
    parts.hidden = false;
    trouble.hidden = true;
    if (!data.snapshots) settling = false;
    look = null;
    tint(place, data.colour);
    requestPaint();
    updateSaveMenus();
    clearTimeout(timer);
    timer = setTimeout(fetchSnapshots, SOON);
  }
  function updateSaveMenus() {
    const { file = "attention", title = "" } = data;
    const exportState = () => {
      const [layer, head] = state.open;
      return { view, tokens: data.tokens, keys: data.keys ?? data.tokens, layer, head };
    };
    const openName = () => headName(...state.open);
    saveMenu(heads, {
      svg: () => screenSvg(heads, { title, skip: ".order, .kinds, .ranking label, .words, .flip, .layer i" }),
      csv: () => gridCsv(exportState()),
      file: `${file}-heads`,
    });
    saveMenu(second, {
      svg: () => screenSvg(large.root, { title: `${openName()} · ${title}`, skip: ".thin:not(.lit)" }),
      csv: () => headCsv(exportState()),
      file: `${file}-head`,
    });
    saveMenu(scoresPanel.figure, {
      svg: () => screenSvg(scoresPanel.root, { title: openName(), skip: "button" }),
      csv: () => scoresCsv({ view, ids: data.ids, worth: data.worth, worthError: data.worth_error }),
      file: `${file}-habits`,
    });
    if (!data.snapshots?.curve?.steps.length) return;
    saveMenu(training.root, {
      svg: () => screenSvg(training.root, { title: "The training", skip: "button" }),
      csv: () => trainingCsv(data.snapshots),
      file: `${file}-training`,
    });
  }

  /** Show new numbers only together with their own tokens. */
  function fetchAll() {
    const drawnData = requestedData;
    loadArrays(drawnData.address).then(
      ({ weights }) => {
        if (drawnData !== requestedData) return;
        [data, loaded] = [drawnData, weights];
        showData();
      },
      () => {
        if (drawnData !== requestedData) return;
        trouble.hidden = false;
        parts.hidden = !data;
      },
    );
  }
  /** Fetch the weights of all snapshots; while they are computed, each request is answered after a second. */
  async function fetchSnapshots() {
    const address = data?.snapshots?.address;
    if (!address || later?.address === address || fetching === address) return;
    fetching = address;
    const isWanted = () => data.snapshots?.address === address && fetching === address;
    try {
      let answer = await fetch(address);
      while (answer.status === 202 && isWanted()) answer = await fetch(address);
      const { weights } = await loadArrays((await answer.json()).address);
      if (!isWanted()) return;
      later = { address, array: weights };
      requestPaint();
    } catch {
      // the next movement of the slider tries again
    } finally {
      if (fetching === address) fetching = "";
    }
  }

  return {
    show(/** @type {AttentionHeadsData} */ newData) {
      requestedData = newData;
      const step = synced.step.value;
      for (const name of KEPT) synced[name].receive(newData[name]);
      if (synced.step.value !== step) begun = synced.step.value; // the page changed the step; the slider continues from it
      fetchAll();
    },
    close() {
      cancelAnimationFrame(frame);
      clearTimeout(timer);
      fetching = "";
      watch.disconnect();
      training.close();
      large.close();
    },
  };
}, PRESENTATION);
