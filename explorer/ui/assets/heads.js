/*
The attention of every layer and head over one text; one of them large; what it does, and what becomes of it when touched.

data = { tokens: [what each adds to the text], keys: those that answer, if they are others, ids: [of the tokens],
         layers, heads, causal, masked: [keys nobody may look at],
         address: packed "weights" (U16 "layers heads cells", see attention.js) at `step` and with `touch`,
         open: [layer, head], asked: index of the token that is kept, scale: "one" | "row",
         sort: "place" | a habit's name | "spread" | "worth", view: "lines" | "matrix",
         snapshots: null | { steps, curve: { steps, losses }, unit: "nats", address: null | packed "weights" (U16 "steps layers heads cells") },
         step: the step shown, null = the last, touch: { off: [[layer, head]], flat: [[layer, head]], unmasked, unplaced },
         can: { mask, positions }: what may be lifted, worth: null | [layer][head], the rise of the loss with that head off,
         worth_error: the same, worth_of: "held-out text", unit: "letter" | "token" | "word", colour: "--m-transformer", title, file,
         old: true while a new text is on its way: what is shown is the last one's, paler, and nothing of it is touched or asked,
         follow: true where the page waits with the rest until the picture stands }
Triggers: "open" [layer, head]; "asked" index; "scale", "sort", "view" strings; "step" number, when the slider is let go;
"touch" as above, after each press; "snapshots" true: their address is wanted, once a text; "stands" true, see follow.
*/
import { HABITS, flipped, habits, has, layerFlipped, sentence, sent, touched } from "./attention.js";
import { headGrid, nameOf } from "./headgrid.js";
import { headHabits, titles, written } from "./headhabits.js";
import { SEEN, gaze, leastOf } from "./headlines.js";
import { gridCsv, gridSvg, habitsCsv, habitsSvg, headCsv, headSvg, trainingCsv, trainingSvg } from "./headsave.js";
import { put, ramp } from "./headtiles.js";
import { trainingSlider } from "./headtraining.js";
import { arrays } from "./packed.js";
import { saveMenu } from "./save.js";
import { Shared } from "./shared.js";
import { instrument, node, tinted } from "./svg.js";
import { Theme } from "./theme.js";

const SOON = 1500, AGAIN = 10_000; // ms after the first view stands, until the snapshots are asked for; and again, if they did not come
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

export default instrument((place) => {
  const said = Object.fromEntries(KEPT.map((name) => [name, new Shared()]));
  let data = null, wanted = null, trigger = () => {};
  let loaded = null, later = null, view = null, look = null, widths = null, askedFor = "", askedAt = 0, fetching = "", timer = null;
  let frame = 0, dirty = new Set(), pointed = null, measured = new Map(), settling = false, begun = null, old = false;

  const training = trainingSlider({ move, settle, reach: ask });
  const grid = headGrid({
    open: (layer, head) => say("open", [layer, head], "open"),
    flip: (layer, head) => touch({ off: flipped(now().touch.off, layer, head) }),
    flipLayer: (layer) => touch({ off: layerFlipped(now().touch.off, layer, data.heads) }),
    point: (layer, head) => { pointed = layer == null ? null : [layer, head]; request("words"); },
  });
  const large = gaze({ keep: (at) => old || say("asked", at, "gaze") });
  const habit = headHabits({
    flip: () => touch({ off: flipped(now().touch.off, ...now().open) }),
    flatten: () => touch({ flat: flipped(now().touch.flat, ...now().open) }),
  });
  const scale = choice("Scale of the colours", [["one", "one scale"], ["row", "each row"]], (value) => say("scale", value, "colours"));
  const kind = choice("View of the open head", [["lines", "lines"], ["matrix", "matrix"]], (value) => say("view", value, "gaze"));
  const sort = node("select", { class: "lineage-select", "aria-label": "Order of the heads" });
  sort.onchange = () => say("sort", sort.value, "grid");
  const name = node("h3"), under = node("p", { class: "under" }), words = node("p", { class: "words" });
  const full = node("span"), empty = node("span", { class: "empty" });
  const legend = node("div", { class: "legend" }, node("span", {}, "0"), node("i", { class: "ramp" }), full, node("i", { class: "none" }), empty);
  const button = (label, press) => {
    const made = node("button", { type: "button", class: "lineage-button" }, label);
    made.onclick = press;
    return made;
  };
  const lift = button("", () => touch({ unmasked: !now().touch.unmasked })), unplace = button("", () => touch({ unplaced: !now().touch.unplaced }));
  const undo = button("Undo all touches", () => touch(NOTHING)), state = node("p", { class: "touched", role: "status" });
  const again = button("Try again", () => fetchAll());
  const trouble = node("div", { class: "trouble", hidden: "" }, node("p", {}, "The numbers of this text did not arrive."), again);
  const heads = node("div", { class: "heads" },
    node("div", { class: "order" }, node("label", {}, node("span", { class: "words-by" }, "Heads by"), sort), scale.root), grid.root, legend, words);
  const first = node("section", { class: "first" }, training.root, heads);
  const second = node("section", { class: "second" }, node("div", { class: "title" }, name, kind.root), under, large.root);
  const third = node("section", { class: "third" }, habit.root,
    node("div", { class: "model" }, node("div", { class: "buttons" }, lift, unplace, undo), state));
  const parts = node("div", { class: "parts" }, first, second, third);
  place.replaceChildren(parts, trouble);
  parts.hidden = true;
  const theme = new Theme(place, () => { look = null; request("all"); });
  const watch = new ResizeObserver(() => {
    const next = [first.clientWidth, second.clientWidth];
    if (String(next) === String(widths)) return;
    widths = next;
    request("all");
  });
  watch.observe(first);
  watch.observe(second);

  /** What the visitor and the page agree on, within what there is. */
  function now() {
    const within = (value, count) => Math.max(0, Math.min(count - 1, Math.round(Number(value) || 0)));
    const [layer, head] = said.open.now ?? [0, 0];
    return {
      open: [within(layer, data.layers), within(head, data.heads)], asked: within(said.asked.now ?? data.tokens.length - 1, data.tokens.length),
      scale: said.scale.now === "row" ? "row" : "one", view: said.view.now === "matrix" ? "matrix" : "lines",
      sort: [...sort.options].some(({ value }) => value === said.sort.now) ? said.sort.now : "place", touch: { ...NOTHING, ...said.touch.now },
    };
  }
  function say(name, value, what) {
    said[name].say(value);
    trigger(name, value);
    request(what);
  }
  function touch(change) {
    if (!old) say("touch", { ...now().touch, ...change }, "touch");
  }

  /* The training */
  const steps = () => data.snapshots?.steps ?? [];
  function at() {
    const wish = said.step.now ?? steps().at(-1);
    return steps().reduce((best, step, i) => (Math.abs(step - wish) < Math.abs(steps()[best] - wish) ? i : best), steps().length - 1);
  }
  const untouched = () => { const { off, flat, unmasked, unplaced } = { ...NOTHING, ...data.touch }; return !off.length && !flat.length && !unmasked && !unplaced; };
  const through = () => (later && later.address === data.snapshots?.address ? later.array : null);
  const settled = () => !steps().length || steps()[at()] === (data.step ?? steps().at(-1));
  function move(index) {
    if (!steps().length) return;
    ask();
    if (!settling) begun = said.step.now;
    said.step.now = steps()[index];
    settling = true;
    request("step");
  }
  function settle(index) {
    const from = begun ?? steps().at(-1), to = steps()[index];
    if (settling && to !== undefined && to !== from) say("step", to, "step");
    settling = false;
    for (const what of ["step", "grid"]) request(what);
  }
  function ask() {
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
    const packed = through(), step = packed && (untouched() || !settled()) ? at() : null, array = step === null ? loaded : packed;
    if (view?.data === array.data && view.step === step && view.of === data) return false;
    const before = view;
    view = Object.assign(sent(array, data, step), { step, of: data });
    measured = new Map();
    return before?.causal !== view.causal;
  }
  function found(layer, head) {
    const key = layer * data.heads + head;
    if (!measured.has(key)) measured.set(key, habits(view, layer, head, data.ids));
    return measured.get(key);
  }
  const answering = () => view.hidden.reduce((count, one) => count - one, view.keys);
  const number = (by) => (layer, head) => (by === "worth" ? data.worth?.[layer][head] ?? NaN : found(layer, head)[by]);

  /* Drawing: at most once a frame, and only what changed. */
  function request(what) {
    dirty.add(what);
    frame ||= requestAnimationFrame(paint);
  }
  function paint() {
    frame = 0;
    if (!data || !widths?.[0]) return;
    const todo = dirty, masked = look_at(), all = masked || todo.has("all"), any = (...names) => all || names.some((one) => todo.has(one));
    dirty = new Set();
    const state = now();
    if (!look || look.scale !== state.scale) {
      const ink = (one) => theme.colour(one);
      look = { shades: ramp(ink), scale: state.scale, soft: ink("--soft"), ink: ink("--ink"), page: ink("--page"), colour: ink(data.colour ?? "--m-transformer") };
    }
    if (data.snapshots && any("step")) {
      training.show(data.snapshots, widths[0]);
      training.set(at(), !settled() && !through());
    }
    if (any("grid", "open", "touch", "asked")) {
      const frozen = settling && state.sort !== "place";
      if (!frozen) grid.arrange({ view, sort: state.sort, value: number(state.sort), digits: written(state.sort), open: state.open, touch: state.touch });
      grid.fit(view, widths[0]);
      scale.set(state.scale);
      sort.value = state.sort;
    }
    if (any("step", "grid", "colours")) {
      grid.paint(view, look);
      if (state.sort !== "place") grid.numbers({ value: number(state.sort), digits: written(state.sort) });
    }
    const keys = data.keys ?? data.tokens, [layer, head] = state.open;
    if (any("step", "open", "gaze", "colours")) {
      put(name, nameOf(layer, head));
      put(under, state.view === "matrix"
        ? "rows ask, columns answer; the stronger the colour, the more"
        : `left asks, right answers${leastOf(data.tokens.length) > SEEN ? `, from ${leastOf(data.tokens.length)} on` : ""}; hover a ${data.unit}, click keeps it`);
      kind.set(state.view);
      large.show({ view, layer, head, tokens: data.tokens, keys, kind: state.view, look, asked: state.asked, unit: data.unit }, widths[1]);
      grid.mark(state.asked, data.tokens.length);
    }
    if (any("step", "open")) habit.show({ found: found(layer, head), unit: data.unit, keys: answering(), label: nameOf(layer, head).toLowerCase() });
    if (any("step", "open", "touch")) showTouch(state);
    if (any("words", "step", "open", "touch", "grid")) showWords(state);
    if (any("colours")) showLegend();
  }
  function showTouch({ touch: what, open, open: [layer, head] }) {
    habit.touch({
      touch: what, open, rise: data.worth?.[layer]?.[head], error: data.worth_error?.[layer]?.[head],
      unit: data.snapshots?.unit ?? "nats", where: data.worth_of, ended: !steps().length || at() === steps().length - 1,
    });
    put(lift, what.unmasked ? "Mask as it was" : "Lift the mask");
    put(unplace, what.unplaced ? "Positions as they were" : "No positions");
    lift.hidden = !data.can?.mask;
    unplace.hidden = !data.can?.positions;
    const told = touched(what);
    undo.disabled = !told;
    put(state, told && !settled() ? `${told} The steps of the training are shown without that until you let go.` : told);
  }
  function showWords({ touch: what, sort: order }) {
    if (!pointed) {
      const all = order === "place" ? " A layer’s switch turns off the whole layer." : "";
      words.className = "words hint";
      return void put(words, (grid.small() ? "Click a head to open it; there it can be switched off." : "Click a head to open it; its small switch turns it off.") + all);
    }
    words.className = "words";
    const [layer, head] = pointed;
    const off = has(what.off, layer, head) ? " It is switched off: what it reads goes nowhere." : "";
    words.replaceChildren(node("b", {}, `${nameOf(layer, head)}. `), sentence(found(layer, head), data.unit) + off);
  }
  function showLegend() {
    full.textContent = look.scale === "row" ? "strongest of its row" : "1";
    const ahead = view.causal, pads = data.masked?.length > 0;
    empty.textContent = ahead ? "empty: cannot look ahead" : "empty: padding";
    empty.hidden = legend.querySelector(".none").hidden = !ahead && !pads;
  }

  function present() {
    parts.hidden = false;
    trouble.hidden = true;
    const options = [["place", "their place"], ...[...HABITS, "spread", ...(data.worth ? ["worth"] : [])].map((one) => [one, titles(data.unit)[one]])];
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
    tinted(place, data.colour);
    request("all");
    save();
    clearTimeout(timer);
    if (data.snapshots && !data.snapshots.address && !old) timer = setTimeout(ask, SOON);
  }
  function save() {
    const file = data.file ?? "attention", full = () => {
      const { open: [layer, head], view: kind, asked } = now();
      return { view, look, tokens: data.tokens, keys: data.keys ?? data.tokens, title: data.title ?? "", layer, head, kind, asked };
    };
    saveMenu(heads, { svg: () => gridSvg(place, full()), csv: () => gridCsv(full()), file: `${file}-heads` });
    saveMenu(second, { svg: () => headSvg(place, full()), csv: () => headCsv(full()), file: `${file}-head` });
    saveMenu(habit.figure, {
      svg: () => {
        const { layer, head } = full(), seen = found(layer, head), { unit } = data;
        return habitsSvg(place, { found: seen, unit, keys: answering(), name: nameOf(layer, head), colour: look.colour, said: sentence(seen, unit) });
      },
      csv: () => habitsCsv({ view, ids: data.ids, worth: data.worth, worthError: data.worth_error }), file: `${file}-habits`,
    });
    if (!data.snapshots?.curve?.steps.length) return;
    const curve = { svg: () => trainingSvg(place, data.snapshots, at(), look.colour), csv: () => trainingCsv(data.snapshots), file: `${file}-training` };
    saveMenu(training.root, curve);
  }

  /** Whether what is shown is of the last text. */
  function stale(now) {
    old = now;
    place.classList.toggle("old", now);
    parts.ariaBusy = String(now);
  }

  /** New numbers stand with their own tokens, never with those of the text before. */
  function fetchAll() {
    const given = wanted;
    arrays(given.address).then(({ weights }) => {
      if (given !== wanted) return;
      [data, loaded] = [given, weights];
      present();
      follow(given);
    }, () => {
      if (given !== wanted) return;
      follow(given);
      trouble.hidden = false;
      parts.hidden = !data;
    });
    fetchSteps(given);
  }
  /** Once the picture stands the page may work on the rest: before, that would only hold it up. */
  function follow(given) {
    if (given.follow) requestAnimationFrame(() => setTimeout(() => { if (given === wanted) trigger("stands", true); }));
  }
  function fetchSteps(given) {
    const address = given.snapshots?.address;
    if (!address || later?.address === address || fetching === address) return;
    fetching = address;
    arrays(address).then(({ weights }) => {
      if (wanted.snapshots?.address !== address) return;
      later = { address, array: weights };
      request("all");
    }, () => {}).finally(() => { if (fetching === address) fetching = ""; });
  }

  return {
    show(given, component) {
      wanted = given;
      trigger = component.setTriggerValue;
      const step = said.step.now;
      for (const name of KEPT) said[name].hear(given[name]);
      if (said.step.now !== step) begun = said.step.now; // news of the page, from which the hand now goes on
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
