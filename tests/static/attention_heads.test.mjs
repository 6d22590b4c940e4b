import assert from "node:assert/strict";
import { test } from "node:test";
import {
  CHANCE,
  COLUMNS,
  snapshotPosition,
  indexWeights,
  toggleHead,
  describeQuery,
  headScores,
  includesHead,
  lossAt,
  toggleLayer,
  sortHeads,
  describeHead,
  readWeights,
  weightCount,
  strongestKeys,
  describeInterventions,
  weightRows,
  describeImportance,
  FULL,
  fullColourWeight,
  headCells,
  layoutBlocks,
  scoreNames,
} from "../../explorer/static/components/attention_heads/math.js";
import { cellEdges, paintCells, colourRamp, tileSide } from "../../explorer/static/shared/charts/heatmap.js";

const pack = (...rows) => Uint16Array.from(rows.flat(), (weight) => Math.round(weight * FULL));
const near = (a, b, off = 1e-4) =>
  assert.ok(Math.abs(a - b) < off || (Number.isNaN(a) && Number.isNaN(b)), `${a} is not ${b}`);

// One layer of two heads over "a b a b": the first looks at the letter before, the second at what followed the same letter.
const causal = pack([1], [1, 0], [0, 1, 0], [0, 0, 1, 0], [1], [0.5, 0.5], [0.1, 0.8, 0.1], [0, 0, 0.9, 0.1]);
const ids = [7, 8, 7, 8];
const seen = indexWeights(causal, { layers: 1, heads: 2, causal: true, queries: 4 });
// The weights of a single head.
const single = (rows, more) =>
  indexWeights(pack(...rows), { layers: 1, heads: 1, causal: false, queries: rows.length, ...more });

test("a causal head takes the lower triangle, any other all cells", () => {
  assert.equal(weightCount({ causal: true, queries: 4 }), 10);
  assert.equal(weightCount({ causal: false, queries: 4, keys: 3 }), 12);
});

test("every weight stands in its place, and what is masked is nothing, not zero", () => {
  near(seen.at(0, 1, 2, 1), 0.8);
  assert.equal(seen.at(0, 0, 1, 1), 0);
  assert.ok(Number.isNaN(seen.at(0, 0, 1, 2)));
  const full = single(
    [
      [0.25, 0.75, 0],
      [0.5, 0.5, 0],
      [0, 0, 0],
    ],
    { masked: [2] },
  );
  near(full.at(0, 0, 0, 1), 0.75);
  assert.ok(Number.isNaN(full.at(0, 0, 0, 2)));
  assert.ok(Number.isNaN(full.at(0, 0, 2, 0)), "padding does not ask");
});

test("a snapshot lies behind those before it", () => {
  const two = new Uint16Array([...causal, ...causal.map((weight) => FULL - weight)]);
  near(indexWeights(two, { layers: 1, heads: 2, causal: true, queries: 4, from: 20 }).at(0, 1, 2, 1), 0.2);
});

test("with the mask lifted the weights are squares, and the snapshots still triangles", () => {
  const given = { layers: 1, heads: 2, causal: false, can: { mask: true }, tokens: [..."abab"], masked: [] };
  const square = { shape: [1, 2, 16], data: new Uint16Array(32).fill(FULL / 4) };
  const steps = { shape: [2, 1, 2, 10], data: new Uint16Array([...causal, ...causal.map((weight) => FULL - weight)]) };
  const lifted = readWeights(square, given),
    first = readWeights(steps, given, 0),
    second = readWeights(steps, given, 1);
  assert.deepEqual([lifted.causal, first.causal, second.causal], [false, true, true]);
  near(lifted.at(0, 1, 0, 3), 0.25);
  near(first.at(0, 1, 2, 1), 0.8);
  near(second.at(0, 1, 2, 1), 0.2);
  assert.ok(Number.isNaN(second.at(0, 1, 2, 3)));
  near(headScores(second, 0, 1, ids).previous, (0.5 + 0.2 + 0.1) / 3);
});

test("an encoder's snapshots are squares, and of a decoder the weights are triangles again when the mask is back", () => {
  const encoder = { layers: 1, heads: 1, causal: false, can: { mask: false }, tokens: ["a", "b"], masked: [] };
  const steps = { shape: [2, 1, 1, 4], data: pack([0.5, 0.5, 1, 0], [0.1, 0.9, 0.3, 0.7]) };
  near(readWeights(steps, encoder, 1).at(0, 0, 0, 1), 0.9);
  const back = readWeights(
    { shape: [1, 2, 10], data: causal },
    { layers: 1, heads: 2, causal: true, tokens: [..."abab"] },
  );
  near(back.at(0, 1, 3, 2), 0.9);
});

test("a table of weights counts layers, heads and tokens from one", () => {
  const rows = weightRows(seen, [..."abab"], [..."abab"], 0, 1);
  assert.deepEqual(COLUMNS, ["layer", "head", "query", "query_token", "key", "key_token", "weight"]);
  assert.equal(rows.length, 16);
  assert.deepEqual(rows[0], [1, 2, 1, "a", 1, "a", "1.00000"]);
  assert.deepEqual(rows[11], [1, 2, 3, "a", 4, "b", ""]);
  assert.deepEqual(rows.at(-1), [1, 2, 4, "b", 4, "b", "0.10001"]);
});

test("a loss changes where chance would hardly change it so much", () => {
  assert.equal(CHANCE, 2.5);
  assert.match(describeImportance(0.024, 0.01, "nats"), /hardly changes: \+0\.024 nats \(±\u00a00\.010\)/);
  assert.match(describeImportance(0.026, 0.01, "nats"), /rises by 0\.026\u00a0nats/);
  assert.match(describeImportance(-0.026, 0.01, "nats"), /falls by 0\.026/);
  assert.match(
    describeImportance(0, 0, "nats", "all sentences"),
    /^Without it the loss on all sentences hardly changes: 0\.000 nats\.$/,
  );
});

test("other tokens may answer than those that ask", () => {
  const cross = single(
    [
      [0.1, 0.9, 0],
      [0.3, 0.7, 0],
    ],
    { keys: 3, masked: [2] },
  );
  near(cross.at(0, 0, 1, 1), 0.7);
  assert.deepEqual(
    strongestKeys(cross, 0, 0, 0, 5).map(([key]) => key),
    [1, 0],
  );
});

test("habits are means over those that could", () => {
  const first = headScores(seen, 0, 0, ids),
    second = headScores(seen, 0, 1, ids);
  near(first.previous, 1);
  near(first.itself, 0.25);
  near(first.first, 0.5);
  near(first.same, 0);
  near(first.after_same, 1);
  near(first.entropy, 0);
  near(first.spread, 1);
  near(second.previous, (0.5 + 0.8 + 0.9) / 3);
  near(second.after_same, 0.85); // of the last two: the first two have no same letter before them
  near(second.same, 0.05);
  near(
    second.entropy,
    (Math.log(2) - 0.2 * Math.log(0.1) - 0.8 * Math.log(0.8) - 0.9 * Math.log(0.9) - 0.1 * Math.log(0.1)) / 4,
  );
  near(second.room, Math.exp(Math.log(24) / 4));
  assert.deepEqual(second.distances, [0, 1, 2, 3]);
  [1.7 / 4, 2.2 / 3, 0.1 / 2, 0].forEach((share, back) => near(second.distance[back], share));
});

test("what follows the same token may be the one that asks", () => {
  const twice = headScores(single([[1], [0.3, 0.7]], { causal: true }), 0, 0, [5, 5]);
  near(twice.same, 0.3);
  near(twice.after_same, 0.7);
});

test("what nobody could do is not a number", () => {
  const alone = headScores(single([[1]], { causal: true }), 0, 0, [3]);
  for (const name of ["previous", "same", "after_same"]) assert.ok(Number.isNaN(alone[name]));
  near(alone.itself, 1);
  assert.match(describeHead(alone, "letter"), /^There is only one letter/);
});

/* From explorer.inspection.attention.head_scores.score_heads, of three words and a padding, the last neither asked nor asking:
   NAN = float("nan"); weights = np.array([[[[.2, .3, .5, NAN], [.1, .6, .3, NAN], [.4, .4, .2, NAN], [NAN] * 4]]]); score_heads(weights, [5, 6, 5, 0]) */
test("an encoder's habits are those that Python measures", () => {
  const view = single(
    [
      [0.2, 0.3, 0.5, 0],
      [0.1, 0.6, 0.3, 0],
      [0.4, 0.4, 0.2, 0],
      [0, 0, 0, 0],
    ],
    { masked: [3] },
  );
  const found = headScores(view, 0, 0, [5, 6, 5, 0]);
  const shares = { previous: 0.25, itself: 0.333333, first: 0.233333, same: 0.4, after_same: 0.4 };
  const numbers = { ...shares, entropy: 0.994173, spread: 2.702488 };
  for (const [name, value] of Object.entries(numbers)) near(found[name], value);
  assert.deepEqual(found.distances, [-3, -2, -1, 0, 1, 2, 3]);
  [NaN, 0.5, 0.3, 0.333333, 0.25, 0.4, NaN].forEach((share, i) => near(found.distance[i], share));
});

test("the words are those that the numbers bear out", () => {
  const found = { previous: 0.1, itself: 0.1, first: 0.1, same: NaN, after_same: 0.1, spread: 3.6, room: 9 };
  const describe = (more, unit) => describeHead({ ...found, ...more }, unit);
  assert.equal(describe({}, "letter"), "It has no simple pattern: it attends to 3.6 letters on average.");
  assert.equal(
    describe({ previous: 0.97 }, "letter"),
    "It attends mostly to the letter before: 0.97 of its attention.",
  );
  assert.equal(describe({ first: 0.4 }, "word"), "It attends partly to the first word: 0.40 of its attention.");
  const both = "It attends to the letter before (0.50) and to the letter itself (0.45).";
  assert.equal(describe({ previous: 0.5, itself: 0.45 }, "letter"), both);
  assert.match(
    describe({ after_same: 0.8 }, "token"),
    /^It attends mostly to the token that followed the same token earlier, where there is one: 0\.80/,
  );
  assert.match(
    describe({ first: 0.4, spread: 8.9 }, "token"),
    /^It attends to all tokens equally: 8\.9 tokens on average, of 9\.0/,
  );
});

test("a glance names the strongest, and never nobody", () => {
  const named = (at) => `“${"abab"[at]}”`;
  assert.equal(describeQuery(seen, 0, 1, 2, named), "“a” attends to “b” 0.80, “a” 0.10 and “a” 0.10.");
  assert.equal(describeQuery(seen, 0, 0, 3, named), "“b” attends to “a” 1.00.");
  const pads = single(
    [
      [1, 0],
      [0, 0],
    ],
    { masked: [1] },
  );
  assert.equal(describeQuery(pads, 0, 0, 1, named), "“b” attends to nothing: all keys are masked.");
});

test("sorted heads fall, and those without a number come last in their own order", () => {
  const values = { "0,0": 0.1, "0,1": NaN, "1,0": 0.7, "1,1": NaN };
  const order = (value) => sortHeads(2, 2, value).join(" ");
  assert.equal(
    order((layer, head) => values[`${layer},${head}`]),
    "1,0 0,0 0,1 1,1",
  );
  assert.equal(order(null), "0,0 0,1 1,0 1,1");
});

test("snapshots stand evenly, whatever their steps, and the curve between them is straight", () => {
  assert.deepEqual(
    [0, 1, 2, 6, 10, 99].map((step) => snapshotPosition([0, 2, 10], step)),
    [0, 0.25, 0.5, 0.75, 1, 1],
  );
  assert.equal(snapshotPosition([5], 5), 0);
  const curve = { steps: [1, 3], losses: [4, 2] };
  assert.deepEqual(
    [0, 1, 2, 9].map((step) => lossAt(curve, step)),
    [4, 4, 3, 2],
  );
  assert.ok(Number.isNaN(lossAt({ steps: [], losses: [] }, 1)));
});

test("heads are touched one by one or a layer at once, and that is said", () => {
  const parse = (text) => text.split(" ").map((head) => head.split(",").map(Number));
  assert.deepEqual(toggleHead([], 1, 0), parse("1,0"));
  assert.deepEqual(toggleHead(parse("1,0 0,0"), 1, 0), parse("0,0"));
  assert.ok(includesHead(toggleLayer(parse("1,0 0,1"), 1, 2), 1, 1));
  assert.deepEqual(toggleLayer(parse("1,1 0,1 1,0"), 1, 2), parse("0,1"));
  const nothing = { off: [], flat: [], unmasked: false, unplaced: false };
  assert.equal(describeInterventions(nothing), "");
  assert.equal(
    describeInterventions({ ...nothing, off: parse("0,0 0,1"), flat: parse("1,1"), unmasked: true }),
    "Intervention: 2 heads switched off, 1 head uniform, causal mask removed.",
  );
});

/** A canvas of which only the pixels are looked at. */
globalThis.ImageData = class {
  constructor(width, height) {
    Object.assign(this, { width, height, data: new Uint8ClampedArray(4 * width * height) });
  }
};
function painted(view, head, pixels, scale, gap = 0) {
  const shades = Uint32Array.from({ length: 1025 }, (_, shade) => shade + 1); // 0 is a pixel where nothing is
  let seen;
  const canvas = {
    width: pixels,
    height: pixels,
    getContext: () => ({
      putImageData: (image) => {
        seen = [...new Uint32Array(image.data.buffer)];
      },
    }),
  };
  paintCells(canvas, headCells(view, 0, head, scale), shades, gap);
  return Array.from({ length: pixels }, (_, y) => seen.slice(y * pixels, (y + 1) * pixels));
}

test("a masked cell has no tile, a zero has the palest one", () => {
  assert.deepEqual(painted(seen, 0, 4, "one"), [
    [1025, 0, 0, 0],
    [1025, 1, 0, 0],
    [1, 1025, 1, 0],
    [1, 1, 1025, 1],
  ]);
  assert.deepEqual(painted(seen, 0, 8, "one", 1)[2], [1025, 0, 1, 0, 0, 0, 0, 0]);
  assert.deepEqual(painted(seen, 0, 8, "one", 1)[3], Array(8).fill(0));
});

test("padding is empty as a row and as a column", () => {
  const view = single(
    [
      [0.5, 0.5, 0],
      [0, 1, 0],
      [0, 0, 0],
    ],
    { masked: [2] },
  );
  assert.deepEqual(painted(view, 0, 3, "one"), [
    [513, 513, 0],
    [1, 1025, 0],
    [0, 0, 0],
  ]);
});

test("on the scale of each row its strongest has the full colour", () => {
  assert.equal(fullColourWeight(seen, 0, 1, 1, "one"), FULL);
  assert.deepEqual(painted(seen, 1, 4, "row")[1], [1025, 1025, 0, 0]);
  assert.equal(painted(seen, 1, 4, "one")[1][0], 513);
});

test("a pixel that holds several cells shows the strongest", () => {
  assert.deepEqual(painted(seen, 0, 2, "one"), [
    [1025, 0],
    [1025, 1025],
  ]);
});

test("cells divide the pixels without a rest, and are of one size where there is room", () => {
  assert.deepEqual([...cellEdges(3, 10)], [0, 3, 7, 10]);
  assert.deepEqual([tileSide(21, 84), tileSide(21, 80), tileSide(64, 84), tileSide(128, 42)], [84, 80, 84, 42]);
  assert.equal(tileSide(40, 84), 80);
});

test("the ramp ends in the colours of the scale", () => {
  const shades = colourRamp((name) => `rgb(${10 * name.at(-1)}, 0, 0)`);
  assert.deepEqual(
    [shades[0], shades[512], shades[1024]].map((pixel) => pixel & 255),
    [0, 30, 60],
  );
});

test("cross-attention has scores only for the first key and the spread, and padding keys silence no query", () => {
  const tokens = ["x", "y"],
    keys = ["a", "b"];
  const view = readWeights(
    { shape: [1, 1, 4], data: pack([1, 0], [0.25, 0]) },
    { layers: 1, heads: 1, causal: false, tokens, keys, masked: [1] },
  );
  near(view.at(0, 0, 1, 0), 0.25);
  assert.ok(Number.isNaN(view.at(0, 0, 1, 1)), "a masked key");
  const found = headScores(view, 0, 0, [5, 6]);
  assert.deepEqual(scoreNames(true), ["first"]);
  near(found.first, 0.625);
  for (const name of ["previous", "itself", "same", "after_same"]) assert.ok(Number.isNaN(found[name]), name);
  assert.equal(
    describeHead({ ...found, first: 0.6, room: 9, spread: 3 }, "source token"),
    "It attends mostly to the first source token: 0.60 of its attention.",
  );
});

test("weights of cross-attention are rectangles, also if they are as many as a triangle has", () => {
  const weights = { shape: [1, 1, 6], data: pack([0.1, 0.9], [0.2, 0.8], [0.3, 0.7]) };
  const view = readWeights(weights, { layers: 1, heads: 1, causal: true, tokens: ["x", "y", "z"], keys: ["a", "b"] });
  assert.equal(view.causal, false);
  near(view.at(0, 0, 2, 1), 0.7);
  assert.deepEqual([headCells(view, 0, 0, "one").rows, headCells(view, 0, 0, "one").columns], [3, 2]);
  assert.equal(weightRows(view, ["x", "y", "z"], ["a", "b"], 0, 0).length, 6);
});

test("a large grid takes as many blocks as make its tiles largest", () => {
  const room = { width: 620, height: 440, names: 40, between: 14, gap: 3, least: 8 };
  const fits = ({ blocks, rows, side }, heads) =>
    blocks * (room.names + heads * (side + room.gap)) + (blocks - 1) * room.between <= room.width &&
    rows * (side + room.gap) <= room.height;
  const deep = layoutBlocks({ layers: 30, heads: 9, ...room });
  assert.deepEqual([deep.blocks, deep.rows], [2, 15]);
  assert.ok(deep.side >= 24 && fits(deep, 9));
  assert.ok(!fits({ ...deep, side: deep.side + 1 }, 9), "no larger tile fits");
  assert.equal(layoutBlocks({ layers: 12, heads: 12, ...room }).blocks, 1);
  const phone = layoutBlocks({ layers: 30, heads: 9, ...room, width: 350, least: 24 });
  assert.deepEqual([phone.blocks, phone.side], [1, 24]);
});
