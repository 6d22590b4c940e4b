import assert from "node:assert/strict";
import { test } from "node:test";

import {
  SMALLEST,
  baseOf,
  columnsOf,
  fillHeight,
  keyCommand,
  minimalHeight,
  moveSlide,
  partsOf as partsOfHeight,
  scaleOf,
  searchWith,
  slidesOf,
  waysOf,
} from "../../explorer/static/components/presentation/math.js";

const page = (...kinds) =>
  kinds.map((kind) => {
    const [name, title = ""] = kind.split(":");
    return { kind: name, title };
  });
const slides = (kinds, withControls = false) =>
  slidesOf(page(...kinds), withControls).map(({ title, shown }) => [title, ...shown]);

test("the question is with the first figure; each figure is a slide with its finding and its inputs, without controls", () => {
  const kinds = ["question:Why?", "text", "control", "input", "finding", "figure", "caption"];
  kinds.push("section:The race", "text", "control", "figure", "figure", "formula", "code", "hidden");
  assert.deepEqual(slides(kinds), [
    ["Why?", 0, 1, 3, 4, 5, 6],
    ["The race", 7, 10],
    ["The race", 11],
  ]);
  assert.deepEqual(slides(["section:A", "finding", "figure", "finding", "text", "finding", "figure"]), [
    ["A", 1, 2],
    ["A", 3, 4],
    ["A", 5, 6],
  ]);
});

test("controls, formulas and code are slides when the teacher asks for them", () => {
  const kinds = ["section:A", "figure", "control", "control", "section:B", "formula", "code"];
  assert.deepEqual(slides(kinds), [["A", 0, 1]]);
  assert.deepEqual(slides(kinds, true), [
    ["A", 0, 1],
    ["A", 2, 3],
    ["B", 4, 5, 6],
  ]);
});

test("text is a slide only without figure and formula; a page without figures shows everything", () => {
  assert.deepEqual(slides(["section:A", "text", "figure", "section:B", "text", "formula", "section:C", "text"]), [
    ["A", 0, 2],
    ["C", 6, 7],
  ]);
  assert.deepEqual(slides(["question:Q", "text", "control"]), [["Q", 0, 1, 2]]);
  assert.deepEqual(slides(["card", "question:Q", "figure"]), [
    ["The lesson", 0],
    ["Q", 1, 2],
  ]);
  assert.deepEqual(slides([]), []);
});

test("a slide that does not fit loses its captions, then the question, then is shown as its component declares", () => {
  const units = ["question", "input", "finding", "figure", "caption"].map((kind) => ({ kind, slides: 0 }));
  units[3].slides = 2;
  const ways = waysOf(units).map((views) => views.map(({ shown, only }) => [shown.join(""), only ?? ""].join(":")));
  assert.deepEqual(ways, [
    ["01234:"],
    ["0123:"],
    ["0:", "1234:"],
    ["0:", "123:"],
    ["0:", "23:"],
    ["0:", "123:0", "123:1"],
    ["0:", "123:0", "13:1"],
    ["0:", "23:0", "3:1"],
  ]);
  assert.deepEqual(
    waysOf([{ kind: "finding" }, { kind: "text" }]).map((views) => views.map(({ shown }) => shown)),
    [[[0, 1]]],
  );
});

test("keys: arrows, pages, space, ends; nothing with a modifier", () => {
  assert.equal(keyCommand({ key: " " }), "next");
  assert.equal(keyCommand({ key: " ", shiftKey: true }), "back");
  assert.deepEqual(
    ["ArrowRight", "PageUp", "Home", "End", "Escape", "c", "m", "a"].map((key) => keyCommand({ key })),
    ["next", "back", "first", "last", "leave", "controls", "menu", null],
  );
  assert.equal(keyCommand({ key: "ArrowLeft", altKey: true }), null); // the browser's own way back
});

test("next goes through the views of a high slide first, and stays at the end", () => {
  assert.deepEqual(moveSlide({ slide: 1, view: 0 }, "next", { slides: 3, views: 2 }), { slide: 1, view: 1 });
  assert.deepEqual(moveSlide({ slide: 1, view: 1 }, "next", { slides: 3, views: 2 }), { slide: 2, view: 0 });
  assert.deepEqual(moveSlide({ slide: 2, view: 1 }, "next", { slides: 3, views: 2 }), { slide: 2, view: 1 });
  assert.deepEqual(moveSlide({ slide: 2, view: 1 }, "back", { slides: 3, views: 2 }), { slide: 2, view: 0 });
  assert.deepEqual(moveSlide({ slide: 0, view: 0 }, "back", { slides: 3, views: 2 }), { slide: 0, view: 0 });
  assert.deepEqual(moveSlide({ slide: 0, view: 0 }, "last", { slides: 3, views: 2 }), { slide: 2, view: 0 });
});

test("a slide is as large as fits, between two bounds, and alike on all walls of one shape", () => {
  const lines = (width) => 100 * Math.ceil(2000 / width); // a text of 2000 px in lines of 100
  const largest = (width, height, kind) =>
    scaleOf(baseOf(width, height), (scale) => lines(width / scale) * scale <= height, kind);
  const scale = largest(1280, 676);
  assert.ok(lines(1280 / scale) * scale <= 676 && scale > SMALLEST && scale < 2.6);
  assert.ok(Math.abs(largest(1920, 1014) - 1.5 * scale) < 1e-9);
  assert.deepEqual(
    ["text", "figure", "chart"].map((kind) => scaleOf(1, () => true, kind)),
    [2.6, 1.6, 1.6],
  );
  assert.equal(
    scaleOf(1, () => false),
    SMALLEST,
  );
});

test("small multiples stand in rows of one length", () => {
  assert.deepEqual(
    [1, 2, 3, 4, 5, 6].map((panels) => columnsOf(panels)),
    [1, 2, 3, 2, 3, 3],
  );
  assert.equal(columnsOf(6, 2), 2);
});

test("a chart is drawn lower where room is scarce, and fills what is left", () => {
  assert.deepEqual(
    [400, 300, 160].map((usual) => minimalHeight(usual, 1)),
    [290, 240, 160],
  );
  assert.deepEqual([minimalHeight(400, 1, true), minimalHeight(300, 3), minimalHeight(300, 4)], [240, 240, 190]);
  assert.equal(fillHeight(165, 90, 1, 700), 255);
  assert.equal(fillHeight(165, 90, 2, 700), 210);
  assert.equal(fillHeight(165, 900, 1, 700), 805); // not much taller than it is wide
  assert.equal(fillHeight(165, -50, 1, 700), 165);
});

test("a high slide is cut between its rows; only what is higher than the screen is cut in two, with some of it twice", () => {
  assert.deepEqual(partsOfHeight(400, 400), [{ from: 0, to: 400 }]);
  const rows = Array.from({ length: 10 }, (_, i) => [100 * i, 100 * i + 90]);
  assert.deepEqual(partsOfHeight(1000, 450, rows), [
    { from: 0, to: 400 },
    { from: 400, to: 800 },
    { from: 800, to: 1000 },
  ]);
  const parts = partsOfHeight(1000, 400, [[0, 1000]]);
  assert.ok(parts.every(({ from, to }, i) => to - from <= 400 && (!i || from < parts[i - 1].to)));
  assert.equal(parts.at(-1).to, 1000);
});

test("the address says it, and keeps everything else", () => {
  assert.equal(searchWith("?a=1&b=x%2Cy", true), "?a=1&b=x%2Cy&screen=projector");
  assert.equal(searchWith("?a=1&screen=projector", false), "?a=1");
  assert.equal(searchWith("?screen=projector", false), "");
  assert.equal(searchWith("?a=x,y", false), "?a=x,y"); // untouched where nothing changes
});
