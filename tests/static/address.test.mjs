import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.window = { addEventListener() {} }; // mount.js listens for clicks on links

const { pathOf } = await import("../../explorer/static/components/address/view.js");

test("the path of a page does not contain that below which the site stands", () => {
  for (const base of ["", "/lineage", "/a/b"]) {
    assert.equal(pathOf(`${base}/`), "");
    assert.equal(pathOf(`${base}/negation`), "negation");
  }
});
