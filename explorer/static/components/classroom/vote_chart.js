/* Draw the answers of a class to one question, for one vote or for the first and the second: a bar per choice, as a share
   of the class, a dot per answer along the whole scale, or the list of collected sentences. */
import {
  countColumns,
  countSentences,
  describeShare,
  medianOf,
  scaleColumns,
  scaleTicks,
  shareOfClass,
  withUnit,
} from "./vote_math.js";
import { countChoices } from "../../shared/charts/dot_strip_math.js";
import { node } from "../../shared/runtime/dom.js";
import { formatRounded } from "../../shared/runtime/format.js";
import { LiveElements } from "../../shared/runtime/view_state.js";

const MOST_DOTS = 10; // in a column; above it all columns are drawn as bars
const NOTHING = { votes: [], visible: false, own: null, answer: null, open: false };

/**
 * `show({ votes, visible, own, answer, open })` draws: `votes` as the server sends them, `own` the visitor's own last answer,
 * `answer` the measured one. While the votes are not visible, it shows the choices or the scale only. `showSentence(sentence)`
 * returns how a collected sentence is listed, which can change when the page opens (`open`).
 */
export function voteChart(question, showSentence = (sentence) => sentence) {
  let state = NOTHING;
  const live = new LiveElements(),
    read = () => state;
  const root = question.collects
    ? sentenceList(live, read, showSentence)
    : question.scale
      ? numberChart(live, read, question.scale)
      : choiceChart(live, read, question.choices);
  return {
    root,
    show(/** @type {any} */ newState) {
      state = newState;
      live.update();
    },
  };
}

function sentenceList({ node: live, list }, read, showSentence) {
  const sentences = () => {
    const { votes, visible, own, open } = read(),
      counts = visible ? countSentences(votes[0].given) : [];
    return counts.map(([text, count]) => ({ text, count, isOwn: text === own, open }));
  };
  const makeSentence = ({ text, count, isOwn }) =>
    node(
      "li.one",
      { ".mine": isOwn },
      node("span.name", { dir: "auto" }, showSentence(text)),
      count > 1 && node("b", `${count} times`),
    );
  return live("ul.votes.sentences", { "aria-label": "Sentences of the class" }, list(sentences, makeSentence));
}

/** Return the name of a vote, if there are two. */
const voteName = (i, votes) => (votes.length > 1 ? ["First vote", "Second vote"][i] : "");
const voteTitle = (i, votes) => (votes.length > 1 ? `${voteName(i, votes)}: ` : "");

function choiceChart({ node: live, keyed }, read, choices) {
  const names = choices.map(({ name }) => name),
    countOf = ({ given }, i) => countChoices(names, given)[names[i]],
    describe = (vote, i) => describeShare(countOf(vote, i), vote.size);
  const label = () => {
    const { votes, visible } = read();
    const words = (i) => votes.map((vote, at) => `${voteTitle(at, votes)}${describe(vote, i)}`).join(", ");
    return choices.map(({ text }, i) => (visible ? `${text}: ${words(i)}` : text)).join("; ");
  };
  /** A bar for each vote; it stays, so that it grows smoothly. */
  const makeBar = (i) => (vote, inner, at) =>
    inner.node(
      "div.bar",
      { ".before": () => at + 1 < read().votes.length },
      inner.node("span.which", () => voteName(at, read().votes)),
      inner.node("span.track", inner.node("i", { "--share": () => shareOfClass(countOf(vote(), i), vote().size) })),
      inner.node("b", () => describe(vote(), i)),
    );
  const makeChoice = ({ name, text }, i) =>
    live(
      "div.one",
      { ".mine": () => name === read().own, ".right": () => read().answer?.right.includes(name) },
      node("span.name", text),
      live(
        "div.of-choice",
        keyed(() => (read().visible ? read().votes : []), makeBar(i)),
      ),
    );
  const ticks = [0, 50, 100].map((percent) => node("span", `${percent} %${percent === 100 ? " of the class" : ""}`));
  return live(
    "div.votes.bars",
    { role: "img", "aria-label": label, ".hidden-votes": () => !read().visible },
    choices.map(makeChoice),
    node("div.axis", { "aria-hidden": "true" }, ticks),
  );
}

function numberChart({ node: live, list }, read, scale) {
  const { positionOf } = scaleColumns(scale);
  const marks = () => {
    const { visible, own, answer } = read(),
      all = [
        { className: "measured", number: answer?.value, text: "measured" },
        { className: "own", number: own, text: "you" },
      ];
    return all.filter(({ number }) => visible && typeof number === "number");
  };
  const strips = () => {
    const { votes, visible } = read(),
      counts = votes.map(({ given }) => countColumns(given, scale)),
      most = Math.max(...counts.flat());
    if (!visible) return [];
    return votes.map((vote, i) => ({ ...vote, title: voteTitle(i, votes), counts: counts[i], most, marks: marks() }));
  };
  const label = () => {
    const { votes, visible } = read();
    if (!visible) return `A scale from ${withUnit(scale.low, scale)} to ${withUnit(scale.high, scale)}`;
    const numbers = ({ given }) => given.toSorted((a, b) => a - b).map(formatRounded);
    return [
      ...votes.map((vote, i) => `${voteTitle(i, votes)}${vote.given.length} answers: ${numbers(vote).join(", ")}`),
      ...marks().map(({ number, text }) => `${text} ${withUnit(number, scale)}`),
    ].join("; ");
  };
  const ticks = scaleTicks(scale).map((tick, i, { length }) => {
    const text = i % (length - 1) ? formatRounded(tick) : withUnit(tick, scale); // the unit at both ends
    return node("span", placeAt(positionOf(tick)), text);
  });
  const makeLabel = ({ className, number, text }) =>
    node(`span.${className}`, placeAt(positionOf(number)), node("span", `${text}: ${withUnit(number, scale)}`));
  return live(
    "div.votes.numbers",
    { role: "img", "aria-label": label, ".hidden-votes": () => !read().visible },
    live(
      "div",
      list(strips, (vote) => drawStrip(vote, scale, positionOf)),
    ),
    node("div.axis", { "aria-hidden": "true" }, ticks),
    live("div.labels", { "aria-hidden": "true" }, list(marks, makeLabel)),
  );
}

/** The attributes of an element at this share of a scale. */
const placeAt = (position) => ({ style: `left: ${100 * position}%; --at: ${position}` });

/** One vote: a dot for each answer, or columns where there are too many answers for dots. */
function drawStrip({ given, size, title, counts, most, marks }, scale, positionOf) {
  const median = medianOf(given),
    isBars = most > MOST_DOTS,
    answered = `${given.length} of ${Math.max(size, given.length)} answered`,
    words = median === null ? answered : `${answered}, median ${withUnit(median, scale)}`;
  const columns = counts.map((count, i) => {
    const { style } = placeAt(i / (counts.length - 1)),
      content = isBars ? [node("b", String(count)), node("i")] : Array.from({ length: count }, () => node("i"));
    const sizes = { "--columns": counts.length, "--share": isBars ? count / most : null };
    return count && node("div.column", { style, ...sizes }, content);
  });
  return node(
    "div.strip",
    node("p", title + words),
    node(
      "div.plot",
      { ".columns": isBars, ".dots": !isBars, "--most": Math.min(most, MOST_DOTS) },
      columns.filter(Boolean),
      marks.map(({ className, number }) => node(`div.marker.${className}`, placeAt(positionOf(number)))),
    ),
  );
}
