/**
 * Draw a Transformer block as a diagram; every box and every arrow can be opened, and a panel shows its tensor. Event
 * "set": {open, token, unit, head}; everything else happens in the browser.
 *
 * @import { SendEvent } from "../../../../static/shared/runtime/events.js"
 *
 * @typedef {object} BlockDiagramData
 * @property {any[]} boxes {name, title, column, row, kind, flows, parameters, count}
 * @property {any[]} arrows {flow, start, end, way}
 * @property {Record<string, any>} flows by name {title, made, ins, parameters, tap, rows, columns, offset, same}
 * @property {Record<string, number[]>} parameters shape by name
 * @property {Record<string, string[]>} names {text: tokens}
 * @property {number} total
 * @property {string} address arrays "flow:NAME" and "weight:NAME"
 * @property {{open: string, token: number, unit: number, head: number}} chosen what the panel shows
 * @property {BlockDiagramData["chosen"]} usual the default of `chosen`
 * @property {string} title
 * @property {string} file
 *
 * @typedef {object} BlockDiagramEvents
 * @property {{open: string, token: number, unit: number, head: number}} set
 */
import { shapeWords } from "./math.js";
import { layOut, focusOrder } from "./layout.js";
import { TensorPanel } from "./tensor_panel.js";
import { arrayLoader } from "../../../../static/shared/runtime/array_store.js";
import { saveMenu, svgOf } from "../../../../static/shared/runtime/export_menu.js";
import { svgNode } from "../../../../static/shared/runtime/dom.js";
import { ViewState } from "../../../../static/shared/runtime/view_state.js";
import { shortenToWidth } from "../../../../static/shared/runtime/text_metrics.js";
import { defineComponent, limitHeight } from "../../../../static/shared/runtime/component.js";
import { Theme } from "../../../../static/shared/runtime/theme.js";
import { formatUnits } from "../../../../static/shared/runtime/format.js";

const LETTERS = { small: 14, usual: 15 }; // px of letters
let count = 0;

const PRESENTATION = { slides: [".shape, .pills, .plot", ".below", ".learned"], controls: ".from" };

// As large for a bold arrow: it must not cover the label beside it.
const ARROWHEAD = { viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 10, markerHeight: 10, orient: "auto" };

export default defineComponent((place, /** @type {SendEvent<BlockDiagramEvents>} */ send) => {
  const id = ++count;
  /** @type {BlockDiagramData | null} */
  let data = null, // that is drawn: its arrays are here
    /** @type {BlockDiagramData | null} */
    latest = null,
    handles = [],
    drawnWidth = 0,
    stop = null, // the handle that Tab reaches
    trouble = "";
  let arrays, model;
  const view = new ViewState(send, show, (value) => value),
    { node, button } = view;
  const load = arrayLoader(
    (arrived) => {
      [data, arrays] = [latest, arrived];
      place.style.setProperty("--tower", data.boxes.some(({ column }) => column) ? "480px" : "310px");
      trouble = "";
      showArrays();
    },
    () => {
      trouble = "The numbers did not arrive. Reload the page to try again.";
      view.update();
    },
  );
  const currentChoice = () => ({ ...view.value, open: model.flows[view.value.open] ? view.value.open : data.usual });
  const setChoice = (part) => view.set({ ...currentChoice(), ...part });
  /** The tensors of the boxes, in the order in which the model computes them. */
  const walkSteps = () =>
    model ? Object.keys(model.flows).filter((flow) => model.boxes.some(({ flows }) => flows.includes(flow))) : [];
  const stepIndex = () => (model ? walkSteps().indexOf(currentChoice().open) : -1);
  function openNeighbour(by) {
    const next = walkSteps()[stepIndex() + by];
    if (next) setChoice({ open: next });
  }
  const makeStep = (label, by, disabled) => {
    const onkeydown = ({ key }) => {
      const offset = { ArrowRight: 1, ArrowLeft: -1 }[key];
      if (offset) openNeighbour(offset);
    };
    return button({ disabled, onclick: () => openNeighbour(by), onkeydown }, label);
  };
  const figure = svgNode("svg.diagram", { role: "group" }),
    diagram = node("div.tower", figure);
  place.replaceChildren(node("div.stage", diagram));
  const theme = new Theme(place, () => drawDiagram()),
    panel = new TensorPanel(theme, setChoice),
    stepText = () => (stepIndex() < 0 ? "" : `step ${stepIndex() + 1} of ${walkSteps().length}`);
  const walk = node(
    "div.walk",
    makeStep("← Back", -1, () => stepIndex() <= 0),
    makeStep("Next →", 1, () => stepIndex() === walkSteps().length - 1),
    node("span.step-label", { role: "status" }, stepText),
  );
  place.firstElementChild.append(node("div.side-panel", walk, panel.root));
  place.append(node("p.trouble", { role: "status" }, () => trouble));
  place.addEventListener("keydown", (event) => event.stopPropagation()); // Streamlit reruns the page at an "r"

  const boxOf = (flow) =>
    model.boxes.find(({ flows }) => flows.includes(flow) || flows.includes(model.flows[flow]?.same));

  function showArrays() {
    const mapValues = (values, make) =>
      Object.fromEntries(Object.entries(values).map(([name, value]) => [name, make(name, value)]));
    const flows = mapValues(data.flows, (name, about) => ({ ...about, ...arrays[`flow:${name}`] })),
      parameters = mapValues(data.parameters, (name, shape) => arrays[`weight:${name}`] ?? { shape });
    model = { flows, parameters, names: data.names, boxes: data.boxes, total: data.total };
    figure.ariaLabel = `${data.title}: ${data.boxes.length} boxes and ${data.arrows.length} arrows. Arrow keys move, Enter opens.`;
    drawDiagram();
    saveMenu(diagram, { svg: () => svgOf(figure), file: `${data.file}-diagram` });
    saveMenu(panel.root, { svg: () => panel.svg(), csv: () => panel.csv(), file: data.file });
  }

  /* ---- the diagram ---- */

  function drawDiagram() {
    const width = diagram.clientWidth;
    if (!model || !width) return;
    drawnWidth = width;
    const layout = layOut(model.boxes, data.arrows, width, limitHeight(Infinity)),
      mine = figure.contains(document.activeElement),
      head = `block-head-${id}`;
    figure.setAttribute("viewBox", `0 0 ${width} ${layout.height}`);
    figure.setAttribute("height", layout.height);
    figure.setAttribute("width", width);
    const tip = svgNode("path.head", { d: "M0 0L8 4L0 8Z" }),
      marker = svgNode("marker", { ...ARROWHEAD, id: head, markerUnits: "userSpaceOnUse" }, tip);
    handles = focusOrder(layout, model.boxes, data.arrows).map(({ kind, i }) =>
      kind === "box" ? drawBox(model.boxes[i], layout) : drawArrow(data.arrows[i], layout, i, head),
    );
    const shapesOf = (kind) => handles.filter((one) => one[kind]).map(({ shape }) => shape);
    figure.replaceChildren(svgNode("defs", marker), ...shapesOf("arrow"), ...shapesOf("box"), ...drawInputs(layout));
    handles.forEach((one) => {
      one.shape.setAttribute("tabindex", "-1");
      one.shape.addEventListener("click", () => {
        stop = one.key;
        openBox(one);
      });
      one.shape.addEventListener("keydown", (event) => moveFocus(event, one));
    });
    show();
    if (mine) handles.find(({ key }) => key === stop)?.shape.focus({ preventScroll: true });
  }

  function drawBox(box, layout) {
    const { x, y, w, h } = layout.boxes[box.name],
      round = box.kind === "sum",
      size = w < 118 ? LETTERS.small : LETTERS.usual;
    const words = round ? "+" : shortenToWidth(box.title, w - 10, size, 600),
      part = box.count && !round ? `, ${formatUnits(box.count, "parameter")}` : "",
      label = `${round ? "+, " : ""}${box.title}${part}`,
      letters = { "font-size": round ? 18 : size, "text-anchor": "middle", "dominant-baseline": "central" };
    const shape = svgNode(
      "g",
      { class: `box ${box.kind}`, role: "button", "aria-label": label },
      svgNode("rect", { x: x - w / 2, y: y - h / 2, width: w, height: h, rx: round ? h / 2 : 6 }),
      svgNode("text", { x, y, ...letters }, words),
    );
    const weights = box.flows.find((flow) => data.flows[flow].made === "weights");
    return { box, shape, key: `box ${box.name}`, opens: weights ?? box.flows.at(-1) };
  }

  function drawArrow(arrow, layout, i, head) {
    const { x, y, d, anchor } = layout.arrows[i],
      flow = model.flows[arrow.flow],
      label = flow.shape.join("×"),
      origin = { up: "", residual: "Residual: ", cross: "From the encoder: " }[arrow.way],
      words = `${label}, an arrow. ${origin}${flow.title}: ${shapeWords(flow)}`,
      letters = { "font-size": LETTERS.small, "text-anchor": anchor, "dominant-baseline": "central" };
    const shape = svgNode(
      "g",
      { class: `arrow ${arrow.way}`, role: "button", "aria-label": words },
      svgNode("path.touch", { d }),
      svgNode("path.line", { d, "marker-end": `url(#${head})` }),
      anchor && layout.scale === 1 ? svgNode("text", { x, y, ...letters }, label) : null,
    );
    return { arrow, shape, key: `arrow ${arrow.flow} ${arrow.end} ${arrow.way}`, opens: arrow.flow };
  }

  function drawInputs(layout) {
    return data.arrows
      .filter(({ start }) => !start)
      .map(({ flow, end }) => {
        const { x, y, w } = layout.boxes[end],
          names = model.names[model.flows[flow].rows];
        return svgNode(
          "text.given",
          { x, y: y + 62 * layout.scale, "font-size": LETTERS.small, "text-anchor": "middle" },
          shortenToWidth(names.join(names.every((name) => name.length === 1) ? "" : " "), w + 20, LETTERS.small),
        );
      });
  }

  const openBox = (one) => setChoice({ open: one.opens });
  function moveFocus(event, one) {
    const offset = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1 }[event.key];
    if (offset) focusBox(handles[Math.max(0, Math.min(handles.length - 1, handles.indexOf(one) + offset))]);
    else if (event.key === "Home" || event.key === "End") focusBox(handles.at(event.key === "Home" ? 0 : -1));
    else if (event.key === "Enter" || event.key === " ") {
      stop = one.key;
      openBox(one);
    } else return;
    event.preventDefault();
  }
  function focusBox(one) {
    stop = one.key;
    updateTabStops();
    one.shape.focus();
  }
  function updateTabStops() {
    const focusable =
      handles.find(({ key }) => key === stop) ??
      handles.find((one) => one.opens === currentChoice().open) ??
      handles[0];
    for (const one of handles) one.shape.setAttribute("tabindex", one === focusable ? "0" : "-1");
  }

  function show() {
    if (!model || !handles.length) return;
    const choice = currentChoice(),
      mine = boxOf(choice.open);
    for (const { box, arrow, shape } of handles) {
      const own = box ? box === mine : arrow.flow === choice.open;
      shape.classList.toggle("chosen", own);
      shape.setAttribute("aria-pressed", String(own));
    }
    updateTabStops();
    view.update();
    panel.show(model, choice);
  }

  return {
    show(/** @type {BlockDiagramData} */ newData) {
      const sameBoxes = JSON.stringify(data?.boxes) === JSON.stringify(newData.boxes);
      latest = newData;
      view.receive(newData.chosen);
      if (load(newData.address)) arrays = null;
      if (!arrays) return;
      data = newData;
      if (sameBoxes) show();
      else showArrays();
    },
    resize: () => diagram.clientWidth !== drawnWidth && drawDiagram(),
  };
}, PRESENTATION);
