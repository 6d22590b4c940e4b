/* Write one step of the attention walkthrough as an SVG that needs neither page nor styles. */
import { SOFTMAX, VALUES, describePicture, barScale, filledFormula, generalFormula, describeStep } from "./math.js";
import { tokenLabel } from "../../shared/runtime/visible_text.js";
import { svgNode } from "../../shared/runtime/dom.js";
import { svgFile } from "../../shared/runtime/svg_file.js";
import { shortenToWidth } from "../../shared/runtime/text_metrics.js";
import { vectorTiles, rowNote, showsVectors } from "./key_rows.js";
import { formulaLine, drawPicture, shapesToSvg } from "./pictures.js";

const EDGE = 28,
  TOP = 128,
  BETWEEN = 40,
  BELOW = 44; // px
const MIDDLE = { "dominant-baseline": "central" };

/** `scene` as in key_rows.js, with the selected `key` and `place`; `tall`: px of its picture. */
export function walkthroughSvg(scene, tall) {
  const { given, walk, step, key, place, look, size } = scene,
    { row, left, track, count, lens } = size,
    { tokens } = given;
  const right = EDGE + lens + BETWEEN,
    bars = right + left,
    ink = { fill: look.of("--ink") },
    soft = { fill: look.of("--soft") };
  const svgText = (x, y, text, px, more = {}) => svgNode("text", { x, y, "font-size": px, ...ink, ...more }, text);
  const marks = [
    svgText(EDGE, 40, describeStep(walk, step, key, given), 24, {
      "font-weight": 600,
      "font-family": '"Source Serif", serif',
    }),
    formulaLine(
      [...generalFormula(walk, step, given), "        ", ...filledFormula(walk, step, key, Math.max(0, place))],
      EDGE,
      80,
      20,
      ink,
    ),
    svgText(EDGE, TOP - 16, describePicture(walk, step, key, given), 16, { "font-weight": 600 }),
    shapesToSvg(drawPicture(scene, lens, size.high), look, EDGE, TOP),
  ];
  const axis = showsVectors(step) ? null : barScale(walk, step),
    span = axis ? axis.high - axis.low || 1 : 1;
  const drawBar = (number, y, more) => {
    const x = bars + (track * (Math.min(0, number) - axis.low)) / span;
    return svgNode("rect", {
      x,
      y: y - row * 0.3,
      width: (track * Math.abs(number)) / span,
      height: row * 0.6,
      ...more,
    });
  };
  if (!axis) marks.push(shapesToSvg(vectorTiles(scene), look, bars, TOP));
  for (let i = 0; i < count; i++) {
    const y = TOP + (i + 0.5) * row,
      hidden = step >= SOFTMAX && Number.isNaN(walk.weights[i]),
      value = axis?.values[i];
    const sign = look.of(step === SOFTMAX ? "--colour" : value < 0 ? "--sign-1" : "--sign-5");
    marks.push(
      svgText(right, y, String(i + 1), 13, { ...soft, ...MIDDLE }),
      svgText(right + 34, y, shortenToWidth(tokenLabel(tokens[i]), left - 44, 15), 15, {
        ...MIDDLE,
        "font-family": '"Source Code", monospace',
        opacity: hidden ? 0.5 : null,
      }),
    );
    if (axis?.ghost) marks.push(drawBar(axis.ghost[i], y, { fill: sign, opacity: 0.25 }));
    if (axis && !Number.isNaN(value)) marks.push(drawBar(value, y, { fill: sign }));
    marks.push(svgText(bars + track + 74, y, rowNote(scene, i), 15, { ...MIDDLE, "text-anchor": "end" }));
  }
  const bottom = TOP + count * row;
  if (step === VALUES && walk.seen.length) {
    marks.push(
      svgText(right + 34, bottom + 24, walk.off ? "zeros" : "sum", 15, MIDDLE),
      shapesToSvg(vectorTiles(scene, true), look, bars, bottom + 10),
    );
  }
  if (axis) {
    const x = bars - (track * axis.low) / span;
    marks.push(svgNode("line", { x1: x, x2: x, y1: TOP, y2: bottom, stroke: look.of("--soft") }));
  }
  return svgFile(
    bars + track + 78 + EDGE,
    TOP + Math.max(tall, count * row + BELOW) + EDGE,
    look.of("--page"),
    ...marks,
  );
}
