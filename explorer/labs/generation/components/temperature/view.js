/**
 * Show one next-token choice and the texts of up to three models under a temperature slider. The slider works without
 * the server: a choice is exact at every temperature where its logits are loaded; otherwise it is shown at the
 * temperature of the nearest text with the same prefix. Events: "temperature": where the slider was released (with
 * keys: 400 ms after the last one); "position": {model, of, at} of the token that was pressed.
 *
 * @typedef {object} TemperatureData
 * @property {number[]} temperatures of the texts, ascending
 * @property {number} temperature the page's value
 * @property {[number, string][]} marks
 * @property {any[]} models 1 to 3: {name, title, colour, unit: "letter" | "token" | "word", address, pieces: distinct
 *    texts of tokens, tokens: by id, names: address of a long list of them (array "names", U8: UTF-8 with "\0" between
 *    them), prompt: as the model read it, note: what was cut or left out}; address: ids I32,
 *    piece U16 (index into pieces), surprise, chosen, entropy, spread F32, each "temperatures tokens", and top,
 *    top_surprise U16 "temperatures tokens 20"
 * @property {string} focus the model whose choice is shown first
 * @property {any} position null or {model, of: row of its text, at: index of its token, address: logits, noise F32
 *    "vocabulary" or null while they are computed, context: the end of the text before it}
 * @property {{greedy: boolean, top_k: number, top_p: number, min_p: number}} cut the truncation
 * @property {string} unit of a model that has none of its own
 * @property {string} file
 *
 * @typedef {object} TemperatureEvents
 * @property {number} temperature
 * @property {{model: string, of: number, at: number}} position the token that the pointer chose
 */
import { ExactChoice, formatFinding, knownView, nearestRow, sharedPrefix, stepTemperature } from "./math.js";
import { makeDistribution } from "./distribution.js";
import { loadArrays } from "../../../../static/shared/runtime/array_store.js";
import { saveMenu } from "../../../../static/shared/runtime/export_menu.js";
import { toCsv } from "../../../../static/shared/runtime/csv.js";
import { shortenToEnd } from "../../../../static/shared/runtime/visible_text.js";
import { screenSvg } from "../../../../static/shared/runtime/screen_svg.js";
import { SyncedValue } from "../../../../static/shared/runtime/synced_value.js";
import { prose } from "../../../../static/shared/runtime/glossary.js";
import { LiveElements } from "../../../../static/shared/runtime/view_state.js";
import { defineComponent } from "../../../../static/shared/runtime/component.js";
import { TextRow } from "./text_row.js";
import { formatNumber } from "../../../../static/shared/runtime/format.js";

const CALM = 400; // ms after the last key until the page receives an event
const SLOW = 25; // ms between two frames
const KEYS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 5, PageDown: -5 }; // in steps of 0.05
const TROUBLE = "The texts did not arrive. Reload the page.";
const COLUMNS =
  "model,text at temperature,position,id,token,surprisal in bits,chosen with probability,entropy in bits".split(",");

/** Load the arrays of a model's texts, and the names of its tokens if they are not in the data. */
async function loadText(model) {
  const [arrays, names] = await Promise.all([loadArrays(model.address), model.names ? loadArrays(model.names) : null]);
  if (names) model.tokens = new TextDecoder().decode(names.names.data).split("\0");
  return arrays;
}

const PRESENTATION = { slides: [".controls, .finding, .written", ".controls, .distribution"] };

/** Return how a sentence names a model: “the LSTM”; a real model has a name of its own, in small letters. */
const nameOf = ({ title }) => (/^[a-z0-9]/.test(title) ? title : `the ${title}`);

export default defineComponent((place, /** @type {SendEvent<TemperatureEvents>} */ send) => {
  const listening = new AbortController();
  const temperature = new SyncedValue(),
    keptPosition = new SyncedValue();
  /** @type {TemperatureData} */
  let data;
  let texts = [],
    words = { finding: "", trouble: "", uniform: "", nearest: "", change: "" },
    isDifferent = false, // from the texts where the slider was
    from = null, // where the slider was when the user last grasped it: { row, value }
    exact = null, // the place whose logits are here: { choice, text, of, at, context }
    hovered = null,
    isDragged = false,
    timer = 0,
    paint = 0,
    frames = 0,
    last = 0,
    skippedFrame = false,
    fetchNumber = 0, // of the last fetch
    shownTexts = "",
    shownPosition = "",
    drawnModel = null; // the model whose choice is drawn
  const currentTemperature = () => Math.min(2, Math.max(0, temperature.value ?? 1)),
    currentRow = () => nearestRow(data.temperatures, currentTemperature()),
    temperatureAt = (row) => formatNumber(data.temperatures[row]),
    shownTemperature = () => formatNumber(currentTemperature());

  const { node, list, update } = new LiveElements();
  const distribution = makeDistribution();
  const slider = node("input.slider", {
    ...{ type: "range", min: 0, max: 2, step: 0.01, value: currentTemperature, "aria-valuetext": shownTemperature },
    oninput() {
      holdSlider();
      setTemperature(Number(slider.value));
    },
    onchange: releaseSlider,
    onblur: () => timer && releaseSlider(),
    onkeydown(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const by = KEYS[event.key],
        to = { Home: 0, End: 2 }[event.key];
      if (by === undefined && to === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      holdSlider();
      setTemperature(to ?? stepTemperature(currentTemperature() + 0.05 * (by - Math.sign(by)), by));
      timer = setTimeout(releaseSlider, CALM);
    },
  });
  // A slider released at its old value fires no change event.
  for (const end of ["pointerup", "pointercancel"])
    window.addEventListener(end, releaseSlider, { signal: listening.signal });
  const makeMark = ([value, position]) => {
    const attributes = {
      class: { 0: "at-start", 2: "at-end" }[value],
      "aria-label": `Temperature ${value}${position && `, ${position}`}`,
      style: `--at: ${value / 2}`,
      onclick() {
        holdSlider();
        setTemperature(value);
        releaseSlider();
      },
    };
    const name = position ? node("span", position) : null;
    return node("button", { type: "button", ...attributes }, node("b", String(value)), " ", name);
  };
  const markList = () => data?.marks ?? [],
    uniformText = () => words.uniform,
    cards = node("div.cards");
  const textPanel = node(
    "section.written",
    node("h3.title", () => `The text${texts.length > 1 ? "s" : ""}, with the same random numbers`),
    node(
      "p.keys",
      node(
        "span.key",
        prose("surprisal in bits: 0"),
        node("i.ramp", { "aria-hidden": "true" }),
        node("span", uniformText),
      ),
      node("span.when", () => words.nearest),
      node("span", { class: () => (isDifferent ? "change barred" : "change") }, () => words.change),
    ),
    cards,
    node("p.trouble", { role: "status" }, () => words.trouble),
  );
  place.replaceChildren(
    node(
      "div.controls",
      node("label.label", node("span", "Temperature"), slider),
      node("output.size", { "aria-hidden": "true" }, shownTemperature),
      node("div.marks", list(markList, makeMark)),
    ),
    node("h3.finding", () => words.finding),
    node("div.panels", distribution.root, textPanel),
  );

  function requestFrame() {
    paint ||= requestAnimationFrame(show);
  }
  function holdSlider() {
    clearTimeout(timer);
    timer = 0;
    if (!isDragged) from = { row: currentRow(), value: currentTemperature() };
    isDragged = true;
  }
  function releaseSlider() {
    clearTimeout(timer);
    timer = 0;
    if (!isDragged) return;
    isDragged = false;
    if (currentTemperature() !== from.value) {
      temperature.set(currentTemperature());
      send("temperature", currentTemperature());
    }
    requestFrame();
  }
  function setTemperature(value) {
    temperature.value = Math.round(100 * value) / 100;
    requestFrame();
  }

  /** Return the position whose choice is shown: { text, of, at }. */
  function currentPosition() {
    const position = keptPosition.value,
      text = texts.find(({ model }) => model.name === position?.model);
    if (text && position.of < data.temperatures.length && position.at < text.spans.length)
      return { text, of: position.of, at: position.at };
    return { text: texts.find(({ model }) => model.name === data.focus) ?? texts[0], of: currentRow(), at: 0 };
  }

  /** Return what is drawn of a position: its view, the text before it, and a note on where the numbers come from. */
  function viewOf({ text, of, at }, rules) {
    const { arrays, model } = text;
    if (exact && exact.text === text && exact.of === of && exact.at === at) {
      const isOther = sharedPrefix(arrays.ids, of, currentRow()) < at,
        note = `The text at ${temperatureAt(currentRow())} differs before this position of the text at ${temperatureAt(of)}.`;
      return { view: exact.choice.viewAt(rules), context: exact.context, note: isOther ? note : "" };
    }
    const near = nearestRow(data.temperatures, rules.t, (row) => sharedPrefix(arrays.ids, of, row) >= at),
      t = data.temperatures[near],
      note = Math.abs(t - rules.t) < 0.001 ? "" : `As it was in the text at ${temperatureAt(near)}.`;
    const view = knownView(arrays, near, at, { ...rules, t }, model.tokens.length);
    return { view, context: text.prefixOf(near, at), note };
  }

  function show(time) {
    const isLate = isDragged && time - last > SLOW && !skippedFrame;
    [paint, last, skippedFrame] = [0, time, isLate];
    if (texts.length) showTexts(isLate);
    update();
  }
  function showTexts(isLate) {
    const at = currentRow(),
      rules = { ...data.cut, t: currentTemperature() },
      several = texts.length > 1,
      position = currentPosition(),
      hoveredPosition = hovered && texts.includes(hovered.text) ? { ...hovered, of: at } : null,
      asking = hoveredPosition ?? position,
      { model, unit } = asking.text,
      { view, context, note } = viewOf(asking, rules),
      hint = `Point at a ${unit} of a text to see its distribution; press it to keep it.`;
    if (drawnModel !== model) distribution.setModel(model, several, data.file);
    drawnModel = model;
    distribution.show(view, shortenToEnd(context), note || hint, rules);
    if (!hoveredPosition) words.finding = formatFinding(view, unit, data.cut, several ? nameOf(model) : "it");
    const updates = texts.map((text) => {
      const isKept = text === position.text && sharedPrefix(text.arrays.ids, position.of, at) >= position.at;
      const same = from ? sharedPrefix(text.arrays.ids, from.row, at) : text.spans.length;
      return { text, kept: isKept ? position.at : -1, parted: same < text.spans.length ? same : -1 };
    });
    const outdated = updates.filter(
      ({ text, kept, parted }) => text.row !== at || text.kept !== kept || text.parted !== parted,
    );
    // While the slider is dragged, update one text per frame and none after a slow frame, so that dragging stays smooth.
    outdated.sort((a, b) => a.text.drawn - b.text.drawn);
    const turn = isDragged ? outdated.slice(0, isLate ? 0 : 1) : outdated;
    for (const { text, kept, parted } of turn) {
      text.show(at, kept, parted);
      text.drawn = ++frames;
    }
    if (turn.length < outdated.length) requestFrame();
    const isNear = Math.abs(data.temperatures[at] - rules.t) < 0.001;
    words.nearest = `${isNear ? "text at" : "nearest text:"} ${temperatureAt(at)}`;
    isDifferent = Boolean(from) && updates.some(({ parted }) => parted >= 0);
    const comparison = isDifferent ? "from here on different from" : "the same as at";
    words.change = from && from.row !== at ? `${comparison} ${temperatureAt(from.row)}` : "";
  }

  /** Replace all texts at once when the last one has arrived; until then the previous ones stay. */
  async function fetchTexts(newData, turn) {
    const all = await Promise.all(newData.models.map(loadText)).catch(() => null);
    if (turn !== fetchNumber) return;
    words.trouble = all ? "" : TROUBLE;
    if (all) {
      loadTexts(newData, all);
      await fetchPosition(newData, turn);
    }
    if (turn === fetchNumber) requestFrame();
  }
  function loadTexts(newData, all) {
    const { models, file } = newData,
      addresses = models.map(({ name, address }) => `${name} ${address}`).join();
    const sizes = models.map(({ tokens }) => Math.max(2, tokens.length)),
      full = Math.log(Math.max(...sizes));
    if (addresses !== shownTexts) {
      from = isDragged ? { row: nearestRow(newData.temperatures, currentTemperature()), value: from.value } : null;
      hovered = exact = null;
      shownPosition = "";
    }
    data = newData;
    shownTexts = addresses;
    const { model, of, at } = newData.position ?? {};
    keptPosition.receive(newData.position ? { model, of, at } : null);
    const makeText = (i) =>
      new TextRow({ hover: (token) => setHovered(i, token), keep: (token) => keepToken(i, token) });
    texts = models.map((_, i) => texts[i] ?? makeText(i));
    texts.forEach((text, i) => text.update(models[i], all[i], { ...newData, full }));
    if (cards.childElementCount !== texts.length) cards.replaceChildren(...texts.map(({ root }) => root));
    place.style.setProperty("--texts", texts.length);
    place.dataset.texts = texts.length;
    const isNoted = models.some(({ note }) => note);
    place.classList.toggle("noted", isNoted);
    place.classList.remove("waiting");
    const isAlike = sizes.every((size) => size === sizes[0]); // else one guesses among more than another
    words.uniform = `${formatNumber(full / Math.LN2, 1)} bits${isAlike ? " (uniform guess)" : ""}`;
    saveMenu(textPanel, {
      svg: () => screenSvg(textPanel, { skip: ".trouble" }),
      txt: () => texts.map((text) => text.describeText()).join("\n\n"),
      csv: () =>
        toCsv(
          COLUMNS,
          texts.flatMap((text) => text.rowsOfTable()),
        ),
      file: `${file}-text`,
    });
  }
  /** Load the logits of the position; without them the stored values of the text are shown. */
  async function fetchPosition({ position }, turn) {
    if (!position?.address) return (exact = null);
    const { model, of, at, address, context } = position;
    if (address !== shownPosition) {
      requestFrame(); // what is known already
      const arrays = await loadArrays(address).catch(() => null); // then the stored values stay
      if (turn !== fetchNumber || !arrays) return null;
      exact = { choice: new ExactChoice(arrays.logits.data, arrays.noise.data) };
      shownPosition = address;
    }
    const text = texts.find((one) => one.model.name === model);
    exact = text && exact ? { choice: exact.choice, text, of, at, context } : null;
    if (!exact) shownPosition = "";
    return exact;
  }

  function setHovered(i, at) {
    hovered = at < 0 ? null : { text: texts[i], at };
    requestFrame();
  }
  function keepToken(i, at) {
    const position = { model: texts[i].model.name, of: currentRow(), at };
    hovered = null;
    keptPosition.set(position);
    send("position", position);
    requestFrame();
  }

  return {
    show(/** @type {TemperatureData} */ newData) {
      if (!isDragged) temperature.receive(newData.temperature);
      data ??= newData;
      place.classList.add("waiting");
      fetchTexts(newData, ++fetchNumber);
      requestFrame();
    },
    close() {
      clearTimeout(timer);
      cancelAnimationFrame(paint);
      listening.abort();
      fetchNumber++;
    },
  };
}, PRESENTATION);
