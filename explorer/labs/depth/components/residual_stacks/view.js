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
import { loadArrays } from "../../../../static/shared/runtime/array_store.js";
import { saveMenu, svgOf } from "../../../../static/shared/runtime/export_menu.js";
import { toCsv } from "../../../../static/shared/runtime/csv.js";
import { SyncedValue } from "../../../../static/shared/runtime/synced_value.js";
import {
  bandPath,
  cosinesOf,
  courseOf,
  placeLabels,
  nameOf,
  formatPower,
  linePath,
  placeOf,
  formatInterval,
  findingText,
  spanOf,
  ticksOf,
} from "./math.js";
import { moveSlider, svgNode, node } from "../../../../static/shared/runtime/dom.js";
import { textWidth } from "../../../../static/shared/runtime/text_metrics.js";
import { defineComponent, limitHeight } from "../../../../static/shared/runtime/component.js";
import { formatNumber } from "../../../../static/shared/runtime/format.js";

const PANELS = [
  { of: "size", title: "Mean square of the residual stream" },
  { of: "stream", title: "Gradient norm at the residual stream" },
  { of: "similarity", title: "Cosine of neighbouring tokens", linear: true },
  { of: "weights", title: "Gradient norm of each block’s weights" },
];
/** @type {Record<string, [string, [string | boolean, string][]]>} */
const CHOICES = {
  residual: [
    "Residual",
    [
      [true, "with"],
      [false, "without"],
    ],
  ],
  norm: [
    "Norm",
    [
      ["none", "none"],
      ["post", "after"],
      ["pre", "before"],
    ],
  ],
  kind: [
    "Kind",
    [
      ["layer", "LayerNorm"],
      ["rms", "RMSNorm"],
    ],
  ],
};
const TALL = { wide: 208, narrow: 168 },
  HEADS = { wide: 34, narrow: 50 },
  FOOT = 46,
  LEFT = 58; // px
const NARROW = 460; // px of a panel
let count = 0;

const PRESENTATION = { slides: [".upper", ".lower"], controls: ".rest, .read" };

export default defineComponent((place) => {
  const id = ++count,
    shared = new SyncedValue();
  /** @type {ResidualStacksData | null} */
  let data = null,
    measures = null,
    /** @type {import("../../../../static/shared/runtime/events.js").SendEvent<ResidualStacksEvents>} */
    sendEvent = null,
    at = null;
  const inputs = {},
    rows = Object.entries(CHOICES).map(([name, [title, options]]) => {
      inputs[name] = options.map(([value, words]) => {
        const input = node("input", { type: "radio", name: `stacks-${id}-${name}` });
        input.onchange = () => setChoice({ [name]: value });
        return { value, input, words };
      });
      return node(
        "fieldset",
        { class: "lineage-choice" },
        node("legend", {}, title),
        ...inputs[name].map(({ input, words }) => node("label", {}, input, words)),
      );
    });
  const slider = node("input", { type: "range", class: "slider", min: 1, step: 1, id: `stacks-${id}-layers` }),
    blocks = node("output", { for: slider.id });
  slider.oninput = () => setChoice({ layers: Number(slider.value) }, false);
  slider.onchange = () => sendChoice();
  const head = node("p", { class: "finding", role: "status" }),
    rest = node("p", { class: "rest" });
  const figure = svgNode("svg", { class: "figure", role: "img" });
  const readout = node("p", { class: "read" });
  const controls = node(
    "div",
    { class: "controls" },
    ...rows,
    node(
      "div",
      { class: "height" },
      node("label", { for: slider.id }, "Blocks in the stack"),
      node("span", {}, slider, blocks),
    ),
  );
  place.replaceChildren(controls, head, figure, readout, rest);
  place.onkeydown = (event) => event.stopPropagation(); // Streamlit reruns the page at an "r"
  const watch = new ResizeObserver(() => paintPanels());
  watch.observe(place);

  const currentChoice = () => shared.value;
  function setChoice(part, isDone = true) {
    shared.value = { ...currentChoice(), ...part };
    show();
    if (isDone) sendChoice();
  }
  function sendChoice() {
    shared.set(currentChoice());
    sendEvent?.("set", currentChoice());
  }

  function show() {
    const choice = currentChoice();
    for (const [name, options] of Object.entries(inputs))
      for (const { value, input } of options) {
        input.checked = choice[name] === value;
        input.disabled = name === "kind" && choice.norm === "none";
      }
    slider.max = data.heights;
    moveSlider(slider, choice.layers);
    slider.ariaValueText = `${choice.layers} blocks`;
    blocks.textContent = choice.layers;
    if (!measures) return;
    const place_ = placeOf(data.combinations, choice),
      words = findingText(measures, data.combinations[place_], place_, choice.layers, data.expected[place_]);
    head.textContent = words.head;
    rest.textContent = words.rest;
    figure.setAttribute(
      "aria-label",
      `${words.head} ${words.rest} Four panels over the layers of the stack: ${PANELS.map(({ title }) => title.toLowerCase()).join("; ")}; the other combinations pale behind.`,
    );
    paintPanels();
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
          class: i < PANELS.length / 2 ? "upper" : "lower",
          transform: `translate(${(i % columns) * (each + 28)} ${(Math.floor(i / columns) % lines) * high})`,
        });
        group.append(...drawPanel(panel, each, tall));
        return group;
      }),
    );
    const layer = Math.min(at ?? currentChoice().layers, currentChoice().layers);
    readout.textContent =
      at === null
        ? "Point at a block to read its values; click the name of a pale line to choose it."
        : `After block ${layer} of ${currentChoice().layers}: the values are beside the titles.`;
  }

  const headOf = (width) => (width > NARROW ? HEADS.wide : HEADS.narrow);
  const svgText = (words, attributes) => {
    const label = svgNode("text", attributes);
    label.textContent = words;
    return label;
  };

  /** Draw one panel: title, value, axes, the other stacks in pale, the selected one with its band and expectation. */
  function drawPanel({ of, title, linear = false }, width, tall) {
    const choice = currentChoice(),
      own = placeOf(data.combinations, choice),
      wide = width > NARROW,
      HEAD = headOf(width),
      right = wide ? 198 : 128,
      layers = data.heights;
    const courses = data.combinations.map((_, i) => courseOf(measures[of], i, choice.layers)),
      mine = courses[own];
    const [low, high] = linear ? cosinesOf(mine) : spanOf(mine, courses);
    const x = (layer) => LEFT + (layer / layers) * (width - LEFT - right),
      y = (height) => HEAD + tall - ((height - low) / (high - low)) * tall;
    const layer = Math.min(at ?? choice.layers, choice.layers),
      value = mine[layer],
      shapes = [];
    const words = linear ? formatCosine(value) : formatInterval(value);
    shapes.push(
      svgText(title, { x: 0, y: 16, class: "title" }),
      svgText(of === "weights" && layer === 0 ? "" : words, {
        x: wide ? Math.max(textWidth(title, 15, 600) + 14, LEFT) : 0,
        y: wide ? 16 : 35,
        class: "value",
      }),
    );
    for (const tick of linear ? [0, 0.5, 1] : ticksOf([low, high])) {
      shapes.push(
        svgNode("path", { class: "grid", d: `M${LEFT} ${y(tick).toFixed(1)}H${width - right}` }),
        svgText(linear ? String(tick) : formatPower(tick), {
          x: LEFT - 8,
          y: y(tick) + 5,
          class: "tick",
          "text-anchor": "end",
        }),
      );
    }
    for (let tick = 0; tick <= layers; tick += 6)
      shapes.push(svgText(tick, { x: x(tick), y: HEAD + tall + 18, class: "tick", "text-anchor": "middle" }));
    shapes.push(
      svgNode("path", { class: "axis", d: `M${LEFT} ${HEAD + tall}H${width - right}` }),
      svgText("after block", { x: x(layers / 2), y: HEAD + tall + 37, class: "tick", "text-anchor": "middle" }),
    );
    const clip = `stacks-clip-${id}-${of}`,
      inside = svgNode("g", { "clip-path": `url(#${clip})` });
    shapes.push(
      svgNode(
        "clipPath",
        { id: clip },
        svgNode("rect", { x: LEFT - 2, y: HEAD - 3, width: width - right - LEFT + 4, height: tall + 6 }),
      ),
      inside,
    );
    data.combinations.forEach((one, i) => {
      if (i !== own)
        inside.append(
          svgNode("path", {
            class: one.residual ? "other" : "other bare",
            d: linePath(
              courses[i].map(({ mid }) => mid),
              x,
              y,
            ),
          }),
        );
    });
    if (of === "size" && data.expected[own])
      for (const line of data.expected[own])
        inside.append(svgNode("path", { class: "expected", d: linePath(line.slice(0, choice.layers + 1), x, y) }));
    inside.append(
      svgNode("path", { class: "band", d: bandPath(mine, x, y) }),
      svgNode("path", {
        class: "mine",
        d: linePath(
          mine.map(({ mid }) => mid),
          x,
          y,
        ),
      }),
    );
    shapes.push(...drawNames(courses, own, y, x(layers), wide, tall));
    if (at !== null) shapes.push(svgNode("path", { class: "hair", d: `M${x(layer)} ${HEAD}V${HEAD + tall}` }));
    const pointerArea = svgNode("rect", {
      class: "touch",
      x: LEFT - 6,
      y: HEAD,
      width: width - right - LEFT + 12,
      height: tall,
    });
    const layerAt = (event) =>
      Math.max(
        0,
        Math.min(
          choice.layers,
          Math.round(
            ((event.clientX - pointerArea.getBoundingClientRect().left - 6) / (width - right - LEFT)) * layers,
          ),
        ),
      );
    pointerArea.onpointermove = (event) => {
      if (at !== layerAt(event)) {
        at = layerAt(event);
        paintPanels();
      }
    };
    pointerArea.onpointerleave = () => {
      at = null;
      paintPanels();
    };
    shapes.push(pointerArea);
    return shapes;
  }

  /** The names at the ends of the lines, at the right of the panel; a click on one chooses it. */
  function drawNames(courses, own, y, end, wide, tall) {
    const HEAD = wide ? HEADS.wide : HEADS.narrow,
      ends = courses
        .map((one, i) => {
          const height = one.findLast(({ mid }) => Number.isFinite(mid))?.mid,
            combination = data.combinations[i];
          return height === undefined
            ? null
            : {
                y: Math.max(HEAD, Math.min(HEAD + tall, y(height))),
                place: i,
                kin: `${combination.residual} ${combination.norm}`,
                own: i === own,
              };
        })
        .filter(Boolean);
    return placeLabels(ends, 16, HEAD, HEAD + tall).flatMap(({ place: i, y: from, at: high, shared, own: mine }) => {
      const combination = data.combinations[i],
        full = nameOf(combination, { withKind: false });
      const short = wide
        ? full
        : full.replace("no residual, ", "no res., ").replace("residual, ", "").replace("norm ", "");
      const kind =
        !shared && combination.norm !== "none" && wide ? { layer: ", LN", rms: ", RMS" }[combination.kind] : "";
      const name = svgText(`${short}${kind}`, { x: end + 24, y: high + 5, class: mine ? "name mine-name" : "name" });
      name.onclick = () => setChoice({ ...combination });
      const join = `M${end + 2} ${from.toFixed(1)}L${end + 20} ${high.toFixed(1)}`;
      return [svgNode("path", { class: mine ? "join mine-join" : "join", d: join }), name];
    });
  }

  const formatCosine = ({ low, mid, high }) =>
    Number.isFinite(mid) ? `${formatNumber(mid)} (${formatNumber(low)} to ${formatNumber(high)})` : "none";

  function stacksCsv() {
    const layers = currentChoice().layers,
      rows = [];
    for (const { of, title, linear } of PANELS)
      data.combinations.forEach((one, i) =>
        courseOf(measures[of], i, layers).forEach(({ low, mid, high }, layer) => {
          const roundNumber = (value) =>
            Number.isNaN(value) ? null : linear ? Number(value.toPrecision(6)) : Number((10 ** value).toPrecision(6));
          if (!Number.isNaN(mid))
            rows.push([title, nameOf(one), layers, layer, roundNumber(low), roundNumber(mid), roundNumber(high)]);
        }),
      );
    return toCsv(["what", "combination", "blocks", "layer", "lowest", "median", "highest"], rows);
  }

  return {
    show(/** @type {ResidualStacksData} */ newData, { setTriggerValue }) {
      const same = data?.address === newData.address;
      sendEvent = setTriggerValue;
      data = newData;
      shared.receive(newData.chosen);
      show();
      if (same && measures) return;
      loadArrays(newData.address).then(
        (arrived) => {
          if (data !== newData && data.address !== newData.address) return;
          measures = arrived;
          show();
          saveMenu(place, { svg: () => svgOf(figure), csv: stacksCsv, file: data.file });
        },
        () => {
          head.textContent = "The measurements did not arrive. Reload the page to try again.";
        },
      );
    },
    close() {
      watch.disconnect();
    },
  };
}, PRESENTATION);
