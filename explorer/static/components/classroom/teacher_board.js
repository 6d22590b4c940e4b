/* Draw the teacher's controls of a class: all predictions, the address to join, and the next step. */
import { makeHistogram } from "./histogram.js";
import { icon, svgNode, node } from "../../shared/runtime/dom.js";

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

/** `acts`: reveal(), end() and moveBy(steps of the lesson). */
export function teacherBoard(data, acts) {
  const chart = data.question ? makeHistogram(data.question) : null;
  const reveal = makeButton("visibility", data.lesson ? "Show the answer to all" : "Show all predictions", acts.reveal),
    { lesson } = data;
  const previous = lesson?.step > 1 ? makeButton("arrow_back", "Step before", () => acts.moveBy(-1)) : null;
  const next = lesson?.step < lesson?.steps ? makeButton("arrow_forward", "Next step", () => acts.moveBy(1)) : null;
  let sure = false;
  const end = makeButton("stop_circle", "End the class", () => {
    if (sure) return acts.end();
    sure = true;
    end.lastChild.textContent = "End it, and forget all answers?";
  });
  end.onblur = () => {
    sure = false;
    end.lastChild.textContent = "End the class";
  };
  const acting = node("div", { class: "acts" }, data.question ? reveal : null, previous, next, end);
  const left = node(
    "div",
    { class: "told" },
    data.question ? node("p", { class: "question" }, data.question.text) : null,
    chart?.root,
    acting,
  );
  return {
    root: node("div", { class: "board" }, left, drawJoining(data)),
    show({ given, revealed, answer }) {
      chart?.show(given, null, answer);
      reveal.disabled = revealed;
    },
  };
}
