import assert from "node:assert/strict";
import { test } from "node:test";
import { loadArrays, unpackArrays } from "../../explorer/static/shared/runtime/array_store.js";

function file(header, bytes) {
  const text = new TextEncoder().encode(JSON.stringify(header).padEnd(256));
  const made = new Uint8Array(8 + text.length + bytes.length);
  new DataView(made.buffer).setBigUint64(0, BigInt(text.length), true);
  made.set(text, 8);
  made.set(bytes, 8 + text.length);
  return made.buffer;
}
const floats = new Uint8Array(new Float32Array([0.5, -1]).buffer),
  shorts = new Uint8Array(new Uint16Array([65535, 7, 9]).buffer);
const packed = () =>
  file(
    {
      __metadata__: { any: "thing" },
      a: { dtype: "F32", shape: [2], data_offsets: [0, 8] },
      b: { dtype: "U16", shape: [3, 1], data_offsets: [8, 14] },
    },
    [...floats, ...shorts],
  );

test("every array comes with its type, shape and values", () => {
  const found = unpackArrays(packed());
  assert.deepEqual(Object.keys(found), ["a", "b"]);
  assert.deepEqual([...found.a.data], [0.5, -1]);
  assert.ok(found.b.data instanceof Uint16Array);
  assert.deepEqual(
    [found.b.shape, [...found.b.data]],
    [
      [3, 1],
      [65535, 7, 9],
    ],
  );
});

test("an address is fetched once, and again after it failed", async (t) => {
  let asked = 0,
    there = false;
  t.mock.timers.enable({ apis: ["setTimeout"] });
  t.mock.method(globalThis, "fetch", async () => {
    asked++;
    return there ? { ok: true, arrayBuffer: async () => packed() } : { ok: false };
  });
  const failed = assert.rejects(loadArrays("/here"));
  for (let i = 0; i < 4; i++) {
    await new Promise((done) => setImmediate(done));
    t.mock.timers.tick(5000);
  }
  await failed;
  assert.equal(asked, 4);
  there = true;
  const [one, two] = await Promise.all([loadArrays("/here"), loadArrays("/here")]);
  assert.equal(one, two);
  assert.equal(asked, 5);
});
