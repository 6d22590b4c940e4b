/**
 * Draw the attention of every layer and head over one text, one head enlarged with its scores, and the effect of
 * interventions. Events: "open" [layer, head]; "asked" index; "scale", "sort", "view" strings; "step" number, when
 * the slider is released; "touch" as below, after each press.
 *
 * @import { SendEvent } from "../../shared/runtime/events.js"
 *
 * @typedef {object} AttentionHeadsData
 * @property {string[]} tokens what each token adds to the text
 * @property {string[]} [keys] the key tokens, if the queries attend to another text: cross-attention
 * @property {number[]} ids of the tokens
 * @property {number} layers
 * @property {number} heads
 * @property {boolean} causal
 * @property {Record<string, string>} [kinds] the kinds of attention of a model that has several, with their titles
 * @property {string} [kind] the one whose weights are shown
 * @property {number[]} masked keys that no query attends to
 * @property {string} address array "weights" (U16 "layers heads cells", see math.js) at `step` and with `touch`
 * @property {number[]} open [layer, head]
 * @property {number} asked index of the selected query token
 * @property {"one" | "row"} scale
 * @property {string} sort "place", the name of a score, "spread" or "worth"
 * @property {"lines" | "matrix"} view
 * @property {any} snapshots null or {steps, curve: {steps, losses}, unit: "nats", address}; its address answers with
 *    {address} of the array "weights" (U16 "steps layers heads cells") once the snapshots are computed
 * @property {number | null} step the step shown; null: the last
 * @property {{off: number[][], flat: number[][], unmasked: boolean, unplaced: boolean}} touch interventions; heads are
 *    [layer, head]
 * @property {{mask: boolean, positions: boolean}} can which interventions the model allows
 * @property {number[][] | null} worth head importance: rise of the loss without that head, [layer][head]
 * @property {number[][] | null} worth_error its standard error
 * @property {string} worth_of the text on which it is measured, "held-out text"
 * @property {boolean} [fixed] whether no intervention is offered
 * @property {any} [answers] {where, rows: [{text, now, before}], changed}: what the model predicts at `asked`; null: the
 *    model has no output layer
 * @property {"letter" | "token" | "word"} unit
 * @property {string} colour CSS variable
 * @property {string} title
 * @property {string} file
 *
 * @typedef {object} AttentionHeadsEvents
 * @property {number[]} open [layer, head]
 * @property {number} asked index of the query token
 * @property {string} scale "one" or "row"
 * @property {string} sort "place" or a score
 * @property {string} view "lines" or "matrix"
 * @property {string} kind one of `kinds`
 * @property {number} step of the training
 * @property {{off: number[][], flat: number[][], unmasked: boolean, unplaced: boolean}} touch interventions
 */
import * as math from "./math.js";
import { answersPanel } from "./answers.js";
import { headGrid } from "./head_grid.js";
import { headRanking } from "./head_ranking.js";
import { headName } from "../../shared/runtime/format.js";
import { headScoresPanel, scoreTitles, scoreFormat } from "./head_scores.js";
import { VISIBLE_WEIGHT, headView, smallestVisible } from "./head_view.js";
import { gridCsv, headCsv, scoresCsv, trainingCsv } from "./export.js";
import { screenSvg } from "../../shared/runtime/screen_svg.js";
import { colourRamp } from "../../shared/charts/heatmap.js";
import { setTextIfChanged, tint } from "../../shared/runtime/dom.js";
import { LiveElements } from "../../shared/runtime/view_state.js";
import { trainingSlider } from "./snapshot_slider.js";
import { loadArrays } from "../../shared/runtime/array_store.js";
import { saveMenu } from "../../shared/runtime/export_menu.js";
import { SyncedValue } from "../../shared/runtime/synced_value.js";
import { defineComponent } from "../../shared/runtime/component.js";
import { Theme } from "../../shared/runtime/theme.js";

const SOON = 1500; // ms from the first drawing to the request for snapshots
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
  let loaded = null,
    later = null,
    view = null,
    look = null,
    widths = null,
    fetching = "",
    timer = null;
  let frame = 0,
    dirty = new Set(),
    pointed = null,
    measured = new Map(),
    settling = false,
    begun = null;

  const { node, button, buttonChoice, list, update } = new LiveElements();
  const training = trainingSlider({ move: moveToStep, settle: releaseStep, reach: fetchSnapshots });
  const grid = headGrid({
    open: (layer, head) => sendEvent("open", [layer, head], "open"),
    flip: (layer, head) => setInterventions({ off: math.toggleHead(currentState().touch.off, layer, head) }),
    flipLayer: (layer) => setInterventions({ off: math.toggleLayer(currentState().touch.off, layer, data.heads) }),
    point: (layer, head) => {
      pointed = layer == null ? null : [layer, head];
      requestPaint("words");
    },
  });
  const large = headView({ keep: (at) => sendEvent("asked", at, "head") });
  const ranking = headRanking({
    open: (layer, head) => sendEvent("open", [layer, head], "open"),
    move: () => requestPaint("ranking"),
  });
  const scoresPanel = headScoresPanel({
    flip: () => setInterventions({ off: math.toggleHead(currentState().touch.off, ...currentState().open) }),
    flatten: () => setInterventions({ flat: math.toggleHead(currentState().touch.flat, ...currentState().open) }),
  });
  const SCALES = { one: "0 to 1", row: "by row" },
    VIEWS = { lines: "lines", matrix: "matrix" };
  const choose = (name, part) => (value) => sendEvent(name, value, part),
    shown = (name) => () => (data ? currentState()[name] : "");
  const scale = buttonChoice("Scale of the colours", () => SCALES, shown("scale"), choose("scale", "colours")),
    kind = buttonChoice("View of the open head", () => VIEWS, shown("view"), choose("view", "head")),
    kinds = buttonChoice(
      "Kind of attention",
      () => data?.kinds ?? {},
      () => synced.kind.value,
      choose("kind", "kind"),
    );
  const sortOption = ([value, text]) => node("option", { value }, text),
    sortLabel = () => (isLarge() ? "Score by which heads are highlighted" : "Order of the heads"),
    sort = node(
      "select",
      { class: "lineage-select", "aria-label": sortLabel, onchange: () => sendEvent("sort", sort.value, "grid") },
      list(() => sortOptions(), sortOption),
    ),
    sortWords = node("span", { class: "words-by" }, () => (isLarge() ? "Highlight heads" : "Sort heads"));
  const name = node("h3"),
    under = node("p", { class: "under" }),
    words = node("p", { class: "words" });
  const isCausal = () => Boolean(view?.causal),
    hasEmpty = () => isCausal() || data.masked?.length > 0;
  const legend = node(
    "div",
    { class: "legend" },
    node("span", {}, "0"),
    node("i", { class: "ramp" }),
    node("span", {}, () => (currentState().scale === "row" ? "largest of its row" : "1")),
    node("i", { class: "none", hidden: () => !hasEmpty() }),
    node("span", { class: "empty", hidden: () => !hasEmpty() }, () =>
      isCausal() ? "empty: masked (later)" : "empty: padding",
    ),
  );
  const touch = () => currentState().touch,
    makeSwitch = (field, can, off, on) =>
      button({ hidden: () => !data.can?.[can], onclick: () => setInterventions({ [field]: !touch()[field] }) }, () =>
        touch()[field] ? on : off,
      );
  const describeTouch = () => {
    const description = math.describeInterventions(touch()),
      isDragged = description && !showsServerStep();
    return isDragged ? `${description} While you drag, the training steps are shown without it.` : description;
  };
  const isUntouched = () => !math.describeInterventions(touch()),
    buttons = [
      ...scoresPanel.buttons,
      makeSwitch("unmasked", "mask", "Remove the causal mask", "Restore the causal mask"),
      makeSwitch("unplaced", "positions", "Remove positions", "Restore positions"),
      button({ hidden: isUntouched, onclick: () => setInterventions(NOTHING) }, "Reset"),
    ];
  const trouble = node(
    "div",
    { class: "trouble", hidden: "" },
    node("p", {}, "The attention weights of this text did not arrive."),
    button({ onclick: () => fetchAll() }, "Try again"),
  );
  const heads = node(
    "div",
    { class: "heads" },
    node("div", { class: "order" }, node("label", {}, sortWords, sort), scale),
    grid.root,
    ranking.root,
    legend,
    words,
  );
  const severalKinds = () => Object.keys(data.kinds ?? {}).length > 1,
    first = node(
      "section",
      { class: "first" },
      node("div", { class: "kinds", hidden: () => !severalKinds() }, kinds),
      heads,
      training.root,
    );
  const second = node("section", { class: "second" }, node("div", { class: "title" }, name, kind), under, large.root);
  const answers = answersPanel();
  const third = node(
    "section",
    { class: "third" },
    answers.root,
    node("div", { class: "buttons actions" }, ...buttons),
    node("p", { class: "touched", role: "status" }, describeTouch),
    scoresPanel.root,
  );
  const parts = node("div", { class: "parts" }, first, second, third);
  place.replaceChildren(parts, trouble);
  parts.hidden = true;
  const theme = new Theme(place, () => {
    look = null;
    requestPaint("all");
  });
  const watch = new ResizeObserver(() => {
    // A slide shows one of them; the other one keeps its width.
    const next = [first.clientWidth || widths?.[0], second.clientWidth || widths?.[1]];
    if (String(next) === String(widths)) return;
    widths = next;
    requestPaint("all");
  });
  watch.observe(first);
  watch.observe(second);

  /** Return the state shared with the page, clamped to valid indices. */
  function currentState() {
    const clampIndex = (value, count) => Math.max(0, Math.min(count - 1, Math.round(Number(value) || 0)));
    const [layer, head] = synced.open.value ?? [0, 0];
    return {
      open: [clampIndex(layer, data.layers), clampIndex(head, data.heads)],
      asked: clampIndex(synced.asked.value ?? data.tokens.length - 1, data.tokens.length),
      scale: synced.scale.value === "row" ? "row" : "one",
      view: synced.view.value === "matrix" ? "matrix" : "lines",
      sort: sortOptions().some(([value]) => value === synced.sort.value) ? synced.sort.value : "place",
      touch: { ...NOTHING, ...synced.touch.value },
    };
  }
  /**
   * @template {keyof AttentionHeadsEvents} Name
   * @param {Name} name
   * @param {AttentionHeadsEvents[Name]} value
   * @param {string} part of the picture that changes
   */
  function sendEvent(name, value, part) {
    synced[name].set(value);
    send(name, value);
    requestPaint(part);
  }
  function setInterventions(change) {
    sendEvent("touch", { ...currentState().touch, ...change }, "touch");
  }

  /* The training */
  const snapshotSteps = () => data.snapshots?.steps ?? [];
  function stepIndex() {
    const wantedStep = synced.step.value ?? snapshotSteps().at(-1);
    return snapshotSteps().reduce(
      (best, step, i) => (Math.abs(step - wantedStep) < Math.abs(snapshotSteps()[best] - wantedStep) ? i : best),
      snapshotSteps().length - 1,
    );
  }
  const withoutInterventions = () => {
    const { off, flat, unmasked, unplaced } = { ...NOTHING, ...data.touch };
    return !off.length && !flat.length && !unmasked && !unplaced;
  };
  const loadedSnapshots = () => (later && later.address === data.snapshots?.address ? later.array : null);
  const showsServerStep = () =>
    !snapshotSteps().length || snapshotSteps()[stepIndex()] === (data.step ?? snapshotSteps().at(-1));
  function moveToStep(index) {
    if (!snapshotSteps().length) return;
    fetchSnapshots();
    if (!settling) begun = synced.step.value;
    synced.step.value = snapshotSteps()[index];
    settling = true;
    requestPaint("step");
  }
  function releaseStep(index) {
    const from = begun ?? snapshotSteps().at(-1),
      to = snapshotSteps()[index];
    if (settling && to !== undefined && to !== from) sendEvent("step", to, "step");
    settling = false;
    for (const part of ["step", "grid"]) requestPaint(part);
  }

  /** Read the weights of the shown step: from a snapshot if loaded, with interventions only as the page sent them.
      Return whether the causal mask was added or removed. */
  function updateView() {
    const packed = loadedSnapshots(),
      step = packed && (withoutInterventions() || !showsServerStep()) ? stepIndex() : null,
      array = step === null ? loaded : packed;
    if (view?.data === array.data && view.step === step && view.of === data) return false;
    const previousView = view;
    view = Object.assign(math.readWeights(array, data, step), { step, of: data });
    measured = new Map();
    return previousView?.causal !== view.causal;
  }
  function scoresOf(layer, head) {
    const key = layer * data.heads + head;
    if (!measured.has(key)) measured.set(key, math.headScores(view, layer, head, data.ids));
    return measured.get(key);
  }
  const isLarge = () => data.layers * data.heads > math.MOST_SORTED;
  /** Return the unit of the keys: those of cross-attention are of another text. */
  const keyUnit = () => (data.keys ? `source ${data.unit}` : data.unit);
  const countVisibleKeys = () => view.hidden.reduce((count, one) => count - one, view.keys);
  const scoreBy = (scoreName) => (layer, head) =>
    scoreName === "worth" ? (data.worth?.[layer][head] ?? NaN) : scoresOf(layer, head)[scoreName];

  /* Drawing: at most once a frame, and only what changed. */
  function requestPaint(part) {
    dirty.add(part);
    frame ||= requestAnimationFrame(paint);
  }
  function paint() {
    frame = 0;
    if (!data || !widths?.[0]) return;
    const todo = dirty,
      masked = updateView(),
      all = masked || todo.has("all"),
      any = (...names) => all || names.some((one) => todo.has(one));
    dirty = new Set();
    const state = currentState();
    if (!look || look.scale !== state.scale) {
      const colourOf = (one) => theme.colour(one);
      look = {
        shades: colourRamp(colourOf),
        scale: state.scale,
        soft: colourOf("--soft"),
        ink: colourOf("--ink"),
        page: colourOf("--page"),
        colour: colourOf(data.colour ?? "--m-transformer"),
      };
    }
    if (data.snapshots && any("step")) {
      training.show(data.snapshots, widths[0]);
      training.setStep(stepIndex(), !showsServerStep() && !loadedSnapshots(), !withoutInterventions());
    }
    const byScore = state.sort !== "place",
      value = scoreBy(state.sort),
      digits = scoreFormat(state.sort);
    if (any("grid", "open", "touch", "asked", "ranking")) {
      const ranked = isLarge() && byScore;
      ranking.root.hidden = !ranked;
      if (ranked) {
        ranking.rank({ view, name: state.sort, value });
        ranking.show({ view, digits, width: widths[0], open: state.open });
      }
      const isFaint = (layer, head) => ranked && !ranking.passes(value(layer, head));
      if (!settling || !byScore || ranked)
        grid.arrangeTiles({ view, sort: state.sort, value, digits, open: state.open, touch: state.touch, isFaint });
      grid.fitWidth(view, widths[0]);
      sort.value = state.sort;
    }
    if (any("step", "grid", "colours")) {
      grid.paintTiles(view, look);
      if (byScore) grid.showNumbers({ value, digits });
    }
    const keys = data.keys ?? data.tokens,
      [layer, head] = state.open;
    if (any("step", "open", "head", "colours")) {
      setTextIfChanged(name, headName(layer, head));
      setTextIfChanged(under, describeAxes(state.view));
      large.show(
        { view, layer, head, tokens: data.tokens, keys, kind: state.view, look, asked: state.asked, unit: data.unit },
        widths[1],
      );
      grid.markQuery(state.asked, data.tokens.length);
    }
    if (any("step", "open"))
      scoresPanel.show({ found: scoresOf(layer, head), unit: keyUnit(), keys: countVisibleKeys(), cross: view.cross });
    if (any("step", "open", "touch")) showInterventions(state);
    if (any("words", "step", "open", "touch", "grid")) showWords(state);
    update();
  }
  /** Return the sentence about what is left and right, or what the rows and columns of the matrix are. */
  function describeAxes(shown) {
    const [query, key] = data.keys ? ["target token (query)", "source token (key: where it looks)"] : ["query", "key"];
    if (shown === "matrix")
      return data.keys
        ? `rows: ${query}, columns: ${key}`
        : `rows: ${query} token, columns: ${key} token (where it looks)`;
    const least = smallestVisible(data.tokens.length),
      lines = least > VISIBLE_WEIGHT ? ` (weights from ${least} on)` : "";
    return `left: ${query}, right: ${key}${data.keys ? "" : " (where it looks)"}${lines}; click a ${data.unit} to keep it`;
  }
  /** @param {any} state */
  function showInterventions({ touch: what, open, open: [layer, head] }) {
    scoresPanel.showIntervention({
      touch: what,
      open,
      rise: data.worth?.[layer]?.[head],
      error: data.worth_error?.[layer]?.[head],
      unit: data.snapshots?.unit ?? "nats",
      where: data.worth_of,
      ended: !snapshotSteps().length || stepIndex() === snapshotSteps().length - 1,
    });
  }
  function showWords({ touch: what, sort: order }) {
    if (!pointed) {
      const all = order === "place" || isLarge() ? " The switch of a layer turns off all its heads." : "";
      words.className = "words hint";
      return void setTextIfChanged(
        words,
        (grid.hidesSwitches() ? "Click a head to open it." : "Click a head to open it. Its switch turns it off.") + all,
      );
    }
    words.className = "words";
    const [layer, head] = pointed,
      score = isLarge() && order !== "place" ? scoreBy(order)(layer, head) : NaN;
    const off = math.includesHead(what.off, layer, head) ? " It is switched off: its output is zero." : "";
    words.replaceChildren(
      node("b", {}, `${headName(layer, head)}${Number.isNaN(score) ? "" : `: ${scoreFormat(order)(score)}`}. `),
      math.describeHead(scoresOf(layer, head), keyUnit()) + off,
    );
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
    update();
    parts.classList.toggle("large", isLarge());
    parts.classList.toggle("fixed", Boolean(data.fixed));
    answers.show(data.answers);
    training.root.hidden = !data.snapshots;
    if (!data.snapshots) {
      training.stop();
      settling = false;
    }
    look = null;
    tint(place, data.colour);
    requestPaint("all");
    updateSaveMenus();
    clearTimeout(timer);
    timer = setTimeout(fetchSnapshots, SOON);
  }
  function updateSaveMenus() {
    const file = data.file ?? "attention",
      title = data.title ?? "";
    const exportState = () => {
      const [layer, head] = currentState().open;
      return { view, tokens: data.tokens, keys: data.keys ?? data.tokens, layer, head };
    };
    const openHead = () => headName(...currentState().open);
    saveMenu(heads, {
      svg: () => screenSvg(heads, { title, skip: ".order, .kinds, .ranking label, .words, .flip, .layer i" }),
      csv: () => gridCsv(exportState()),
      file: `${file}-heads`,
    });
    saveMenu(second, {
      svg: () =>
        screenSvg(large.root, { title: `${openHead()} · ${title}`, drawings: large.canvases, skip: ".thin:not(.lit)" }),
      csv: () => headCsv(exportState()),
      file: `${file}-head`,
    });
    saveMenu(scoresPanel.figure, {
      svg: () => screenSvg(scoresPanel.root, { title: openHead(), skip: "button" }),
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
      requestPaint("all");
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
