/* Draw the teacher's controls of a class: all predictions, the address to join, and the next step. */
import { makeHistogram } from "./histogram.js";
import { icon, svgNode, node } from "../../shared/runtime/dom.js";
import { formatRounded } from "../../shared/runtime/format.js";

const makeButton = (name, text, press) => {
  const button = node("button", { class: "lineage-button", type: "button" }, icon(name), node("span", {}, text));
  button.onclick = press;
  return button;
};

/** The code of a class, letter by letter. */
export const codeNode = (letters) => node("p", { class: "code" }, "Class ", node("b", {}, letters));

/** A QR code, dark on white in every theme: that is what a camera reads. */
function qrCode({ size, path }, address) {
  return svgNode(
    "svg",
    {
      viewBox: `0 0 ${size} ${size}`,
      role: "img",
      "aria-label": `QR code of ${address}`,
      "shape-rendering": "crispEdges",
    },
    svgNode("rect", { width: size, height: size, fill: "#fff" }),
    svgNode("path", { d: path, fill: "#000" }),
  );
}

function drawJoining({ qr, address, code: letters }) {
  const large = node("dialog", { class: "large", "aria-label": "How to join" }),
    open = node(
      "button",
      { class: "qr", type: "button", "aria-label": "Show the QR code as large as the screen" },
      qrCode(qr, address),
    );
  const close = makeButton("close", "Close", () => large.close());
  large.append(qrCode(qr, address), node("p", { class: "where" }, address), codeNode(letters), close);
  open.onclick = () => large.showModal();
  const local = /^(localhost|127\.|\[::1\])/.test(location.hostname);
  const hint = local
    ? node(
        "p",
        { class: "lineage-caption" },
        "This address works on this computer only. Open the app by the computer's name or number in the network, then the class can join.",
      )
    : null;
  return node("aside", {}, open, node("p", { class: "where" }, address), codeNode(letters), hint, large);
}

/** A button that acts at its second press; the first one shows the question `sure`. */
function makeCarefulButton(name, text, sure, press) {
  let asked = false;
  const button = makeButton(name, text, () => {
    if (asked) return press();
    asked = true;
    button.lastChild.textContent = sure();
  });
  button.reset = () => {
    asked = false;
    button.lastChild.textContent = text;
  };
  button.onblur = button.reset;
  return button;
}

/** The answers one by one, with the time of their arrival; the teacher ticks and removes some. */
function answerList({ choices }, remove) {
  const rows = node("ul", {}),
    ticked = new Set();
  const format = (given) => choices.find(({ name }) => name === given)?.text ?? formatRounded(given);
  const button = makeCarefulButton(
    "delete",
    "Remove the selected answers",
    () => `Remove ${ticked.size}? Their visitors cannot answer this question again.`,
    () => {
      remove([...ticked]);
      ticked.clear();
      button.reset();
    },
  );
  const between = makeButton("checklist", "Select all between the selected ones", () => {
    const boxes = [...rows.querySelectorAll("input")];
    const [first, last] = [boxes.findIndex((box) => box.checked), boxes.findLastIndex((box) => box.checked)];
    for (const box of boxes.slice(first, last).filter((each) => !each.checked)) box.click();
  });
  const update = () => {
    button.disabled = !ticked.size;
    between.disabled = ticked.size < 2;
  };
  let drawn = "";
  const root = node(
    "details",
    { class: "answers" },
    node("summary", {}, "All answers, in the order of their arrival"),
    rows,
    node("div", { class: "acts" }, between, button),
  );
  return {
    root,
    show(arrivals) {
      const state = JSON.stringify(arrivals);
      if (state === drawn) return;
      drawn = state;
      for (const id of ticked) if (!arrivals.some((each) => each.id === id)) ticked.delete(id);
      rows.replaceChildren(
        ...arrivals.map(({ id, seconds, given }) => {
          const box = node("input", { type: "checkbox" });
          box.checked = ticked.has(id);
          box.onchange = () => {
            ticked[box.checked ? "add" : "delete"](id);
            update();
          };
          const text = node("span", {}, `${format(given)} · after ${Math.round(seconds)} s`);
          return node("li", {}, node("label", {}, box, text));
        }),
      );
      update();
      root.hidden = !arrivals.length;
    },
  };
}

/** `acts`: reveal(), end(), remove(numbers of answers), setClosed("close" or "open") and moveBy(steps of the lesson). */
export function teacherBoard(data, acts) {
  const chart = data.question ? makeHistogram(data.question) : null;
  const reveal = makeButton("visibility", data.lesson ? "Show the answer to all" : "Show all predictions", acts.reveal),
    { lesson } = data;
  const previous = lesson?.step > 1 ? makeButton("arrow_back", "Step before", () => acts.moveBy(-1)) : null;
  const next = lesson?.step < lesson?.steps ? makeButton("arrow_forward", "Next step", () => acts.moveBy(1)) : null;
  const end = makeCarefulButton("stop_circle", "End the class", () => "End it, and forget all answers?", acts.end);
  let isClosed = false;
  const door = makeButton("lock", "Let nobody else join", () => acts.setClosed(isClosed ? "open" : "close"));
  const answers = data.question ? answerList(data.question, acts.remove) : null;
  const acting = node("div", { class: "acts" }, data.question ? reveal : null, previous, next, door, end);
  const left = node(
    "div",
    { class: "told" },
    data.question ? node("p", { class: "question" }, data.question.text) : null,
    chart?.root,
    acting,
    answers?.root,
  );
  return {
    root: node("div", { class: "board" }, left, drawJoining(data)),
    show({ given, revealed, answer, closed = false, arrivals = [] }) {
      chart?.show(given, null, answer);
      answers?.show(arrivals);
      reveal.disabled = revealed;
      isClosed = closed;
      door.lastChild.textContent = closed ? "Let others join again" : "Let nobody else join";
    },
  };
}
