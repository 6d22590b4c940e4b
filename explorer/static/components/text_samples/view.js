/**
 * Show what each model generated at each of its evaluations, under one slider. The newest evaluation is shown as soon
 * as it arrives, until the user goes back to another one. Event "over": training has ended.
 *
 * @typedef {object} TextSamplesData
 * @property {any[]} models {name, title, colour, steps: of the evaluations, ascending, losses: nats per token or
 *    null, texts, counted: fitted by counting, so its text is there from the first step}
 * @property {string} caption
 * @property {string} file
 * @property {{address: string, seconds: number} | null} live where to poll {samples: {models}} while something trains
 */
import { Poller } from "../../shared/runtime/polling.js";
import { saveMenu } from "../../shared/runtime/export_menu.js";
import { toCsv } from "../../shared/runtime/csv.js";
import { element, icon, node, tint } from "../../shared/runtime/dom.js";
import { defineComponent } from "../../shared/runtime/component.js";

const NOTHING = "No text yet: the first evaluation writes one.";
const count = (value) => value.toLocaleString("en");

/** Every step at which any model was evaluated; those of counts are none, unless there is nothing else. */
export function moments(models) {
  const trained = models.filter((model) => !model.counted);
  const steps = (trained.length ? trained : models).flatMap((model) => model.steps);
  return [...new Set(steps)].sort((a, b) => a - b);
}

/** Which of its evaluations a model shows at a step: the last one until then; -1 before the first. */
export function shownAt(model, step) {
  if (model.counted) return model.texts.length - 1;
  return model.steps.findLastIndex((own, i) => own <= step && i < model.texts.length);
}

/** Where the slider is once these moments are known. `began`: a training has begun since. */
export function updateStep({ step, following }, all, began) {
  if (!all.length) return { step: null, following: true };
  if (following || began || step === null) return { step: all.at(-1), following: true };
  return { step: all.findLast((moment) => moment <= step) ?? all[0], following: false };
}

/** "step 400 · 1.83 nats" */
export function words(model, at) {
  if (at < 0) return "";
  const loss = model.losses[at];
  const said = typeof loss === "number" ? [`${loss.toFixed(2)} nats`] : [];
  return [model.counted ? "counted" : `step ${count(model.steps[at])}`, ...said].join(" · ");
}

/** What is in a model's place at a step; null: nothing that is trained was evaluated yet. */
export function describeStep(model, step) {
  const nothing = step === null || !model.texts.length ? NOTHING : `Nothing yet at step ${count(step)}.`;
  return model.texts[shownAt(model, step)] ?? nothing;
}

export const table = (models) =>
  toCsv(
    ["model", "step", "loss in nats a token", "text"],
    models.flatMap(({ title, steps, losses, texts }) => texts.map((text, i) => [title, steps[i], losses[i], text])),
  );

/** What is on the screen, as a text. */
export const allTexts = (models, step) =>
  models
    .map((model) => {
      const at = shownAt(model, step);
      return `${[model.title, words(model, at)].filter(Boolean).join(" · ")}\n\n${model.texts[at] ?? NOTHING}\n`;
    })
    .join("\n\n");

/** Milliseconds that each evaluation is shown while it plays: all of them in some eight seconds. */
const stepDelay = (moments) => Math.min(900, Math.max(200, 8000 / moments.length));

/** One model: its nodes stay, so that a text that is being read or marked is not taken away. */
class Row {
  name = node("b", { class: "name" });
  when = node("span", { class: "when" });
  head = node("div", { class: "head" }, node("span", { class: "dot" }), this.name, this.when);
  text = node("div", { class: "text", role: "region", tabindex: 0, dir: "auto" });
  root = node("div", { class: "row" }, this.head, this.text);

  show(model, step) {
    const at = shownAt(model, step),
      said = words(model, at);
    tint(this.root, model.colour);
    set(this.name, model.title);
    set(this.when, said);
    set(this.text, describeStep(model, step));
    this.text.classList.toggle("empty", at < 0);
    const label = `What ${model.title} wrote${said && `, ${said}`}`;
    if (this.text.ariaLabel !== label) this.text.ariaLabel = label;
  }
}

function set(place, text) {
  if (place.textContent !== text) place.textContent = text;
}

export default defineComponent((place) => {
  const button = (label, name, press) => {
    const made = node("button", { type: "button", class: "lineage-button" }, icon(name), node("span", {}, label));
    made.onclick = press;
    return made;
  };
  const play = button("Play", "play_arrow", () => (timer ? pause() : start()));
  const back = button("Back", "skip_previous", () => by(-1));
  const next = button("Next", "skip_next", () => by(1));
  const slider = node("input", { type: "range", class: "slider", min: 0, step: 1, "aria-label": "Evaluation" });
  const where = node("output", { class: "where" });
  const controls = node(
    "div",
    { class: "controls", role: "group", "aria-label": "Evaluations" },
    play,
    back,
    next,
    slider,
    where,
  );
  const list = node("div", { class: "rows" });
  const nothing = element("p", "nothing", NOTHING);
  const caption = element("p", "lineage-caption");
  place.replaceChildren(controls, list, caption);

  const rows = new Map();
  const live = new Poller(
    (answer) => show({ ...data, ...answer.samples }),
    () => trigger("over", Date.now()),
  );
  /** @type {TextSamplesData} */
  let data,
    trigger,
    all = [],
    state = { step: null, following: true },
    timer = 0;

  const index = () => Math.max(0, all.indexOf(state.step));
  const to = (i) => {
    if (!all.length) return;
    const at = Math.min(all.length - 1, Math.max(0, i));
    state = { step: all[at], following: at === all.length - 1 };
    render();
  };
  const by = (steps) => {
    pause();
    to(index() + steps);
  };

  function start() {
    if (index() === all.length - 1) to(0);
    const tick = () => {
      to(index() + 1);
      if (index() < all.length - 1) timer = setTimeout(tick, stepDelay(all));
      else pause();
    };
    timer = setTimeout(tick, stepDelay(all));
    render();
  }

  function pause() {
    clearTimeout(timer);
    timer = 0;
    render();
  }

  slider.oninput = () => {
    const at = Number(slider.value); // before anything else is drawn, which puts it back
    pause();
    to(at);
  };
  controls.addEventListener("keydown", (event) => event.stopPropagation()); // Streamlit reruns the page at an "r"

  function render() {
    const { models } = data,
      last = all.length - 1,
      at = index();
    const said = all.length ? `step ${count(state.step)}` : "";
    set(where, said);
    where.style.minWidth = `${`step ${count(all.at(-1) ?? 0)}`.length}ch`; // wide enough for the last one: nothing moves
    slider.max = Math.max(last, 1);
    slider.value = at;
    slider.disabled = play.disabled = last < 1;
    slider.setAttribute("aria-valuetext", said);
    slider.style.setProperty("--at", last > 0 ? at / last : 0);
    set(play.firstChild, timer ? "pause" : "play_arrow");
    set(play.lastChild, timer ? "Pause" : "Play");
    back.disabled = at <= 0;
    next.disabled = at >= last;
    for (const model of models) rows.get(model.name).show(model, state.step);
  }

  /* Rows that stay are not touched: not even moved, for that would take the keyboard away from them. */
  function arrange() {
    const names = new Set(data.models.map(({ name }) => name));
    for (const [name, row] of rows) {
      if (names.has(name)) continue;
      row.root.remove();
      rows.delete(name);
    }
    data.models.forEach(({ name }, i) => {
      if (!rows.has(name)) rows.set(name, new Row());
      const { root } = rows.get(name);
      if (list.children[i] !== root) list.insertBefore(root, list.children[i] ?? null);
    });
    if (data.models.length) nothing.remove();
    else list.replaceChildren(nothing);
  }

  function show(now) {
    const began = Boolean(now.live && !data?.live);
    data = now;
    live.follow(data.live);
    all = moments(data.models);
    if (began) {
      clearTimeout(timer);
      timer = 0;
    }
    state = updateStep(timer ? { ...state, following: false } : state, all, began);
    arrange();
    render();
    set(caption, data.caption ?? "");
    saveMenu(place, { csv: () => table(data.models), txt: () => allTexts(data.models, state.step), file: data.file });
  }

  return {
    show(/** @type {TextSamplesData} */ now, { setTriggerValue }) {
      trigger = setTriggerValue;
      show(now);
    },
    close() {
      clearTimeout(timer);
      live.stop();
    },
  };
});
