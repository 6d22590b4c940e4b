/**
 * Show what each model generated at each of its evaluations, under one slider. The newest evaluation is shown as soon
 * as it arrives, until the user goes back to another one. Sends no events.
 *
 * @typedef {object} TextSamplesData
 * @property {any[]} models {name, title, colour, steps: of the evaluations, ascending, losses: nats per token or
 *    null, texts, counted: fitted by counting, so its text is there from the first step}
 * @property {string} caption
 * @property {string} file
 * @property {boolean} live something trains
 */
import { saveMenu } from "../../../../static/shared/runtime/export_menu.js";
import { toCsv } from "../../../../static/shared/runtime/csv.js";
import { tint } from "../../../../static/shared/runtime/dom.js";
import { LiveElements } from "../../../../static/shared/runtime/view_state.js";
import { defineComponent } from "../../../../static/shared/runtime/component.js";
import { formatCount, formatNumber } from "../../../../static/shared/runtime/format.js";

const NOTHING = "No text yet: the first evaluation writes one.";

/** Return every step at which any model was evaluated. Models fitted by counting have no steps of their own and count only if there are no others. */
export function evaluatedSteps(models) {
  const trained = models.filter((model) => !model.counted);
  const steps = (trained.length ? trained : models).flatMap((model) => model.steps);
  return [...new Set(steps)].sort((a, b) => a - b);
}

/** Return the index of the last evaluation up to a step; -1 before the first one. */
export function shownEvaluation(model, step) {
  if (model.counted) return model.texts.length - 1;
  return model.steps.findLastIndex((own, i) => own <= step && i < model.texts.length);
}

/** Return the slider state for these evaluated steps. `began`: a training has started since. */
export function updateStep({ step, following }, all, began) {
  if (!all.length) return { step: null, following: true };
  if (following || began || step === null) return { step: all.at(-1), following: true };
  return { step: all.findLast((moment) => moment <= step) ?? all[0], following: false };
}

/** "step 400 · 1.83 nats" */
export function describeEvaluation(model, at) {
  if (at < 0) return "";
  const loss = model.losses[at];
  const description = typeof loss === "number" ? [`${formatNumber(loss)} nats`] : [];
  return [model.counted ? "counted" : `step ${formatCount(model.steps[at])}`, ...description].join(" · ");
}

/** Return the text of a model at a step; null: nothing has been evaluated yet. */
export function describeStep(model, step) {
  const nothing = step === null || !model.texts.length ? NOTHING : `Nothing yet at step ${formatCount(step)}.`;
  return model.texts[shownEvaluation(model, step)] ?? nothing;
}

export const samplesCsv = (models) =>
  toCsv(
    ["model", "step", "loss in nats a token", "text"],
    models.flatMap(({ title, steps, losses, texts }) => texts.map((text, i) => [title, steps[i], losses[i], text])),
  );

export const allTexts = (models, step) =>
  models
    .map((model) => {
      const at = shownEvaluation(model, step);
      return `${[model.title, describeEvaluation(model, at)].filter(Boolean).join(" · ")}\n\n${model.texts[at] ?? NOTHING}\n`;
    })
    .join("\n\n");

const PRESENTATION = {
  slides: [".rows > :nth-child(-n+2)", ".rows > :nth-child(n+3):nth-child(-n+4)", ".rows > :nth-child(n+5)"],
  controls: ".controls",
};

/** Milliseconds that each evaluation is shown while it plays: about eight seconds for all. */
const stepDelay = (moments) => Math.min(900, Math.max(200, 8000 / moments.length));

export default defineComponent((place) => {
  /** @type {TextSamplesData} */
  let data,
    all = [],
    state = { step: null, following: true },
    timer = 0;
  const { node, playButton, list, keyed, update } = new LiveElements();
  const describeShown = () => (all.length ? `step ${formatCount(state.step)}` : ""),
    widest = () => `step ${formatCount(all.at(-1) ?? 0)}`.length, // wide enough for the last one: nothing moves
    isSingle = () => all.length < 2;
  const togglePlaying = () => (timer ? pausePlaying() : startPlaying());
  const slider = node("input.slider", {
    type: "range",
    min: 0,
    step: 1,
    "aria-label": "Evaluation",
    "aria-valuetext": describeShown,
    max: () => Math.max(all.length - 1, 1),
    value: () => stepIndex(),
    disabled: isSingle,
    oninput() {
      const at = Number(slider.value); // read before pausing, which redraws the slider
      pausePlaying();
      moveToIndex(at);
    },
  });
  const controls = node(
    "div.controls",
    { role: "group", "aria-label": "Evaluations" },
    playButton(() => timer, { disabled: isSingle, onclick: togglePlaying }),
    slider,
    node("output.where", { style: () => `min-width: ${widest()}ch` }, describeShown),
  );
  /** One model. Its nodes are kept, so that scroll position and selection survive updates. */
  const makeRow = (read, { node, follow }) => {
    const at = () => shownEvaluation(read(), state.step),
      when = () => describeEvaluation(read(), at()),
      label = () => ["What", read().title, `wrote${when() && ","}`, when()].filter(Boolean).join(" ");
    const attributes = { role: "region", tabindex: 0, dir: "auto", "aria-label": label, ".empty": () => at() < 0 },
      head = node(
        "div.head",
        node("span.dot"),
        node("b.name", () => read().title),
        node("span.when", when),
      ),
      root = node(
        "div.row",
        head,
        node("div.text", attributes, () => describeStep(read(), state.step)),
      );
    follow(() => tint(root, read().colour));
    return root;
  };
  const models = () => data.models,
    rows = keyed(models, makeRow, ({ name }) => name),
    nothings = () => (data.models.length ? [] : [NOTHING]),
    makeNothing = (text) => node("p.nothing", text),
    caption = node("p.lineage-caption", () => data.caption ?? "");
  place.replaceChildren(controls, node("div.rows", rows), node("div", list(nothings, makeNothing)), caption);

  const stepIndex = () => Math.max(0, all.indexOf(state.step));
  const moveToIndex = (i) => {
    if (!all.length) return;
    const at = Math.min(all.length - 1, Math.max(0, i));
    state = { step: all[at], following: at === all.length - 1 };
    update();
  };
  function startPlaying() {
    if (stepIndex() === all.length - 1) moveToIndex(0);
    const playNext = () => {
      moveToIndex(stepIndex() + 1);
      if (stepIndex() < all.length - 1) timer = setTimeout(playNext, stepDelay(all));
      else pausePlaying();
    };
    timer = setTimeout(playNext, stepDelay(all));
    update();
  }

  function pausePlaying() {
    clearTimeout(timer);
    timer = 0;
    update();
  }

  controls.addEventListener("keydown", (event) => event.stopPropagation()); // Streamlit reruns the page at an "r"

  function showData(/** @type {TextSamplesData} */ newData) {
    const began = newData.live && !data?.live;
    data = newData;
    all = evaluatedSteps(data.models);
    if (began) {
      clearTimeout(timer);
      timer = 0;
    }
    state = updateStep(timer ? { ...state, following: false } : state, all, began);
    update();
    saveMenu(place, {
      csv: () => samplesCsv(data.models),
      txt: () => allTexts(data.models, state.step),
      file: data.file,
    });
  }

  return { show: showData, close: () => clearTimeout(timer) };
}, PRESENTATION);
