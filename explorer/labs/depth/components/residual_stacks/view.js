/**
 * Draw what happens in stacks of blocks before training, layer by layer: the residual stream, the gradient and the
 * tokens. Event "set": {residual, norm, kind, layers}, when a control is released.
 *
 * @typedef {object} ResidualStacksData
 * @property {any[]} combinations {residual, norm, kind}
 * @property {number} heights the largest number of blocks
 * @property {any[]} expected [low, high] or null, a pair of lines for each combination
 * @property {{residual: boolean, norm: string, kind: string, layers: number}} chosen the selected stack
 * @property {string} address size, stream and weights as powers of ten, and similarity; the last axes are (layers,
 *    seeds)
 * @property {string} file
 *
 * @typedef {object} ResidualStacksEvents
 * @property {{residual: boolean, norm: string, kind: string, layers: number}} set
 */
import { arrayLoader } from "../../../../static/shared/runtime/array_store.js";
import { saveMenu, svgOf } from "../../../../static/shared/runtime/export_menu.js";
import { toCsv } from "../../../../static/shared/runtime/csv.js";
import * as math from "./math.js";
import { svgNode } from "../../../../static/shared/runtime/dom.js";
import { ViewState } from "../../../../static/shared/runtime/view_state.js";
import { textWidth } from "../../../../static/shared/runtime/text_metrics.js";
import { defineComponent, limitHeight } from "../../../../static/shared/runtime/component.js";
import { formatNumber } from "../../../../static/shared/runtime/format.js";

const PANELS = [
  { of: "size", title: "Mean square of the residual stream" },
  { of: "stream", title: "Gradient norm at the residual stream" },
  { of: "similarity", title: "Cosine of neighbouring tokens", linear: true },
  { of: "weights", title: "Gradient norm of each block’s weights" },
];
/** @type {Record<string, [string, Record<string, string>, any?]>} */
const CHOICES = {
  residual: ["Residual", { true: "with", false: "without" }, { from: (text) => text === "true" }],
  norm: ["Norm", { none: "none", post: "after", pre: "before" }],
};
const KINDS = { layer: "LayerNorm", rms: "RMSNorm" };
const TALL = { wide: 208, narrow: 168 },
  HEADS = { wide: 34, narrow: 50 },
  FOOT = 46,
  LEFT = 58; // px
const NARROW = 460; // px of a panel
let count = 0; // for the names of clipping paths

const PRESENTATION = { slides: [".upper", ".lower"], controls: ".rest, .read" };

export default defineComponent((place, /** @type {SendEvent<ResidualStacksEvents>} */ send) => {
  const id = ++count;
  /** @type {ResidualStacksData | null} */
  let data = null,
    measures = null,
    finding = { head: "", rest: "" },
    at = null; // the layer that is pointed at
  const view = new ViewState(send, show, (value) => value),
    { node } = view;
  const load = arrayLoader(
    (arrived) => {
      measures = arrived;
      show();
      saveMenu(place, { svg: () => svgOf(figure), csv: stacksCsv, file: data.file });
    },
    () => {
      finding.head = "The measurements did not arrive. Reload the page to try again.";
      view.update();
    },
  );
  const layers = () => view.value.layers,
    limits = { min: 1, max: () => data.heights, step: 1, "aria-label": "Blocks in the stack" },
    slider = view.slider("layers", { ...limits, "aria-valuetext": () => `${layers()} blocks` });
  const describeFigure = () =>
    `${finding.head} ${finding.rest} Four panels over the layers of the stack: ${PANELS.map(({ title }) => title.toLowerCase()).join("; ")}; the other combinations pale behind.`;
  const readOut = () =>
    at === null
      ? "Point at a block to read its values; click the name of a pale line to choose it."
      : `After block ${Math.min(at, layers())} of ${layers()}: the values are beside the titles.`;
  const figure = view.svg("svg.figure", { role: "img", "aria-label": describeFigure });
  place.replaceChildren(
    node(
      "div.controls",
      ...Object.entries(CHOICES).map(([field, [title, options, more]]) => view.choice(field, title, options, more)),
      view.choice("kind", "Kind", KINDS, { disabled: () => view.value.norm === "none" }),
      node("label.height", node("span", "Blocks in the stack"), node("span", slider, node("output", layers))),
    ),
    node("p.finding", { role: "status" }, () => finding.head),
    figure,
    node("p.read", readOut),
    node("p.rest", () => finding.rest),
  );
  place.onkeydown = (event) => event.stopPropagation(); // Streamlit reruns the page at an "r"

  function show() {
    if (measures) {
      const own = math.placeOf(data.combinations, view.value);
      finding = math.findingText(measures, data.combinations[own], own, layers(), data.expected[own]);
      paintPanels();
    }
    view.update();
  }

  /* ---- the figure ---- */

  function paintPanels() {
    if (!measures || !place.clientWidth) return;
    const width = place.clientWidth,
      columns = width >= 760 ? 2 : 1;
    const each = (width - (columns - 1) * 28) / columns,
      rows = Math.ceil(PANELS.length / columns),
      lines = limitHeight(rows, 1); // rows of panels; on a presentation screen they stand on two slides, in one place
    const tall = Math.min(columns === 2 ? TALL.wide : TALL.narrow, limitHeight(Infinity, 310) - headOf(each) - FOOT),
      high = headOf(each) + tall + FOOT;
    figure.setAttribute("viewBox", `0 0 ${width} ${lines * high}`);
    figure.setAttribute("width", width);
    figure.setAttribute("height", lines * high);
    figure.replaceChildren(
      ...PANELS.map((panel, i) => {
        const group = svgNode("g", {
          class: `${i < PANELS.length / 2 ? "upper" : "lower"} ${panel.linear || panel.of === "size" ? "" : "gradient"}`,
          transform: `translate(${(i % columns) * (each + 28)} ${(Math.floor(i / columns) % lines) * high})`,
        });
        group.append(...drawPanel(panel, each, tall));
        return group;
      }),
    );
  }
  function pointAt(layer) {
    if (at === layer) return;
    at = layer;
    paintPanels();
    view.update();
  }

  const headOf = (width) => (width > NARROW ? HEADS.wide : HEADS.narrow);
  const svgText = (words, attributes) => svgNode("text", attributes, words);

  /** Draw one panel: title, value, axes, the other stacks in pale, the selected one with its band and expectation. */
  function drawPanel({ of, title, linear = false }, width, tall) {
    const own = math.placeOf(data.combinations, view.value),
      wide = width > NARROW,
      HEAD = headOf(width),
      right = width - (wide ? 198 : 128),
      span = right - LEFT,
      last = data.heights;
    const courses = data.combinations.map((_, i) => math.courseOf(measures[of], i, layers())),
      mine = courses[own],
      [low, high] = linear ? math.cosinesOf(mine) : math.spanOf(mine, courses);
    const x = (layer) => LEFT + (layer / last) * span,
      y = (height) => HEAD + tall - ((height - low) / (high - low)) * tall;
    const drawPath = (kind, d) => svgNode("path", { class: kind, d }),
      drawLine = (kind, heights) => drawPath(kind, math.linePath(heights, x, y)),
      drawTick = (words, x, y, anchor = "middle") => svgText(words, { x, y, class: "tick", "text-anchor": anchor }),
      medians = (course) => course.map(({ mid }) => mid);
    const layer = Math.min(at ?? layers(), layers()),
      value =
        of === "weights" && layer === 0 ? "" : linear ? formatCosine(mine[layer]) : math.formatInterval(mine[layer]),
      valueX = wide ? Math.max(textWidth(title, 15, 600) + 14, LEFT) : 0;
    const ticks = (linear ? [0, 0.5, 1] : math.ticksOf([low, high])).flatMap((tick) => [
      drawPath("grid", `M${LEFT} ${y(tick).toFixed(1)}H${right}`),
      drawTick(linear ? String(tick) : math.formatPower(tick), LEFT - 8, y(tick) + 5, "end"),
    ]);
    for (let tick = 0; tick <= last; tick += 6) ticks.push(drawTick(tick, x(tick), HEAD + tall + 18));
    const clip = `stacks-clip-${id}-${of}`,
      clipped = svgNode("rect", { x: LEFT - 2, y: HEAD - 3, width: span + 4, height: tall + 6 }),
      expected = of === "size" ? (data.expected[own] ?? []) : [];
    const lines = svgNode(
      "g",
      { "clip-path": `url(#${clip})` },
      ...data.combinations.map(({ residual }, i) =>
        i === own ? null : drawLine(residual ? "other" : "other bare", medians(courses[i])),
      ),
      ...expected.map((line) => drawLine("expected", line.slice(0, layers() + 1))),
      drawPath("band", math.bandPath(mine, x, y)),
      drawLine("mine", medians(mine)),
    );
    const pointerArea = svgNode("rect.touch", { x: LEFT - 6, y: HEAD, width: span + 12, height: tall });
    pointerArea.onpointermove = ({ clientX }) => {
      const share = (clientX - pointerArea.getBoundingClientRect().left - 6) / span;
      pointAt(Math.max(0, Math.min(layers(), Math.round(share * last))));
    };
    pointerArea.onpointerleave = () => pointAt(null);
    return [
      svgText(title, { x: 0, y: 16, class: "title" }),
      svgText(value, { x: valueX, y: wide ? 16 : 35, class: "value" }),
      ...ticks,
      drawPath("axis", `M${LEFT} ${HEAD + tall}H${right}`),
      drawTick("after block", x(last / 2), HEAD + tall + 37),
      svgNode("clipPath", { id: clip }, clipped),
      lines,
      ...drawNames(courses, own, y, x(last), wide, HEAD, tall),
      ...(at === null ? [] : [drawPath("hair", `M${x(layer)} ${HEAD}V${HEAD + tall}`)]),
      pointerArea,
    ];
  }

  /** The names at the ends of the lines, at the right of the panel; a click on one chooses it. */
  function drawNames(courses, own, y, end, wide, top, tall) {
    const ends = courses.flatMap((one, i) => {
      const height = one.findLast(({ mid }) => Number.isFinite(mid))?.mid,
        { residual, norm } = data.combinations[i];
      if (height === undefined) return [];
      return [
        { y: Math.max(top, Math.min(top + tall, y(height))), place: i, kin: `${residual} ${norm}`, own: i === own },
      ];
    });
    return math.placeLabels(ends, 16, top, top + tall).flatMap(({ place: i, y: from, at: high, shared, own: mine }) => {
      const combination = data.combinations[i],
        full = math.nameOf(combination, { withKind: false }),
        short = full.replace("no residual, ", "no res., ").replace("residual, ", "").replace("norm ", ""),
        hasKind = !shared && combination.norm !== "none" && wide,
        kind = hasKind ? { layer: ", LN", rms: ", RMS" }[combination.kind] : "",
        place = { x: end + 24, y: high + 5, class: mine ? "name mine-name" : "name" };
      const name = svgText(`${wide ? full : short}${kind}`, place);
      name.onclick = () => view.set({ ...combination });
      const d = `M${end + 2} ${from.toFixed(1)}L${end + 20} ${high.toFixed(1)}`;
      return [svgNode("path", { class: mine ? "join mine-join" : "join", d }), name];
    });
  }

  const formatCosine = ({ low, mid, high }) =>
    Number.isFinite(mid) ? `${formatNumber(mid)} (${formatNumber(low)} to ${formatNumber(high)})` : "none";

  function stacksCsv() {
    const rows = PANELS.flatMap(({ of, title, linear }) => {
      const roundNumber = (value) =>
        Number.isNaN(value) ? null : Number((linear ? value : 10 ** value).toPrecision(6));
      return data.combinations.flatMap((one, i) =>
        math.courseOf(measures[of], i, layers()).flatMap(({ low, mid, high }, layer) => {
          const values = [low, mid, high].map(roundNumber);
          return Number.isNaN(mid) ? [] : [[title, math.nameOf(one), layers(), layer, ...values]];
        }),
      );
    });
    return toCsv(["what", "combination", "blocks", "layer", "lowest", "median", "highest"], rows);
  }

  return {
    show(/** @type {ResidualStacksData} */ newData) {
      data = newData;
      view.receive(data.chosen);
      if (load(data.address)) measures = null;
      show();
    },
    resize: paintPanels,
  };
}, PRESENTATION);
