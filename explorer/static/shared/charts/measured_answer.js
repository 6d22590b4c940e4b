/* Draw the measured answer to a question; used by lesson_answer and classroom.

   answer = { verdict, opinion, why, right: [names of choices], value: number | null, over: "seeds",
              axis: { low, high, unit, powers }, runs: [keys],
              rows: [{ title, values: [numbers], texts: [values as text], median: text with unit, labels: [words] }] }
   question = { text, choices: [{ name, text }], scale, collects: the most characters of a sentence that a class
   collects, or 0 }; prediction = what the user predicted, or null */
import { icon, svgNode, node } from "../runtime/dom.js";
import { axisEnds } from "./answer_axis.js";
import { countChoices, makeAxis, stackDots } from "./dot_strip_math.js";

const [WIDTH, DOT, ROW] = [420, 11, 34]; // px

/** Draw an answer with its explanation; `listed` is false in a class, whose histogram already lists the choices. */
export const drawAnswer = (question, answer, prediction, listed = true) =>
  node(
    "div.answer",
    question.scale && drawStrips(answer, prediction), // the line on which the number was predicted
    listed && question.choices.length > 0 && listChoices(question, answer, prediction),
    node("p.verdict", { role: "status", tabindex: "-1" }, answer.verdict),
    answer.opinion && node("p.opinion", icon("report"), node("span", answer.opinion)),
    node("p.why", node("b", "Why: "), answer.why),
    !question.scale && drawStrips(answer, null),
    node("p.lineage-caption", describeSource(answer.runs)),
  );

/** Name the source of the numbers. */
function describeSource(runs) {
  if (!runs.length) return "Computed now, without a trained model.";
  const dots = "Each dot is one measured value; the number beside a line is the median of its dots.";
  return `${dots} Measured now, from ${runs.length === 1 ? "the run" : "the runs"} ${runs.join(", ")}.`;
}

/** List the choices; words mark the measured and the predicted one. */
function listChoices({ choices }, answer, prediction) {
  const makeChoice = ({ name, text }) => {
    const isRight = answer.right.includes(name),
      isOwn = prediction === name,
      sign = isRight ? "check_circle" : `radio_button_${isOwn ? "checked" : "unchecked"}`,
      words = [isRight && "measured", isOwn && "your prediction"].filter(Boolean).join(", ");
    return node("li", { ".right": isRight }, icon(sign), node("span", text), words && node("em", words));
  };
  return node("ul.choices", choices.map(makeChoice));
}

/** Draw a line for each subject with a dot for each seed; labels are counted. */
function drawStrips({ axis, rows, over }, prediction) {
  const countLabels = ({ title, labels }) => {
    const counts = Object.entries(countChoices(new Set(labels), labels)),
      words = counts.map(([label, count]) => `${label}: ${count} of ${labels.length} ${over}`).join(", ");
    return node("p.counted", title ? `${title}: ${words}` : words);
  };
  const guess = typeof prediction === "number" ? [prediction] : [],
    measured = rows.filter((row) => row.values.length),
    values = [...measured.flatMap((row) => row.values), ...guess],
    line = makeAxis(values, axis.low, axis.high, axis.powers);
  // The question is about the first row.
  const makeStrip = (row, i) => drawStrip(row, line, i ? [] : guess, over, measured.length > 1);
  return node(
    "div.strips",
    rows.filter((row) => row.labels.length).map(countLabels),
    measured.map(makeStrip),
    measured.length > 0 && axisEnds(line.low, line.high, axis.unit),
  );
}

function drawStrip(row, line, guesses, over, isTitled) {
  const [guess] = guesses,
    x = (value) => 10 + (WIDTH - 20) * line.positionOf(value),
    up = stackDots(row.values.map(x), DOT),
    high = ROW + DOT * Math.max(0, Math.max(...up) - (guess === undefined ? 1 : 0)), // “you” is above the dots
    repeated = row.values.length > 1 ? `, one for each of ${row.values.length} ${over}` : "",
    label = `${row.title || "measured"}: ${row.texts.join(", ")}${repeated}`,
    isLeft = x(guess) > WIDTH - 60;
  const dot = (value, i) => ({ cx: x(value), cy: high - 6 - DOT / 2 - DOT * up[i], r: DOT / 2 - 0.5 });
  const you = { x: x(guess) + (isLeft ? -5 : 5), y: 13, "text-anchor": isLeft ? "end" : "start" };
  const picture = svgNode(
    "svg.strip",
    { viewBox: `0 0 ${WIDTH} ${high}`, role: "img", "aria-label": label },
    svgNode("line.ground", { x1: 0, x2: WIDTH, y1: high - 6, y2: high - 6 }),
    guess !== undefined && [svgNode("path.said", { d: `M${x(guess)} ${high - 2}V4` }), svgNode("text.you", you, "you")],
    row.values.map((value, i) => svgNode("circle.seed", dot(value, i))),
  );
  return node("div.line", isTitled && node("span.title", row.title), picture, node("b", row.median));
}
