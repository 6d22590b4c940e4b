/**
 * Draw the attention of every layer and head over one text, one head enlarged with its scores, and the effect of
 * interventions. Events: "open" [layer, head]; "asked" index; "scale", "sort", "view" strings; "step" number, when
 * the slider is released; "touch" as below, after each press; "snapshots" true: the page should send their address,
 * once per text; "stands" true, see `follow`.
 *
 * @typedef {object} AttentionHeadsData
 * @property {string[]} tokens what each token adds to the text
 * @property {string[]} [keys] the key tokens, if they differ from `tokens`
 * @property {number[]} ids of the tokens
 * @property {number} layers
 * @property {number} heads
 * @property {boolean} causal
 * @property {number[]} masked keys that no query attends to
 * @property {string} address array "weights" (U16 "layers heads cells", see math.js) at `step` and with `touch`
 * @property {number[]} open [layer, head]
 * @property {number} asked index of the selected query token
 * @property {"one" | "row"} scale
 * @property {string} sort "place", the name of a score, "spread" or "worth"
 * @property {"lines" | "matrix"} view
 * @property {any} snapshots null or {steps, curve: {steps, losses}, unit: "nats", address: null or array "weights"
 *    (U16 "steps layers heads cells")}
 * @property {number | null} step the step shown; null: the last
 * @property {any} touch interventions {off: [[layer, head]], flat: [[layer, head]], unmasked, unplaced}
 * @property {any} can {mask, positions}: which interventions the model allows
 * @property {number[][] | null} worth head importance: rise of the loss without that head, [layer][head]
 * @property {number[][] | null} worth_error its standard error
 * @property {string} worth_of the text on which it is measured, "held-out text"
 * @property {"letter" | "token" | "word"} unit
 * @property {string} colour CSS variable
 * @property {string} title
 * @property {string} file
 * @property {boolean} old a new text is being computed: the last one is shown paler and accepts no input
 * @property {boolean} follow the page waits with its other sections until the picture is drawn
 */
import {
  SCORES,
  toggleHead,
  headScores,
  includesHead,
  toggleLayer,
  describeHead,
  readWeights,
  describeInterventions,
} from "./math.js";
import { headGrid } from "./head_grid.js";
import { headName } from "../../shared/runtime/format.js";
import { headScoresPanel, scoreTitles, scoreFormat } from "./head_scores.js";
import { VISIBLE_WEIGHT, headView, smallestVisible } from "./head_view.js";
import { gridCsv, gridSvg, scoresCsv, scoresSvg, headCsv, headSvg, trainingCsv, trainingSvg } from "./export.js";
import { colourRamp } from "../../shared/charts/heatmap.js";
import { setTextIfChanged, node, tint } from "../../shared/runtime/dom.js";
import { trainingSlider } from "./snapshot_slider.js";
import { loadArrays } from "../../shared/runtime/array_store.js";
import { saveMenu } from "../../shared/runtime/export_menu.js";
import { SyncedValue } from "../../shared/runtime/synced_value.js";
import { defineComponent } from "../../shared/runtime/component.js";
import { Theme } from "../../shared/runtime/theme.js";

const SOON = 1500,
  AGAIN = 10_000; // ms after the first view stands, until the snapshots are requested; and again, if they did not come
const NOTHING = { off: [], flat: [], unmasked: false, unplaced: false };
const KEPT = ["open", "asked", "scale", "sort", "view", "step", "touch"];

/** A row of buttons of which one is chosen. */
function choice(label, options, press) {
  const buttons = options.map(([value, words]) => {
    const made = node("button", { type: "button", value }, words);
    made.onclick = () => press(value);
    return made;
  });
  const root = node("div", { class: "choice", role: "group", "aria-label": label }, ...buttons);
  return { root, set: (value) => buttons.forEach((one) => one.setAttribute("aria-pressed", one.value === value)) };
}

export default defineComponent((place) => {
  const syncedValues = Object.fromEntries(KEPT.map((name) => [name, new SyncedValue()]));
  /** @type {AttentionHeadsData | null} */
  let data = null,
    wanted = null,
    /** @type {(...args: any[]) => void} */
    trigger = () => {};
  let loaded = null,
    later = null,
    view = null,
    look = null,
    widths = null,
    askedFor = "",
    askedAt = 0,
    fetching = "",
    timer = null;
  let frame = 0,
    dirty = new Set(),
    pointed = null,
    measured = new Map(),
    settling = false,
    begun = null,
    old = false;

  const training = trainingSlider({ move, settle, reach: requestSnapshots });
  const grid = headGrid({
    open: (layer, head) => sendEvent("open", [layer, head], "open"),
    flip: (layer, head) => setInterventions({ off: toggleHead(currentState().touch.off, layer, head) }),
    flipLayer: (layer) => setInterventions({ off: toggleLayer(currentState().touch.off, layer, data.heads) }),
    point: (layer, head) => {
      pointed = layer == null ? null : [layer, head];
      request("words");
    },
  });
  const large = headView({ keep: (at) => old || sendEvent("asked", at, "gaze") });
  const habit = headScoresPanel({
    flip: () => setInterventions({ off: toggleHead(currentState().touch.off, ...currentState().open) }),
    flatten: () => setInterventions({ flat: toggleHead(currentState().touch.flat, ...currentState().open) }),
  });
  const scale = choice(
    "Scale of the colours",
    [
      ["one", "one scale"],
      ["row", "each row"],
    ],
    (value) => sendEvent("scale", value, "colours"),
  );
  const kind = choice(
    "View of the open head",
    [
      ["lines", "lines"],
      ["matrix", "matrix"],
    ],
    (value) => sendEvent("view", value, "gaze"),
  );
  const sort = node("select", { class: "lineage-select", "aria-label": "Order of the heads" });
  sort.onchange = () => sendEvent("sort", sort.value, "grid");
  const name = node("h3"),
    under = node("p", { class: "under" }),
    words = node("p", { class: "words" });
  const full = node("span"),
    empty = node("span", { class: "empty" });
  const legend = node(
    "div",
    { class: "legend" },
    node("span", {}, "0"),
    node("i", { class: "ramp" }),
    full,
    node("i", { class: "none" }),
    empty,
  );
  const button = (label, press) => {
    const made = node("button", { type: "button", class: "lineage-button" }, label);
    made.onclick = press;
    return made;
  };
  const lift = button("", () => setInterventions({ unmasked: !currentState().touch.unmasked })),
    unplace = button("", () => setInterventions({ unplaced: !currentState().touch.unplaced }));
  const undo = button("Undo all touches", () => setInterventions(NOTHING)),
    state = node("p", { class: "touched", role: "status" });
  const again = button("Try again", () => fetchAll());
  const trouble = node(
    "div",
    { class: "trouble", hidden: "" },
    node("p", {}, "The numbers of this text did not arrive."),
    again,
  );
  const heads = node(
    "div",
    { class: "heads" },
    node(
      "div",
      { class: "order" },
      node("label", {}, node("span", { class: "words-by" }, "Heads by"), sort),
      scale.root,
    ),
    grid.root,
    legend,
    words,
  );
  const first = node("section", { class: "first" }, training.root, heads);
  const second = node(
    "section",
    { class: "second" },
    node("div", { class: "title" }, name, kind.root),
    under,
    large.root,
  );
  const third = node(
    "section",
    { class: "third" },
    habit.root,
    node("div", { class: "model" }, node("div", { class: "buttons" }, lift, unplace, undo), state),
  );
  const parts = node("div", { class: "parts" }, first, second, third);
  place.replaceChildren(parts, trouble);
  parts.hidden = true;
  const theme = new Theme(place, () => {
    look = null;
    request("all");
  });
  const watch = new ResizeObserver(() => {
    const next = [first.clientWidth, second.clientWidth];
    if (String(next) === String(widths)) return;
    widths = next;
    request("all");
  });
  watch.observe(first);
  watch.observe(second);

  /** What the visitor and the page agree on, within what there is. */
  function currentState() {
    const within = (value, count) => Math.max(0, Math.min(count - 1, Math.round(Number(value) || 0)));
    const [layer, head] = syncedValues.open.value ?? [0, 0];
    return {
      open: [within(layer, data.layers), within(head, data.heads)],
      asked: within(syncedValues.asked.value ?? data.tokens.length - 1, data.tokens.length),
      scale: syncedValues.scale.value === "row" ? "row" : "one",
      view: syncedValues.view.value === "matrix" ? "matrix" : "lines",
      sort: [...sort.options].some(({ value }) => value === syncedValues.sort.value)
        ? syncedValues.sort.value
        : "place",
      touch: { ...NOTHING, ...syncedValues.touch.value },
    };
  }
  function sendEvent(name, value, what) {
    syncedValues[name].set(value);
    trigger(name, value);
    request(what);
  }
  function setInterventions(change) {
    if (!old) sendEvent("touch", { ...currentState().touch, ...change }, "touch");
  }

  /* The training */
  const steps = () => data.snapshots?.steps ?? [];
  function at() {
    const wish = syncedValues.step.value ?? steps().at(-1);
    return steps().reduce(
      (best, step, i) => (Math.abs(step - wish) < Math.abs(steps()[best] - wish) ? i : best),
      steps().length - 1,
    );
  }
  const withoutInterventions = () => {
    const { off, flat, unmasked, unplaced } = { ...NOTHING, ...data.touch };
    return !off.length && !flat.length && !unmasked && !unplaced;
  };
  const loadedSnapshots = () => (later && later.address === data.snapshots?.address ? later.array : null);
  const showsServerStep = () => !steps().length || steps()[at()] === (data.step ?? steps().at(-1));
  function move(index) {
    if (!steps().length) return;
    requestSnapshots();
    if (!settling) begun = syncedValues.step.value;
    syncedValues.step.value = steps()[index];
    settling = true;
    request("step");
  }
  function settle(index) {
    const from = begun ?? steps().at(-1),
      to = steps()[index];
    if (settling && to !== undefined && to !== from) sendEvent("step", to, "step");
    settling = false;
    for (const what of ["step", "grid"]) request(what);
  }
  function requestSnapshots() {
    if (!data?.snapshots || old) return;
    if (data.snapshots.address) return fetchSteps(data);
    const key = JSON.stringify([data.ids, data.title]);
    if (key === askedFor && performance.now() - askedAt < AGAIN) return;
    [askedFor, askedAt] = [key, performance.now()];
    trigger("snapshots", true);
  }

  /** The weights of the step that is shown: of a snapshot where there is one, with the touches only as the page sent them.
      Says whether a mask came or went. */
  function look_at() {
    const packed = loadedSnapshots(),
      step = packed && (withoutInterventions() || !showsServerStep()) ? at() : null,
      array = step === null ? loaded : packed;
    if (view?.data === array.data && view.step === step && view.of === data) return false;
    const before = view;
    view = Object.assign(readWeights(array, data, step), { step, of: data });
    measured = new Map();
    return before?.causal !== view.causal;
  }
  function scoresOf(layer, head) {
    const key = layer * data.heads + head;
    if (!measured.has(key)) measured.set(key, headScores(view, layer, head, data.ids));
    return measured.get(key);
  }
  const answering = () => view.hidden.reduce((count, one) => count - one, view.keys);
  const number = (by) => (layer, head) =>
    by === "worth" ? (data.worth?.[layer][head] ?? NaN) : scoresOf(layer, head)[by];

  /* Drawing: at most once a frame, and only what changed. */
  function request(what) {
    dirty.add(what);
    frame ||= requestAnimationFrame(paint);
  }
  function paint() {
    frame = 0;
    if (!data || !widths?.[0]) return;
    const todo = dirty,
      masked = look_at(),
      all = masked || todo.has("all"),
      any = (...names) => all || names.some((one) => todo.has(one));
    dirty = new Set();
    const state = currentState();
    if (!look || look.scale !== state.scale) {
      const ink = (one) => theme.colour(one);
      look = {
        shades: colourRamp(ink),
        scale: state.scale,
        soft: ink("--soft"),
        ink: ink("--ink"),
        page: ink("--page"),
        colour: ink(data.colour ?? "--m-transformer"),
      };
    }
    if (data.snapshots && any("step")) {
      training.show(data.snapshots, widths[0]);
      training.set(at(), !showsServerStep() && !loadedSnapshots());
    }
    if (any("grid", "open", "touch", "asked")) {
      const frozen = settling && state.sort !== "place";
      if (!frozen)
        grid.arrange({
          view,
          sort: state.sort,
          value: number(state.sort),
          digits: scoreFormat(state.sort),
          open: state.open,
          touch: state.touch,
        });
      grid.fit(view, widths[0]);
      scale.set(state.scale);
      sort.value = state.sort;
    }
    if (any("step", "grid", "colours")) {
      grid.paint(view, look);
      if (state.sort !== "place") grid.numbers({ value: number(state.sort), digits: scoreFormat(state.sort) });
    }
    const keys = data.keys ?? data.tokens,
      [layer, head] = state.open;
    if (any("step", "open", "gaze", "colours")) {
      setTextIfChanged(name, headName(layer, head));
      setTextIfChanged(
        under,
        state.view === "matrix"
          ? "rows ask, columns answer; the stronger the colour, the more"
          : `left asks, right answers${smallestVisible(data.tokens.length) > VISIBLE_WEIGHT ? `, from ${smallestVisible(data.tokens.length)} on` : ""}; hover a ${data.unit}, click keeps it`,
      );
      kind.set(state.view);
      large.show(
        { view, layer, head, tokens: data.tokens, keys, kind: state.view, look, asked: state.asked, unit: data.unit },
        widths[1],
      );
      grid.mark(state.asked, data.tokens.length);
    }
    if (any("step", "open"))
      habit.show({
        found: scoresOf(layer, head),
        unit: data.unit,
        keys: answering(),
        label: headName(layer, head).toLowerCase(),
      });
    if (any("step", "open", "touch")) showInterventions(state);
    if (any("words", "step", "open", "touch", "grid")) showWords(state);
    if (any("colours")) showLegend();
  }
  /** @param {any} state */
  function showInterventions({ touch: what, open, open: [layer, head] }) {
    habit.touch({
      touch: what,
      open,
      rise: data.worth?.[layer]?.[head],
      error: data.worth_error?.[layer]?.[head],
      unit: data.snapshots?.unit ?? "nats",
      where: data.worth_of,
      ended: !steps().length || at() === steps().length - 1,
    });
    setTextIfChanged(lift, what.unmasked ? "Mask as it was" : "Lift the mask");
    setTextIfChanged(unplace, what.unplaced ? "Positions as they were" : "No positions");
    lift.hidden = !data.can?.mask;
    unplace.hidden = !data.can?.positions;
    const told = describeInterventions(what);
    undo.disabled = !told;
    setTextIfChanged(
      state,
      told && !showsServerStep() ? `${told} The steps of the training are shown without that until you let go.` : told,
    );
  }
  function showWords({ touch: what, sort: order }) {
    if (!pointed) {
      const all = order === "place" ? " A layer’s switch turns off the whole layer." : "";
      words.className = "words hint";
      return void setTextIfChanged(
        words,
        (grid.small()
          ? "Click a head to open it; there it can be switched off."
          : "Click a head to open it; its small switch turns it off.") + all,
      );
    }
    words.className = "words";
    const [layer, head] = pointed;
    const off = includesHead(what.off, layer, head) ? " It is switched off: what it reads goes nowhere." : "";
    words.replaceChildren(
      node("b", {}, `${headName(layer, head)}. `),
      describeHead(scoresOf(layer, head), data.unit) + off,
    );
  }
  function showLegend() {
    full.textContent = look.scale === "row" ? "strongest of its row" : "1";
    const ahead = view.causal,
      pads = data.masked?.length > 0;
    empty.textContent = ahead ? "empty: cannot look ahead" : "empty: padding";
    empty.hidden = legend.querySelector(".none").hidden = !ahead && !pads;
  }

  function present() {
    parts.hidden = false;
    trouble.hidden = true;
    const options = [
      ["place", "their place"],
      ...[...SCORES, "spread", ...(data.worth ? ["worth"] : [])].map((one) => [one, scoreTitles(data.unit)[one]]),
    ];
    if ([...sort.options].map(({ text }) => text).join() !== options.map(([, text]) => text).join()) {
      sort.replaceChildren(...options.map(([value, text]) => node("option", { value }, text)));
    }
    training.root.hidden = !data.snapshots;
    if (!data.snapshots) {
      training.stop();
      settling = false;
    }
    stale(Boolean(data.old));
    look = null;
    tint(place, data.colour);
    request("all");
    save();
    clearTimeout(timer);
    if (data.snapshots && !data.snapshots.address && !old) timer = setTimeout(requestSnapshots, SOON);
  }
  function save() {
    const file = data.file ?? "attention",
      full = () => {
        const {
          open: [layer, head],
          view: kind,
          asked,
        } = currentState();
        return {
          view,
          look,
          tokens: data.tokens,
          keys: data.keys ?? data.tokens,
          title: data.title ?? "",
          layer,
          head,
          kind,
          asked,
        };
      };
    saveMenu(heads, { svg: () => gridSvg(place, full()), csv: () => gridCsv(full()), file: `${file}-heads` });
    saveMenu(second, { svg: () => headSvg(place, full()), csv: () => headCsv(full()), file: `${file}-head` });
    saveMenu(habit.figure, {
      svg: () => {
        const { layer, head } = full(),
          seen = scoresOf(layer, head),
          { unit } = data;
        return scoresSvg(place, {
          found: seen,
          unit,
          keys: answering(),
          name: headName(layer, head),
          colour: look.colour,
          said: describeHead(seen, unit),
        });
      },
      csv: () => scoresCsv({ view, ids: data.ids, worth: data.worth, worthError: data.worth_error }),
      file: `${file}-habits`,
    });
    if (!data.snapshots?.curve?.steps.length) return;
    const curve = {
      svg: () => trainingSvg(place, data.snapshots, at(), look.colour),
      csv: () => trainingCsv(data.snapshots),
      file: `${file}-training`,
    };
    saveMenu(training.root, curve);
  }

  /** Whether what is shown is of the last text. */
  function stale(now) {
    old = now;
    place.classList.toggle("old", now);
    parts.ariaBusy = String(now);
  }

  /** New numbers are with their own tokens, never with those of the text before. */
  function fetchAll() {
    const given = wanted;
    loadArrays(given.address).then(
      ({ weights }) => {
        if (given !== wanted) return;
        [data, loaded] = [given, weights];
        present();
        follow(given);
      },
      () => {
        if (given !== wanted) return;
        follow(given);
        trouble.hidden = false;
        parts.hidden = !data;
      },
    );
    fetchSteps(given);
  }
  /** Tell the page to compute its other sections only when this picture is drawn; before, they would delay it. */
  function follow(given) {
    if (given.follow)
      requestAnimationFrame(() =>
        setTimeout(() => {
          if (given === wanted) trigger("stands", true);
        }),
      );
  }
  function fetchSteps(given) {
    const address = given.snapshots?.address;
    if (!address || later?.address === address || fetching === address) return;
    fetching = address;
    loadArrays(address)
      .then(
        ({ weights }) => {
          if (wanted.snapshots?.address !== address) return;
          later = { address, array: weights };
          request("all");
        },
        () => {},
      )
      .finally(() => {
        if (fetching === address) fetching = "";
      });
  }

  return {
    show(/** @type {AttentionHeadsData} */ given, component) {
      wanted = given;
      trigger = component.setTriggerValue;
      const step = syncedValues.step.value;
      for (const name of KEPT) syncedValues[name].receive(given[name]);
      if (syncedValues.step.value !== step) begun = syncedValues.step.value; // news of the page, from which the hand now goes on
      if (given.old) stale(true); // until other numbers are here
      fetchAll();
    },
    close() {
      cancelAnimationFrame(frame);
      clearTimeout(timer);
      watch.disconnect();
      training.close();
      large.close();
    },
  };
});
