/**
 * Show a class session: to everybody the question, their answer and the result; to the teacher also the votes, the address
 * with its QR code and the controls. The component polls the server every second; for a student, a request that names the
 * `mark` of the last state is answered as soon as the state is another one, or after some seconds. GET /class/CODE answers
 * {over: true, problem} once the class has ended, else {number, teaches, revealed, open, present, vote: 1 or 2, mine, first
 * (the answer in the first vote), visible, votes: {answered, size, given}[], answer, mark}, where `given` is empty until the
 * votes are visible; for the teacher also closed, explained (the wall shows why), browsers (that control the class), kept
 * (number of answers that can be downloaded), arrivals: {id, seconds, given}[]. POST /class/CODE/answer {number, vote, given},
 * /remove {number, arrivals: ids} and /reveal, /show, /hide, /again, /why, /votes, /close, /open, /alone, /end {number}
 * answer the same, and /control {number, lasts} {control, address, qr}; each may answer {problem}, with status 503 if it may
 * work a little later. Events: "moved": the page has to follow the class; "next": 1 or -1, the teacher goes on; "sentence": a
 * collected sentence that the page below has to show.
 *
 * @typedef {{code: string, number: number, open: boolean, teaches: boolean, question: any, address: string,
 *   page: {path: string, state: Record<string, string>} | null, lesson: {name: string, step: number, steps: number} | null,
 *   qr: {size: number, path: string} | null}} ClassroomData `number` is that of the question, which is as in
 *   shared/charts/measured_answer.js, or null; `open`: the page is shown below; the URL of `page` may contain a sentence
 *
 * @typedef {object} ClassroomEvents
 * @property {number} moved the time
 * @property {number} next 1 or -1
 * @property {string} sentence
 */
import { drawAnswer } from "../../shared/charts/measured_answer.js";
import { teacherBoard, codeNode as classCode } from "./teacher_board.js";
import { predictionForm } from "./prediction_form.js";
import { retryDelay } from "../../shared/charts/dot_strip_math.js";
import { recordDone } from "../../shared/runtime/progress.js";
import { node } from "../../shared/runtime/dom.js";
import { defineComponent } from "../../shared/runtime/component.js";

const EVERY = 1000; // ms
const EACH = { open: 15, next: 6 }; // ms of the processors to open the page of one student, and to show them a step
const MOST = { open: 5000, next: 2000 }; // ms
const RUN_TAKES = 5000; // ms after which the page is asked to follow the class once more
// Before and after an answer of a student.
const STATUS = {
  first: [
    "Your answer is anonymous.",
    "Your answer has arrived. You can change it only if your teacher asks the class to vote again.",
  ],
  second: [
    "The class votes again. Change your answer, or send the same one.",
    "Your second answer has arrived. You can change it until the answer is shown.",
  ],
};
const NOBODY = { answered: 0, size: 0, given: [] };
const UNREAD = { present: 0, vote: 1, mine: null, first: null, visible: false, votes: [NOBODY], revealed: false };

export default defineComponent((place) => {
  const message = node("p.say", { role: "status" }),
    body = node("div.body"),
    top = node("div.top", message);
  place.replaceChildren(top, body);
  place.onkeydown = (event) => {
    if (event.key.toLowerCase() === "r") event.stopPropagation(); // at which Streamlit reruns the page; the wall needs its keys
  };
  /** @type {ClassroomData} */
  let data;
  /** @type {{setTriggerValue: SendEvent<ClassroomEvents>, sendWhenIdle: (event: string, value: any, isValid: () => boolean) => void}} */
  let component;
  let session = /** @type {any} */ (UNREAD),
    part = /** @type {any} */ (null), // what is shown of the class
    builtState = "",
    questionState = "",
    timer = 0,
    polling = new AbortController(),
    failures = 0,
    isOver = false,
    isClosed = false,
    sending = null,
    refused = "",
    followed = { state: "", until: 0, wait: RUN_TAKES };

  const postToClass = (command, more = {}) =>
    fetch(`class/${data.code}/${command}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Lineage": "1" },
      body: JSON.stringify({ number: data.number, ...more }),
    });

  /** Send an answer until the server confirms it; the server counts a repeated answer once. */
  async function sendAnswer(given) {
    const mine = (sending = { given }),
      { vote = 1 } = session;
    refused = "";
    let problem = "The server does not respond.";
    for (let tries = 1; sending === mine; tries += 1) {
      message.textContent = tries > 1 ? `${problem} Your answer is sent again until it has arrived …` : "Sending …";
      try {
        const answer = await postToClass("answer", { vote, given });
        if (answer.status < 500) {
          const state = await answer.json();
          if (sending === mine) [sending, refused] = [null, state.problem ?? ""]; // stays until the next attempt or question
          return receiveState(state);
        }
        if (answer.status === 503) problem = (await answer.json()).problem;
      } catch {
        problem = "The server does not respond."; // no connection: again, a little later
      }
      await new Promise((done) => setTimeout(done, retryDelay(tries)));
    }
  }

  async function request(command, more = {}) {
    try {
      return await (await postToClass(command, more)).json();
    } catch {
      return { problem: "The server does not respond. Press the button again." };
    }
  }
  const acts = {
    sendCommand: async (command, more) => receiveState(await request(command, more)),
    createControl: (lasts) => request("control", { lasts }),
    send: (name, value) => component.setTriggerValue(name, value),
  };

  /** Milliseconds until the next request: no two begin within a second, and one that has waited is repeated at once. */
  const nextPoll = (begun) =>
    isOver || document.hidden ? 5 * EVERY : session.mark ? Math.max(0, begun + EVERY - Date.now()) : EVERY;

  async function pollClass() {
    clearTimeout(timer);
    polling.abort(); // a request that still waits
    const { signal } = (polling = new AbortController()),
      mark = !document.hidden && session.mark, // a hidden page keeps none of the browser's few connections busy
      begun = Date.now();
    let state = null;
    try {
      const address = `class/${data.code}${mark ? `?mark=${mark}` : ""}`;
      state = await (await fetch(address, { cache: "no-store", signal })).json();
      failures = 0;
    } catch {
      if (!signal.aborted) failures += 1;
    }
    if (signal.aborted) return;
    try {
      if (state) receiveState(state);
    } finally {
      if (!isClosed && place.isConnected)
        // Also after the end: Streamlit drops what a component sends while it has no connection, as after a restart.
        timer = setTimeout(pollClass, failures ? retryDelay(failures) : nextPoll(begun));
    }
  }

  /** Return whether the page shows another question or another state than the class has. */
  const isBehind = () => isOver || session.number !== data.number || session.open !== data.open;

  /** Run the page after `delay` milliseconds, so that it follows the class. The same request is repeated after some time,
      each time a longer one, but never during a run, because a busy server would then begin that run again. */
  function runPage(state, delay = 0) {
    const now = Date.now();
    if (state !== followed.state) {
      followed = { state, until: now + delay, wait: RUN_TAKES / 2 };
      if (delay) setTimeout(() => !isClosed && state === followed.state && runPage(state), delay + 1);
    }
    if (now < followed.until) return;
    followed.wait *= 2;
    followed.until = now + followed.wait;
    component.sendWhenIdle("moved", now, () => state === followed.state && isBehind());
  }

  /** Milliseconds until the page follows the class. The pages of a large class follow one after the other: if all ran at
      once, each would be shown only when the last one is computed. A revealed answer is shown before its page opens. */
  function delayOfPage(state) {
    const why = state.number === data.number ? "open" : "next";
    return Math.random() * Math.min(MOST[why], EACH[why] * state.present);
  }

  function receiveState(state) {
    if (state.problem && !sending) message.textContent = state.problem;
    isOver = Boolean(state.over);
    if (isOver) runPage("over"); // the page leaves the class
    if (state.number === undefined) return;
    session = state;
    if (isBehind()) runPage(`${state.number} ${state.open}`, delayOfPage(state));
    drawState();
  }

  function describeCount() {
    const { answered, size } = session.votes.at(-1);
    if (!size) return "Nobody has joined yet. Students scan the code, or type the address.";
    const count = `${answered} of ${size} answered`;
    return session.votes.length > 1 ? `Second vote: ${count}` : count;
  }

  function statusText() {
    const { teaches, question } = data;
    if (!question && teaches) return `Students in the class: ${session.present}`;
    if (!question) return "Your teacher shows this page to the class.";
    if (teaches || session.revealed) return describeCount();
    const [before, after] = question.collects
      ? ["Your sentence is shown to the class without your name.", "Your sentence has arrived."]
      : STATUS[session.vote > 1 ? "second" : "first"];
    return session.mine === null ? before : after;
  }

  function drawState() {
    if (!sending && !session.problem) message.textContent = refused || statusText();
    part?.show(session);
    const state = JSON.stringify([session.number, session.revealed, session.answer ?? null]);
    if (state === questionState) return;
    questionState = state;
    const { question, lesson, teaches } = data,
      { answer, revealed } = session;
    place.classList.toggle("revealed", Boolean(revealed && question));
    const shown =
      question && answer
        ? drawAnswer(question, answer, teaches ? null : (session.mine ?? session.first), false)
        : revealed && lesson && node("p.say", "The answer is being measured …");
    part?.result?.replaceChildren(...[shown].filter(Boolean));
    if (question && answer && lesson && !teaches) recordDone(lesson.name, lesson.step); // kept in the lesson, too
  }

  return {
    show(/** @type {ClassroomData} */ arrived, from) {
      [data, component] = [arrived, from];
      const state = JSON.stringify([data.code, data.number, data.teaches]);
      if (state !== builtState) {
        [builtState, questionState, session, isOver, sending, refused] = [state, "", UNREAD, false, null, ""];
        place.classList.remove("revealed");
        part = data.teaches
          ? teacherBoard(data, acts, UNREAD)
          : data.question
            ? predictionForm(data, sendAnswer)
            : { root: classCode(data.code), show() {} };
        body.replaceChildren(part.root);
        top.replaceChildren(...[message, part.corner].filter(Boolean));
      }
      pollClass();
    },
    close: () => {
      clearTimeout(timer);
      polling.abort();
      [isClosed, sending] = [true, null];
    },
  };
});
