/**
 * Show a text one token at a time: at every step the candidates, and the branches that can be taken instead. Only one
 * request is open at a time; presses made meanwhile are sent together afterwards.
 *
 * @typedef {object} TokenTreeData
 * @property {string} title
 * @property {string} colour CSS variable
 * @property {string} unit
 * @property {string} prompt its end
 * @property {number} temperature
 * @property {number} most the longest path
 * @property {string} file
 * @property {number} full the surprisal in nats with the strongest colour
 * @property {any[]} steps {piece, id, surprise: nats, candidates: [{id, piece, p: at this temperature after truncation,
 *    learned, cut: whether truncation removed it}] most likely first, at most 8, sampled: the id that is sampled there}
 * @property {any} here {candidates, sampled} of the next step
 * @property {number | null} most_surprising index of a step
 *
 * @typedef {object} TokenTreeEvents
 * @property {{path: number[], more: number}} path the ids that the user wants, and how many to sample after them
 */
import * as math from "./math.js";
import { branchWidth } from "../../../../static/shared/charts/value_scale.js";
import { saveMenu } from "../../../../static/shared/runtime/export_menu.js";
import { toCsv } from "../../../../static/shared/runtime/csv.js";
import { LiveElements } from "../../../../static/shared/runtime/view_state.js";
import { setTextIfChanged, icon, svgNode, node, tint } from "../../../../static/shared/runtime/dom.js";
import { toBits, formatOdds, quotePiece, pieceLabel } from "../../../../static/shared/charts/surprisal_colour.js";
import { screenSvg } from "../../../../static/shared/runtime/screen_svg.js";
import { defineComponent } from "../../../../static/shared/runtime/component.js";
import { TokenText, drawLegend } from "../../../../static/shared/charts/token_text.js";
import { formatNumber, formatUnits, formatWeight } from "../../../../static/shared/runtime/format.js";

const [ROW, GAP] = [40, 40]; // px from row to row, and between two columns, as in style.css
const PATIENCE = 2000; // ms without an answer after which the page is taken to have no change
const learnedAs = ({ learned }) => `at temperature 1: ${formatWeight(learned || Number.MIN_VALUE, 2)}`;

/** The branch from one row to another, `wide` px to the right. */
const branchPath = (from, to, wide) => `M0 ${from} C${wide / 2} ${from} ${wide / 2} ${to} ${wide} ${to}`;

/** Return one candidate. Its nodes are reused so that focus and pressed buttons are kept. */
function makeCandidate() {
  const { node: live, update } = new LiveElements();
  let row, temperature;
  const p = () => math.formatCandidate(row, temperature),
    width = (name) => () => `width: ${100 * row[name]}%`;
  const facts = () => {
    const sampled = row.sampled ? ["chosen by the random numbers"] : [];
    return [quotePiece(row.piece, row.id), p(), learnedAs(row), ...sampled];
  };
  const states = () =>
    `candidate${row.piece === "" ? " silent" : ""}${row.taken ? " taken" : ""}${row.cut ? " cut" : ""}`;
  const root = live(
    "button",
    {
      ...{ type: "button", tabindex: -1, class: states, title: () => facts().join("; ") },
      "aria-pressed": () => row.taken,
      "aria-label": () => facts().join(", "), // that it is taken, aria-pressed says
    },
    live("span.piece", { dir: "auto" }, () => pieceLabel(row.piece, row.id)),
    live("span.lineage-icon", { "aria-hidden": "true", hidden: () => !row.sampled }, "casino"),
    " ",
    live("span.p", p),
    node("span.bar", live("i.learned", { style: width("learned") }), live("i.now", { style: width("p") })),
  );
  return {
    root,
    show(...shown) {
      [row, temperature] = shown;
      update();
    },
  };
}

class Column {
  rows = [];
  candidates = [];
  head = node("div.step");
  list = node("div.candidates", { role: "group" });
  others = node("div.others");
  branches = svgNode("svg.branches", { width: GAP, height: ROW * (math.SHOWN + 1), "aria-hidden": "true" });
  root = node("div.column", this.branches, node("div", this.head, this.list, this.others));

  /** `from`: the row that was taken in the column before; null: there is none. */
  show(step, at, from, { temperature, unit }) {
    const key = JSON.stringify([step, at, from, temperature, unit]),
      isNewest = step.id === undefined;
    for (const { root } of this.candidates) root.classList.remove("asked");
    if (key === this.shown) return;
    this.shown = key;
    this.rows = math.candidateRows(step);
    this.taken = this.rows.findIndex(({ taken }) => taken);
    resizeList(this.candidates, this.rows.length, makeCandidate, this.list);
    this.rows.forEach((row, i) => this.candidates[i].show(row, temperature));
    setTextIfChanged(this.head, isNewest ? `next ${unit}` : String(at + 1));
    this.list.ariaLabel = isNewest ? `Candidates for the next ${unit}` : `Candidates of step ${at + 1}`;
    const { p, sampled } = math.remainder(this.rows, step.sampled),
      others = [`others ${formatWeight(p, 2)}`, ...(sampled ? [icon("casino")] : [])];
    this.others.replaceChildren(...(p || sampled ? others : []));
    this.others.title = sampled ? "The random numbers choose one of the others" : "";
    this.branches.replaceChildren(...(from === null ? [] : this.drawBranches(from)));
    this.root.classList.toggle("newest", isNewest);
  }

  /** Draw the branch of the chosen candidate last, so that it lies on top. */
  drawBranches(from) {
    const order = this.rows.map((_, i) => i).sort((a, b) => Number(a === this.taken) - Number(b === this.taken));
    return order.map((i) => {
      const d = branchPath((from + 0.5) * ROW, (i + 0.5) * ROW, GAP);
      return svgNode("path", {
        ...{ d, class: i === this.taken ? "taken" : null, "stroke-width": branchWidth(this.rows[i].p) },
      });
    });
  }
}

/** Make as many parts as there are to be shown, each with its `root` in `place`. */
function resizeList(parts, count, make, place) {
  while (parts.length > count) parts.pop().root.remove();
  while (parts.length < count) {
    parts.push(make());
    place.append(parts.at(-1).root);
  }
}

const PRESENTATION = { slides: [".finding, .token-text, .controls, .about", ".columns"] };

export default defineComponent((place, /** @type {SendEvent<TokenTreeEvents>} */ send) => {
  const columns = [];
  /** @type {TokenTreeData} */
  let data;
  let waiting = [],
    busy = 0,
    focus = { at: 0, row: 0 },
    pointed = null, // the step that is described
    previousPath = null,
    writtenState = "";
  const { node, button, list, update } = new LiveElements();
  const text = new TokenText("The text so far"),
    isAtEnd = () => data.steps.length >= data.most,
    isAtPrompt = () => !data.steps.length;
  const makeAction = (symbol, words, action, disabled) =>
    button({ symbol, disabled, onclick: () => requestAction(action()) }, words);
  const next = makeAction(
      "casino",
      () => `Next ${data.unit}`,
      () => ["next", 1],
      isAtEnd,
    ),
    backButton = makeAction("undo", "Back", () => ["back", 1], isAtPrompt);
  const controls = node(
    "div.controls",
    { role: "group", "aria-label": "Steps" },
    next,
    makeAction(
      "fast_forward",
      () => `10 ${data.unit}s`,
      () => ["next", 10],
      isAtEnd,
    ),
    backButton,
    makeAction("first_page", "From the prompt", () => ["back", data.steps.length], isAtPrompt),
    node("output.meter", () => `${data.steps.length} of ${formatUnits(data.most, data.unit)}`),
  );
  const legends = () => [[data.unit, data.full]],
    makeLegend = (legend) => drawLegend(...legend);
  const treeLabel = "The tree of candidates: arrows move, Enter takes, Backspace goes back",
    tree = node("div.columns", { role: "group", "aria-label": treeLabel });
  const caption =
    "Solid bar: at this temperature, after the cut. Pale bar: at temperature 1. The die marks the sampled token. Press a candidate to choose it; what came after it is dropped.";
  place.replaceChildren(
    node(
      "div.head",
      node("span.dot"),
      node("span.name", () => data.title),
      node("span.keys", list(legends, makeLegend)),
    ),
    node("h3.finding", () => formatFinding(data)),
    text.root,
    node("p.about", () => describeStep(pointed)),
    controls,
    tree,
    node("p.lineage-caption", caption),
  );

  /* ---- requests to the page, one at a time ---- */
  function requestAction(action) {
    waiting = math.addAction(waiting, action);
    if (!busy) sendNextAction();
  }

  function sendNextAction() {
    clearTimeout(busy);
    busy = 0;
    const { action, behind } = math.nextAction(waiting, data.steps.length, data.most);
    waiting = behind;
    if (!action) return;
    busy = setTimeout(sendNextAction, PATIENCE);
    const path = data.steps.map(({ id }) => id);
    send("path", math.pathAfter(action, path));
  }

  function takeCandidate(at, row) {
    const step = data.steps[at],
      { id } = columns[at].rows[row];
    const nothing = step?.id === id && at === data.steps.length - 1;
    if (nothing || at >= data.most) return;
    columns[at].candidates[row].root.classList.add("asked");
    requestAction(["go", { at, id }]);
  }

  /* ---- the keyboard: one of all buttons is reached by Tab, the arrows go on from there ---- */
  const positionOf = (root) => {
    const at = columns.findIndex((column) => column.root.contains(root));
    return { at, row: columns[at]?.candidates.findIndex((candidate) => candidate.root === root) ?? -1 };
  };
  const buttonAt = ({ at, row }) => columns[at]?.candidates[row]?.root;

  function focusCandidate(to, focused) {
    const at = Math.min(columns.length - 1, Math.max(0, to.at));
    const row = Math.min(columns[at].candidates.length - 1, Math.max(0, to.row));
    if (buttonAt(focus)) buttonAt(focus).tabIndex = -1;
    focus = { at, row };
    if (!buttonAt(focus)) return;
    buttonAt(focus).tabIndex = 0;
    if (!focused) return;
    buttonAt(focus).focus({ preventScroll: true });
    scrollToColumn(at);
  }

  function scrollToColumn(at) {
    const { offsetLeft, offsetWidth } = columns[at].root,
      scrollLeft = tree.scrollLeft,
      wide = tree.clientWidth;
    if (offsetLeft < scrollLeft) tree.scrollLeft = offsetLeft;
    else if (offsetLeft + offsetWidth > scrollLeft + wide) tree.scrollLeft = offsetLeft + offsetWidth - wide;
  }

  tree.addEventListener("click", (event) => {
    const root = event.target.closest("button");
    if (!root) return;
    const { at, row } = positionOf(root);
    focusCandidate({ at, row }, false);
    takeCandidate(at, row);
  });
  tree.addEventListener("focusin", (event) => {
    if (event.target !== tree) focusCandidate(positionOf(event.target), false);
  });
  tree.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target === tree) return;
    const { at, row } = positionOf(event.target),
      takenRow = (i) => Math.max(0, columns[i]?.taken ?? 0);
    const to = {
      ArrowUp: { at, row: row - 1 },
      ArrowDown: { at, row: row + 1 },
      ArrowLeft: { at: at - 1, row: takenRow(at - 1) },
      ArrowRight: { at: at + 1, row: takenRow(at + 1) },
      Home: { at: 0, row: takenRow(0) },
      End: { at: columns.length - 1, row: 0 },
    }[event.key];
    if (to) {
      if (columns[to.at]) focusCandidate(to, true);
      event.preventDefault();
    } else if (event.key === "Backspace") {
      event.preventDefault();
      requestAction(["back", 1]);
    }
  });
  place.addEventListener("keydown", (event) => event.stopPropagation()); // Streamlit reruns the page at an "r"

  /* ---- the text: hovering highlights the step of a token, a click scrolls to it ---- */
  const highlightToken = (at) => {
    pointed = at;
    text.markToken("pointed", at);
    columns.forEach(({ root }, i) => root.classList.toggle("pointed", i === at));
    update();
  };
  text.root.addEventListener("pointerover", (event) => highlightToken(TokenText.tokenOfEvent(event)));
  text.root.addEventListener("pointerleave", () => highlightToken(null));
  text.root.addEventListener("click", (event) => {
    const at = TokenText.tokenOfEvent(event);
    if (at !== null) scrollToColumn(at);
  });
  tree.addEventListener("pointerover", (event) => {
    const { at } = positionOf(event.target);
    text.markToken("pointed", at < data.steps.length ? at : null);
  });
  tree.addEventListener("pointerleave", () => text.markToken("pointed", null));

  function describeStep(at) {
    const { steps, unit, temperature } = data,
      step = steps[at],
      total = math.totalSurprisal(steps),
      bits = (surprisal) => `${formatNumber(toBits(surprisal), 1)} bits`;
    if (step) {
      const now = math.formatCandidate(columns[at].rows[columns[at].taken], temperature);
      return `Step ${at + 1}, ${quotePiece(step.piece, step.id)}: at temperature 1 ${formatOdds(step.surprise)}, ${bits(step.surprise)}; at this temperature ${now}.`;
    }
    if (!steps.length) return "";
    return `The whole path, ${formatUnits(steps.length, unit)}: ${bits(total)} at temperature 1, ${formatOdds(total)}.`;
  }

  /* ---- drawing ---- */
  function drawTree() {
    const { steps, here, unit, prompt } = data,
      isInside = tree.contains(document.activeElement) && document.activeElement !== tree,
      focused = controls.contains(document.activeElement)
        ? /** @type {HTMLButtonElement} */ (document.activeElement)
        : null;
    tint(place, data.colour);
    place.classList.toggle("letters", unit === "letter");
    showText();
    const all = steps.length < data.most ? [...steps, here] : steps;
    resizeList(columns, all.length, () => new Column(), tree);
    all.forEach((step, at) => columns[at].show(step, at, at ? columns[at - 1].taken : null, data));
    pointed = null;
    update();

    const path = JSON.stringify([prompt, steps.map(({ id }) => id)]);
    if (path !== previousPath && columns.length) {
      focusCandidate({ at: columns.length - 1, row: 0 }, isInside);
      tree.scrollLeft = tree.scrollWidth; // the newest is in sight
      previousPath = path;
    } else if (columns.length) focusCandidate(focus, isInside);
    if (focused?.disabled) (backButton.disabled ? next : backButton).focus({ preventScroll: true }); // keep the keyboard focus
  }

  function showText() {
    const { steps, prompt, most_surprising, full } = data,
      state = JSON.stringify([prompt, full, steps.map(({ piece, surprise }) => [piece, surprise])]);
    if (state !== writtenState) {
      writtenState = state;
      text.startText(prompt, full);
      text.appendTokens(
        steps.map(({ piece }) => piece),
        steps.map(({ surprise }) => surprise),
      );
      text.root.scrollTop = text.root.scrollHeight;
    }
    text.markToken("most", most_surprising ?? -1);
  }

  /** Save long paths in several lines. */
  function treeSvg() {
    tree.style.flexWrap = "wrap";
    const file = screenSvg(place, { skip: ".controls, .about, .lineage-caption" });
    tree.style.flexWrap = "";
    return file;
  }

  return {
    show(/** @type {TokenTreeData} */ newData) {
      data = newData;
      drawTree();
      saveMenu(place, { svg: treeSvg, csv: () => treeCsv(data), file: data.file });
      sendNextAction(); // the page has answered: send the next action
    },
    close() {
      clearTimeout(busy);
    },
  };
}, PRESENTATION);

function formatFinding({ steps, most_surprising, unit }) {
  const step = steps[most_surprising];
  if (step)
    return `The least expected ${unit} so far: ${quotePiece(step.piece, step.id)}, ${formatOdds(step.surprise)} at temperature 1.`;
  return steps.length ? "" : `Which ${unit} comes first? Press one, or sample it.`;
}

function treeCsv({ steps, here, most }) {
  const all = steps.length < most ? [...steps, here] : steps;
  const columns = ["step", "rank", "id", "piece", "probability", "learned", "surprise in nats", "taken", "sampled"];
  const cells = (step, at) =>
    math
      .candidateRows(step)
      .map(({ id, piece, p, learned, taken, sampled }, i) => [
        ...[at + 1, i + 1, id, piece, p, learned],
        ...[taken ? step.surprise : null, Number(taken), Number(sampled)],
      ]);
  return toCsv(columns, all.flatMap(cells));
}
