import assert from "node:assert/strict";
import { test } from "node:test";

import {
  ONLY,
  searchWith,
  columnsOf,
  fillHeight,
  minimalHeight,
  moveStop,
  scaleOf,
  stopsOf,
  viewsOf,
  keyCommand,
} from "../../explorer/static/components/presentation/math.js";

const page = (...kinds) =>
  kinds.map((kind) => {
    const [name, title = ""] = kind.split(":");
    return { kind: name, title };
  });
const told = (...kinds) => stopsOf(page(...kinds)).map(({ title, shown }) => [title, ...shown]);

test("the question stands alone with its lead, then each figure with its finding and its controls", () => {
  assert.deepEqual(
    told(
      "question:Why?",
      "text",
      "control",
      "control",
      "finding",
      "figure",
      "caption",
      "section:The race",
      "text",
      "control",
      "figure",
      "figure",
    ),
    [
      ["Why?", 0, 1],
      ["Why?", 2, 3],
      ["Why?", 4, 5, 6],
      ["The race", 7, 9, 10],
      ["The race", 11],
    ],
  );
});

test("prose is shown only where there is nothing to look at", () => {
  assert.deepEqual(
    told("question:Q", "section:Why", "text", "formula", "text", "formula", "section:B", "text", "figure"),
    [
      ["Q", 0],
      ["Why", 1, 2, 3, 4, 5],
      ["B", 6, 8],
    ],
  );
});

test("the code and the papers are left out, and so is code elsewhere", () => {
  assert.deepEqual(told("question:Q", "figure", "section:The code", "control", "code", "section:The papers", "text"), [
    ["Q", 0],
    ["Q", 1],
  ]);
  assert.deepEqual(told("question:Q", "section:A", "text", "code"), [
    ["Q", 0],
    ["A", 1, 2],
  ]);
});

test("controls that no figure follows stay with the figure before them; several are a stop of their own", () => {
  assert.deepEqual(told("section:A", "figure", "control", "section:B", "figure"), [
    ["A", 0, 1, 2],
    ["B", 3, 4],
  ]);
  assert.deepEqual(told("section:A", "control", "figure", "section:B", "control", "control", "finding", "figure"), [
    ["A", 0, 1, 2],
    ["B", 3, 4, 5],
    ["B", 6, 7],
  ]);
});

test("a lesson's card above the question is the first stop, whatever it says", () => {
  assert.deepEqual(told("card", "question:Q", "text", "finding", "figure"), [
    ["The lesson", 0],
    ["Q", 1, 2],
    ["Q", 3, 4],
  ]);
  assert.deepEqual(told("text", "question:Q")[0], ["The lesson", 0]);
  assert.deepEqual(told(), []);
});

test("two findings never share a screen", () => {
  assert.deepEqual(told("section:A", "finding", "text", "finding", "figure"), [
    ["A", 0, 1, 2],
    ["A", 3, 4],
  ]);
});

test("keys: arrows, pages, space, ends; nothing with a modifier", () => {
  assert.equal(keyCommand({ key: " " }), "next");
  assert.equal(keyCommand({ key: " ", shiftKey: true }), "back");
  assert.deepEqual(
    ["ArrowRight", "PageUp", "Home", "End", "Escape", "a"].map((key) => keyCommand({ key })),
    ["next", "back", "first", "last", "leave", null],
  );
  assert.equal(keyCommand({ key: "ArrowLeft", altKey: true }), null); // the browser's own way back
});

test("next goes through the views of a high stop first, and stays at the end", () => {
  assert.deepEqual(moveStop({ stop: 1, view: 0 }, "next", { stops: 3, views: 2 }), { stop: 1, view: 1 });
  assert.deepEqual(moveStop({ stop: 1, view: 1 }, "next", { stops: 3, views: 2 }), { stop: 2, view: 0 });
  assert.deepEqual(moveStop({ stop: 2, view: 1 }, "next", { stops: 3, views: 2 }), { stop: 2, view: 1 });
  assert.deepEqual(moveStop({ stop: 2, view: 1 }, "back", { stops: 3, views: 2 }), { stop: 2, view: 0 });
  assert.deepEqual(moveStop({ stop: 0, view: 0 }, "back", { stops: 3, views: 2 }), { stop: 0, view: 0 });
  assert.deepEqual(moveStop({ stop: 0, view: 0 }, "last", { stops: 3, views: 2 }), { stop: 2, view: 0 });
});

test("a stop is as large as fits, between two bounds, and alike on all screens of one shape", () => {
  const lines = (width) => 100 * Math.ceil(2000 / width); // a text of 2000 px in lines of 100
  const scale = scaleOf(1280, 676, lines);
  assert.ok(lines(1280 / scale) * scale <= 676 && scale > 1.6 && scale < 2.6);
  assert.ok(Math.abs(scaleOf(1920, 1014, lines) - 1.5 * scale) < 1e-9);
  assert.equal(
    scaleOf(1280, 676, () => 10),
    2.6,
  );
  assert.equal(
    scaleOf(1280, 676, () => 9999),
    1.6,
  );
  assert.equal(
    scaleOf(1280, 676, () => 10, { grows: true }),
    1.8,
  ); // what grows fills the screen itself
  assert.equal(
    scaleOf(1280, 676, () => 9999, { card: true }),
    1.25,
  );
  const whole = scaleOf(1280, 676, () => 470); // smaller, but not in two halves
  assert.ok(470 * whole <= 676 && whole > 1.3 && whole < 1.6);
  assert.equal(
    scaleOf(1280, 676, () => 560),
    1.6,
  );
  const only = scaleOf(1280, 676, () => 560, { only: true }); // what is one of several
  assert.ok(560 * only <= 676 && only > ONLY && only < 1.3);
  assert.equal(
    scaleOf(1280, 676, () => 10, { only: true }),
    1.6,
  );
});

test("a figure that did not fit with its finding comes after it", () => {
  const units = page("section:A", "control", "finding", "figure", "control", "figure", "caption");
  units[3].alone = units[5].alone = true;
  assert.deepEqual(
    stopsOf(units).map(({ shown }) => shown),
    [[0, 1, 2], [3], [4, 5, 6]],
  ); // a control alone stays with it
  const bare = page("section:A", "text", "figure");
  bare[2].alone = true;
  assert.deepEqual(stopsOf(bare), [{ title: "A", shown: [2] }]); // the bar says the section
});

test("small multiples stand in rows of one length", () => {
  assert.deepEqual(
    [1, 2, 3, 4, 5, 6].map((panels) => columnsOf(panels)),
    [1, 2, 3, 2, 3, 3],
  );
  assert.equal(columnsOf(6, 2), 2);
});

test("a figure is drawn lower where room is scarce, and fills what is left", () => {
  assert.deepEqual(
    [300, 160, 100].map((usual) => minimalHeight(usual)),
    [225, 130, 100],
  );
  assert.equal(minimalHeight(300, true), 135);
  assert.equal(fillHeight(165, 90, 1, 700), 255);
  assert.equal(fillHeight(165, 90, 2, 700), 210);
  assert.equal(fillHeight(165, 900, 1, 700), 560); // but never taller than it is wide
  assert.equal(fillHeight(165, -50, 1, 700), 165);
});

test("a high stop is cut between its rows; only what is higher than the screen is cut in two, with some of it twice", () => {
  assert.deepEqual(viewsOf(400, 400), [{ from: 0, to: 400 }]);
  const rows = Array.from({ length: 10 }, (_, i) => [100 * i, 100 * i + 90]);
  assert.deepEqual(viewsOf(1000, 450, rows), [
    { from: 0, to: 400 },
    { from: 400, to: 800 },
    { from: 800, to: 1000 },
  ]);
  const views = viewsOf(1000, 400, [[0, 1000]]);
  assert.ok(views.every(({ from, to }, i) => to - from <= 400 && (!i || from < views[i - 1].to)));
  assert.equal(views.at(-1).to, 1000);
});

test("the address says it, and keeps everything else", () => {
  assert.equal(searchWith("?a=1&b=x%2Cy", true), "?a=1&b=x%2Cy&screen=projector");
  assert.equal(searchWith("?a=1&screen=projector", false), "?a=1");
  assert.equal(searchWith("?screen=projector", false), "");
  assert.equal(searchWith("?a=x,y", false), "?a=x,y"); // untouched where nothing changes
});
