/* Draw the measured answer to a question; used by lesson_answer and classroom.

   answer = { verdict, opinion, why, right: [names of choices], value: number | null, over: "seeds",
              axis: { low, high, unit, powers }, runs: [keys],
              rows: [{ title, values: [numbers], texts: [values as text], median: text with unit, labels: [words] }] }
   question = { text, choices: [{ name, text }], scale, collects: the most characters of a sentence that a class
   collects, or 0 }; prediction = what the user predicted, or null */
import { icon, svgNode, node } from "../runtime/dom.js";
import { axisEnds } from "./answer_axis.js";
import { makeAxis, stackDots } from "./dot_strip_math.js";

const WIDTH = 420,
  DOT = 11,
  ROW = 34; // px

/** Draw an answer with its explanation; `listed` is false in a class, whose histogram already lists the choices. */
export function drawAnswer(question, answer, prediction, listed = true) {
  const root = node("div", { class: "answer" });
  root.append(node("p", { class: "verdict", role: "status", tabindex: "-1" }, answer.verdict));
  if (listed && question.choices.length) root.append(listChoices(question, answer, prediction));
  root.append(drawStrips(answer, question.scale ? prediction : null));
  if (answer.opinion) root.append(node("p", { class: "opinion" }, icon("report"), node("span", {}, answer.opinion)));
  root.append(node("p", { class: "why" }, node("b", {}, "Why: "), answer.why));
  root.append(node("p", { class: "lineage-caption" }, describeSource(answer.runs)));
  return root;
}

/** Name the source of the numbers. */
function describeSource(runs) {
  if (!runs.length) return "Computed now, without a trained model.";
  const dots = "Each dot is one measured value; the number beside a line is the median of its dots.";
  return `${dots} Measured now, from ${runs.length === 1 ? "the run" : "the runs"} ${runs.join(", ")}.`;
}

/** List the choices; words mark the measured and the predicted one. */
function listChoices(question, answer, prediction) {
  const list = node("ul", { class: "choices" });
  for (const { name, text } of question.choices) {
    const right = answer.right.includes(name),
      own = prediction === name;
    const mark = right ? icon("check_circle") : icon(own ? "radio_button_checked" : "radio_button_unchecked");
    const words = [right && "measured", own && "your prediction"].filter(Boolean).join(", ");
    list.append(
      node("li", { class: right ? "right" : null }, mark, node("span", {}, text), words ? node("em", {}, words) : null),
    );
  }
  return list;
}

/** Draw a line for each subject with a dot for each seed; labels are counted. */
function drawStrips(answer, prediction) {
  const root = node("div", { class: "strips" });
  const labelled = answer.rows.filter((row) => row.labels.length),
    measuredRows = answer.rows.filter((row) => row.values.length);
  for (const row of labelled) {
    const counts = new Map();
    for (const label of row.labels) counts.set(label, (counts.get(label) ?? 0) + 1);
    const words = [...counts]
      .map(([label, count]) => `${label}: ${count} of ${row.labels.length} ${answer.over}`)
      .join(", ");
    root.append(node("p", { class: "counted" }, row.title ? `${row.title}: ${words}` : words));
  }
  if (!measuredRows.length) return root;
  const { axis } = answer,
    guess = typeof prediction === "number" ? [prediction] : [];
  const line = makeAxis([...measuredRows.flatMap((row) => row.values), ...guess], axis.low, axis.high, axis.powers);
  measuredRows.forEach((row, i) =>
    root.append(drawStrip(row, line, i ? null : prediction, answer, measuredRows.length > 1)),
  ); // the question is about the first
  root.append(axisEnds(line.low, line.high, axis.unit));
  return root;
}

function drawStrip(row, line, prediction, answer, titled) {
  const places = row.values.map((value) => 10 + (WIDTH - 20) * line.positionOf(value));
  const up = stackDots(places, DOT),
    tall = ROW + DOT * Math.max(0, Math.max(...up) - (typeof prediction === "number" ? 0 : 1)); // “you” is above the dots
  const picture = svgNode("svg", {
    viewBox: `0 0 ${WIDTH} ${tall}`,
    class: "strip",
    role: "img",
    "aria-label": describeRow(row, answer),
  });
  picture.append(svgNode("line", { x1: 0, x2: WIDTH, y1: tall - 6, y2: tall - 6, class: "ground" }));
  if (typeof prediction === "number") {
    const at = 10 + (WIDTH - 20) * line.positionOf(prediction);
    const left = at > WIDTH - 60;
    picture.append(svgNode("path", { d: `M${at} ${tall - 2}V4`, class: "said" }));
    picture.append(
      svgNode("text", { x: at + (left ? -5 : 5), y: 13, class: "you", "text-anchor": left ? "end" : "start" }, "you"),
    );
  }
  row.values.forEach((value, i) =>
    picture.append(
      svgNode("circle", { cx: places[i], cy: tall - 6 - DOT / 2 - DOT * up[i], r: DOT / 2 - 0.5, class: "seed" }),
    ),
  );
  return node(
    "div",
    { class: "line" },
    titled ? node("span", { class: "title" }, row.title) : null,
    picture,
    node("b", {}, row.median),
  );
}

function describeRow(row, answer) {
  return `${row.title || "measured"}: ${row.texts.join(", ")}${row.values.length > 1 ? `, one for each of ${row.values.length} ${answer.over}` : ""}`;
}
