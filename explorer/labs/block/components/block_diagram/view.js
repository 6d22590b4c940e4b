/**
 * Draw a Transformer block as a diagram; every box and every arrow can be opened, and a panel shows its tensor. Event
 * "set": {open, token, unit, head}; everything else happens in the browser.
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
import { loadArrays } from "../../../../static/shared/runtime/array_store.js";
import { saveMenu, svgOf } from "../../../../static/shared/runtime/export_menu.js";
import { SyncedValue } from "../../../../static/shared/runtime/synced_value.js";
import { svgNode, node } from "../../../../static/shared/runtime/dom.js";
import { shortenToWidth } from "../../../../static/shared/runtime/text_metrics.js";
import { defineComponent, limitHeight } from "../../../../static/shared/runtime/component.js";
import { Theme } from "../../../../static/shared/runtime/theme.js";
import { formatUnits } from "../../../../static/shared/runtime/format.js";

const LETTERS = { small: 14, usual: 15 }; // px of letters
let count = 0;

const PRESENTATION = { slides: [".shape, .pills, .plot", ".below", ".learned"], controls: ".from" };

// As large for a bold arrow: it must not cover the label beside it.
const ARROWHEAD = { viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 10, markerHeight: 10, orient: "auto" };

export default defineComponent((place) => {
  const id = ++count,
    shared = new SyncedValue(),
    figure = svgNode("svg", { class: "diagram", role: "group" });
  const diagram = node("div", { class: "tower" }, figure),
    stage = node("div", { class: "stage" }, diagram);
  const makeStep = (label, by) => {
    const button = node("button", { type: "button", class: "lineage-button" }, label);
    button.onclick = () => openNeighbour(by);
    button.onkeydown = (event) => {
      const offset = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (offset) openNeighbour(offset);
    };
    return button;
  };
  const backButton = makeStep("← Back", -1),
    nextButton = makeStep("Next →", 1),
    stepLabel = node("span", { class: "step-label", role: "status" });
  place.replaceChildren(stage);
  const theme = new Theme(place, () => drawDiagram()),
    panel = new TensorPanel(theme);
  const trouble = node("p", { class: "trouble", role: "status" });
  const side = node(
    "div",
    { class: "side-panel" },
    node("div", { class: "walk" }, backButton, nextButton, stepLabel),
    panel.root,
  );
  stage.append(side);
  place.append(trouble);
  place.addEventListener("keydown", (event) => event.stopPropagation()); // Streamlit reruns the page at an "r"
  const watch = new ResizeObserver(() => drawDiagram());
  watch.observe(diagram);
  /** @type {BlockDiagramData | null} */
  let data = null, // that is drawn: its arrays are here
    /** @type {BlockDiagramData | null} */
    latest = null,
    model = null,
    /** @type {import("../../../../static/shared/runtime/events.js").SendEvent<BlockDiagramEvents>} */
    sendEvent = null,
    handles = [],
    stop = null;

  panel.onset = (part) => setChoice(part);
  const currentChoice = () => ({
    ...shared.value,
    open: model.flows[shared.value.open] ? shared.value.open : data.usual,
  });
  function setChoice(part) {
    const choice = { ...currentChoice(), ...part };
    shared.set(choice);
    show();
    sendEvent?.("set", choice);
  }
  /** The tensors of the boxes, in the order in which the model computes them. */
  const walkSteps = () =>
    Object.keys(model.flows).filter((flow) => model.boxes.some(({ flows }) => flows.includes(flow)));
  function openNeighbour(by) {
    if (!model) return;
    const steps = walkSteps(),
      next = steps[steps.indexOf(currentChoice().open) + by];
    if (next) setChoice({ open: next });
  }
  function showWalk(choice) {
    const steps = walkSteps(),
      at = steps.indexOf(choice.open);
    backButton.disabled = at <= 0;
    nextButton.disabled = at === steps.length - 1;
    stepLabel.textContent = at < 0 ? "" : `step ${at + 1} of ${steps.length}`;
  }
  const boxOf = (flow) =>
    model.boxes.find(({ flows }) => flows.includes(flow) || flows.includes(model.flows[flow]?.same));

  function showArrays(arrived) {
    const flows = Object.fromEntries(
      Object.entries(data.flows).map(([name, about]) => [name, { ...about, ...arrived[`flow:${name}`] }]),
    );
    const parameters = Object.fromEntries(
      Object.entries(data.parameters).map(([name, shape]) => [name, arrived[`weight:${name}`] ?? { shape }]),
    );
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
    const layout = layOut(data.boxes, data.arrows, width, limitHeight(Infinity)),
      mine = figure.contains(document.activeElement),
      head = `block-head-${id}`;
    figure.setAttribute("viewBox", `0 0 ${width} ${layout.height}`);
    figure.setAttribute("height", layout.height);
    figure.setAttribute("width", width);
    const marker = svgNode(
      "marker",
      { ...ARROWHEAD, id: head, markerUnits: "userSpaceOnUse" },
      svgNode("path", { d: "M0 0L8 4L0 8Z", class: "head" }),
    );
    const shapes = focusOrder(layout, data.boxes, data.arrows).map(({ kind, i }) =>
      kind === "box" ? drawBox(data.boxes[i], layout) : drawArrow(data.arrows[i], layout, i, head),
    );
    handles = shapes;
    const arrows = shapes.filter(({ arrow }) => arrow),
      boxes = shapes.filter(({ box }) => box);
    figure.replaceChildren(
      svgNode("defs", {}, marker),
      ...arrows.map(({ shape }) => shape),
      ...boxes.map(({ shape }) => shape),
      ...drawInputs(layout),
    );
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
      part = box.count && !round ? `, ${formatUnits(box.count, "parameter")}` : "";
    const shape = svgNode(
      "g",
      { class: `box ${box.kind}`, role: "button", "aria-label": `${round ? "+, " : ""}${box.title}${part}` },
      svgNode("rect", { x: x - w / 2, y: y - h / 2, width: w, height: h, rx: round ? h / 2 : 6 }),
      svgNode(
        "text",
        { x, y, "font-size": round ? 18 : size, "text-anchor": "middle", "dominant-baseline": "central" },
        words,
      ),
    );
    return {
      box,
      shape,
      key: `box ${box.name}`,
      opens: box.flows.find((flow) => data.flows[flow].made === "weights") ?? box.flows.at(-1),
    };
  }

  function drawArrow(arrow, layout, i, head) {
    const route = layout.arrows[i],
      flow = model.flows[arrow.flow],
      label = flow.shape.join("×"),
      title = { up: flow.title, residual: `Residual: ${flow.title}`, cross: `From the encoder: ${flow.title}` }[
        arrow.way
      ];
    const shape = svgNode(
      "g",
      {
        class: `arrow ${arrow.way}`,
        role: "button",
        "aria-label": `${label}, an arrow. ${title}: ${shapeWords(flow)}`,
      },
      svgNode("path", { class: "touch", d: route.d }),
      svgNode("path", { class: "line", d: route.d, "marker-end": `url(#${head})` }),
      route.anchor && layout.scale === 1
        ? svgNode(
            "text",
            {
              x: route.x,
              y: route.y,
              "font-size": LETTERS.small,
              "text-anchor": route.anchor,
              "dominant-baseline": "central",
            },
            label,
          )
        : null,
    );
    return { arrow, shape, key: `arrow ${arrow.flow} ${arrow.end} ${arrow.way}`, opens: arrow.flow };
  }

  /** Draw the input at the bottom. */
  function drawInputs(layout) {
    return data.arrows
      .filter(({ start }) => !start)
      .map(({ flow, end }) => {
        const { x, y, w } = layout.boxes[end],
          names = model.names[model.flows[flow].rows];
        return svgNode(
          "text",
          { class: "given", x, y: y + 62 * layout.scale, "font-size": LETTERS.small, "text-anchor": "middle" },
          shortenToWidth(names.join(names.every((name) => name.length === 1) ? "" : " "), w + 20, LETTERS.small),
        );
      });
  }

  function openBox(one) {
    setChoice({ open: one.opens });
  }
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
    showWalk(choice);
    panel.show(model, choice);
  }

  return {
    show(/** @type {BlockDiagramData} */ newData, component) {
      const same = data?.address === newData.address && JSON.stringify(data.boxes) === JSON.stringify(newData.boxes);
      latest = newData;
      sendEvent = component.setTriggerValue;
      shared.receive(newData.chosen);
      if (same) {
        data = newData;
        return show();
      }
      loadArrays(newData.address).then(
        (arrived) => {
          if (latest.address !== newData.address) return;
          data = latest;
          place.style.setProperty("--tower", data.boxes.some(({ column }) => column) ? "480px" : "310px");
          trouble.textContent = "";
          showArrays(arrived);
        },
        () => {
          trouble.textContent = "The numbers did not arrive. Reload the page to try again.";
        },
      );
    },
    close() {
      watch.disconnect();
    },
  };
}, PRESENTATION);
