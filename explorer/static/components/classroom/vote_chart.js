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

const MOST_DOTS = 10; // in a column; above it all columns are drawn as bars
const VOTES = ["First vote", "Second vote"];

/**
 * `show({ votes, visible, own, answer })` draws: `votes` as the server sends them, `own` the visitor's own last answer,
 * `answer` the measured one. While the votes are not visible, it shows the choices or the scale only. `showSentence(sentence)`
 * returns how a collected sentence is listed, which can change when the page opens (`open`).
 *
 * @returns {{root: HTMLElement, show: (state: any) => void}}
 */
export function voteChart(question, showSentence = (sentence) => sentence) {
  if (question.collects) return sentenceList(showSentence);
  return question.scale ? numberChart(question.scale) : choiceChart(question.choices);
}

function sentenceList(showSentence) {
  const root = node("ul", { class: "votes sentences", "aria-label": "Sentences of the class" });
  let drawn = "";
  return {
    root,
    show({ votes, visible, own, open }) {
      const counts = visible ? countSentences(votes[0].given) : [],
        state = JSON.stringify([counts, own, open]);
      if (state === drawn) return;
      drawn = state;
      root.replaceChildren(
        ...counts.map(([text, count]) => {
          const name = node("span", { class: "name", dir: "auto" }, showSentence(text));
          return node(
            "li",
            { class: text === own ? "one mine" : "one" },
            name,
            count > 1 ? node("b", {}, `${count} times`) : null,
          );
        }),
      );
    },
  };
}

function choiceChart(choices) {
  const root = node("div", { class: "votes bars", role: "img" }),
    names = choices.map(({ name }) => name);
  const rows = choices.map(({ text }) => {
    const bars = node("div", { class: "of-choice" }),
      row = node("div", { class: "one" }, node("span", { class: "name" }, text), bars);
    root.append(row);
    return { row, bars };
  });
  const axis = node("div", { class: "axis", "aria-hidden": "true" });
  for (const percent of [0, 50, 100])
    axis.append(node("span", {}, `${percent} %${percent === 100 ? " of the class" : ""}`));
  root.append(axis);
  return {
    root,
    show({ votes, visible, own, answer }) {
      const counts = votes.map(({ given }) => Object.values(countChoices(names, given)));
      root.classList.toggle("hidden-votes", !visible);
      rows.forEach(({ row, bars }, i) => {
        fillBars(bars, visible ? votes.map(({ size }, vote) => ({ count: counts[vote][i], size })) : []);
        row.classList.toggle("mine", names[i] === own);
        row.classList.toggle("right", Boolean(answer?.right.includes(names[i])));
      });
      const describe = (i) =>
        votes.map(({ size }, vote) => `${voteName(vote, votes)}${describeShare(counts[vote][i], size)}`).join(", ");
      root.ariaLabel = choices.map(({ text }, i) => (visible ? `${text}: ${describe(i)}` : text)).join("; ");
    },
  };
}

const voteName = (vote, votes) => (votes.length > 1 ? `${VOTES[vote]}: ` : "");

/** A bar for each vote; the nodes stay, so that the bars grow smoothly. */
function fillBars(place, votes) {
  while (place.children.length > votes.length) place.lastChild.remove();
  votes.forEach(({ count, size }, vote) => {
    if (!place.children[vote])
      place.append(
        node(
          "div",
          { class: "bar" },
          node("span", { class: "which" }),
          node("span", { class: "track" }, node("i")),
          node("b"),
        ),
      );
    const bar = place.children[vote],
      [which, track, text] = bar.children;
    which.textContent = votes.length > 1 ? VOTES[vote] : "";
    track.firstChild.style.setProperty("--share", shareOfClass(count, size));
    text.textContent = describeShare(count, size);
    bar.classList.toggle("before", vote + 1 < votes.length);
  });
}

function numberChart(scale) {
  const root = node("div", { class: "votes numbers", role: "img" }),
    { positionOf } = scaleColumns(scale);
  const strips = node("div", {}),
    labels = node("div", { class: "labels", "aria-hidden": "true" });
  const axis = node("div", { class: "axis", "aria-hidden": "true" });
  scaleTicks(scale).forEach((tick, i, { length }) => {
    const text = i % (length - 1) ? formatRounded(tick) : withUnit(tick, scale); // the unit at both ends
    axis.append(placeAt(node("span", {}, text), positionOf(tick)));
  });
  root.append(strips, axis, labels);
  return {
    root,
    show({ votes, visible, own, answer }) {
      root.classList.toggle("hidden-votes", !visible);
      const marks = [
        { className: "measured", number: answer?.value, text: "measured" },
        { className: "own", number: own, text: "you" },
      ].filter(({ number }) => visible && typeof number === "number");
      const counts = votes.map(({ given }) => countColumns(given, scale)),
        most = Math.max(...counts.flat());
      strips.replaceChildren(
        ...(visible ? votes.map((vote, i) => drawStrip(vote, voteName(i, votes), counts[i], most, scale)) : []),
      );
      for (const plot of strips.querySelectorAll(".plot"))
        for (const { className, number } of marks)
          plot.append(placeAt(node("div", { class: `marker ${className}` }), positionOf(number)));
      labels.replaceChildren(
        ...marks.map(({ className, number, text }) =>
          placeAt(
            node("span", { class: className }, node("span", {}, `${text}: ${withUnit(number, scale)}`)),
            positionOf(number),
          ),
        ),
      );
      root.ariaLabel = visible
        ? [
            ...votes.map((vote, i) => describeNumbers(vote, voteName(i, votes))),
            ...marks.map(({ number, text }) => `${text} ${withUnit(number, scale)}`),
          ].join("; ")
        : `A scale from ${withUnit(scale.low, scale)} to ${withUnit(scale.high, scale)}`;
    },
  };
}

function placeAt(element, position) {
  element.style.left = `${100 * position}%`;
  element.style.setProperty("--at", String(position));
  return element;
}

const describeNumbers = ({ given }, name) =>
  `${name}${given.length} answers: ${[...given]
    .sort((a, b) => a - b)
    .map(formatRounded)
    .join(", ")}`;

/** One vote: a dot for each answer, or columns where there are too many answers for dots. */
function drawStrip({ given, size }, name, counts, most, scale) {
  const median = medianOf(given),
    plot = node("div", { class: most > MOST_DOTS ? "plot columns" : "plot dots" });
  plot.style.setProperty("--most", String(Math.min(most, MOST_DOTS)));
  counts.forEach((count, i) => {
    if (!count) return;
    const column = placeAt(node("div", { class: "column" }), i / (counts.length - 1));
    column.style.setProperty("--columns", String(counts.length));
    if (most > MOST_DOTS) {
      column.style.setProperty("--share", String(count / most));
      column.append(node("b", {}, String(count)), node("i"));
    } else for (let dot = 0; dot < count; dot += 1) column.append(node("i"));
    plot.append(column);
  });
  const answered = `${given.length} of ${Math.max(size, given.length)} answered`,
    words = median === null ? answered : `${answered}, median ${withUnit(median, scale)}`;
  return node("div", { class: "strip" }, node("p", {}, name + words), plot);
}
