/* Draw the teacher's screen of a class: the question, the votes, how to join, and the next step. */
import { voteChart } from "./vote_chart.js";
import { icon, iconButton, svgNode, node } from "../../shared/runtime/dom.js";
import { formatRounded } from "../../shared/runtime/format.js";
import { LiveElements } from "../../shared/runtime/view_state.js";

const foldings = new Map(); // by the code of a class: whether the teacher has folded its QR code, or asked for it again
const ONCE = "type it on the page Lessons, in the field for the class code. It works once,";

/** The code of a class, letter by letter. */
export const codeNode = (letters) => node("p.code", "Class ", node("b", letters));

/** A QR code, dark on white in every theme: that is what a camera reads. */
function qrCode({ size, path }, address) {
  const label = `QR code of ${address}`;
  return svgNode(
    "svg",
    { viewBox: `0 0 ${size} ${size}`, role: "img", "aria-label": label, "shape-rendering": "crispEdges" },
    svgNode("rect", { width: size, height: size, fill: "#fff" }),
    svgNode("path", { d: path, fill: "#000" }),
  );
}

/** The address, the code and the QR code of a class: large until the students are in, then small and on request. */
function drawJoining({ qr, address, code }, setFolded) {
  const makeCode = (name, label, onclick) =>
    node(`button.${name}`, { type: "button", "aria-label": label, onclick }, qrCode(qr, address));
  const where = () => node("p.where", address);
  const large = node(
    "dialog.large",
    { "aria-label": "How to join" },
    qrCode(qr, address),
    where(),
    codeNode(code),
    iconButton("close", "Close", () => large.close()),
  );
  const hint =
    /^(localhost|127\.|\[::1\])/.test(location.hostname) &&
    "This address works on this computer only. Open the app by the computer’s name or number in the network, so that the class can join.";
  return {
    aside: node(
      "aside",
      makeCode("qr", "Show the QR code as large as the screen", () => large.showModal()),
      where(),
      codeNode(code),
      hint && node("p.lineage-caption", hint),
      iconButton("unfold_less", "Everybody is in", () => setFolded(true)),
      large,
    ),
    corner: node(
      "div.corner",
      codeNode(code),
      makeCode("small-qr", "Show the QR code", () => setFolded(false)),
    ),
  };
}

/** A button that acts at its second press; the first one shows the question `sure`. */
function carefulButton({ button, update }, { text, sure, press, ...attributes }) {
  let isAsked = false;
  const ask = (yes) => {
    isAsked = yes;
    update();
  };
  const onclick = () => {
    if (isAsked) press();
    ask(!isAsked);
  };
  return button({ ...attributes, onclick, onblur: () => ask(false) }, () => (isAsked ? sure() : text));
}

/** The answers one by one, with the time of their arrival; the teacher ticks and removes some. */
function answerList(live, { choices }, arrivals, remove) {
  const ticked = new Set();
  const formatOne = (given) =>
    typeof given === "number" ? formatRounded(given) : (choices.find(({ name }) => name === given)?.text ?? given);
  const format = (given) => given.map((each) => (each === null ? "no answer" : formatOne(each))).join(", then ");
  const makeRow = (arrival, inner) => {
    const { id } = arrival(),
      words = ({ seconds, given }) =>
        `${given.length ? format(given) : `Answer ${id}`} · after ${Math.round(seconds)} s`;
    const onchange = (event) => {
      ticked[event.target.checked ? "add" : "delete"](id);
      live.update();
    };
    inner.whenRemoved(() => ticked.delete(id));
    return inner.node(
      "li",
      inner.node(
        "label",
        inner.node("input", { type: "checkbox", checked: () => ticked.has(id), onchange }),
        inner.node("span", () => words(arrival())),
      ),
    );
  };
  const rows = live.node(
    "ul",
    live.keyed(arrivals, makeRow, ({ id }) => id),
  );
  const selectBetween = () => {
    const boxes = [...rows.querySelectorAll("input")];
    const [first, last] = [boxes.findIndex((box) => box.checked), boxes.findLastIndex((box) => box.checked)];
    for (const box of boxes.slice(first, last).filter((each) => !each.checked)) box.click();
  };
  return live.node(
    "details.answers",
    { hidden: () => !arrivals().length },
    node("summary", "All answers in the order in which they arrived"),
    rows,
    node(
      "div.acts",
      live.button(
        { symbol: "checklist", disabled: () => ticked.size < 2, onclick: selectBetween },
        "Select all between the first and the last selected",
      ),
      carefulButton(live, {
        symbol: "delete",
        text: "Remove the selected answers",
        sure: () => `Remove ${ticked.size}? These students cannot answer this question again.`,
        disabled: () => !ticked.size,
        press() {
          remove([...ticked]);
          ticked.clear();
        },
      }),
    ),
  );
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
function drawControl(live, code, browsers, { createControl, sendCommand }) {
  const shown = node("div.control", { role: "status", hidden: true });
  function showCode(...children) {
    shown.replaceChildren(...children);
    shown.hidden = !children.length;
  }
  const requestCode = (lasts) => async () => {
    const { control, address, qr, problem } = await createControl(lasts);
    if (problem) return showCode(node("p", problem));
    const use = lasts
      ? `Write it down. If this browser loses class ${code}, ${ONCE} until the class ends.`
      : `Scan it with the other device, or ${ONCE.replace("it on", "it there on")} within ten minutes.`;
    showCode(
      ...(lasts ? [] : [qrCode(qr, address)]),
      node("p.code", "Code ", node("b", `${control.slice(0, 5)} ${control.slice(5)}`)),
      node("p", use),
      node("p.lineage-caption", "Whoever reads this code can take control: show it to nobody."),
      iconButton("close", "Hide the code", () => showCode()),
    );
  };
  const isAlone = () => browsers() < 2;
  let known = 1;
  live.follow(() => {
    if (browsers() > 1 && browsers() !== known) showCode(); // the code is used up
    known = browsers();
  });
  const alone = carefulButton(live, {
    symbol: "phonelink_off",
    text: "No other device",
    hidden: isAlone,
    sure: () => "Take control from every other device?",
    press: () => sendCommand("alone"),
  });
  return node(
    "div.controls",
    node(
      "div.acts",
      iconButton("devices", "Control from another device", requestCode(false)),
      iconButton("key", "A code to write down", requestCode(true)),
      alone,
    ),
    live.node("p", { hidden: isAlone }, () => `${browsers()} browsers control this class.`),
    shown,
  );
}

/** The link that downloads all answers of the class as a table. */
const downloadLink = (live, code, hidden) =>
  live.node(
    "a.lineage-button",
    { href: `class/${code}/answers.csv`, download: `class-${code}.csv`, hidden },
    icon("download"),
    node("span", "Download the answers (CSV)"),
  );

/** The button that ends the class, and the question that it asks once, with the answers beside it. */
function drawEnding(live, code, isEmpty, end) {
  let isOpen = false;
  const setOpen = (yes) => {
    isOpen = yes;
    live.update();
    (isOpen ? question.querySelector("a:not([hidden]), button") : button).focus();
  };
  const question = live.node(
    "div.ending",
    { role: "group", "aria-label": "End the class?", hidden: () => !isOpen },
    live.node("p", () =>
      isEmpty() ? "Nobody has answered a question in this class." : "The answers are deleted when the class ends.",
    ),
    downloadLink(live, code, isEmpty),
    iconButton("stop_circle", "End the class now", end),
    iconButton("close", "Cancel", () => setOpen(false)),
  );
  const attributes = { symbol: "stop_circle", ".end": true, hidden: () => isOpen, onclick: () => setOpen(true) },
    button = live.button(attributes, "End the class");
  return { button, question };
}

/** A link that shows a collected sentence on the page below; a new tab has the page without the class. */
function sentenceLink({ path, state }, say, open) {
  const onclick = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    open(say);
  };
  return node("a", { href: `${path}?${new URLSearchParams({ ...state, say })}`, onclick }, say);
}

/**
 * `acts`: sendCommand(command, more), createControl(whether the code lasts), and send(event, value) to the page. `unread` is
 * the state of the class before the server has answered.
 */
export function teacherBoard(data, acts, /** @type {any} */ unread) {
  const { lesson, question, page, code } = data,
    { sendCommand, send } = acts,
    live = new LiveElements(),
    { button } = live;
  let state = unread;
  const showSentence = (text) =>
    page && state.open ? sentenceLink(page, text, (sentence) => send("sentence", sentence)) : text;
  const chart = question ? voteChart(question, showSentence) : null,
    collects = Boolean(question?.collects),
    [show, hide] = collects ? ["Show sentences", "Hide sentences"] : ["Show votes", "Hide votes"];
  const isRevealed = () => state.revealed,
    isEmpty = () => !state.kept,
    command = (symbol, text, hidden, onclick, more = {}) => button({ symbol, hidden, onclick, ...more }, text);
  const canVoteAgain = () => !(state.revealed || state.vote > 1 || collects);
  const voting = question && [
    command("visibility", lesson ? "Show the answer" : "Show the result", isRevealed, () => sendCommand("reveal")),
    command(
      "bar_chart",
      () => (state.visible ? hide : show),
      isRevealed,
      () => sendCommand(state.visible ? "hide" : "show"),
      { "aria-pressed": () => Boolean(state.visible), title: "Not on the screens of the students" },
    ),
    command(
      "how_to_vote",
      "Vote again",
      () => !canVoteAgain(),
      () => sendCommand("again"),
      { disabled: () => !state.votes[0]?.answered },
    ),
  ];
  const why = command(
    "lightbulb",
    () => (state.explained ? "Show the votes" : "Show why"),
    () => !state.answer,
    () => sendCommand(state.explained ? "votes" : "why"),
  );
  const door = button(
    { symbol: "lock", onclick: () => sendCommand(state.closed ? "open" : "close") },
    () => `${state.closed ? "Open" : "Close"} the class to newcomers`,
  );
  const ending = drawEnding(live, code, isEmpty, () => sendCommand("end")),
    remove = (arrivals) => sendCommand("remove", { arrivals }),
    arrivals = () => state.arrivals ?? [],
    browsers = () => state.browsers ?? 1;
  const joining = drawJoining(data, (isFolded) => {
    foldings.set(code, isFolded);
    foldJoining();
  });
  const result = node("div.result");
  const main = node(
    "div.main",
    question && node("p.question", question.text),
    node("div.both", chart?.root, result),
    node(
      "div.acts",
      voting,
      lesson && why,
      lesson?.step > 1 && iconButton("arrow_back", "Previous step", () => send("next", -1)),
      lesson?.step < lesson?.steps && iconButton("arrow_forward", "Next step", () => send("next", 1)),
      ending.button,
    ),
    ending.question,
    node(
      "details.more",
      node("summary", "Manage the class"),
      node("div.acts", downloadLink(live, code, isEmpty), door),
      question && answerList(live, question, arrivals, remove),
      drawControl(live, code, browsers, acts),
    ),
  );
  const root = live.node(
    "div.board",
    // `data-measures`: presentation mode says when the page has another width
    { "data-measures": "", ".explained": () => state.answer && state.explained },
    main,
    joining.aside,
  );
  function foldJoining() {
    const isLate = data.number > 1 || state.revealed || state.vote > 1,
      isOpen = !(foldings.get(code) ?? isLate);
    root.classList.toggle("joining", isOpen);
    joining.corner.hidden = isOpen;
    joining.aside.hidden = !isOpen;
    joining.aside.style.setProperty("--lift", String(isOpen ? heightAbove(root) : 0));
  }
  live.follow(foldJoining);
  new ResizeObserver(foldJoining).observe(root); // also once it is on the page, where its position is known
  root.addEventListener("lineage:room", foldJoining);
  live.update();
  return {
    root,
    result,
    corner: joining.corner,
    show(/** @type {any} */ newState) {
      state = newState;
      chart?.show({ ...state, own: null });
      live.update();
    },
  };
}
