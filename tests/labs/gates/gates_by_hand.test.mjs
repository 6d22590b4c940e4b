import assert from "node:assert/strict";
import { test } from "node:test";
import * as cell from "../../../explorer/labs/gates/components/gates_by_hand/math.js";

const lanes = (given = {}) =>
  Object.fromEntries(
    Object.entries({ f: "0.9", i: "1,0", g: "1", o: "1", z: "0,0.9", r: "1", n: "1,0", ...given }).map(
      ([name, text]) => [name, cell.parseLane(text)],
    ),
  );
const near = (found, wanted, by = 1e-12) =>
  assert.ok(Math.abs(found - wanted) <= by * Math.max(1, Math.abs(wanted)), `${found} is not ${wanted}`);

test("a lane is written as runs and read again", () => {
  assert.deepEqual(cell.parseLane("0x2,1,0.5", 5), [0, 0, 1, 0.5, 0.5]);
  assert.equal(cell.parseLane("0.9").length, 50);
  for (const text of ["0.9", "0x4,1,0", "-1,0.25x3,1x2,0"]) assert.equal(cell.formatLane(cell.parseLane(text)), text);
  assert.equal(cell.parseLane("1x60").length, 50);
});

test("a slider moves the run of equal values that the step stands in", () => {
  assert.deepEqual(cell.runAround([0, 1, 1, 1, 0], 2), [1, 4]);
  assert.deepEqual(cell.runAround([0, 0], 1), [0, 2]);
});

test("gates stay between 0 and 1, candidates between -1 and 1", () => {
  assert.deepEqual(
    [
      cell.clampGate("f", -0.2),
      cell.clampGate("g", -0.2),
      cell.clampGate("n", -3),
      cell.clampGate("o", 1.7),
      cell.clampGate("z", 0.12345),
    ],
    [0, -0.2, -1, 1, 0.123],
  );
  assert.ok(Object.is(cell.clampGate("g", -0.0001), 0));
});

test("what is held leaks by f, and the gradient with it", () => {
  const { c, h, straight } = cell.computeLstm(lanes());
  near(c[49], 0.9 ** 49);
  near(h[49], Math.tanh(0.9 ** 49));
  near(cell.straightPath(straight)[0], 0.9 ** 49);
  assert.equal(cell.straightPath(straight)[49], 1);
});

test("a bit is written, kept and shown", () => {
  const { c, h } = cell.computeLstm(lanes({ f: "1", i: "0x4,1,0", g: "0x4,1,0", o: "0x39,1,0" }));
  assert.deepEqual([c[3], c[4], c[49]], [0, 1, 1]);
  assert.deepEqual(
    h.flatMap((value, t) => (value ? [t + 1] : [])),
    [40],
  );
});

test("z is what stays in the GRU, and what does not stay is replaced", () => {
  const { h } = cell.computeGru(lanes({ z: "0,0.75", n: "1,-1" }));
  near(h[0], 1);
  near(h[1], 0.75 * 1 + 0.25 * -1);
});

test("with the weight u the derivative is that of finite differences", () => {
  const given = lanes({ f: "0.8", i: "0.5", g: "0.3x20,-0.6", o: "0.7", z: "0.6", r: "0.9", n: "0.3x20,-0.6" }),
    u = 1.3,
    d = 1e-6;
  for (const which of ["lstm", "gru"]) {
    const run = (which === "lstm" ? cell.computeLstm : cell.computeGru)(given, u),
      full = cell.straightPath(run.full),
      end = (which === "lstm" ? run.c : run.h)[49];
    // c_1 = i_1 g_1 and h_1 = (1 - z_1) n_1: moved by d through the candidate of step 1, which then reads a zero state
    const letter = which === "lstm" ? "g" : "n",
      moved = structuredClone(given),
      by = which === "lstm" ? given.i[0] : 1 - given.z[0];
    moved[letter][0] += d / by;
    const other = (which === "lstm" ? cell.computeLstm : cell.computeGru)(moved, u);
    assert.ok(Math.abs(((which === "lstm" ? other.c : other.h)[49] - end) / d / full[0] - 1) < 1e-3);
    assert.ok(Math.abs(full[0]) > 1.01 * Math.abs(cell.straightPath(run.straight)[0]));
  }
});

test("a candidate at its end lets nothing through, whatever u is", () => {
  assert.deepEqual(cell.computeLstm(lanes(), 2).full, cell.computeLstm(lanes(), 2).straight);
});

test("a plain RNN holds a bit only where its gradient vanishes", () => {
  const x = [1, ...new Array(49).fill(0)],
    strong = cell.computeRnn(x, 1.5),
    weak = cell.computeRnn(x, 0.9);
  assert.ok(strong.h[49] > 0.8 && cell.straightPath(strong.straight)[0] < 1e-8);
  assert.ok(weak.h[49] < 0.01);
});

test("half-lives", () => {
  near(cell.halfLife(0.9), Math.log(2) / -Math.log(0.9));
  assert.deepEqual([cell.halfLife(0.5), cell.halfLife(1), cell.halfLife(0)], [1, Infinity, 0]);
});

test("the finding is made from what is set", () => {
  const says = (which, given) => cell.formatFinding(which, lanes(given));
  assert.equal(
    says("lstm"),
    "With f = 0.90 the LSTM keeps 0.6\u00a0% of step 1 at step 50; with 0.99 it would be 61\u00a0%.",
  );
  assert.equal(
    says("gru", { z: "0,0.5" }),
    "With z = 0.50 the GRU keeps 1.8\u00a0×\u00a010⁻¹⁵ of step 1 at step 50; with 0.95 it would be 8.1\u00a0%.",
  );
  assert.equal(says("lstm", { f: "1", i: "0x4,1,0" }), "With f = 1 the LSTM keeps all of step 5 until step 50.");
  assert.equal(
    says("lstm", { f: "1x24,0,1", i: "0x4,1,0" }),
    "The LSTM keeps nothing of step 5 at step 50: its f was 0 at step 25.",
  );
  assert.equal(
    says("lstm", { f: "1x24,0.5x2,1" }),
    "The LSTM keeps 25\u00a0% of step 1 at step 50: the product of 49 values of f.",
  );
  assert.equal(
    says("lstm", { i: "0x49,1" }),
    "The LSTM first writes at step 50, the last: it has nothing to forget yet.",
  );
  assert.match(says("lstm", { i: "0" }), /of step 1 at step 50/);
  const told = (given, u = 0) => cell.findingText("lstm", lanes(given), cell.computeCells(lanes(given), u, 1), u, 1);
  assert.match(
    told(),
    /^Half-life at f = 0.90: ln 2 \/ −ln 0.90 = 6.6 steps. In a plain RNN with w = 1.00 and the same input, 0.010 of the gradient reaches step 1.$/,
  );
  assert.match(told({ f: "1" }), /^At f = 1 the cell forgets nothing./);
  assert.match(told({ f: "1x9,0,1" }), /^Where the gate is 0, the cell forgets everything./);
  assert.match(told({ f: "0.5x25,1" }), /the geometric mean/);
  assert.match(told({}, 1), /With the path through the candidate/);
});

test("numbers are short, and small ones are powers", () => {
  assert.deepEqual([0, 1, -1, 0.5732, 0.00573, 3.24e-9, -12.5, 250.2].map(cell.formatAmount), [
    "0",
    "1",
    "−1",
    "0.57",
    "0.0057",
    "3.2\u00a0×\u00a010⁻⁹",
    "−12.50",
    "250",
  ]);
  assert.deepEqual([0, 1, 0.611, 0.00573, 0.9996, 1e-5].map(cell.formatShare), [
    "nothing",
    "all",
    "61\u00a0%",
    "0.6\u00a0%",
    "99.96\u00a0%",
    "1.0\u00a0×\u00a010⁻⁵",
  ]);
  assert.deepEqual([0.9, 0.731, -0.5].map(cell.formatGate), ["0.90", "0.731", "−0.50"]);
});

test("the axis ends below all lines, at 10⁻¹⁶ at the latest, and zeros do not count", () => {
  assert.deepEqual([[[1, 0.5]], [[1, 2e-9]], [[1e-40, 1]], [[0, 1]]].map(cell.floorOf), [-3, -9, -16, -3]);
});
