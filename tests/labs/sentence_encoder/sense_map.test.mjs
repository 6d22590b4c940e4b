import assert from "node:assert/strict";
import { test } from "node:test";
import {
  EDGE,
  interpolatePoints,
  placeLabels,
  describeSimilarities,
  meanPoint,
  nearestPoint,
  fitPoints,
} from "../../../explorer/labs/sentence_encoder/components/sense_map/math.js";
import { formatNumber } from "../../../explorer/static/shared/runtime/format.js";

test("points fill the box, upright, with one scale for both directions", () => {
  const [{ points, own }] = fitPoints(
    [
      [
        [0, 0],
        [2, 1],
      ],
    ],
    [[[1, 0.5]]],
    200,
    400,
  );
  assert.deepEqual(points[0], [EDGE, 200 + (200 - 2 * EDGE) / 4]);
  assert.deepEqual(points[1], [200 - EDGE, 200 - (200 - 2 * EDGE) / 4]);
  assert.deepEqual(own, [[100, 200]]);
  assert.deepEqual(
    fitPoints(
      [
        [
          [3, 3],
          [3, 3],
        ],
      ],
      [[]],
      100,
      100,
    )[0].points,
    [
      [50, 50],
      [50, 50],
    ],
  );
});

test("half the way is half the way", () => {
  assert.deepEqual(interpolatePoints([[0, 0]], [[4, -2]], 0.5), [[2, -1]]);
  assert.deepEqual(
    meanPoint([
      [0, 0],
      [4, 2],
    ]),
    [2, 1],
  );
  assert.deepEqual(meanPoint([]), [0, 0]);
});

test("labels stand above their groups; of two in one place the lower one stands below", () => {
  assert.deepEqual(placeLabels([10, 100], [12, 104], 22), [
    [10, 84],
    [12, 132],
  ]);
  assert.deepEqual(placeLabels([10, 104], [12, 100], 22), [
    [10, 132],
    [12, 84],
  ]);
  assert.deepEqual(placeLabels([10, 100], [12, 180], 22), [
    [10, 84],
    [12, 164],
  ]);
  assert.deepEqual(placeLabels([10, 100], [300, 100], 22), [
    [10, 84],
    [300, 84],
  ]);
});

test("the nearest place, if one is near enough", () => {
  assert.equal(
    nearestPoint(
      [
        [0, 0],
        [10, 0],
      ],
      8,
      1,
    ),
    1,
  );
  assert.equal(
    nearestPoint(
      [
        [0, 0],
        [10, 0],
      ],
      80,
      1,
    ),
    -1,
  );
});

test("numbers have two digits and a true minus", () => {
  assert.equal(formatNumber(-0.126), "−0.13");
  assert.equal(formatNumber(-0.001), "0.00");
  assert.equal(formatNumber(2, 1), "2.0");
});

test("a word is likened to itself in other sentences only", () => {
  const cosines = [
    [1, 0.4, 0.1],
    [0.4, 1, 0.2],
    [0.1, 0.2, 1],
  ];
  assert.deepEqual(describeSimilarities(cosines, ["bank", "bank", "bat"], 0), [null, 0.4, null]);
  assert.deepEqual(describeSimilarities(cosines, ["bank", "bank", "bat"], -1), [null, null, null]);
});
