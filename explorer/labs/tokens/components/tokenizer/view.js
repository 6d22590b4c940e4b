/**
 * Show a text in tokens under a slider over the vocabulary size; the merges are replayed in the browser. Event
 * "vocabulary": the size at which the slider was released.
 *
 * @typedef {object} TokenizerData
 * @property {"char" | "word" | "bpe" | "bytes"} kind
 * @property {string} text
 * @property {number[][][]} words for each word its [id, start, end] before any merge; start and end count code points
 * @property {number[]} merges left, right, merged, ...
 * @property {number[]} uses how often each merge joined a pair of the corpus
 * @property {string[]} tokens by id
 * @property {number[]} counts by id, in the corpus
 * @property {number | null} unknown id of the unknown token
 * @property {number} least smallest size
 * @property {number} most largest size
 * @property {number} vocabulary the page's size
 * @property {number[]} course of the corpus, by size from `least`
 * @property {string} measure what `course` is
 * @property {string} corpus its name
 * @property {[number, string][]} marks
 * @property {string} file
 *
 * @typedef {object} TokenizerEvents
 * @property {number} vocabulary its size
 */
import { formatFinding, countLearned, rankPairs, segmentText } from "./bpe.js";
import { showSpaces } from "../../../../static/shared/runtime/visible_text.js";
import { saveMenu } from "../../../../static/shared/runtime/export_menu.js";
import { toCsv } from "../../../../static/shared/runtime/csv.js";
import { icon, moveSlider, node } from "../../../../static/shared/runtime/dom.js";
import { SyncedValue } from "../../../../static/shared/runtime/synced_value.js";
import { screenSvg } from "../../../../static/shared/runtime/screen_svg.js";
import { defineComponent } from "../../../../static/shared/runtime/component.js";
import { formatCount, formatNumber, formatPercent, formatUnits } from "../../../../static/shared/runtime/format.js";

const ROW = 30; // px of a line of the list
const colourPercent = (characters) => Math.min(85, 13 * Math.max(0, characters - 1)); // percent of the amount's colour

/** Return a text whose spaces are visible but paler than its letters. */
function softenSpaces(text) {
  return text
    .split(/([ \n\t]+)/)
    .filter(Boolean)
    .map((part) => (/^[ \n\t]/.test(part) ? node("i", {}, showSpaces(part)) : part));
}

/**
 * Return what is in the row: tokens, and between them the text that no token covers (`lost`).
 * `part`: the token is only some bytes of a character.
 * @returns {{ text: string, lost?: boolean, id?: number, start?: number, end?: number, part?: boolean }[]}
 */
function splitIntoPieces(tokens, letters, names) {
  const pieces = [];
  let last = 0;
  tokens.forEach(([id, start, end], i) => {
    if (start > last) pieces.push({ text: letters.slice(last, start).join(""), lost: true });
    const shared = tokens[i - 1]?.[1] === start || tokens[i + 1]?.[1] === start; // parts of one character
    pieces.push({ id, start, end, text: shared ? names[id] : letters.slice(start, end).join(""), part: shared });
    last = Math.max(last, end);
  });
  if (last < letters.length) pieces.push({ text: letters.slice(last).join(""), lost: true });
  return pieces;
}

const PRESENTATION = { slides: [".finding, .controls, .picture", ".numbers, .side"] };

export default defineComponent((place) => {
  const listening = new AbortController();
  const heading = node("h3", { class: "finding" });
  const slider = node("input", { type: "range", class: "slider", step: 1 });
  const size = node("output", { class: "size" });
  const marks = node("div", { class: "marks" });
  const makeButton = (label, name, press) => {
    const button = node("button", { type: "button", class: "lineage-button" }, icon(name), node("span", {}, label));
    button.onclick = press;
    return button;
  };
  const play = makeButton("Play", "play_arrow", () => (timer ? pausePlaying() : startPlaying()));
  const backButton = makeButton("Back", "skip_previous", () => moveSizeBy(-1));
  const next = makeButton("Next", "skip_next", () => moveSizeBy(1));
  const merge = node("p", { class: "merge", "aria-live": "off" });
  const label = node("label", { class: "label" }, node("span", {}, "Size of the vocabulary"), slider);
  const controls = node(
    "div",
    { class: "controls" },
    label,
    size,
    marks,
    node("div", { class: "buttons" }, play, backButton, next, merge),
  );
  const chips = node("ol", { class: "chips", dir: "auto", "aria-label": "The text in tokens", tabindex: 0 });
  const note = node("p", { class: "note" });
  const makeNumberBox = (words) => {
    const value = node("span", { class: "value" });
    return { value, root: node("div", { class: "number" }, value, node("span", { class: "words" }, words)) };
  };
  const ratio = makeNumberBox("characters per token, this text"),
    count = makeNumberBox("tokens of this text"),
    corpusMeasure = makeNumberBox("");
  const numbers = node("div", { class: "numbers" }, ratio.root, count.root, corpusMeasure.root);
  const picture = node("div", { class: "picture" }, chips, note);
  const listHead = node("div", { class: "list-head" });
  const space = node("div", { class: "list-space", role: "rowgroup" });
  const list = node("div", { class: "list", role: "table", tabindex: 0 }, space);
  const hint = node("p", { class: "note" });
  const foot = node("div", { class: "foot" }, hint);
  const side = node("div", { class: "side" }, listHead, list, foot);
  place.replaceChildren(
    heading,
    controls,
    node("div", { class: "both" }, node("div", { class: "main" }, picture, numbers), side),
  );

  const vocabulary = new SyncedValue();
  /** @type {TokenizerData} */
  let data,
    /** @type {import("../../../../static/shared/runtime/events.js").SendEvent<TokenizerEvents>} */
    trigger,
    letters,
    rankOf,
    tokens = [],
    timer = null,
    paint = 0,
    tallest = 0,
    drawnState = "";

  /** Return the shown vocabulary size, within the range of the slider. */
  const currentSize = () => Math.min(data.most, Math.max(data.least, vocabulary.value ?? data.least));
  const lastMerge = () => (data.merges.length ? countLearned(data.merges, currentSize()) - 1 : -1);

  function setSize(value, report) {
    vocabulary.value = Math.min(data.most, Math.max(data.least, value));
    slider.value = vocabulary.value; // a key that is pressed before the next frame moves on from here
    if (report) {
      vocabulary.set(vocabulary.value);
      trigger("vocabulary", vocabulary.value);
    }
    paint ||= requestAnimationFrame(drawAll);
  }

  function moveSizeBy(steps) {
    pausePlaying();
    setSize(currentSize() + steps, true);
  }

  function startPlaying() {
    const goal = currentSize() > data.least ? currentSize() : data.most;
    let wait = 500;
    setSize(data.least, false);
    const mergeNext = () => {
      if (currentSize() >= goal) return pausePlaying();
      setSize(currentSize() + 1, false);
      wait = Math.max(16, wait * 0.96); // the first merges one by one, the many later ones in a rush
      timer = setTimeout(mergeNext, wait);
    };
    timer = setTimeout(mergeNext, wait);
    updateButtons();
  }

  function pausePlaying() {
    if (!timer) return;
    clearTimeout(timer);
    timer = null;
    setSize(currentSize(), true);
    updateButtons();
  }

  function updateButtons() {
    play.replaceChildren(icon(timer ? "pause" : "play_arrow"), node("span", {}, timer ? "Pause" : "Play"));
    const fixed = data.least === data.most;
    slider.disabled = play.disabled = fixed;
    backButton.disabled = currentSize() <= data.least;
    next.disabled = currentSize() >= data.most;
  }

  function drawAll() {
    paint = 0;
    moveSlider(slider, currentSize());
    slider.setAttribute("aria-valuetext", formatUnits(currentSize(), "token"));
    size.textContent = formatCount(currentSize());
    tokens = segmentText(data, rankOf, currentSize());
    heading.textContent = formatFinding(data, tokens, letters.length, currentSize());
    showMerge();
    showChips();
    ratio.value.textContent = formatNumber(tokens.length ? letters.length / tokens.length : NaN);
    count.value.textContent = formatCount(tokens.length);
    const course = data.course[currentSize() - data.least];
    corpusMeasure.value.textContent = data.measure === "unknown" ? formatPercent(course) : formatNumber(course);
    corpusMeasure.root.lastChild.textContent =
      data.measure === "unknown" ? `unknown, ${data.corpus}` : `characters per token, ${data.corpus}`;
    showList(true);
    updateButtons();
  }

  function showMerge() {
    const at = lastMerge();
    if (data.kind === "char") merge.replaceChildren("The number of characters follows from the text.");
    else if (data.kind === "word")
      merge.replaceChildren(
        "The last word in the vocabulary: ",
        codeNode(data.tokens[currentSize() - 1]),
        ` · ${formatUnits(data.counts[currentSize() - 1], "time")} in the corpus.`,
      );
    else if (at < 0)
      merge.replaceChildren(
        data.merges.length ? "No merge yet." : "No pair occurs twice in this text: there is nothing to merge.",
      );
    else {
      const [left, right, both] = data.merges.slice(3 * at, 3 * at + 3);
      merge.replaceChildren(
        `Merge ${formatCount(at + 1)} of ${formatCount(data.merges.length / 3)}: `,
        codeNode(data.tokens[left]),
        " + ",
        codeNode(data.tokens[right]),
        " → ",
        codeNode(data.tokens[both]),
        ` · ${formatUnits(data.uses[at], "time")} in the corpus.`,
      );
    }
  }
  const codeNode = (text) => node("b", { class: "code", dir: "auto" }, ...softenSpaces(text));

  function showChips() {
    const at = lastMerge(),
      newest = at < 0 ? null : data.merges[3 * at + 2];
    const state = JSON.stringify([tokens, newest]);
    if (state === drawnState) return;
    drawnState = state;
    const rows = [];
    for (const piece of splitIntoPieces(tokens, letters, data.tokens)) {
      if (piece.lost)
        rows.push(node("li", { class: "lost", title: "lost: no token stands for it" }, showSpaces(piece.text)));
      else {
        const unknown = piece.id === data.unknown;
        const kind = unknown ? "chip unknown" : piece.part ? "chip part" : piece.id === newest ? "chip new" : "chip";
        const chip = node(
          "li",
          { class: kind, title: `${unknown ? "<unk>" : showSpaces(data.tokens[piece.id])}, id ${piece.id}` },
          node("span", { class: "piece", dir: piece.part ? "ltr" : null }, ...softenSpaces(piece.text)),
          node("span", { class: "id" }, String(piece.id)),
        );
        chip.style.setProperty("--amount", `${unknown || piece.part ? 0 : colourPercent(piece.end - piece.start)}%`);
        rows.push(chip);
      }
      if (piece.text.includes("\n")) rows.push(node("li", { class: "break", "aria-hidden": "true" }));
    }
    chips.replaceChildren(...rows);
    tallest = Math.max(tallest, chips.scrollHeight);
    chips.style.minHeight = `${Math.min(tallest, 300)}px`; // keep the largest height so that the content below does not move
    showNote();
  }

  function showNote() {
    const unknown = tokens
      .filter(([id]) => id === data.unknown)
      .map(([, start, end]) => letters.slice(start, end).join(""));
    const gaps = splitIntoPieces(tokens, letters, data.tokens)
      .filter(({ lost }) => lost)
      .map(({ text }) => text);
    const listNames = (all) => {
      const kinds = [...new Set(all)];
      return (
        kinds
          .slice(0, 4)
          .map((one) => `“${showSpaces(one.length > 24 ? `${one.slice(0, 23)}…` : one)}”`)
          .join(", ") + (kinds.length > 4 ? ` and ${formatCount(kinds.length - 4)} more` : "")
      );
    };
    const sentences = ["The stronger the colour, the more characters one token holds. Below each token is its id."];
    if (unknown.length)
      sentences.push(
        `Dashed: not in the vocabulary, so the model reads “<unk>” for each of them, and cannot tell them apart: ${listNames(unknown)}.`,
      );
    if (gaps.length && data.kind === "char")
      sentences.push(
        `Struck out: ${listNames([...gaps.join("")])} does not occur in the training text and is dropped.`,
      );
    else if (gaps.length)
      sentences.push(
        `Struck out: ${formatCount([...gaps.join("")].length)} spaces and line ends that no token stands for; they are lost.`,
      );
    note.textContent = sentences.join(" ");
  }

  /* Only the visible lines of the list are drawn. */
  const countLines = () => (data.merges.length ? data.merges.length / 3 : data.tokens.length);

  function makeLine(i) {
    const merging = data.merges.length > 0;
    const id = merging ? data.merges[3 * i + 2] : i;
    const cells = merging
      ? [
          formatCount(i + 1),
          [codeNode(data.tokens[data.merges[3 * i]]), " + ", codeNode(data.tokens[data.merges[3 * i + 1]])],
          [codeNode(data.tokens[id])],
          formatCount(id),
          formatCount(data.uses[i]),
        ]
      : [formatCount(i + 1), [], [codeNode(data.tokens[i])], formatCount(i), formatCount(data.counts[i])];
    const newest = merging ? i === lastMerge() : data.kind === "word" && i === currentSize() - 1;
    const beyond = merging ? i > lastMerge() : data.kind === "word" && i >= currentSize();
    const row = node(
      "div",
      { class: `line${newest ? " newest" : ""}${beyond ? " beyond" : ""}`, role: "row", "aria-rowindex": i + 1 },
      ...cells.map((cell) => node("span", { role: "cell" }, ...[cell].flat())),
    );
    row.style.top = `${ROW * i}px`;
    row.onclick = () => {
      if (data.kind !== "char") {
        pausePlaying();
        setSize(id + 1, true);
      }
    };
    return row;
  }

  function showList(follow) {
    space.style.height = `${ROW * countLines()}px`;
    const at = data.merges.length ? lastMerge() : currentSize() - 1;
    if (follow && data.kind !== "char") {
      const top = ROW * Math.max(0, at),
        scrollTop = list.scrollTop;
      if (top < scrollTop || top + ROW > scrollTop + list.clientHeight) list.scrollTop = top - list.clientHeight / 2;
    }
    const first = Math.max(0, Math.floor(list.scrollTop / ROW) - 2);
    const end = Math.min(countLines(), first + Math.ceil((list.clientHeight || 400) / ROW) + 4);
    space.replaceChildren(...Array.from({ length: end - first }, (_, i) => makeLine(first + i)));
  }
  list.addEventListener("scroll", () => data && showList(false), { passive: true });
  const watch = new ResizeObserver(() => data && showList(true)); // also where the list was hidden until now
  watch.observe(list);

  slider.oninput = () => {
    clearTimeout(timer);
    timer = null;
    setSize(Number(slider.value), false);
  };
  slider.onchange = () => setSize(Number(slider.value), true);
  window.addEventListener(
    "resize",
    () => {
      tallest = 0;
      drawnState = "";
      if (data) drawAll();
    },
    { signal: listening.signal },
  );

  return {
    show(/** @type {TokenizerData} */ newData, { setTriggerValue }) {
      const other = !data || data.text !== newData.text || data.kind !== newData.kind;
      data = newData;
      trigger = setTriggerValue;
      letters = Array.from(data.text);
      rankOf = rankPairs(data.merges);
      vocabulary.receive(data.vocabulary);
      drawnState = "";
      if (other) tallest = 0;
      slider.min = data.least;
      slider.max = data.most;
      marks.replaceChildren(
        ...data.marks.map(([at, words]) => {
          const share = (at - data.least) / Math.max(1, data.most - data.least);
          const mark = node("span", { class: share > 0.85 ? "at-end" : share < 0.1 ? "at-start" : "" }, words);
          mark.style.left = `${100 * share}%`;
          return mark;
        }),
      );
      list.ariaLabel = data.merges.length
        ? "The merges, in the order they were learned"
        : data.kind === "word"
          ? "The words, the most frequent first"
          : "The characters";
      list.setAttribute("aria-rowcount", countLines());
      listHead.replaceChildren(
        ...(data.merges.length
          ? ["merge", "pair", "new token", "id", "times"]
          : ["", "", data.kind === "word" ? "word" : "token", "id", "times"]
        ).map((word) => node("span", {}, word)),
      );
      side.classList.toggle("plain", !data.merges.length);
      saveMenu(picture, {
        svg: () => screenSvg(chips, { title: heading.textContent }),
        csv: () => tokensCsv(data, tokens, letters),
        file: data.file,
      });
      hint.textContent = data.merges.length
        ? "Press a merge to go there. Times: how often it joins a pair of the corpus."
        : data.kind === "word"
          ? "The most frequent word first. Press one to end the vocabulary there."
          : "Times: how often it stands in the corpus.";
      saveMenu(foot, {
        csv: () => listCsv(data),
        file: `${data.file}-${data.merges.length ? "merges" : "vocabulary"}`,
      });
      drawAll();
    },
    close() {
      clearTimeout(timer);
      cancelAnimationFrame(paint);
      listening.abort();
      watch.disconnect();
    },
  };
}, PRESENTATION);

function tokensCsv(data, tokens, letters) {
  const textOf = ([id, start, end]) => (id === data.unknown ? "<unk>" : letters.slice(start, end).join(""));
  return toCsv(
    ["place", "token", "id", "start", "end"],
    tokens.map((token, i) => [i, textOf(token), ...token]),
  );
}

function listCsv({ merges, tokens, uses, counts }) {
  if (!merges.length)
    return toCsv(
      ["id", "token", "times"],
      tokens.map((token, id) => [id, token, counts[id]]),
    );
  return toCsv(
    ["merge", "left", "right", "token", "id", "times"],
    uses.map((used, i) => [i + 1, ...merges.slice(3 * i, 3 * i + 3).map((id) => tokens[id]), merges[3 * i + 2], used]),
  );
}
