import assert from "node:assert/strict";
import { test } from "node:test";
import { Shared } from "../../explorer/ui/assets/shared.js";

test("the page says what is so, and the visitor changes it", () => {
  const value = new Shared();
  value.hear(["a"]);
  assert.deepEqual(value.now, ["a"]);
  value.say(["a", "b"]);
  value.hear(["a"]); // a page that has not heard yet
  assert.deepEqual(value.now, ["a", "b"]);
  value.hear(["a", "b"]);
  value.hear([]); // cleared there
  assert.deepEqual(value.now, []);
});

test("an echo that comes late does not undo what was said since", () => {
  const value = new Shared();
  value.hear(1);
  value.say(2);
  value.say(3);
  value.hear(2);
  assert.equal(value.now, 3);
  value.hear(3);
  value.hear(2); // and this is no echo
  assert.equal(value.now, 2);
});

test("a page that says something else is right", () => {
  const value = new Shared();
  value.hear("up");
  value.say("down");
  value.hear(null);
  assert.equal(value.now, null);
});
