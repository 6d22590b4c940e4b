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
import { LiveElements } from "../../../../static/shared/runtime/view_state.js";
import { node } from "../../../../static/shared/runtime/dom.js";
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
    .map((part) => (/^[ \n\t]/.test(part) ? node("i", showSpaces(part)) : part));
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

const codeNode = (text) => node("b.code", { dir: "auto" }, ...softenSpaces(text));

export default defineComponent((place, /** @type {SendEvent<TokenizerEvents>} */ send) => {
  const listening = new AbortController(),
    vocabulary = new SyncedValue();
  /** @type {TokenizerData} */
  let data,
    tokens = [],
    timer = null, // of the playback
    paint = 0,
    tallest = 0,
    drawnState = "";
  let letters, rankOf;
  const { node, button, playButton, list, update } = new LiveElements();
  const hasMerges = () => data.merges.length > 0,
    isWord = () => data.kind === "word";
  const heading = node("h3.finding", () => formatFinding(data, tokens, letters.length, currentSize()));
  const slider = node("input.slider", {
    type: "range",
    step: 1,
    min: () => data.least,
    max: () => data.most,
    value: () => currentSize(),
    disabled: () => isFixed(),
    "aria-valuetext": () => formatUnits(currentSize(), "token"),
    oninput() {
      clearTimeout(timer);
      timer = null;
      setSize(Number(slider.value), false);
    },
    onchange: () => setSize(Number(slider.value), true),
  });
  const marks = () => data.marks;
  const makeMark = ([at, words]) => {
    const share = (at - data.least) / Math.max(1, data.most - data.least),
      end = share > 0.85 ? "at-end" : share < 0.1 ? "at-start" : "";
    return node("span", { class: end, style: `left: ${100 * share}%` }, words);
  };
  const isFixed = () => data.least === data.most,
    togglePlaying = () => (timer ? pausePlaying() : startPlaying());
  const makeStep = (symbol, words, steps, isEnd) =>
    button({ symbol, disabled: isEnd, onclick: () => moveSizeBy(steps) }, node("span", words));
  const merge = node("p.merge", { "aria-live": "off" });
  const controls = node(
    "div.controls",
    node("label.label", node("span", "Size of the vocabulary"), slider),
    node("output.size", () => formatCount(currentSize())),
    node("div.marks", list(marks, makeMark)),
    node(
      "div.buttons",
      playButton(() => timer, { disabled: isFixed, onclick: togglePlaying }),
      makeStep("skip_previous", "Back", -1, () => currentSize() <= data.least),
      makeStep("skip_next", "Next", 1, () => currentSize() >= data.most),
      merge,
    ),
  );
  const chips = node("ol.chips", { dir: "auto", "aria-label": "The text in tokens", tabindex: 0 });
  const picture = node("div.picture", chips, node("p.note", noteText));
  const makeNumber = (value, words) => node("div.number", node("span.value", value), node("span.words", words));
  const isUnknown = () => data.measure === "unknown",
    course = () => data.course[currentSize() - data.least];
  const numbers = node(
    "div.numbers",
    makeNumber(() => formatNumber(tokens.length ? letters.length / tokens.length : NaN), "characters per token"),
    makeNumber(() => formatCount(tokens.length), "tokens"),
    makeNumber(
      () => (isUnknown() ? formatPercent(course()) : formatNumber(course())),
      () => `${isUnknown() ? "unknown" : "characters per token"}, ${data.corpus}`,
    ),
  );
  /** The list of a kind of tokenizer: its label, the names of its columns, and what can be done with it. */
  const LISTS = {
    merges: {
      label: "The merges, in the order they were learned",
      names: ["merge", "pair", "new token", "id", "times"],
      hint: "Press a merge to go there.",
    },
    words: {
      label: "The words, the most frequent first",
      names: ["", "", "word", "id", "times"],
      hint: "The most frequent word first. Press one to end the vocabulary there.",
    },
    characters: {
      label: "The characters",
      names: ["", "", "token", "id", "times"],
      hint: "Times: how often it stands in the training text.",
    },
  };
  const about = () => LISTS[hasMerges() ? "merges" : isWord() ? "words" : "characters"],
    columnNames = () => about().names,
    makeName = (word) => node("span", word);
  const space = node("div.list-space", { role: "rowgroup" });
  const table = node(
    "div.list",
    { role: "table", tabindex: 0, "aria-label": () => about().label, "aria-rowcount": () => countLines() },
    space,
  );
  const foot = node(
    "div.foot",
    node("p.note", () => about().hint),
  );
  const side = node(
    "div",
    { class: () => (hasMerges() ? "side" : "side plain") },
    node("div.list-head", list(columnNames, makeName)),
    table,
    foot,
  );
  place.replaceChildren(heading, controls, node("div.both", node("div.main", picture, numbers), side));

  const currentSize = () => Math.min(data.most, Math.max(data.least, vocabulary.value ?? data.least));
  const lastMerge = () => (data.merges.length ? countLearned(data.merges, currentSize()) - 1 : -1);

  function setSize(value, report) {
    vocabulary.value = Math.min(data.most, Math.max(data.least, value));
    slider.value = String(vocabulary.value); // a key that is pressed before the next frame moves on from here
    if (report) {
      vocabulary.set(vocabulary.value);
      send("vocabulary", vocabulary.value);
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
    update();
  }

  function pausePlaying() {
    if (!timer) return;
    clearTimeout(timer);
    timer = null;
    setSize(currentSize(), true);
    update();
  }

  function drawAll() {
    paint = 0;
    tokens = segmentText(data, rankOf, currentSize());
    merge.replaceChildren(...mergeParts());
    update();
    showChips();
    showList(true);
  }

  function mergeParts() {
    const at = lastMerge(),
      last = currentSize() - 1,
      code = (id) => codeNode(data.tokens[id]),
      times = (count) => ` · ${formatUnits(count, "time")} in the training text.`;
    if (data.kind === "char") return ["The number of characters follows from the text."];
    if (isWord()) return ["The last word in the vocabulary: ", code(last), times(data.counts[last])];
    if (!hasMerges()) return ["No pair occurs twice in this text: there is nothing to merge."];
    if (at < 0) return ["No merge yet."];
    const [left, right, both] = data.merges.slice(3 * at, 3 * at + 3),
      name = `Merge ${formatCount(at + 1)} of ${formatCount(data.merges.length / 3)}: `;
    return [name, code(left), " + ", code(right), " → ", code(both), times(data.uses[at])];
  }

  function showChips() {
    const at = lastMerge(),
      newest = at < 0 ? null : data.merges[3 * at + 2];
    const state = JSON.stringify([tokens, newest]);
    if (state === drawnState) return;
    drawnState = state;
    const rows = [];
    for (const piece of splitIntoPieces(tokens, letters, data.tokens)) {
      if (piece.lost) rows.push(node("li.lost", { title: "lost: no token stands for it" }, showSpaces(piece.text)));
      else {
        const unknown = piece.id === data.unknown;
        const kind = unknown ? "chip unknown" : piece.part ? "chip part" : piece.id === newest ? "chip new" : "chip";
        const title = `${unknown ? "<unk>" : showSpaces(data.tokens[piece.id])}, id ${piece.id}`,
          style = `--amount: ${unknown || piece.part ? 0 : colourPercent(piece.end - piece.start)}%`,
          text = node("span.piece", { dir: piece.part ? "ltr" : null }, ...softenSpaces(piece.text));
        rows.push(node("li", { class: kind, title, style }, text, node("span.id", String(piece.id))));
      }
      if (piece.text.includes("\n")) rows.push(node("li.break", { "aria-hidden": "true" }));
    }
    chips.replaceChildren(...rows);
    tallest = Math.max(tallest, chips.scrollHeight);
    chips.style.minHeight = `${Math.min(tallest, 300)}px`; // keep the largest height so that the content below does not move
  }

  function noteText() {
    const unknown = tokens
      .filter(([id]) => id === data.unknown)
      .map(([, start, end]) => letters.slice(start, end).join(""));
    const gaps = splitIntoPieces(tokens, letters, data.tokens)
      .filter(({ lost }) => lost)
      .map(({ text }) => text);
    const nameAll = (all) => {
      const kinds = [...new Set(all)],
        quoted = kinds.slice(0, 4).map((one) => `“${showSpaces(one.length > 24 ? `${one.slice(0, 23)}…` : one)}”`);
      return quoted.join(", ") + (kinds.length > 4 ? ` and ${formatCount(kinds.length - 4)} more` : "");
    };
    const sentences = ["Below each token is its id."];
    if (unknown.length)
      sentences.push(
        `Dashed: not in the vocabulary, so the model reads “<unk>” for each of them, and cannot tell them apart: ${nameAll(unknown)}.`,
      );
    if (gaps.length && data.kind === "char")
      sentences.push(`Struck out: ${nameAll([...gaps.join("")])} does not occur in the training text and is dropped.`);
    else if (gaps.length)
      sentences.push(
        `Struck out: ${formatCount([...gaps.join("")].length)} spaces and line ends that no token stands for; they are lost.`,
      );
    return sentences.join(" ");
  }

  /* Only the visible lines of the list are drawn. */
  const countLines = () => (data.merges.length ? data.merges.length / 3 : data.tokens.length);

  function makeLine(i) {
    const merging = hasMerges(),
      code = (id) => codeNode(data.tokens[id]),
      [left, right, id] = merging ? data.merges.slice(3 * i, 3 * i + 3) : [null, null, i],
      last = merging ? lastMerge() : isWord() ? currentSize() - 1 : Infinity,
      times = merging ? data.uses[i] : data.counts[i];
    const pair = merging ? [code(left), " + ", code(right)] : [],
      cells = [[formatCount(i + 1)], pair, [code(id)], [formatCount(id)], [formatCount(times)]],
      kind = `line${i === last ? " newest" : ""}${i > last ? " beyond" : ""}`;
    const onclick = () => {
      if (data.kind === "char") return;
      pausePlaying();
      setSize(id + 1, true);
    };
    const attributes = { class: kind, role: "row", "aria-rowindex": i + 1, style: `top: ${ROW * i}px`, onclick };
    return new LiveElements().node("div", attributes, ...cells.map((cell) => node("span", { role: "cell" }, ...cell)));
  }

  function showList(follow) {
    space.style.height = `${ROW * countLines()}px`;
    const at = hasMerges() ? lastMerge() : currentSize() - 1;
    if (follow && data.kind !== "char") {
      const top = ROW * Math.max(0, at),
        scrollTop = table.scrollTop;
      if (top < scrollTop || top + ROW > scrollTop + table.clientHeight) table.scrollTop = top - table.clientHeight / 2;
    }
    const first = Math.max(0, Math.floor(table.scrollTop / ROW) - 2);
    const end = Math.min(countLines(), first + Math.ceil((table.clientHeight || 400) / ROW) + 4);
    space.replaceChildren(...Array.from({ length: end - first }, (_, i) => makeLine(first + i)));
  }
  table.addEventListener("scroll", () => data && showList(false), { passive: true });
  const watch = new ResizeObserver(() => data && showList(true)); // also where the list was hidden until now
  watch.observe(table);

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
    show(/** @type {TokenizerData} */ newData) {
      const other = !data || data.text !== newData.text || data.kind !== newData.kind;
      data = newData;
      letters = Array.from(data.text);
      rankOf = rankPairs(data.merges);
      vocabulary.receive(data.vocabulary);
      drawnState = "";
      if (other) tallest = 0;
      saveMenu(picture, {
        svg: () => screenSvg(chips, { title: heading.textContent }),
        csv: () => tokensCsv(data, tokens, letters),
        file: data.file,
      });
      const file = `${data.file}-${hasMerges() ? "merges" : "vocabulary"}`;
      saveMenu(foot, { csv: () => listCsv(data), file });
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
  const rows = tokens.map((token, i) => [i, textOf(token), ...token]);
  return toCsv(["place", "token", "id", "start", "end"], rows);
}

function listCsv({ merges, tokens, uses, counts }) {
  const rows = tokens.map((token, id) => [id, token, counts[id]]);
  if (!merges.length) return toCsv(["id", "token", "times"], rows);
  const mergeRow = (used, i) => {
    const ids = merges.slice(3 * i, 3 * i + 3);
    return [i + 1, ...ids.map((id) => tokens[id]), ids[2], used];
  };
  return toCsv(["merge", "left", "right", "token", "id", "times"], uses.map(mergeRow));
}
