import assert from "node:assert/strict";
import { test } from "node:test";
import { ViewState } from "../../explorer/static/shared/runtime/view_state.js";

function makeView(encode) {
  const sent = [],
    drawn = [];
  const view = new ViewState(
    (name, value) => sent.push([name, value]),
    () => drawn.push({ ...view.value }),
    encode,
  );
  return { view, sent, drawn };
}

test("a change is drawn at once and sent when it is reported, and only once", () => {
  const { view, sent, drawn } = makeView();
  assert.equal(view.receive({ width: 2, base: 10 }), true);
  view.change({ width: 3 });
  view.change({ width: 4 });
  assert.deepEqual(drawn, [
    { width: 3, base: 10 },
    { width: 4, base: 10 },
  ]);
  assert.deepEqual(sent, []);
  view.report();
  view.report();
  assert.deepEqual(sent, [["set", '{"width":4,"base":10}']]);
});

test("what the page sent is not sent back", () => {
  const { view, sent } = makeView((value) => value);
  view.receive({ cut: 4 });
  view.set({ cut: 4 });
  assert.deepEqual(sent, []);
  view.set({ cut: 8 });
  assert.deepEqual(sent, [["set", { cut: 8 }]]);
});

test("an echo of an earlier state is not new, and another state of the page is", () => {
  const { view } = makeView();
  view.receive({ at: 0 });
  view.set({ at: 1 });
  view.set({ at: 2 });
  assert.equal(view.receive({ at: 1 }), false);
  assert.deepEqual(view.value, { at: 2 });
  assert.equal(view.receive({ at: 7 }), true);
  assert.deepEqual(view.value, { at: 7 });
});
