import assert from "node:assert/strict";
import { test } from "node:test";
import {
  advanceCursor,
  startPlayback,
  truncateTrace,
  isContinuous,
  selectFrame,
  nearestX,
  frameIndexAt,
  valueAt,
} from "../../explorer/static/shared/charts/playback.js";

const run = { run: "a", end: 30, available: 30, live: false };
const stopped = (cursor, following = false) => ({ cursor, playing: false, following });
const begun = { cursor: 0, playing: true, following: false };
const line = { x: [0, 1, 2, 3], y: [0, 0.5, 0.75, 1], mode: "lines" };

test("a whole run takes 6 to 8 seconds, whatever the training took, and is slower at both ends", () => {
  let seconds = 0,
    cursor = 0;
  while (cursor < 30) {
    cursor = advanceCursor(cursor, 0.02, run).cursor;
    seconds += 0.02;
  }
  assert.ok(seconds > 6 && seconds < 8, `${seconds} s`);
  const covered = (from) => advanceCursor(from, 0.1, run).cursor - from;
  assert.ok(covered(0) < 0.5 * covered(15) && covered(29.9) < 0.5 * covered(15));
  assert.deepEqual(advanceCursor(29, 2, run), { cursor: 30, done: true });
});

test("playback waits for what is not trained yet, and ends when a stopped run ends early", () => {
  assert.deepEqual(advanceCursor(11, 1, { ...run, available: 12, live: true }), { cursor: 12, done: false });
  assert.deepEqual(advanceCursor(11, 1, { ...run, available: 12 }), { cursor: 12, done: true });
});

test("a finished run opens finished; one that trains before our eyes plays from the start", () => {
  assert.deepEqual(startPlayback(run, null, false), stopped(30));
  assert.deepEqual(startPlayback({ ...run, live: true, available: 3 }, null, false), begun);
  assert.deepEqual(startPlayback({ ...run, autoplay: true }, null, false), begun);
  const before = { run: "0", live: true, cursor: 30, playing: false, following: false };
  assert.equal(startPlayback(run, before, false).playing, true); // it was over before the first look at it
  assert.equal(startPlayback(run, { ...before, live: false }, false).playing, false); // another finished run was chosen
});

test("new data of the same run disturb neither a pause nor a playback", () => {
  const paused = { run: "a", live: true, cursor: 4.5, playing: false, following: false };
  assert.deepEqual(startPlayback({ ...run, live: true, available: 20 }, paused, false), stopped(4.5));
  assert.equal(startPlayback(run, { ...paused, playing: true }, false).playing, true);
});

test("who asked for less motion sees the newest epoch at once, until they take over", () => {
  const first = startPlayback({ ...run, live: true, available: 5 }, null, true);
  assert.deepEqual(first, stopped(5, true));
  const next = startPlayback({ ...run, live: true, available: 9 }, { ...first, run: "a", live: true }, true);
  assert.equal(next.cursor, 9);
  assert.deepEqual(startPlayback(run, { ...next, run: "a", live: true }, true), stopped(30));
});

test("a line is cut between two points on its way", () => {
  assert.deepEqual(truncateTrace(line, 1.5), { ...line, x: [0, 1, 1.5], y: [0, 0.5, 0.625] });
  assert.deepEqual(truncateTrace(line, 1), { ...line, x: [0, 1], y: [0, 0.5] });
  assert.equal(truncateTrace(line, 3), line);
});

test("a band drawn as one outline is cut on its way there and back", () => {
  const band = { x: [0, 1, 2, 2, 1, 0], y: [1, 2, 3, 1, 1, 0], fill: "toself", mode: "lines" };
  const { x, y } = truncateTrace(band, 1.5);
  assert.deepEqual(x, [0, 1, 1.5, 1.5, 1, 0]);
  assert.deepEqual(y, [1, 2, 2.5, 1, 1, 0]);
  assert.deepEqual(truncateTrace(band, 1).x, [0, 1, 1, 0]);
});

test("what belongs to a point goes with it; gaps are not bridged", () => {
  assert.deepEqual(truncateTrace({ ...line, text: ["a", "b", "c", "d"] }, 1.5).text, ["a", "b", ""]);
  assert.deepEqual(truncateTrace({ x: [0, 1, 2], y: [0, 1, null], mode: "lines" }, 1.5).x, [0, 1]);
  assert.deepEqual(truncateTrace({ x: [0, 1, 2], y: [1, 2, 3], type: "bar" }, 1.5).y, [1, 2]);
});

test("ceilings, words and heat maps are never cut", () => {
  for (const trace of [
    { ...line, meta: { whole: true } },
    { x: ["a", "b"], y: [1, 2] },
    { type: "heatmap", z: [[1]] },
  ]) {
    assert.equal(truncateTrace(trace, 0), trace);
  }
  assert.ok(isContinuous(line) && isContinuous({ type: "bar", meta: { whole: true } }));
  assert.ok(!isContinuous({ type: "bar" }) && !isContinuous({ mode: "lines+markers" }) && !isContinuous({}));
});

test("a line is read where it is, and nowhere else", () => {
  assert.equal(valueAt(line, 2), 0.75);
  assert.equal(valueAt(line, 2.5), 0.875);
  assert.equal(valueAt(line, 4), null);
  assert.equal(valueAt({ x: [0, 1], y: [0, null] }, 0.5), null);
  assert.equal(nearestX(line, 1.6), 2);
  assert.equal(nearestX(line, 2.9, 1.5), 1);
  assert.equal(nearestX({ x: [0, 1], y: [0, null] }, 1), 0);
});

test("of frames the one at the cursor is open, at the end the last", () => {
  const frames = [
    [[1, 2], null],
    [[3, 4], null],
    [[5, 6], null],
  ];
  assert.deepEqual(
    [0, 0.9, 1, 1.9999999, 2, null, 7].map((cursor) => frameIndexAt(frames, cursor)),
    [0, 0, 1, 2, 2, 2, 2],
  );
  const other = { x: [0], y: [9] };
  assert.deepEqual(selectFrame([{ x: [0, 1], y: [0, 0], name: "a" }, other], frames[1]), [
    { x: [0, 1], y: [3, 4], name: "a" },
    other,
  ]);
});

test("a playback may stand anywhere at first, and where another one is shown again", () => {
  assert.equal(startPlayback({ ...run, first: 4 }, null, false).cursor, 4);
  assert.equal(startPlayback({ ...run, first: 0 }, null, false).cursor, 0);
  assert.equal(startPlayback({ ...run, first: 40 }, null, false).cursor, 30);
  const moved = { run: "a", live: false, cursor: 7, playing: false, following: false };
  assert.equal(startPlayback({ ...run, first: 4 }, moved, false).cursor, 7);
  assert.equal(startPlayback({ ...run, run: "b", first: 4 }, moved, false).cursor, 4);
});
