/* Draw the teacher's screen of a class: the question, the votes, how to join, and the next step. */
import { voteChart } from "./vote_chart.js";
import { icon, iconButton, svgNode, node } from "../../shared/runtime/dom.js";
import { formatRounded } from "../../shared/runtime/format.js";

const folded = new Set(); // codes of the classes whose QR code the teacher has folded
const unfolded = new Set(); // codes of the classes whose QR code the teacher has asked for again

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

/** The address, the code and the QR code of a class: large until the students are in, then small and on request. */
function drawJoining({ qr, address, code: letters }, onFold) {
  const large = node("dialog", { class: "large", "aria-label": "How to join" }),
    enlarge = node(
      "button",
      { class: "qr", type: "button", "aria-label": "Show the QR code as large as the screen" },
      qrCode(qr, address),
    );
  const close = iconButton("close", "Close", () => large.close());
  large.append(qrCode(qr, address), node("p", { class: "where" }, address), codeNode(letters), close);
  enlarge.onclick = () => large.showModal();
  const local = /^(localhost|127\.|\[::1\])/.test(location.hostname);
  const hint = local
    ? node(
        "p",
        { class: "lineage-caption" },
        "This address works on this computer only. Open the app by the computer’s name or number in the network, so that the class can join.",
      )
    : null;
  const setFolded = (isFolded) => {
    folded[isFolded ? "add" : "delete"](letters);
    unfolded[isFolded ? "delete" : "add"](letters);
    onFold();
  };
  const fold = iconButton("unfold_less", "Everybody is in", () => setFolded(true));
  const unfold = node(
    "button",
    { class: "small-qr", type: "button", "aria-label": "Show the QR code" },
    qrCode(qr, address),
  );
  unfold.onclick = () => setFolded(false);
  return {
    aside: node("aside", {}, enlarge, node("p", { class: "where" }, address), codeNode(letters), hint, fold, large),
    corner: node("div", { class: "corner" }, codeNode(letters), unfold),
  };
}

/** A button that acts at its second press; the first one shows the question `sure`. */
function makeCarefulButton(name, text, sure, press) {
  let asked = false;
  const button = iconButton(name, text, () => {
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
  const formatOne = (given) =>
    typeof given === "number" ? formatRounded(given) : (choices.find(({ name }) => name === given)?.text ?? given);
  const format = (given) => given.map((each) => (each === null ? "no answer" : formatOne(each))).join(", then ");
  const button = makeCarefulButton(
    "delete",
    "Remove the selected answers",
    () => `Remove ${ticked.size}? These students cannot answer this question again.`,
    () => {
      remove([...ticked]);
      ticked.clear();
      button.reset();
    },
  );
  const between = iconButton("checklist", "Select all between the first and the last selected", () => {
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
    node("summary", {}, "All answers in the order in which they arrived"),
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
          const words = [given.length ? format(given) : `Answer ${id}`, `after ${Math.round(seconds)} s`];
          const text = node("span", {}, words.join(" · "));
          return node("li", {}, node("label", {}, box, text));
        }),
      );
      update();
      root.hidden = !arrivals.length;
    },
  };
}

const WIDE = 900; // px of a card in which the code stands beside the text of the step

/** Return how many px of a wide card are above the board. */
function heightAbove(board) {
  const card = board.closest(".st-key-class-card");
  if (!card || card.offsetWidth < WIDE) return 0;
  const frame = card.getBoundingClientRect(),
    scale = frame.width / card.offsetWidth; // presentation mode enlarges the page
  return Math.max(0, (board.getBoundingClientRect().top - frame.top) / scale - 17);
}

/** Control of the class from another device: a code that works once, and whether others control the class already. */
function drawControl({ code: letters }, { createControl, keepControl }) {
  const shown = node("div", { class: "control", role: "status", hidden: "" });
  const about = node("p", { hidden: "" });
  const alone = makeCarefulButton(
    "phonelink_off",
    "No other device",
    () => "Take control from every other device?",
    () => keepControl(),
  );
  const showCode = (lasts) => async () => {
    const { control, address, qr, problem } = await createControl(lasts);
    const grouped = control && `${control.slice(0, 5)} ${control.slice(5)}`;
    shown.replaceChildren(
      ...(problem
        ? [node("p", {}, problem)]
        : [
            lasts ? null : qrCode(qr, address),
            node("p", { class: "code" }, "Code ", node("b", {}, grouped)),
            node(
              "p",
              {},
              lasts
                ? `Write it down. If this browser loses class ${letters}, type it on the page Lessons, in the field for the class code. It works once, until the class ends.`
                : "Scan it with the other device, or type it there on the page Lessons, in the field for the class code. It works once, within ten minutes.",
            ),
            node("p", { class: "lineage-caption" }, "Whoever reads this code can take control: show it to nobody."),
            iconButton("close", "Hide the code", () => {
              shown.hidden = true;
              shown.replaceChildren();
            }),
          ]
      ).filter(Boolean),
    );
    shown.hidden = false;
  };
  const other = iconButton("devices", "Control from another device", showCode(false)),
    later = iconButton("key", "A code to write down", showCode(true));
  return {
    root: node("div", { class: "controls" }, node("div", { class: "acts" }, other, later, alone), about, shown),
    show(browsers) {
      if (browsers > 1 && browsers !== Number(about.dataset.browsers)) shown.hidden = true; // the code is used up
      about.dataset.browsers = String(browsers);
      about.hidden = alone.hidden = browsers < 2;
      about.textContent = `${browsers} browsers control this class.`;
    },
  };
}

/** The link that downloads all answers of the class as a table. */
const downloadLink = (letters) =>
  node(
    "a",
    { class: "lineage-button", href: `class/${letters}/answers.csv`, download: `class-${letters}.csv` },
    icon("download"),
    node("span", {}, "Download the answers (CSV)"),
  );

/** The button that ends the class; it asks once and offers the answers beside it. */
function drawEnding({ code: letters }, end) {
  const link = downloadLink(letters),
    words = node("p", {}, "The answers are deleted when the class ends.");
  const question = node(
    "div",
    { class: "ending", role: "group", "aria-label": "End the class?", hidden: "" },
    words,
    link,
    iconButton("stop_circle", "End the class now", end),
    iconButton("close", "Cancel", () => setOpen(false)),
  );
  const button = iconButton("stop_circle", "End the class", () => setOpen(true));
  button.classList.add("end");
  function setOpen(isOpen) {
    question.hidden = !isOpen;
    button.hidden = isOpen;
    (isOpen ? question.querySelector("a:not([hidden]), button") : button).focus();
  }
  return {
    button,
    question,
    show(kept) {
      link.hidden = !kept;
      words.textContent = kept
        ? "The answers are deleted when the class ends."
        : "Nobody has answered a question in this class.";
    },
  };
}

/** A link that shows a collected sentence on the page below; a new tab has the page without the class. */
function sentenceLink({ path, state }, sentence, open) {
  const link = node("a", { href: `${path}?${new URLSearchParams({ ...state, say: sentence })}` }, sentence);
  link.onclick = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    open(sentence);
  };
  return link;
}

/**
 * `acts`: reveal(), showVotes(whether), voteAgain(), end(), remove(numbers of answers), setClosed("close" or "open"),
 * showWhy(whether), createControl(whether the code lasts), keepControl(), moveBy(steps of the lesson) and
 * openSentence(a collected sentence).
 */
export function teacherBoard(data, acts) {
  const { lesson, question, page } = data;
  const showSentence = (text) => (page && state.open ? sentenceLink(page, text, acts.openSentence) : text);
  const chart = question ? voteChart(question, showSentence) : null;
  const [showLabel, hideLabel] = question?.collects
    ? ["Show sentences", "Hide sentences"]
    : ["Show votes", "Hide votes"];
  let state = null;
  const reveal = iconButton("visibility", lesson ? "Show the answer" : "Show the result", acts.reveal);
  const votes = iconButton("bar_chart", showLabel, () => acts.showVotes(!state?.visible));
  votes.title = "Not on the screens of the students";
  const why = iconButton("lightbulb", "Show why", () => acts.showWhy(!state?.explained));
  const again = iconButton("how_to_vote", "Vote again", acts.voteAgain);
  const previous = lesson?.step > 1 ? iconButton("arrow_back", "Previous step", () => acts.moveBy(-1)) : null;
  const next = lesson?.step < lesson?.steps ? iconButton("arrow_forward", "Next step", () => acts.moveBy(1)) : null;
  const ending = drawEnding(data, acts.end);
  const door = iconButton("lock", "Close the class to newcomers", () =>
    acts.setClosed(state?.closed ? "open" : "close"),
  );
  const answers = question ? answerList(question, acts.remove) : null;
  const download = downloadLink(data.code);
  const control = drawControl(data, acts);
  const more = node(
    "details",
    { class: "more" },
    node("summary", {}, "Manage the class"),
    node("div", { class: "acts" }, download, door),
    answers?.root,
    control.root,
  );
  const result = node("div", { class: "result" });
  const joining = drawJoining(data, () => foldJoining());
  const acting = node(
    "div",
    { class: "acts" },
    ...(question ? [reveal, votes, again] : []),
    lesson ? why : null,
    previous,
    next,
    ending.button,
  );
  const root = node(
    "div",
    { class: "board" },
    node(
      "div",
      { class: "main" },
      question ? node("p", { class: "question" }, question.text) : null,
      node("div", { class: "both" }, chart?.root, result),
      acting,
      ending.question,
      more,
    ),
    joining.aside,
  );
  function foldJoining() {
    const isLate = data.number > 1 || Boolean(state?.revealed) || state?.vote > 1;
    const isOpen = unfolded.has(data.code) || !(isLate || folded.has(data.code));
    root.classList.toggle("joining", isOpen);
    joining.corner.hidden = isOpen;
    joining.aside.hidden = !isOpen;
    joining.aside.style.setProperty("--lift", String(isOpen ? heightAbove(root) : 0));
  }
  new ResizeObserver(foldJoining).observe(root); // also once it is on the page, where its position is known
  root.dataset.measures = ""; // presentation mode says when the page has another width
  root.addEventListener("lineage:room", foldJoining);
  return {
    root,
    result,
    corner: joining.corner,
    show(arrived) {
      state = arrived;
      const { revealed, visible, vote, votes: given, answer, closed = false, arrivals = [], kept = 0 } = state;
      const { explained = false, browsers = 1 } = state;
      chart?.show({ votes: given, visible, own: null, answer, open: state.open });
      answers?.show(arrivals);
      ending.show(kept);
      control.show(browsers);
      why.hidden = !answer;
      why.lastChild.textContent = explained ? "Show the votes" : "Show why";
      root.classList.toggle("explained", Boolean(answer && explained));
      reveal.hidden = votes.hidden = again.hidden = revealed;
      again.hidden ||= vote > 1 || question?.collects;
      again.disabled = !given[0]?.answered;
      votes.lastChild.textContent = visible ? hideLabel : showLabel;
      votes.ariaPressed = String(Boolean(visible));
      download.hidden = !kept;
      door.lastChild.textContent = closed ? "Open the class to newcomers" : "Close the class to newcomers";
      foldJoining();
    },
  };
}
