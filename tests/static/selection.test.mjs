import assert from "node:assert/strict";
import { test } from "node:test";
import { Selection } from "../../explorer/static/shared/runtime/selection.js";

const area = {};
const press = (selection, key, move = () => null, enters = true) => {
  const event = {
    key,
    target: area,
    isPrevented: false,
    stopPropagation() {},
    preventDefault: () => (event.isPrevented = true),
  };
  selection.onKeyDown(area, move, enters)(event);
  return event.isPrevented;
};

test("the pointer shows until a click keeps, and a second click lets go", () => {
  let drawn = 0;
  const selection = new Selection(() => drawn++);
  selection.point({ row: 1 });
  selection.press({ row: 1 });
  selection.point({ row: 2 });
  selection.leave();
  assert.deepEqual([selection.at, selection.isKept, drawn], [{ row: 1 }, true, 2]);
  selection.press({ row: 3 });
  assert.deepEqual([selection.at, selection.isKept], [{ row: 3 }, true]);
  selection.press({ row: 3 });
  assert.equal(selection.isKept, false);
  selection.press(null);
  assert.deepEqual([selection.at, selection.isKept], [null, false]);
});

test("arrow keys keep what they lead to, Enter keeps or lets go, Escape clears", () => {
  const selection = new Selection(() => {});
  assert.equal(
    press(selection, "x", () => null),
    false,
  );
  assert.ok(press(selection, "ArrowDown", (_key, at) => (at ?? 0) + 1));
  assert.deepEqual([selection.at, selection.isKept], [1, true]);
  press(selection, "Enter");
  assert.deepEqual([selection.at, selection.isKept], [1, false]);
  press(selection, "Escape");
  assert.deepEqual([selection.at, selection.isKept], [null, false]);
});
