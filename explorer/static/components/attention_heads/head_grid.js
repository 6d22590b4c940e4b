/* Draw the grid of all heads: small heat maps in buttons, with a switch for each head and each layer; or a list, sorted by
   a score. Tiles have one size and the grid one height in every order, with or without the causal mask. */
import { headCells, includesHead, sortHeads } from "./math.js";
import { paintCells, tileSide } from "../../shared/charts/heatmap.js";
import { node } from "../../shared/runtime/dom.js";
import { headName } from "../../shared/runtime/format.js";

const LARGEST = 84,
  ALONE = 132; // px, and where there are only one or two heads a layer
const SWITCHABLE = 48; // px: on smaller tiles the switch is seen only under the pointer; the open head has another one
const TITLE = 18,
  LAYER = 51,
  WORDS = 23,
  SMALL_WORDS = 32; // px: a line of names, a layer's name with its switch, what is below a sorted tile
const BELOW = 18,
  MOST_BELOW = 26,
  SORTED_BELOW = 16,
  HANGS = 8; // px between rows, where a square tile has its switch; and below the last one

/** `does` = { open(layer, head), flip(layer, head), flipLayer(layer), point(layer, head | null) }. */
export function headGrid(does) {
  const root = node("div", { class: "grid", role: "group", "aria-label": "All heads" });
  let tiles = [],
    layers = 0,
    heads = 0,
    standing = "",
    side = 0,
    drawnState = "",
    wide = 0,
    gap = 14;

  function makeTiles(places) {
    tiles = [];
    const makeLabel = (text) => node("span", { class: "head-name" }, text);
    for (const [layer, head] of places) {
      const canvas = node("canvas", { role: "img" });
      const button = node("button", { type: "button", class: "tile" }, canvas);
      const flip = node("button", { type: "button", class: "flip", role: "switch", tabindex: -1 }, node("i"));
      const name = node("span", { class: "tile-name" }),
        value = node("b", { class: "tile-value" });
      const box = node("div", { class: "box" }, button, flip, node("div", { class: "tile-words" }, name, value));
      name.textContent = `${layer + 1} · ${head + 1}`;
      flip.title = flip.ariaLabel = `Switch for ${headName(layer, head).toLowerCase()}`;
      button.onclick = () => does.open(layer, head);
      flip.onclick = () => does.flip(layer, head);
      button.onpointerenter = button.onfocus = () => does.point(layer, head);
      tiles.push({ layer, head, canvas, button, flip, box, value });
    }
    if (standing) return void root.replaceChildren(...tiles.map(({ box }) => box));
    const many = heads > 6,
      rows = [node("span", { class: "head-name corner" }, many ? "head" : "")];
    for (let head = 0; head < heads; head++) rows.push(makeLabel(many ? `${head + 1}` : `head ${head + 1}`));
    for (let layer = 0; layer < layers; layer++) {
      const name = node(
        "button",
        { type: "button", class: "layer", role: "switch" },
        node("span", {}, `layer ${layer + 1}`),
        node("i"),
      );
      name.title = `Switch all heads of layer ${layer + 1} on or off`;
      name.onclick = () => does.flipLayer(layer);
      rows.push(name, ...tiles.filter((tile) => tile.layer === layer).map(({ box }) => box));
    }
    root.replaceChildren(...rows);
  }

  root.onpointerleave = () => does.point(null);
  root.addEventListener("focusout", (event) => {
    if (!root.contains(event.relatedTarget)) does.point(null);
  });
  root.addEventListener("keydown", (event) => {
    const at = tiles.findIndex(({ button, flip }) => event.target === button || event.target === flip);
    if (at < 0) return;
    const columns = standing
      ? Math.max(1, Math.floor((root.clientWidth + gap) / (tiles[0].box.offsetWidth + gap)))
      : heads;
    const to = {
      ArrowLeft: at - 1,
      ArrowRight: at + 1,
      ArrowUp: at - columns,
      ArrowDown: at + columns,
      Home: 0,
      End: tiles.length - 1,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    tiles[to]?.button.focus();
  });

  /** Update order, selected head and interventions: what changes by a click. */
  function arrangeTiles({ view, sort, value, digits, open, touch }) {
    const places = sortHeads(view.layers, view.heads, sort === "place" ? null : value);
    const order = sort === "place" ? "" : sort;
    const state = JSON.stringify([view.layers, view.heads, order, order && places]);
    if (state !== drawnState) {
      const focus = tiles.find(({ button }) => button === root.getRootNode().activeElement);
      [layers, heads, standing, drawnState] = [view.layers, view.heads, order, state];
      root.classList.toggle("sorted", Boolean(order));
      root.style.setProperty("--heads", heads);
      makeTiles(places);
      side = 0;
      if (focus) tiles.find(({ layer, head }) => layer === focus.layer && head === focus.head)?.button.focus();
    }
    for (const { layer, head, canvas, button, flip, box } of tiles) {
      const isOpen = open[0] === layer && open[1] === head,
        off = includesHead(touch.off, layer, head),
        flat = includesHead(touch.flat, layer, head);
      button.tabIndex = isOpen ? 0 : -1;
      button.setAttribute("aria-pressed", isOpen);
      flip.setAttribute("aria-checked", !off);
      box.className = `box${isOpen ? " open" : ""}${off ? " off" : ""}${flat ? " flat" : ""}`;
      canvas.ariaLabel = `${headName(layer, head)}${off ? ", switched off" : ""}${flat ? ", made uniform" : ""}`;
    }
    root.querySelectorAll(".layer").forEach((name, layer) => {
      name.setAttribute(
        "aria-checked",
        tiles.some((tile) => tile.layer === layer && !includesHead(touch.off, layer, tile.head)),
      );
    });
    showNumbers({ value, digits });
  }

  function showNumbers({ value, digits }) {
    if (!standing) return;
    for (const { layer, head, value: place } of tiles) {
      const number = value(layer, head),
        text = Number.isNaN(number) ? "–" : digits(number);
      if (place.textContent !== text) place.textContent = text;
    }
  }

  /** Redraw only the pixels; called at every training step shown. */
  function paintTiles(view, look) {
    if (!wide || !tiles.length) return;
    const ratio = devicePixelRatio || 1;
    const pixels = tileSide(view.queries, Math.round(wide * ratio));
    if (side !== pixels) {
      side = pixels;
      root.style.setProperty("--drawn", `${pixels / ratio}px`);
      for (const { canvas } of tiles) canvas.width = canvas.height = pixels;
    }
    const between = pixels / view.queries >= 8 * ratio ? Math.round(ratio) : 0;
    for (const { canvas, layer, head } of tiles)
      paintCells(canvas, headCells(view, layer, head, look.scale), look.shades, between);
  }

  return {
    root,
    arrangeTiles,
    showNumbers,
    paintTiles,
    /** Whether the tiles are too small for a switch that is always visible. */
    hidesSwitches: () => wide < SWITCHABLE,
    /** How wide the grid may be, in px; its layers' names and gaps take their part. It takes the height of its tallest order. */
    fitWidth(view, width) {
      const names = width < 420 ? 48 : 62;
      gap = heads > 6 || width < 420 ? 6 : 14;
      wide = Math.max(
        16,
        Math.min(heads > 2 ? LARGEST : ALONE, Math.floor((width - names - 8 - gap * heads) / Math.max(1, heads))),
      );
      const small = wide < SWITCHABLE,
        high = Math.max(wide, LAYER),
        sortedBelow = small ? 8 : SORTED_BELOW;
      const rows = Math.ceil((layers * heads) / Math.max(1, Math.floor((width + gap) / (wide + gap))));
      const sorted = rows * (wide + (small ? SMALL_WORDS : WORDS) + sortedBelow) - sortedBelow;
      const spare = Math.floor((sorted - TITLE) / layers - high); // the layers may use the height of the sorted list as space between them
      const captionHeight = Math.max(small ? gap : BELOW, Math.min(MOST_BELOW, spare)),
        placed = TITLE + layers * (high + captionHeight);
      root.classList.toggle("small", small);
      root.classList.toggle("square", !view.causal || view.queries < 4); // no corner is left free for a switch
      const sizes = {
        side: wide,
        gap,
        names,
        below: captionHeight,
        "sorted-below": sortedBelow,
        tallest: Math.max(placed, sorted) + (small ? 0 : HANGS),
      };
      for (const [name, size] of Object.entries(sizes)) root.style.setProperty(`--${name}`, `${size}px`);
    },
    /** Mark the row of the query in every tile. */
    markQuery(query, queries) {
      root.style.setProperty("--row", (query + 0.5) / queries);
    },
  };
}
