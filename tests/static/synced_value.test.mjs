import assert from "node:assert/strict";
import { test } from "node:test";
import { SyncedValue } from "../../explorer/static/shared/runtime/synced_value.js";

test("the page says what is so, and the visitor changes it", () => {
  const value = new SyncedValue();
  value.receive(["a"]);
  assert.deepEqual(value.value, ["a"]);
  value.set(["a", "b"]);
  value.receive(["a"]); // a page that has not heard yet
  assert.deepEqual(value.value, ["a", "b"]);
  value.receive(["a", "b"]);
  value.receive([]); // cleared there
  assert.deepEqual(value.value, []);
});

test("an echo that comes late does not undo what was said since", () => {
  const value = new SyncedValue();
  value.receive(1);
  value.set(2);
  value.set(3);
  value.receive(2);
  assert.equal(value.value, 3);
  value.receive(3);
  value.receive(2); // and this is no echo
  assert.equal(value.value, 2);
});

test("a page that says something else is right", () => {
  const value = new SyncedValue();
  value.receive("up");
  value.set("down");
  value.receive(null);
  assert.equal(value.value, null);
});
