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
 */
import { formatFinding, countLearned, rankPairs, segmentText, formatTwoDigits } from "./bpe.js";
import { showSpaces } from "../../shared/runtime/visible_text.js";
import { saveMenu } from "../../shared/runtime/export_menu.js";
import { toCsv } from "../../shared/runtime/csv.js";
import { icon, svgNode, node } from "../../shared/runtime/dom.js";
import { SyncedValue } from "../../shared/runtime/synced_value.js";
import { resolveColours, svgFile } from "../../shared/runtime/svg_file.js";
import { textWidth } from "../../shared/runtime/text_metrics.js";
import { defineComponent } from "../../shared/runtime/component.js";

const ROW = 30; // px of a line of the list
const formatNumber = (value) => value.toLocaleString("en");
const formatTimes = (count) => `${formatNumber(count)} time${count === 1 ? "" : "s"}`;
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
    slider.value = currentSize();
    slider.style.setProperty("--at", (currentSize() - data.least) / Math.max(1, data.most - data.least));
    slider.setAttribute("aria-valuetext", `${formatNumber(currentSize())} tokens`);
    size.textContent = formatNumber(currentSize());
    tokens = segmentText(data, rankOf, currentSize());
    heading.textContent = formatFinding(data, tokens, letters.length, currentSize());
    showMerge();
    showChips();
    ratio.value.textContent = tokens.length ? formatTwoDigits(letters.length / tokens.length) : "–";
    count.value.textContent = formatNumber(tokens.length);
    const course = data.course[currentSize() - data.least];
    corpusMeasure.value.textContent =
      data.measure === "unknown" ? `${(100 * course).toFixed(1)} %` : formatTwoDigits(course);
    corpusMeasure.root.lastChild.textContent =
      data.measure === "unknown" ? `unknown, ${data.corpus}` : `characters per token, ${data.corpus}`;
    showList(true);
    updateButtons();
  }

  function showMerge() {
    const at = lastMerge();
    if (data.kind === "char")
      merge.replaceChildren("Characters are what they are: the text decides how many there are.");
    else if (data.kind === "word")
      merge.replaceChildren(
        "The last word that still fits: ",
        codeNode(data.tokens[currentSize() - 1]),
        ` · ${formatTimes(data.counts[currentSize() - 1])} in the corpus.`,
      );
    else if (at < 0)
      merge.replaceChildren(
        data.merges.length ? "No merge yet." : "No pair of this text stands there twice: there is nothing to merge.",
      );
    else {
      const [left, right, both] = data.merges.slice(3 * at, 3 * at + 3);
      merge.replaceChildren(
        `Merge ${formatNumber(at + 1)} of ${formatNumber(data.merges.length / 3)}: `,
        codeNode(data.tokens[left]),
        " + ",
        codeNode(data.tokens[right]),
        " → ",
        codeNode(data.tokens[both]),
        ` · ${formatTimes(data.uses[at])} in the corpus.`,
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
          .join(", ") + (kinds.length > 4 ? ` and ${formatNumber(kinds.length - 4)} more` : "")
      );
    };
    const sentences = ["The stronger the colour, the more characters one token holds. Below each token is its id."];
    if (unknown.length) sentences.push(`Dashed: unknown, all of them become “<unk>”: ${listNames(unknown)}.`);
    if (gaps.length && data.kind === "char")
      sentences.push(`Struck out: this corpus never showed ${listNames([...gaps.join("")])}, so it is dropped.`);
    else if (gaps.length)
      sentences.push(
        `Struck out: ${formatNumber([...gaps.join("")].length)} spaces and line ends that no token stands for; they are lost.`,
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
          formatNumber(i + 1),
          [codeNode(data.tokens[data.merges[3 * i]]), " + ", codeNode(data.tokens[data.merges[3 * i + 1]])],
          [codeNode(data.tokens[id])],
          formatNumber(id),
          formatNumber(data.uses[i]),
        ]
      : [formatNumber(i + 1), [], [codeNode(data.tokens[i])], formatNumber(i), formatNumber(data.counts[i])];
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
        svg: () => tokensSvg(place, data, tokens, letters, currentSize()),
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
    },
  };
});

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

/** Return the tokens as an SVG file of fixed width. */
function tokensSvg(place, data, tokens, letters, vocabulary) {
  const { get, done } = resolveColours(place);
  const [width, edge, high] = [980, 24, 52];
  let x = edge,
    y = 72;
  const marks = [];
  for (const piece of splitIntoPieces(tokens, letters, data.tokens)) {
    const wide = Math.max(textWidth(showSpaces(piece.text), 16), textWidth(String(piece.id ?? ""), 13)) + 16;
    if (x + wide > width - edge) [x, y] = [edge, y + high];
    const amount =
      piece.lost || piece.part || piece.id === data.unknown ? 0 : colourPercent(piece.end - piece.start) / 100;
    if (!piece.lost) {
      marks.push(
        svgNode("rect", { x, y: y - 20, width: wide - 3, height: 28, rx: 4, fill: get("--panel") }),
        svgNode("rect", {
          x,
          y: y - 20,
          width: wide - 3,
          height: 28,
          rx: 4,
          fill: get("--amount-4"),
          "fill-opacity": 0.75 * amount,
          stroke: get("--rule"),
          "stroke-dasharray": piece.id === data.unknown ? "3 2" : null,
        }),
      );
    }
    marks.push(
      svgNode(
        "text",
        {
          x: x + 7,
          y,
          "font-size": 16,
          fill: get(piece.lost ? "--soft" : "--ink"),
          "text-decoration": piece.lost ? "line-through" : null,
        },
        showSpaces(piece.text),
      ),
    );
    if (!piece.lost)
      marks.push(svgNode("text", { x: x + 7, y: y + 24, "font-size": 13, fill: get("--soft") }, String(piece.id)));
    x += wide;
    if (piece.text.includes("\n")) [x, y] = [edge, y + high];
  }
  const head = svgNode(
    "text",
    { x: edge, y: 32, "font-size": 18, "font-weight": 600, fill: get("--ink") },
    formatFinding(data, tokens, letters.length, vocabulary),
  );
  const page = get("--page");
  done();
  return svgFile(width, y + high, page, head, ...marks);
}
