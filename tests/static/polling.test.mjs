import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";
import { Poller } from "../../explorer/static/shared/runtime/polling.js";

const there = { address: "/live/a", seconds: 0.5 };
let asked, answers, seen;
const answer = (value) => Promise.resolve({ ok: true, json: () => Promise.resolve(value) });
const live = () =>
  new Poller(
    (value) => seen.push(value),
    () => seen.push("over"),
  );

/* The time of one question, and of its answer. */
async function wait(times = 1) {
  for (let i = 0; i < times; i++) {
    mock.timers.tick(500);
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
  }
}

beforeEach(() => {
  [asked, answers, seen] = [[], [], []];
  mock.timers.enable({ apis: ["setTimeout"] });
  globalThis.fetch = (address) => {
    asked.push(address);
    return answers.shift()();
  };
});
afterEach(() => mock.timers.reset());

test("what came is shown, and the next question waits for whoever shows it", async () => {
  answers = [() => answer({ figures: [1] })];
  live().follow(there);
  await wait(3);
  assert.deepEqual([asked, seen], [["/live/a"], [{ figures: [1] }]]);
});

test("a server that is busy or away is asked again, and so is one where nothing trains any more", async () => {
  answers = [
    () => Promise.resolve({ ok: false }),
    () => Promise.reject(new Error("away")),
    () => answer(null),
    () => answer({ figures: [] }),
  ];
  live().follow(there);
  await wait(5);
  assert.equal(asked.length, 4);
  assert.deepEqual(seen, ["over", { figures: [] }]);
});

test("an answer that nobody waits for any more is not shown", async () => {
  let late;
  answers = [
    () =>
      new Promise((done) => {
        late = done;
      }),
  ];
  const one = live();
  one.follow(there);
  await wait();
  one.follow({ ...there });
  late({ ok: true, json: () => Promise.resolve({ figures: [1] }) });
  one.stop();
  await wait(2);
  assert.deepEqual([asked.length, seen], [1, []]);
});

test("nothing is asked where nothing trains", async () => {
  const one = live();
  one.follow(null);
  one.follow(there);
  one.follow(undefined);
  await wait(2);
  assert.deepEqual(asked, []);
});
