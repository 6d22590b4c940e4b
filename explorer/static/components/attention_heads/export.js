/* Write the views of the attention explorer as SVG and its numbers as CSV. */
import { COLUMNS, SCORES, headScores, lossAt, sortHeads, distanceProfile, weightRows } from "./math.js";
import { FAR, formatDistance, scoreTitles } from "./head_scores.js";
import { headName } from "../../shared/runtime/format.js";
import { smallestVisible, rowSizes, lineStyle, lineWidth } from "./head_view.js";
import { rampColour, cellEdges, fullColourWeight, headDataUrl } from "../../shared/charts/heatmap.js";
import { TALL, lossCurve, labelledSteps } from "./snapshot_slider.js";
import { tokenLabel } from "../../shared/runtime/visible_text.js";
import { toCsv } from "../../shared/runtime/csv.js";
import { svgNode } from "../../shared/runtime/dom.js";
import { resolveColours, svgFile } from "../../shared/runtime/svg_file.js";
import { shortenToWidth, textWidth } from "../../shared/runtime/text_metrics.js";

const MONO = '"Source Code", monospace',
  SERIF = '"Source Serif", serif';

/** Return an SVG file with the page's colours; `make(get)` gives [width, height, children]. */
function makeSheet(place, make) {
  const { get, done } = resolveColours(place);
  const page = get("--page"),
    [width, height, ...children] = make(get);
  done();
  return svgFile(width, height, page, ...children);
}
const svgText = (x, y, words, size, fill, more = {}) =>
  svgNode("text", { x, y, "font-size": size, fill, ...more }, words);
const svgHeading = (x, y, words, get) =>
  svgText(x, y, words, 20, get("--ink"), { "font-family": SERIF, "font-weight": 600 });

/** Draw all heads by layer and head, one pixel block per cell. */
export function gridSvg(place, { view, look, title }) {
  return makeSheet(place, (get) => {
    const side = view.heads > 6 ? 96 : 132,
      step = side + 16,
      left = 84,
      top = 76;
    const grown = Math.max(1, Math.round(512 / view.keys)),
      parts = [svgHeading(20, 36, title, get)];
    for (let head = 0; head < view.heads; head++)
      parts.push(
        svgText(left + head * step + side / 2, top - 10, `head ${head + 1}`, 14, get("--soft"), {
          "text-anchor": "middle",
        }),
      );
    for (let layer = 0; layer < view.layers; layer++) {
      parts.push(
        svgText(left - 12, top + layer * step + side / 2 + 5, `layer ${layer + 1}`, 14, get("--soft"), {
          "text-anchor": "end",
        }),
      );
      for (let head = 0; head < view.heads; head++) {
        const spot = {
          x: left + head * step,
          y: top + layer * step,
          width: side,
          height: side,
          style: "image-rendering: pixelated",
        };
        parts.push(svgNode("image", { href: headDataUrl(view, layer, head, look, grown), ...spot }));
      }
    }
    const below = top + view.layers * step + 10;
    for (let i = 0; i < 60; i++)
      parts.push(
        svgNode("rect", {
          x: left + 16 + i * 2,
          y: below,
          width: 2.2,
          height: 10,
          fill: rampColour(look.shades, i / 59),
        }),
      );
    parts.push(
      svgText(left, below + 10, "0", 14, get("--soft")),
      svgText(left + 142, below + 10, look.scale === "row" ? "the strongest of its row" : "1", 14, get("--soft")),
    );
    return [Math.max(left + view.heads * step + 20, textWidth(title, 22) + 40), below + 32, ...parts];
  });
}

/** The open head as lines or as a matrix, with the token that is the query. */
export function headSvg(place, state) {
  return makeSheet(place, (get) => (state.kind === "matrix" ? matrixOf(state, get) : linesOf(state, get)));
}

function linesOf({ view, layer, head, tokens, keys, look, asked, title }, get) {
  const { high, font, every } = rowSizes(Math.max(tokens.length, keys.length)),
    top = 64;
  const wide = Math.max(40, ...[...tokens, ...keys].map((one) => lineWidth(one, font))) + 16,
    left = 20 + wide,
    right = left + 340,
    rowMiddle = (i) => top + (i + 0.5) * high;
  const curvePath = (from, to) =>
    `M${left} ${rowMiddle(from)}C${left + 142} ${rowMiddle(from)} ${right - 142} ${rowMiddle(to)} ${right} ${rowMiddle(to)}`;
  const drawLine = (from, to, share, more) =>
    svgNode("path", {
      d: curvePath(from, to),
      fill: "none",
      "stroke-linecap": "round",
      "stroke-width": lineStyle(share, high).width.toFixed(2),
      ...more,
    });
  const grey = [],
    own = [],
    words = [];
  for (let from = 0; from < view.queries; from++) {
    const full = fullColourWeight(view, layer, head, from, look.scale) / 65535;
    for (let to = 0; to < view.reach(from); to++) {
      const weight = view.at(layer, head, from, to),
        share = weight / full;
      if (!(share >= (from === asked ? 0.004 : smallestVisible(view.queries)))) continue;
      if (from !== asked)
        grey.push(
          drawLine(from, to, share, {
            stroke: get("--soft"),
            "stroke-opacity": (0.6 * lineStyle(share, high).alpha).toFixed(2),
          }),
        );
      else {
        own.push(
          drawLine(from, to, share, {
            stroke: look.colour,
            "stroke-opacity": Math.min(1, 0.35 + 0.75 * share).toFixed(2),
          }),
        );
        if (weight >= 0.045)
          words.push(
            svgText(right + wide + 4, rowMiddle(to) + 5, weight.toFixed(2), Math.max(11, font - 1), get("--ink"), {
              "font-weight": 600,
            }),
          );
      }
    }
  }
  const drawToken = (one, i, x, anchor) =>
    i % every && i !== asked
      ? null
      : svgText(x, rowMiddle(i) + font * 0.34, tokenLabel(one), font, get("--ink"), {
          "text-anchor": anchor,
          "font-family": MONO,
          "font-weight": anchor === "end" && i === asked ? 600 : 400,
        });
  return [
    right + wide + 60,
    top + high * Math.max(tokens.length, keys.length) + 20,
    svgHeading(20, 36, `${headName(layer, head)} · ${title}`, get),
    ...grey,
    ...own,
    ...tokens.map((one, i) => drawToken(one, i, left - 10, "end")),
    ...keys.map((one, i) => drawToken(one, i, right + 10, "start")),
    ...words,
  ].filter(Boolean);
}

function matrixOf({ view, layer, head, tokens, keys, look, title }, get) {
  const cell = Math.max(6, Math.min(48, Math.floor(720 / keys.length))),
    font = Math.max(8, Math.min(15, cell * 0.75));
  const wide = Math.max(24, ...[...tokens, ...keys].map((one) => lineWidth(one, font))) + 10,
    left = 20 + wide,
    top = 52 + wide,
    gap = cell >= 14 ? 2 : cell >= 8 ? 1 : 0;
  const x = cellEdges(keys.length, keys.length * cell),
    every = Math.ceil(font / cell),
    parts = [];
  for (let from = 0; from < view.queries; from++) {
    const full = fullColourWeight(view, layer, head, from, look.scale) / 65535;
    for (let to = 0; to < view.reach(from); to++) {
      const weight = view.at(layer, head, from, to);
      if (Number.isNaN(weight)) continue;
      parts.push(
        svgNode("rect", {
          x: left + x[to],
          y: top + from * cell,
          width: cell - gap,
          height: cell - gap,
          fill: rampColour(look.shades, weight / full),
        }),
      );
      if (cell < 32 || weight < 0.005) continue;
      const fill = get(weight / full > 0.6 ? "--page" : "--ink");
      parts.push(
        svgText(left + x[to] + cell / 2 - 1, top + (from + 0.5) * cell + 4, weight.toFixed(2), 13, fill, {
          "text-anchor": "middle",
        }),
      );
    }
  }
  const labels = [
    ...tokens.map((one, i) =>
      i % every
        ? null
        : svgText(left - 8, top + (i + 0.5) * cell + font * 0.34, tokenLabel(one), font, get("--soft"), {
            "text-anchor": "end",
            "font-family": MONO,
          }),
    ),
    ...keys.map((one, i) =>
      i % every
        ? null
        : svgNode(
            "g",
            { transform: `translate(${left + x[i] + cell / 2 + font * 0.34} ${top - 8}) rotate(-90)` },
            svgText(0, 0, tokenLabel(one), font, get("--soft"), { "font-family": MONO }),
          ),
    ),
  ].filter(Boolean);
  const name = `${headName(layer, head)} · ${title}`;
  return [
    Math.max(left + keys.length * cell + 20, textWidth(name, 22) + 40),
    top + tokens.length * cell + 20,
    svgHeading(20, 36, name, get),
    ...parts,
    ...labels,
  ];
}

export function scoresSvg(place, { found, unit, keys, name, colour, said }) {
  return makeSheet(place, (get) => {
    const words = scoreTitles(unit),
      wide = 360,
      parts = [svgHeading(20, 36, name, get)];
    [...SCORES, "spread"].forEach((scoreName, i) => {
      const value = found[scoreName],
        spread = scoreName === "spread",
        y = 68 + i * 40,
        share = spread ? value / keys : value;
      parts.push(
        svgText(20, y, spread ? `${words.spread}, of ${keys}` : words[scoreName], 16, get("--ink")),
        svgText(
          20 + wide,
          y,
          Number.isNaN(value) ? "–" : spread ? value.toFixed(1) : value.toFixed(2),
          16,
          get("--ink"),
          { "text-anchor": "end", "font-weight": 600 },
        ),
        svgNode("rect", { x: 20, y: y + 8, width: wide, height: 6, rx: 3, fill: get("--panel") }),
      );
      if (share > 0)
        parts.push(
          svgNode("rect", {
            x: 20,
            y: y + 8,
            width: wide * share,
            height: 6,
            rx: Math.min(3, (wide * share) / 2),
            fill: colour,
          }),
        );
    });
    const { shown } = distanceProfile(found, FAR),
      top = Math.max(...shown.map(({ share }) => share), 1e-9),
      step = wide / shown.length,
      floor = 420;
    parts.push(
      svgText(20, 326, shown[0].back < 0 ? "How far it looks" : "How far back it looks", 15, get("--ink"), {
        "font-weight": 600,
      }),
    );
    shown.forEach(({ share }, i) =>
      parts.push(
        svgNode("rect", {
          x: 20 + i * step,
          y: floor - (80 * share) / top,
          width: step - 2,
          height: (80 * share) / top,
          fill: colour,
        }),
      ),
    );
    parts.push(
      svgText(20, floor + 18, formatDistance(shown[0].back), 14, get("--soft")),
      svgText(20 + wide, floor + 18, formatDistance(shown.at(-1).back), 14, get("--soft"), { "text-anchor": "end" }),
      svgText(20, floor + 48, shortenToWidth(said, 560, 16), 16, get("--ink")),
    );
    return [Math.max(wide + 40, Math.min(600, textWidth(said, 16) + 40)), floor + 70, ...parts];
  });
}

export function trainingSvg(place, { steps, curve, unit }, at, colour) {
  return makeSheet(place, (get) => {
    const wide = 640,
      { x, y, path } = lossCurve(curve, steps, wide, TALL * 2),
      step = steps[at];
    return [
      wide + 40,
      TALL * 2 + 100,
      svgHeading(20, 36, "The training", get),
      svgNode(
        "g",
        { transform: "translate(20 52)" },
        svgNode("path", { d: path, fill: "none", stroke: colour, "stroke-width": 3, "stroke-linejoin": "round" }),
        svgNode("path", { d: `M${x(step)} 0V${TALL * 2}`, stroke: get("--ink"), "stroke-width": 1.5 }),
        ...labelledSteps(steps, x, 46).map((i) =>
          svgText(x(steps[i]), TALL * 2 + 20, steps[i].toLocaleString("en"), 14, get("--soft"), {
            "text-anchor": "middle",
          }),
        ),
        svgText(
          x(steps.at(-1)),
          Math.max(12, y(curve.losses.at(-1)) - 12),
          `${curve.losses.at(-1).toFixed(2)} ${unit}`,
          14,
          get("--soft"),
          { "text-anchor": "end" },
        ),
        svgText(
          x(step) + (at * 2 > steps.length ? -8 : 8),
          14,
          `step ${step.toLocaleString("en")}, loss ${lossAt(curve, step).toFixed(2)}`,
          14,
          get("--ink"),
          { "text-anchor": at * 2 > steps.length ? "end" : "start" },
        ),
      ),
    ];
  });
}

export const trainingCsv = ({ curve }) =>
  toCsv(
    ["step", "loss"],
    curve.steps.map((step, i) => [step, curve.losses[i]]),
  );

/** The weights of one head. */
export const headCsv = ({ view, tokens, keys, layer, head }) =>
  toCsv(COLUMNS, weightRows(view, tokens, keys, layer, head));

/** The weights of all heads. */
export const gridCsv = ({ view, tokens, keys }) =>
  toCsv(
    COLUMNS,
    sortHeads(view.layers, view.heads).flatMap(([layer, head]) => weightRows(view, tokens, keys, layer, head)),
  );

/** Return the scores and the importance of every head as CSV. */
export function scoresCsv({ view, ids, worth, worthError }) {
  const names = [...SCORES, "entropy", "spread"];
  return toCsv(
    ["layer", "head", ...names, "loss_without", "its_error"],
    sortHeads(view.layers, view.heads).map(([layer, head]) => {
      const scores = headScores(view, layer, head, ids);
      return [
        layer + 1,
        head + 1,
        ...names.map((name) => (Number.isNaN(scores[name]) ? "" : scores[name].toFixed(5))),
        worth?.[layer][head],
        worthError?.[layer][head],
      ];
    }),
  );
}
