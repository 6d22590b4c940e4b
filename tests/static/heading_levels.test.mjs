import assert from "node:assert/strict";
import { test } from "node:test";

import { announcedLevels } from "../../explorer/static/shared/runtime/heading_levels.js";

test("no level of a heading is left out, and a level that follows is kept", () => {
  assert.deepEqual(announcedLevels([1, 3, 2, 4, 4, 1, 2, 3]), [1, 2, 2, 3, 3, 1, 2, 3]);
  assert.deepEqual(announcedLevels([4, 1, 3]), [1, 1, 2]);
});
