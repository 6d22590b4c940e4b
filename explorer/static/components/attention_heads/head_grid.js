/* Draw the grid of all heads: small heat maps in buttons, with a switch for each head and each layer; or a list, sorted by
   a score. Tiles have one size and the grid one height in every order, with or without the causal mask. A large grid is
   never a list: its layers are in blocks side by side, so that all of them are seen at once. */
import { MOST_SORTED, headCells, includesHead, layoutBlocks, sortHeads } from "./math.js";
import { paintCells, tileSide } from "../../shared/charts/heatmap.js";
import { isScreened, limitHeight } from "../../shared/runtime/component.js";
import { node } from "../../shared/runtime/dom.js";
import { headName } from "../../shared/runtime/format.js";

const LARGEST = 84,
  ALONE = 132; // px, and where there are only one or two heads a layer
const SWITCHABLE = 48; // px: on smaller tiles the switch is seen only under the pointer; the open head has another one
const TITLE = 18,
  LAYER = 51,
  WORDS = 23,
  SMALL_WORDS = 32; // px: a line of names, a layer's name with its switch, what is below a sorted tile
const LAYERS = 38, // of a large grid, in px: the numbers of its layers, the space between two blocks, and between two tiles,
  BETWEEN = 14,
  TIGHT = 3,
  TALLEST = 480, // its height
  FINGER = 24; // and the smallest tile on a phone
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
    large = false,
    placed = "",
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
    placed = "";
    if (standing) return void root.replaceChildren(...tiles.map(({ box }) => box));
    const many = heads > 6,
      rows = large ? [] : [node("span", { class: "head-name corner" }, many ? "head" : "")];
    if (!large)
      for (let head = 0; head < heads; head++) rows.push(makeLabel(many ? `${head + 1}` : `head ${head + 1}`));
    for (let layer = 0; layer < layers; layer++) {
      const name = node(
        "button",
        { type: "button", class: "layer", role: "switch" },
        node("span", {}, large ? `${layer + 1}` : `layer ${layer + 1}`),
        node("i"),
      );
      name.ariaLabel = `layer ${layer + 1}`;
      name.title = `Switch all heads of layer ${layer + 1} on or off`;
      name.onclick = () => does.flipLayer(layer);
      rows.push(name, ...tiles.filter((tile) => tile.layer === layer).map(({ box }) => box));
    }
    root.replaceChildren(...rows);
  }

  /** Place the layers of a large grid in blocks, with the numbers of the heads above each block. */
  function placeBlocks({ blocks, rows, side }) {
    const state = JSON.stringify([blocks, rows, side]);
    if (state === placed) return;
    placed = state;
    const setArea = (element, block, column, row, span = 1) => {
      element.style.gridArea = `${row} / ${block * (heads + 1) + column} / auto / span ${span}`;
      return element;
    };
    const every = Math.ceil((heads > 9 ? 20 : 12) / (side + TIGHT)),
      titles = [];
    for (let block = 0; block < blocks; block++) {
      const makeTitle = (text, ...area) => setArea(node("span", { class: "head-name" }, text), block, ...area);
      titles.push(makeTitle("layer", 1, 2), makeTitle("head", 2, 1, heads));
      for (let head = 0; head < heads; head += every) titles.push(makeTitle(`${head + 1}`, head + 2, 2));
    }
    root.querySelectorAll(".head-name").forEach((title) => title.remove());
    root.prepend(...titles);
    const rowOf = (layer) => 3 + (layer % rows);
    root.querySelectorAll(".layer").forEach((name, layer) => setArea(name, Math.floor(layer / rows), 1, rowOf(layer)));
    for (const { box, layer, head } of tiles) setArea(box, Math.floor(layer / rows), head + 2, rowOf(layer));
    root.style.gridTemplateColumns = Array.from(
      { length: blocks },
      (_, block) => `${LAYERS + (block && BETWEEN)}px repeat(${heads}, ${side}px)`,
    ).join(" ");
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
  function arrangeTiles({ view, sort, value, digits, open, touch, isFaint }) {
    large = view.layers * view.heads > MOST_SORTED;
    const order = sort === "place" || large ? "" : sort;
    const places = sortHeads(view.layers, view.heads, order ? value : null);
    const state = JSON.stringify([view.layers, view.heads, order, order && places]);
    if (state !== drawnState) {
      const focus = tiles.find(({ button }) => button === root.getRootNode().activeElement);
      [layers, heads, standing, drawnState] = [view.layers, view.heads, order, state];
      root.classList.toggle("sorted", Boolean(order));
      root.classList.toggle("large", large);
      root.style.setProperty("--heads", heads);
      root.style.gridTemplateColumns = "";
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
      const names = { open: isOpen, off, flat, faint: isFaint(layer, head) };
      for (const [name, on] of Object.entries(names)) box.classList.toggle(name, on);
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
      if (large) {
        const least = width < 480 && !isScreened() ? FINGER : 8,
          height = limitHeight(TALLEST, 370) - 2 * TITLE;
        const sizes = { names: LAYERS + TIGHT, between: BETWEEN, gap: TIGHT, height, least };
        const layout = layoutBlocks({ layers, heads, width, ...sizes });
        wide = layout.side;
        root.classList.add("small", "square");
        root.style.setProperty("--side", `${wide}px`);
        return placeBlocks(layout);
      }
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
        inLayers = TITLE + layers * (high + captionHeight);
      root.classList.toggle("small", small);
      root.classList.toggle("square", !view.causal || view.queries < 4); // no corner is left free for a switch
      const sizes = {
        side: wide,
        gap,
        names,
        below: captionHeight,
        "sorted-below": sortedBelow,
        tallest: Math.max(inLayers, sorted) + (small ? 0 : HANGS),
      };
      for (const [name, size] of Object.entries(sizes)) root.style.setProperty(`--${name}`, `${size}px`);
    },
    /** Mark the row of the query in every tile. */
    markQuery(query, queries) {
      root.style.setProperty("--row", (query + 0.5) / queries);
    },
  };
}
