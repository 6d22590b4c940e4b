/*
A class. For everybody the question, their prediction and the answer; for the teacher a live histogram, the address and its
QR code, and the three things a teacher does. It asks the server each second by itself, whatever the page does.

data = { code, number: of the question, open: whether the page is shown below, teaches, question: see answer.js, or null,
         lesson: { step, steps } | null, address, qr: { size, path } | null }
GET /class/CODE answers { over: true, problem } once the class has ended, else { number, teaches, revealed, open, answered, present, mine, given: [predictions], answer: see answer.js };
POST /class/CODE/answer { number, given }, /reveal { number }, /end { number } answer the same; all may answer { problem }.
It tells "moved" when the page has to follow the class, and "next", 1 or -1, when the teacher goes on.
*/
import { answered } from "./answer.js";
import { board, code as classCode } from "./classboard.js";
import { prediction } from "./predicting.js";
import { patience } from "./strips.js";
import { instrument, node } from "./svg.js";

const EVERY = 1000; // ms

export default instrument((place) => {
  const say = node("p", { class: "say", role: "status" }), body = node("div", { class: "body" }), result = node("div", { class: "result" });
  place.replaceChildren(say, body, result);
  place.onkeydown = (event) => event.stopPropagation(); // Streamlit reruns the page at an "r"
  let data = null, component = null, told = {}, drawn = "", shown = "", part = null, timer = 0, failures = 0, over = false, sending = null, refused = "";

  const post = (wish, more = {}) =>
    fetch(`/class/${data.code}/${wish}`, {
      method: "POST", headers: { "Content-Type": "application/json", "X-Lineage": "1" }, body: JSON.stringify({ number: data.number, ...more }),
    });

  /** A prediction is sent until the server has it: what it gets twice it counts once. */
  async function send(given) {
    const mine = (sending = { given });
    refused = "";
    for (let tries = 1; sending === mine; tries += 1) {
      say.textContent = tries > 1 ? "The server does not answer. Your prediction is sent again until it does …" : "Sending …";
      try {
        const answer = await post("answer", { given });
        if (answer.status < 500) {
          const news = await answer.json();
          if (sending === mine) [sending, refused] = [null, news.problem ?? ""]; // stays until the next attempt or question
          return hear(news);
        }
      } catch {
        // no connection: again, a little later
      }
      await new Promise((done) => setTimeout(done, patience(tries)));
    }
  }

  async function steer(wish) {
    try {
      hear(await (await post(wish)).json());
    } catch {
      say.textContent = "The server does not answer. Press it again.";
    }
  }

  async function ask() {
    clearTimeout(timer);
    let news = null;
    try {
      news = await (await fetch(`/class/${data.code}`, { cache: "no-store" })).json();
      failures = 0;
    } catch {
      failures += 1;
    }
    try {
      if (news) hear(news);
    } finally {
      if (!over && place.isConnected) timer = setTimeout(ask, failures ? patience(failures) : document.hidden ? 5 * EVERY : EVERY);
    }
  }

  function hear(news) {
    if (news.problem) say.textContent = news.problem;
    if (news.over) {
      over = true;
      component.setTriggerValue("moved", Date.now()); // the page goes on without its class
    }
    if (news.number === undefined) return;
    told = news;
    if (news.number !== data.number || news.open !== data.open) component.setTriggerValue("moved", Date.now());
    paint();
  }

  const counted = () => told.present === 0 ? "Nobody is here yet. The class comes by the address, or with the code." : `${told.answered} of ${told.present} ${told.present === 1 ? "has" : "have"} answered`;

  function status() {
    if (!data.question) return data.teaches ? `${told.present} here` : "Your teacher shows you this page.";
    if (data.teaches) return counted();
    if (told.revealed) return counted();
    return told.mine === null ? "What do you expect? Your prediction has no name on it." : "Your prediction has arrived. You may change it until the answer is shown.";
  }

  function paint() {
    if (!sending && !told.problem) say.textContent = refused || status();
    part?.show(told);
    const now = JSON.stringify([told.number, told.revealed, told.answer ?? null]);
    if (now === shown) return;
    shown = now;
    const wait = told.revealed && data.lesson && node("p", { class: "say" }, "It is being measured …");
    const answer = told.answer && data.question && answered(data.question, told.answer, data.teaches ? null : told.mine, false);
    result.replaceChildren(...[answer || wait].filter(Boolean));
  }

  return {
    show(arrived, from) {
      [data, component] = [arrived, from];
      const now = JSON.stringify([data.code, data.number, data.teaches]);
      if (now !== drawn) {
        [drawn, shown, told, over, sending, refused] = [now, "", { answered: 0, present: 0, mine: null, given: [], revealed: false }, false, null, ""];
        result.replaceChildren();
        part = data.teaches
          ? board(data, { reveal: () => steer("reveal"), end: () => steer("end"), go: (by) => component.setTriggerValue("next", by) })
          : data.question ? prediction(data, send) : { root: classCode(data.code), show() {} };
        body.replaceChildren(part.root);
      }
      ask();
    },
    close: () => {
      clearTimeout(timer);
      [over, sending] = [true, null];
    },
  };
});
