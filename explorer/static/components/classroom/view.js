/**
 * Show a class session: to everybody the question, their prediction and the answer; to the teacher also a live
 * histogram, the answers one by one, the address with its QR code and the controls. The component polls the server every second. GET
 * /class/CODE answers {over: true, problem} once the class has ended, else {number, teaches, revealed, open,
 * answered, present, mine, given: predictions, answer}; for the teacher also closed, arrivals: {id,
 * seconds, given}[]; POST /class/CODE/answer {number, given}, /remove {number, arrivals: ids} and /reveal, /close, /open,
 * /end {number} answer the same; each may answer {problem}. Events: "moved": the page has to follow the class;
 * "next": 1 or -1, the teacher goes on.
 *
 * @typedef {object} ClassroomData
 * @property {string} code
 * @property {number} number of the question
 * @property {boolean} open the page is shown below
 * @property {boolean} teaches
 * @property {any} question see shared/charts/measured_answer.js, or null
 * @property {{step: number, steps: number} | null} lesson
 * @property {string} address
 * @property {{size: number, path: string} | null} qr
 *
 * @typedef {object} ClassroomEvents
 * @property {number} moved the time
 * @property {number} next 1 or -1
 */
import { drawAnswer } from "../../shared/charts/measured_answer.js";
import { teacherBoard, codeNode as classCode } from "./teacher_board.js";
import { predictionForm } from "./prediction_form.js";
import { retryDelay } from "../../shared/charts/dot_strip_math.js";
import { node } from "../../shared/runtime/dom.js";
import { defineComponent } from "../../shared/runtime/component.js";

const EVERY = 1000; // ms

export default defineComponent((place) => {
  const message = node("p", { class: "say", role: "status" }),
    body = node("div", { class: "body" }),
    result = node("div", { class: "result" });
  place.replaceChildren(message, body, result);
  place.onkeydown = (event) => event.stopPropagation(); // Streamlit reruns the page at an "r"
  /** @type {ClassroomData | null} */
  let data = null,
    /** @type {{setTriggerValue: import("../../shared/runtime/events.js").SendEvent<ClassroomEvents>} | null} */
    component = null,
    session = {},
    builtState = "",
    questionState = "",
    part = null,
    timer = 0,
    failures = 0,
    isEnded = false,
    sending = null,
    refused = "";

  const postToClass = (command, more = {}) =>
    fetch(`/class/${data.code}/${command}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Lineage": "1" },
      body: JSON.stringify({ number: data.number, ...more }),
    });

  /** Send a prediction until the server confirms it; the server counts repeated predictions once. */
  async function sendPrediction(prediction) {
    const mine = (sending = { given: prediction });
    refused = "";
    for (let tries = 1; sending === mine; tries += 1) {
      message.textContent =
        tries > 1 ? "The server does not answer. Your prediction is sent again until it does …" : "Sending …";
      try {
        const answer = await postToClass("answer", { given: prediction });
        if (answer.status < 500) {
          const state = await answer.json();
          if (sending === mine) [sending, refused] = [null, state.problem ?? ""]; // stays until the next attempt or question
          return receiveState(state);
        }
      } catch {
        // no connection: again, a little later
      }
      await new Promise((done) => setTimeout(done, retryDelay(tries)));
    }
  }

  async function sendCommand(command, more = {}) {
    try {
      receiveState(await (await postToClass(command, more)).json());
    } catch {
      message.textContent = "The server does not answer. Press it again.";
    }
  }

  async function pollClass() {
    clearTimeout(timer);
    let state = null;
    try {
      state = await (await fetch(`/class/${data.code}`, { cache: "no-store" })).json();
      failures = 0;
    } catch {
      failures += 1;
    }
    try {
      if (state) receiveState(state);
    } finally {
      if (!isEnded && place.isConnected)
        timer = setTimeout(pollClass, failures ? retryDelay(failures) : document.hidden ? 5 * EVERY : EVERY);
    }
  }

  function receiveState(state) {
    if (state.problem) message.textContent = state.problem;
    if (state.over) {
      isEnded = true;
      component.setTriggerValue("moved", Date.now()); // the page leaves the class
    }
    if (state.number === undefined) return;
    session = state;
    if (state.number !== data.number || state.open !== data.open) component.setTriggerValue("moved", Date.now());
    drawState();
  }

  const describeCount = () =>
    session.present === 0
      ? "Nobody is here yet. The class comes by the address, or with the code."
      : `${session.answered} of ${session.present} ${session.present === 1 ? "has" : "have"} answered`;

  function statusText() {
    if (!data.question) return data.teaches ? `${session.present} here` : "Your teacher shows you this page.";
    if (data.teaches) return describeCount();
    if (session.revealed) return describeCount();
    return session.mine === null
      ? "What do you expect? Your prediction has no name on it."
      : "Your prediction has arrived. You may change it until the answer is shown.";
  }

  function drawState() {
    if (!sending && !session.problem) message.textContent = refused || statusText();
    part?.show(session);
    const state = JSON.stringify([session.number, session.revealed, session.answer ?? null]);
    if (state === questionState) return;
    questionState = state;
    const wait = session.revealed && data.lesson && node("p", { class: "say" }, "It is being measured …");
    const answer =
      session.answer &&
      data.question &&
      drawAnswer(data.question, session.answer, data.teaches ? null : session.mine, false);
    result.replaceChildren(...[answer || wait].filter(Boolean));
  }

  return {
    show(/** @type {ClassroomData} */ arrived, from) {
      [data, component] = [arrived, from];
      const state = JSON.stringify([data.code, data.number, data.teaches]);
      if (state !== builtState) {
        [builtState, questionState, session, isEnded, sending, refused] = [
          state,
          "",
          { answered: 0, present: 0, mine: null, given: [], revealed: false },
          false,
          null,
          "",
        ];
        result.replaceChildren();
        part = data.teaches
          ? teacherBoard(data, {
              reveal: () => sendCommand("reveal"),
              end: () => sendCommand("end"),
              remove: (arrivals) => sendCommand("remove", { arrivals }),
              setClosed: (command) => sendCommand(command),
              moveBy: (steps) => component.setTriggerValue("next", steps),
            })
          : data.question
            ? predictionForm(data, sendPrediction)
            : { root: classCode(data.code), show() {} };
        body.replaceChildren(part.root);
      }
      pollClass();
    },
    close: () => {
      clearTimeout(timer);
      [isEnded, sending] = [true, null];
    },
  };
});
