/* Split a page into stops for presentation mode and compute how large a stop can be. No DOM; tested in
   tests/static/presentation.test.mjs. */

const CROWD = 1; // more controls than that are a stop of their own
const QUIET = new Set(["The code", "The papers"]); // sections that are not read in presentation mode
// Times the size of a page, on a screen of 1280 x 720: at the smallest a number of 15 px is 24 px high. A figure that can
// grow is no larger than `GROWING`: the rest of the screen is its own.
// What then is there as a whole may be smaller, down to `WHOLE`: half a figure says less than a small one. A card has
// words to read and no such numbers: `CARD`. What is one
// of several that a component is made of has few words next to it: from `SMALLEST` down to `ONLY`, rather than in two halves.
const LARGEST = 2.6,
  GROWING = 1.8,
  SMALLEST = 1.6,
  WHOLE = 1.3,
  CARD = 1.25;
export const ONLY = 1.1;
const ROOM = { width: 1280, height: 676 }; // of which the bar at its foot takes its part
// The smallest height of a figure, as a share of its usual height and in px: beside its finding, and alone.
const LOW = { beside: [0.75, 130], alone: [0.45, 80] };

/**
 * units: [{ kind, title, alone }] in the order of the page; `alone`: with its finding next to it this figure did not fit.
 * Kinds: "question", "section" and "finding" are headings;
 * "card" is above the question; "figure", "formula", "control", "text", "caption", "note", "code".
 * Stops: [{ title, shown: [index] }]: one figure each, with its finding and its controls.
 */
export function stopsOf(units) {
  const stops = [];
  let title = "",
    quiet = false,
    current = null;
  const beginStop = (...indices) => stops.push((current = { title, units: indices }));
  const stopHas = (...kinds) => current.units.some((i) => kinds.includes(units[i].kind));
  units.forEach(({ kind, title: named, alone }, i) => {
    if (kind === "question" || kind === "section") {
      [title, quiet] = [named, QUIET.has(named)];
      if (!quiet) beginStop(i);
      return;
    }
    if (quiet) return;
    // A figure that needs the whole screen begins a new stop; only few controls without other content stay with it.
    if (
      alone &&
      current &&
      (stopHas("finding", "formula", "question", "figure") || isCrowded(current.units.map((at) => units[at].kind)))
    ) {
      current.stays = true;
      beginStop(i);
    } else if (alone && current) {
      current.units = [...current.units.filter((at) => units[at].kind === "control"), i];
    } else if (
      !current ||
      breaksStop(
        kind,
        stopHas,
        current.units.map((at) => units[at].kind),
      )
    )
      beginStop(i);
    else current.units.push(i);
  });
  return mergeStops(stops, units).map(({ title: named, units: own }) => ({
    title: named || "The lesson",
    shown: shownOf(own, units),
  }));
}

const isCrowded = (kinds) => kinds.filter((kind) => kind === "control").length > CROWD;

function breaksStop(kind, has, kinds) {
  const headed = kinds.includes("question"),
    many = isCrowded(kinds);
  if (kind === "card") return true;
  if (kind === "finding") return headed || many || has("figure", "formula", "finding", "card");
  if (kind === "figure") return headed || many || has("figure", "formula", "card");
  if (kind === "formula") return headed || has("figure", "card");
  if (kind === "control") return headed || has("figure", "formula", "card");
  return false;
}

/* Controls without a following figure are merged into the stop before them. */
function mergeStops(stops, units) {
  const merged = [];
  for (const stop of stops) {
    const kinds = stop.units.map((i) => units[i].kind),
      last = merged.at(-1);
    const little = kinds.every((kind) => ["control", "text", "caption", "note", "code"].includes(kind));
    if (
      little &&
      !isCrowded(kinds) &&
      !stop.stays &&
      last &&
      last.title === stop.title &&
      !last.units.some((i) => units[i].kind === "question")
    )
      last.units.push(...stop.units);
    else merged.push(stop);
  }
  return merged;
}

/* Prose is shown only on stops without figures or controls; elsewhere the teacher says it. */
function shownOf(own, units) {
  const unitsHave = (...kinds) => own.some((i) => kinds.includes(units[i].kind));
  const busy = unitsHave("figure", "card") || (unitsHave("finding") && unitsHave("control"));
  return own.filter((i) => units[i].kind !== "code" && !(busy && units[i].kind === "text"));
}

/** Return the command of a key ("next", "last", …), or null if it has none. */
export function keyCommand({ key, shiftKey = false, ctrlKey = false, metaKey = false, altKey = false }) {
  if (ctrlKey || metaKey || altKey) return null;
  if (key === " ") return shiftKey ? "back" : "next";
  return (
    {
      ArrowRight: "next",
      PageDown: "next",
      ArrowLeft: "back",
      PageUp: "back",
      Home: "first",
      End: "last",
      Escape: "leave",
    }[key] ?? null
  );
}

/** Return the position after a step. A stop that is higher than the screen is shown in several views. */
export function moveStop({ stop, view }, to, { stops, views }) {
  if (to === "next")
    return view + 1 < views
      ? { stop, view: view + 1 }
      : { stop: Math.min(stop + 1, stops - 1), view: stop + 1 < stops ? 0 : view };
  if (to === "back") return view > 0 ? { stop, view: view - 1 } : { stop: Math.max(stop - 1, 0), view: 0 };
  if (to === "first") return { stop: 0, view: 0 };
  if (to === "last") return { stop: stops - 1, view: 0 };
  return { stop, view };
}

/** The largest scale at which the stop fits, else that in which it is seen part by part. `high(width)` is its height in a
    room so wide, in px. */
export function scaleOf(width, height, high, { grows = false, card = false, only = false } = {}) {
  const base = Math.min(width / ROOM.width, height / ROOM.height);
  for (
    let times = only ? SMALLEST : grows ? GROWING : LARGEST;
    times > (only ? ONLY : card ? CARD : WHOLE);
    times *= 0.96
  ) {
    if (high(width / (times * base)) * times * base <= height) return times * base;
  }
  return (card ? CARD : SMALLEST) * base;
}

/** Return the smallest height of a figure, and its height if there is spare room for its rows of panels. */
export function minimalHeight(usual, alone = false) {
  const [share, px] = LOW[alone ? "alone" : "beside"];
  return Math.max(Math.min(usual, px), Math.round(share * usual));
}
export const fillHeight = (low, spare, rows, width) =>
  Math.round(Math.max(low, Math.min(low + spare / rows, 0.8 * width)));

/** Return the number of columns of small multiples, at most `most`. */
export const columnsOf = (panels, most = Infinity) => Math.min(most, panels <= 3 ? panels : panels === 4 ? 2 : 3);

/**
 * Where each of a stop's views begins and ends, in its own px, in a room so high. `whole`: [top, bottom] of what
 * should not be cut in two, as a row or a picture; what is higher than the room is, and then views overlap a little.
 */
export function viewsOf(content, room, unbreakable = []) {
  const views = [];
  for (let from = 0; ;) {
    if (from + room >= content - 1) return [...views, { from, to: content }];
    const cuts = [from + room, ...unbreakable.map(([top]) => top)].filter(
      (at) => at > from + 0.4 * room && at <= from + room,
    );
    const clean = cuts.filter((at) => !unbreakable.some(([top, bottom]) => top < at - 1 && at + 1 < bottom));
    const to = clean.length ? Math.max(...clean) : from + room;
    views.push({ from, to });
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
