import assert from "node:assert/strict";
import { test } from "node:test";
import {
  addAction,
  nextAction,
  pathAfter,
  remainder,
  candidateRows,
  formatCandidate,
  totalSurprisal,
} from "../../../explorer/labs/generation/components/token_tree/math.js";
import { branchWidth } from "../../../explorer/static/shared/charts/value_scale.js";
import {
  formatOdds,
  splitLines,
  quotePiece,
  pieceLabel,
  colourStrength,
} from "../../../explorer/static/shared/charts/surprisal_colour.js";

const candidates = [
  { id: 3, piece: "a", p: 0.7, learned: 0.6 },
  { id: 1, piece: "b", p: 0.3, learned: 0.3 },
  { id: 2, piece: "c", p: 0, learned: 0.1 },
];
const nats = (p) => -Math.log(p);
const plain = (text) => text.replaceAll("\u00a0", " ");

test("the colour grows with the bits and is never stronger than ink can bear", () => {
  const full = nats(1 / 256);
  assert.equal(colourStrength(0, full), 0);
  assert.equal(colourStrength(nats(1 / 16), full), 42.5);
  assert.equal(colourStrength(nats(1 / 256), full), 85);
  assert.equal(colourStrength(nats(1 / 100_000), full), 85);
  assert.equal(colourStrength(Infinity, full), 85);
  assert.equal(colourStrength(-1e-9, full), 0);
});

test("odds are said as one in so many, and what is likely as a probability", () => {
  const at = (p) => plain(formatOdds(nats(p)));
  assert.equal(at(1), "1.00");
  assert.equal(at(0.8), "0.80");
  assert.equal(at(0.999), ">0.99");
  assert.equal(at(1 / 2.5), "1 in 2.5");
  assert.equal(at(1 / 9.96), "1 in 9.96");
  assert.equal(at(1 / 12.34), "1 in 12.3");
  assert.equal(at(1 / 812), "1 in 812");
  assert.equal(at(1 / 48_217), "1 in 48,200");
  assert.equal(at(1 / 999_499), "1 in 999,000");
  assert.equal(at(1 / 2_500_000), "1 in 2.5 × 10⁶");
  assert.equal(at(1 / 9_980_000), "1 in 1.0 × 10⁷");
  assert.equal(plain(formatOdds(900)), "1 in 7.3 × 10³⁹⁰"); // exp(900) is no number of a computer
  assert.equal(formatOdds(Infinity), "never");
  assert.doesNotMatch(formatOdds(nats(1 / 812)), / /); // one line
});

test("white space that stands alone can be seen, and a piece without letters has its id", () => {
  assert.equal(pieceLabel(" a\n\t", 5), "␣a↵⇥");
  assert.equal(pieceLabel("", 5), "#5");
  assert.equal(quotePiece(" a", 5), "“␣a”");
  assert.match(quotePiece("", 5), /without a letter \(#5\)/);
});

test("a piece is split where its lines end, and nothing of it is lost", () => {
  const again = (piece) =>
    splitLines(piece)
      .map(({ text, ends }) => text + (ends ? "\n" : ""))
      .join("");
  for (const piece of ["", "a", "\n", "a\n", "\nb", "a\nb", "\n\n", "a\n\n  b"]) assert.equal(again(piece), piece);
  assert.deepEqual(splitLines("a\n"), [{ text: "a", ends: true }]);
  assert.deepEqual(splitLines("\n\n"), [
    { text: "", ends: true },
    { text: "", ends: true },
  ]);
  assert.deepEqual(splitLines(""), [{ text: "", ends: false }]);
});

test("a column has its candidates, and says which was taken and which the sampled choose", () => {
  const all = candidateRows({ id: 1, piece: "b", p: 0.3, learned: 0.3, candidates, sampled: 3 });
  assert.deepEqual(
    all.map(({ taken }) => taken),
    [false, true, false],
  );
  assert.deepEqual(
    all.map(({ sampled }) => sampled),
    [true, false, false],
  );
});

test("where nothing is taken yet, nothing is added", () => {
  assert.deepEqual(
    candidateRows({ candidates, sampled: 7 }).map(({ taken, sampled }) => [taken, sampled]),
    [
      [false, false],
      [false, false],
      [false, false],
    ],
  );
});

test("beside a candidate stands its probability, or that it is cut", () => {
  assert.equal(formatCandidate({ p: 0, cut: true }, 1), "cut");
  assert.equal(formatCandidate({ p: 0, cut: false }, 1), "<0.01");
  assert.equal(formatCandidate({ p: 0, cut: false }, 0), "0.00");
  assert.equal(formatCandidate({ p: 0.25, cut: false }, 1), "0.25");
});

test("the others have what is left, and the die if it falls on one of them", () => {
  const four = [
    { id: 1, p: 0.5 },
    { id: 2, p: 0.25 },
  ];
  assert.deepEqual(remainder(four, 2), { p: 0.25, sampled: false });
  assert.deepEqual(remainder(four, 8), { p: 0.25, sampled: true });
  assert.deepEqual(remainder([{ id: 1, p: 0.9998 }], null), { p: 0, sampled: false }); // rounding is no probability
});

test("the thicker the branch, the likelier; and the surprise of a path is that of its tokens together", () => {
  assert.ok(branchWidth(0) > 0 && branchWidth(0.5) > branchWidth(0.1) && branchWidth(1) <= 6);
  assert.equal(totalSurprisal([{ surprise: 1.5 }, { surprise: 2 }]), 3.5);
  assert.equal(totalSurprisal([]), 0);
});

test("presses that wait become one, and another way starts anew", () => {
  const press = (...actions) => actions.reduce(addAction, []);
  assert.deepEqual(press(["next", 1], ["next", 1], ["next", 10]), [["next", 12]]);
  assert.deepEqual(press(["next", 1], ["back", 1], ["back", 2]), [
    ["next", 1],
    ["back", 3],
  ]);
  assert.deepEqual(press(["next", 5], ["go", { at: 0, id: 1 }], ["next", 1]), [
    ["go", { at: 0, id: 1 }],
    ["next", 1],
  ]);
});

test("what is sent fits the path as it is by then", () => {
  assert.deepEqual(
    nextAction(
      [
        ["next", 10],
        ["back", 1],
      ],
      55,
      60,
    ),
    { action: ["next", 5], behind: [["back", 1]] },
  );
  assert.deepEqual(
    nextAction(
      [
        ["next", 10],
        ["back", 90],
      ],
      60,
      60,
    ),
    { action: ["back", 60], behind: [] },
  );
  assert.deepEqual(nextAction([["back", 1]], 0, 60), { action: null, behind: [] });
  assert.deepEqual(nextAction([["go", { at: 7, id: 1 }]], 3, 60), { action: null, behind: [] });
  assert.deepEqual(nextAction([["go", { at: 3, id: 1 }]], 3, 60), { action: ["go", { at: 3, id: 1 }], behind: [] });
  assert.deepEqual(nextAction([["go", { at: 60, id: 1 }]], 60, 60), { action: null, behind: [] });
  assert.deepEqual(nextAction([], 3, 60), { action: null, behind: [] });
});

test("the page is asked for a whole path, and for the tokens that the sampled choose after it", () => {
  const ids = [5, 6, 7];
  assert.deepEqual(pathAfter(["go", { at: 1, id: 9 }], ids), { path: [5, 9], more: 0 });
  assert.deepEqual(pathAfter(["go", { at: 3, id: 9 }], ids), { path: [5, 6, 7, 9], more: 0 });
  assert.deepEqual(pathAfter(["back", 3], ids), { path: [], more: 0 });
  assert.deepEqual(pathAfter(["next", 10], ids), { path: ids, more: 10 });
});
