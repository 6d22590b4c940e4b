import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.document = { createElement: () => ({ getContext: () => null }) }; // text_metrics.js measures labels with a canvas
const {
  describeJobs: headline,
  describeJob: line,
  pollDelay: pause,
} = await import("../../explorer/static/components/jobs_panel/view.js");

const job = (more) => ({
  state: "running",
  step: 90,
  steps: 200,
  left: 12,
  mine: false,
  ahead: 0,
  problem: "",
  ...more,
});

test("everybody's trainings in one line", () => {
  assert.equal(
    headline([job(), job({ left: 4 }), job({ state: "finished", step: 200 })]),
    "Training 2 · 45 % · about 12 s left",
  );
  assert.equal(headline([job({ left: null })]), "Training 1 · 45 %");
  assert.equal(headline([job({ state: "waiting", step: 0, left: null })]), "Training 1 · waiting");
});

test("the visitor's own come before", () => {
  assert.equal(headline([job({ mine: true, left: 3 }), job({ step: 0 })]), "Yours: 45 % · about 3.0 s left");
  assert.equal(headline([job({ mine: true, state: "waiting", ahead: 2 }), job()]), "Yours: waits, 2 before it");
  assert.equal(headline([job({ mine: true, state: "stopped" }), job()]), "Training 1 · 45 % · about 12 s left");
});

test("when none is live", () => {
  assert.equal(headline([job({ state: "finished" }), job({ state: "failed" })]), "2 trainings ended");
  assert.equal(headline([job({ state: "stopped" })]), "1 training ended");
});

test("what is said of one", () => {
  assert.equal(line(job()), "about 12 s left");
  assert.equal(line(job({ left: null })), "");
  assert.equal(line(job({ state: "waiting", ahead: 2 })), "waits, 2 before it");
  assert.equal(line(job({ state: "stopped", step: 120, steps: 325 })), "stopped at step 120 of 325");
  assert.equal(line(job({ state: "diverged" })), "diverged at step 90 of 200");
  assert.equal(line(job({ state: "failed", problem: "Out of memory." })), "Out of memory.");
  assert.equal(line(job({ state: "finished" })), "finished");
});

test("asked often while something trains, seldom otherwise, more seldom of a server that is silent", () => {
  assert.equal(pause([job()], 0), 1000);
  assert.equal(pause([job({ state: "finished" })], 0), 5000);
  assert.deepEqual(
    [1, 2, 3, 4, 9].map((failures) => pause([job()], failures)),
    [2000, 4000, 8000, 10000, 10000],
  );
});
