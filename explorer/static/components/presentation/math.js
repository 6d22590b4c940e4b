/* Split a page into slides for presentation mode and compute how large a slide can be. No DOM; tested in
   tests/static/presentation.test.mjs. */

/** Scales of a slide, times the size of the wall (1280 x 720: 1). At the smallest, a text of 14 px is 18 px high. */
export const SMALLEST = 1.3;
const LARGEST = { text: 2.6, figure: 1.6, chart: 1.6 }; // a chart fills the wall itself
const ROOM = { width: 1280, height: 676 }; // of which the bar at its foot takes its part
// px, the smallest height of a chart: of a tall one that has no question on its slide, of one row of panels, of several rows
const LOW = { tall: 290, row: 240, rows: 190 };
const TALL = 400; // px
const UNASKED = ["control", "formula", "code"]; // shown only if the teacher asks for the controls

/**
 * units: [{ kind, title }] in the order of the page. Kinds: "question", "section" and "finding" are headings; "card" stands
 * above the question; "input" is a text field that the figure after it shows; "hidden" is on no slide, as a folded section; "figure", "text",
 * "caption", "note"; "control", "formula" and "code".
 * Slides: [{ title, shown: [index] }], each with one figure, its finding and its inputs. What has no figure is on no slide,
 * unless it is a finding, a message, or text without formulas.
 */
export function slidesOf(units, withControls = false) {
  const slides = [],
    asked = withControls || !units.some(({ kind }) => kind === "figure" || kind === "card"),
    isOne = (i, ...kinds) => kinds.includes(units[i].kind);
  let title = "",
    waiting = []; // what is shown with the next figure
  const addSlide = (shown, more = {}) => {
    slides.push({ title, shown, ...more });
    waiting = [];
  };
  const endSection = () => {
    const has = (...kinds) => waiting.some((i) => isOne(i, ...kinds));
    if (has("question", "finding", "note") || (has("section") && has("text") && !has("formula")))
      addSlide(waiting.filter((i) => !isOne(i, ...UNASKED)));
    waiting = [];
  };
  units.forEach(({ kind, title: named }, i) => {
    if (kind === "hidden") return;
    if (kind === "card") return addSlide([i]);
    if (kind === "figure") return addSlide([...shownWith(waiting, isOne), i]);
    if (kind === "question" || kind === "section") {
      endSection();
      title = named;
    } else if (kind === "finding" && waiting.some((at) => isOne(at, "finding"))) endSection();
    else if (asked && UNASKED.includes(kind)) {
      if (!slides.at(-1)?.asked || waiting.length) return addSlide([...waiting, i], { asked });
      return void slides.at(-1).shown.push(i);
    } else if (kind === "caption" && !waiting.length && slides.length) return void slides.at(-1).shown.push(i);
    waiting.push(i);
  });
  endSection();
  return slides.map(({ title: named, shown }) => ({ title: named || "The lesson", shown }));
}

/* A finding says more than the title of its section, which the bar shows. */
function shownWith(waiting, isOne) {
  const found = waiting.some((i) => isOne(i, "finding")),
    first = waiting.some((i) => isOne(i, "question"));
  return waiting.filter(
    (i) => !isOne(i, ...UNASKED, ...(found ? ["section"] : []), ...(first ? [] : ["text", "caption"])),
  );
}

/**
 * The ways to show a slide, the best first: each a list of views { shown: [index], only, spare }. `only`: the number of the
 * slide that a component declares; `spare`: without captions. `units`: [{ kind, slides }] of the slide; the last way is taken
 * if none fits.
 */
export function waysOf(units) {
  const of = (...kinds) => units.flatMap(({ kind }, i) => (kinds.includes(kind) ? [i] : []));
  const heads = of("question"),
    body = units.flatMap(({ kind }, i) => (["question", "text", "caption"].includes(kind) ? [] : [i])),
    captions = of("caption"),
    figure = units.findIndex(({ slides }) => slides > 0);
  if (!of("figure", "card").length) return [[{ shown: units.map((_, i) => i) }]];
  const inOrder = (...lists) => lists.flat().sort((a, b) => a - b);
  const lead = heads.length ? [{ shown: inOrder(heads, of("text")) }] : [];
  const ways = [[{ shown: inOrder(heads, body, captions) }], [{ shown: inOrder(heads, body), spare: true }]];
  if (lead.length) ways.push([...lead, { shown: inOrder(body, captions) }], [...lead, { shown: body, spare: true }]);
  const asIs = body.filter((i) => units[i].kind !== "input");
  if (asIs.length < body.length) ways.push([...lead, { shown: asIs, spare: true }]);
  if (figure < 0) return ways;
  const parts = Array.from({ length: units[figure].slides }, (_, only) => only);
  ways.push([...lead, ...parts.map((only) => ({ shown: body, spare: true, only }))]);
  const bare = body.filter((i) => i === figure || units[i].kind === "input");
  if (bare.length < body.length)
    ways.push([...lead, ...parts.map((only) => ({ shown: only ? bare : body, spare: true, only }))]);
  ways.push([...lead, ...parts.map((only) => ({ shown: only ? [figure] : asIs, spare: true, only }))]);
  return ways;
}

const STEPS = { ArrowRight: "next", PageDown: "next", ArrowLeft: "back", PageUp: "back", Home: "first", End: "last" };
const KEYS = { ...STEPS, Escape: "leave", c: "controls", m: "menu" };

/** Return the command of a key ("next", "last", …), or null if it has none. */
export function keyCommand({ key, shiftKey = false, ctrlKey = false, metaKey = false, altKey = false }) {
  if (ctrlKey || metaKey || altKey) return null;
  if (key === " ") return shiftKey ? "back" : "next";
  return KEYS[key] ?? null;
}

/** Return the position after a step. A slide that does not fit as a whole is shown in several views. */
export function moveSlide({ slide, view }, to, { slides, views }) {
  if (to === "next")
    return view + 1 < views
      ? { slide, view: view + 1 }
      : { slide: Math.min(slide + 1, slides - 1), view: slide + 1 < slides ? 0 : view };
  if (to === "back") return view > 0 ? { slide, view: view - 1 } : { slide: Math.max(slide - 1, 0), view: 0 };
  if (to === "first") return { slide: 0, view: 0 };
  if (to === "last") return { slide: slides - 1, view: 0 };
  return { slide, view };
}

/** Return the size of the wall, as a multiple of 1280 x 720 with the bar. */
export const baseOf = (width, height) => Math.min(width / ROOM.width, height / ROOM.height);

/** Return the largest scale at which a slide fits, at least SMALLEST; `fits(scale)` tells it. `kind`: "text", "figure" or "chart". */
export function scaleOf(base, fits, kind = "text") {
  let [low, high] = [SMALLEST, LARGEST[kind]];
  if (fits(high * base)) return high * base;
  while (high - low > 0.03) {
    const middle = (low + high) / 2;
    if (fits(middle * base)) low = middle;
    else high = middle;
  }
  return low * base;
}

/**
 * Return the smallest height of a chart with so many panels, and its height if there is spare room for its rows. `isFirst`:
 * whether the question is on the same slide.
 */
export const minimalHeight = (usual, panels, isFirst = false) =>
  Math.min(usual, LOW[columnsOf(panels) < panels ? "rows" : usual >= TALL && !isFirst ? "tall" : "row"]);
export const fillHeight = (low, spare, rows, width) =>
  Math.round(Math.max(low, Math.min(low + spare / rows, 1.15 * width)));

/** Return the number of columns of small multiples, at most `most`. */
export const columnsOf = (panels, most = Infinity) => Math.min(most, panels <= 3 ? panels : panels === 4 ? 2 : 3);

/**
 * Where each part of a view that is too high begins and ends, in its own px, in a room so high. `unbreakable`:
 * [top, bottom] of what should not be cut in two, as a row or a picture; what is higher than the room is, and then parts
 * overlap a little.
 */
export function partsOf(content, room, unbreakable = []) {
  const parts = [];
  for (let from = 0; ;) {
    if (from + room >= content - 1) return [...parts, { from, to: content }];
    const cuts = [from + room, ...unbreakable.map(([top]) => top)].filter(
      (at) => at > from + 0.4 * room && at <= from + room,
    );
    const clean = cuts.filter((at) => !unbreakable.some(([top, bottom]) => top < at - 1 && at + 1 < bottom));
    const to = clean.length ? Math.max(...clean) : from + room;
    parts.push({ from, to });
    from = clean.length ? to : to - 0.12 * room;
  }
}

/** Return the address with or without the parameter of presentation mode. */
export function searchWith(search, on) {
  const parts = new URLSearchParams(search);
  if ((parts.get("screen") === "projector") === on) return search;
  if (on) parts.set("screen", "projector");
  else parts.delete("screen");
  const text = parts.toString();
  return text ? `?${text}` : "";
}
