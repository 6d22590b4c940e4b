import assert from "node:assert/strict";
import { test } from "node:test";
import {
  bandPath,
  describeCollapse,
  compareGradients,
  cosinesOf,
  courseOf,
  describeGrowth,
  describeScale,
  placeLabels,
  nameOf,
  formatPower,
  overSeeds,
  linePath,
  placeOf,
  formatInterval,
  findingText,
  spanOf,
  ticksOf,
} from "../../../explorer/labs/depth/components/residual_stacks/math.js";

const COMBINATIONS = [
  { residual: true, norm: "none", kind: "layer" },
  { residual: true, norm: "pre", kind: "layer" },
  { residual: true, norm: "pre", kind: "rms" },
];
const all = (value) => ({ low: value, mid: value, high: value });
const near = (a, b) => assert.ok(Math.abs(a - b) < 1e-6, `${a} is not ${b}`);

test("a stack without norms has no kind of norm", () => {
  assert.equal(placeOf(COMBINATIONS, { residual: true, norm: "none", kind: "rms" }), 0);
  assert.equal(placeOf(COMBINATIONS, { residual: true, norm: "pre", kind: "rms" }), 2);
  assert.equal(nameOf(COMBINATIONS[0]), "residual, no norm");
  assert.equal(nameOf({ residual: false, norm: "post", kind: "rms" }), "no residual, norm after (RMSNorm)");
});

test("a course is read where it stands, over its seeds", () => {
  const size = { shape: [2, 3, 2], data: Float32Array.from([0, 0, 1, 3, 2, 4, 10, 10, 11, 13, 12, 14]) };
  assert.deepEqual(courseOf(size, 1, 1), [
    { low: 10, mid: 10, high: 10 },
    { low: 11, mid: 12, high: 13 },
  ]);
  const stream = { shape: [1, 2, 3, 1], data: Float32Array.from([1, 2, NaN, 4, 5, 6]) };
  assert.deepEqual(
    courseOf(stream, 0, 2).map(({ mid }) => mid),
    [4, 5, 6],
  );
  assert.deepEqual(overSeeds([3, 1, 2]), { low: 1, mid: 2, high: 3 });
  assert.equal(overSeeds([-Infinity, -Infinity]).mid, -Infinity);
});

test("an axis holds the chosen line whole and others only so far", () => {
  assert.deepEqual(spanOf([all(0), all(-54)], [[all(1.3)]]), [-54, 2]);
  assert.deepEqual(spanOf([all(0), all(0.5)], [[all(11), all(-54)]]), [-4, 4]);
  const [low, high] = spanOf([all(0.1), all(0.2)], []);
  assert.ok(low <= 0.1 && high >= 0.2 && high - low < 0.5);
  assert.deepEqual(spanOf([all(-Infinity)], []), [-1, 1]);
  assert.deepEqual(cosinesOf([all(0.2)])[1], 1.02);
  assert.ok(cosinesOf([all(-0.31)])[0] <= -0.31);
});

test("ticks are few and inside", () => {
  for (const span of [
    [-4, 4],
    [-54, 2],
    [0, 1],
    [-0.2, 0.3],
    [-1, 1],
  ]) {
    const ticks = ticksOf(span);
    assert.ok(ticks.length >= 2 && ticks.length <= 11, `${span}: ${ticks.length}`);
    assert.ok(ticks.every((tick) => tick >= span[0] && tick <= span[1]));
  }
  assert.ok(ticksOf([-4, 4]).includes(0));
});

test("a line leaves a gap where there is nothing", () => {
  assert.equal(
    linePath(
      [0, -Infinity, 2, 3],
      (x) => x,
      (y) => y,
    ),
    "M0.0 0.0M2.0 2.0L3.0 3.0",
  );
  assert.equal(
    bandPath(
      [
        { low: 0, mid: 1, high: 2 },
        { low: NaN, mid: NaN, high: NaN },
        { low: 1, mid: 1, high: 1 },
      ],
      (x) => x,
      (y) => y,
    ),
    "M0.0 2.0L2.0 1.0L2.0 1.0L0.0 0.0Z",
  );
  assert.equal(
    bandPath(
      [all(NaN)],
      (x) => x,
      (y) => y,
    ),
    "",
  );
});

test("labels keep apart and inside, and one name serves two lines that end alike", () => {
  const ends = [
    { y: 100, kin: "a", own: false, place: 0 },
    { y: 103, kin: "a", own: true, place: 1 },
    { y: 104, kin: "b", own: false, place: 2 },
    { y: 200, kin: "c", own: false, place: 3 },
    { y: 199, kin: "d", own: false, place: 4 },
  ];
  const found = placeLabels(ends, 16, 0, 200);
  assert.equal(found.length, 4);
  assert.deepEqual(
    found.map(({ kin }) => kin),
    ["a", "b", "d", "c"],
  );
  assert.equal(found[0].own && found[0].shared, true);
  for (let i = 1; i < found.length; i++) assert.ok(found[i].at - found[i - 1].at >= 16);
  assert.ok(found.at(-1).at <= 200);
});

test("numbers of any size", () => {
  assert.deepEqual(
    [formatPower(0), formatPower(Math.log10(3.53)), formatPower(-54), formatPower(-Infinity), formatPower(NaN)],
    ["1", "3.5", "10⁻⁵⁴", "0", "none"],
  );
  assert.equal(formatInterval({ low: 0, mid: Math.log10(2), high: 1 }), "2 (1 to 10)");
  assert.equal(formatInterval(all(0)), "1");
});

test("what became of the stream follows from the numbers", () => {
  assert.equal(
    describeGrowth(all(0), all(Math.log10(3.5))),
    "the mean square of the residual stream grows from 1 to 3.5",
  );
  assert.equal(describeGrowth(all(0), all(-54)), "the mean square of the residual stream shrinks from 1 to 10⁻⁵⁴");
  assert.equal(describeGrowth(all(0), all(0.001)), "the mean square of the residual stream stays at 1");
  assert.equal(describeGrowth(all(0), all(-Infinity)), "the residual stream is zero");
});

test("so does what came back to the first block", () => {
  assert.equal(
    compareGradients({ low: 0.2, mid: Math.log10(2), high: 0.4 }),
    "the gradient norm after the first block is 2 times that after the last",
  );
  assert.match(
    compareGradients({ low: -0.2, mid: Math.log10(0.79), high: 0.2 }),
    /is 0.79 times .*above 1 with some seeds, below with others/,
  );
  assert.match(compareGradients(all(0.001)), /the same after the first and the last block/);
  assert.match(compareGradients(all(NaN)), /no gradient/);
  assert.match(compareGradients(all(-Infinity)), /no gradient/);
});

test("and how alike the tokens have become", () => {
  assert.match(describeCollapse(all(0), all(1), true), /become equal \(1\.00\): a norm keeps their size/);
  assert.match(describeCollapse(all(0), all(1), false), /become equal \(1\.00\)\.$/);
  assert.match(describeCollapse(all(0), all(0.5), true), /goes from 0\.00 to 0\.50/);
  assert.match(describeCollapse(all(0.1), all(0.11), true), /stay as different/);
  assert.match(describeCollapse(all(0), all(NaN), false), /All tokens are zero/);
});

test("an expectation that fails is said to fail", () => {
  const between = [Math.log10(2.3), Math.log10(5)];
  assert.match(describeScale(all(Math.log10(3.5)), between), /between 2.3 and 5; measured is 3.5, within that/);
  assert.match(describeScale(all(1), between), /measured is 10, outside that/);
  assert.match(describeScale(all(0), [0, 0]), /Expected is a mean square of 1; measured is 1/);
});

test("all that is said of one combination", () => {
  const array = (shape, at) => ({
    shape,
    data: Float32Array.from({ length: shape.reduce((a, b) => a * b) }, (_, i) => at(i)),
  });
  const arrays = {
    size: array([1, 3, 2], (i) => 0.25 * Math.floor(i / 2)),
    similarity: array([1, 3, 2], (i) => 0.2 * Math.floor(i / 2)),
    stream: array([1, 2, 3, 2], (i) => -0.5 * (Math.floor(i / 2) % 3)),
    weights: array([1, 2, 3, 2], () => 0),
  };
  const { head, rest } = findingText(arrays, COMBINATIONS[1], 0, 2, [
    [0, 0, 0],
    [0, 0.5, 1],
  ]);
  assert.equal(
    head,
    "2 blocks, residual, norm before (LayerNorm): the mean square of the residual stream grows from 1 to 3.2.",
  );
  assert.match(rest, /from 0\.00 to 0\.40/);
  assert.match(rest, /between 1 and 10; measured is 3\.2, within that/);
  assert.match(rest, /^The gradient norm after the first block is 3\.2 times that after the last\. /);
  assert.match(rest, /Median of two random initializations/);
  const one = findingText(arrays, COMBINATIONS[1], 0, 1, null);
  assert.match(one.head, /^One block, .* to 1\.8\.$/);
  assert.doesNotMatch(one.rest, /Expected/);
  near(arrays.size.data[4], 0.5);
  arrays.similarity.data.fill(1);
  assert.match(findingText(arrays, COMBINATIONS[1], 0, 2, null).head, /: all tokens have become equal\.$/);
});
