/* Draw the grid of all heads: small heat maps in buttons, with a switch for each head and each layer; or a list, sorted by
   a score. Tiles have one size and the grid one height in every order, with or without the causal mask. A large grid is
   never a list: its layers are in blocks side by side, so that all of them are seen at once. */
import { MOST_SORTED, headCells, includesHead, layoutBlocks, sortHeads } from "./math.js";
import { paintCells, tileSide } from "../../shared/charts/heatmap.js";
import { moveIndex } from "../../shared/charts/value_scale.js";
import { isScreened, limitHeight } from "../../shared/runtime/component.js";
import { headName } from "../../shared/runtime/format.js";
import { LiveElements } from "../../shared/runtime/view_state.js";

// All sizes are in px.
const [LARGEST, ALONE] = [84, 132]; // of a tile, also where there are only one or two heads a layer
const SWITCHABLE = 48; // on smaller tiles the switch is smaller
const [TITLE, LAYER] = [18, 51]; // a line of names; a layer's name with its switch
const [WORDS, SMALL_WORDS] = [23, 32]; // what is below a sorted tile
const [BELOW, MOST_BELOW, SORTED_BELOW, HANGS] = [18, 26, 16, 8]; // between rows, where a square tile has its switch; below the last
// Of a large grid: the numbers of its layers, the space between two blocks and two tiles, its height, the smallest tile on a phone.
const [LAYERS, BETWEEN, TIGHT, TALLEST, FINGER] = [38, 14, 3, 480, 24];

/** Return the layout of a grid whose layers are rows, as variables of its style; it takes the height of its tallest order. */
function layoutRows({ layers, heads }, width) {
  const names = width < 420 ? 48 : 62,
    gap = heads > 6 || width < 420 ? 6 : 14,
    room = Math.floor((width - names - 8 - gap * heads) / Math.max(1, heads)),
    side = Math.max(16, Math.min(heads > 2 ? LARGEST : ALONE, room)),
    isSmall = side < SWITCHABLE,
    high = Math.max(side, LAYER),
    sortedBelow = isSmall ? 8 : SORTED_BELOW,
    rows = Math.ceil((layers * heads) / Math.max(1, Math.floor((width + gap) / (side + gap)))),
    sorted = rows * (side + (isSmall ? SMALL_WORDS : WORDS) + sortedBelow) - sortedBelow,
    spare = Math.floor((sorted - TITLE) / layers - high), // the layers may use the height of the sorted list as space between them
    below = Math.max(isSmall ? gap : BELOW, Math.min(MOST_BELOW, spare)),
    tallest = Math.max(TITLE + layers * (high + below), sorted) + (isSmall ? 0 : HANGS);
  return { side, gap, names, below, "sorted-below": sortedBelow, tallest };
}

/** Return the layout of a large grid. */
function layoutLarge({ layers, heads }, width) {
  const least = width < 480 && !isScreened() ? FINGER : 8,
    height = limitHeight(TALLEST, 370) - 2 * TITLE;
  return layoutBlocks({ layers, heads, width, height, names: LAYERS + TIGHT, between: BETWEEN, gap: TIGHT, least });
}

/** Return the titles of a grid, with their places in a large one. */
function titlesOf({ heads }, large) {
  const makeTitle = (text, area = "") => ({ kind: "title", key: `title ${area} ${text}`, text, area });
  if (!large) {
    const many = heads > 6,
      names = Array.from({ length: heads }, (_, head) => makeTitle(many ? `${head + 1}` : `head ${head + 1}`));
    return [{ ...makeTitle(many ? "head" : "", ""), isCorner: true }, ...names];
  }
  const every = Math.ceil((heads > 9 ? 20 : 12) / (large.side + TIGHT));
  return Array.from({ length: large.blocks }, (_, block) => {
    const start = block * (heads + 1),
      numbers = Array.from({ length: Math.ceil(heads / every) }, (_, i) => i * every);
    return [
      makeTitle("layer", `1 / ${start + 2} / auto / span 1`),
      makeTitle("head", `2 / ${start + 1} / auto / span ${heads}`),
      ...numbers.map((head) => makeTitle(`${head + 1}`, `2 / ${start + head + 2} / auto / span 1`)),
    ];
  }).flat();
}

/** `does` = { open(layer, head), flip(layer, head), flipLayer(layer), point(layer, head | null) }. */
export function headGrid(does) {
  const { node, keyed, update } = new LiveElements();
  /** @type {any} */
  let state = null; // {view, sort, value, digits, open, touch, isFaint, asked, isMoving}
  /** @type {any} */
  let sizes = {}; // variables of the style
  let large = null, // the layout of a large grid
    order = "", // the score by which the tiles are sorted
    places = []; // [layer, head] of the tiles, sorted
  const canvases = new Map(); // by layer and head

  function listItems() {
    if (!state) return [];
    const { view } = state,
      isSorted = order !== "",
      rowOf = (layer) => (large ? 3 + (layer % large.rows) : 0),
      areaOf = (layer, column) =>
        large
          ? `${rowOf(layer)} / ${Math.floor(layer / large.rows) * (view.heads + 1) + column} / auto / span 1`
          : null;
    const makeTileItem = ([layer, head]) => ({
      kind: "tile",
      key: `${layer} ${head}`,
      layer,
      head,
      area: areaOf(layer, head + 2),
    });
    if (isSorted) return places.map(makeTileItem);
    const rows = Array.from({ length: view.layers }, (_, layer) => [
      { kind: "layer", key: `layer ${layer}`, layer, area: areaOf(layer, 1) },
      ...Array.from({ length: view.heads }, (_, head) => makeTileItem([layer, head])),
    ]);
    return [...titlesOf(view, large), ...rows.flat()];
  }

  const areaStyle = (item) => () => (item().area ? `grid-area: ${item().area}` : null),
    isIn = (list, { layer, head }) => includesHead(state.touch[list], layer, head);
  const makeTitle = (item, inner) =>
    inner.node("span.head-name", { style: areaStyle(item), ".corner": item().isCorner }, () => item().text);
  function makeLayer(item, inner) {
    const { layer } = item(),
      isOn = () => places.some(([each, head]) => each === layer && !isIn("off", { layer, head }));
    return inner.node(
      "button.layer",
      {
        type: "button",
        role: "switch",
        style: areaStyle(item),
        "aria-label": `layer ${layer + 1}`,
        "aria-checked": isOn,
        title: `Switch all heads of layer ${layer + 1} on or off`,
        onclick: () => does.flipLayer(layer),
      },
      inner.node("span", () => (large ? `${layer + 1}` : `layer ${layer + 1}`)),
      inner.node("i"),
    );
  }
  function makeTile(item, inner) {
    const { layer, head, key } = item(),
      name = headName(layer, head),
      isOpen = () => String(state.open) === `${layer},${head}`,
      isOff = () => isIn("off", item()),
      isFlat = () => isIn("flat", item()),
      point = () => does.point(layer, head),
      label = () => `${name}${isOff() ? ", switched off" : ""}${isFlat() ? ", made uniform" : ""}`,
      words = `Switch for ${name.toLowerCase()}`;
    const number = () => {
      if (!order) return "";
      const value = state.value(layer, head);
      return Number.isNaN(value) ? "–" : state.digits(value);
    };
    const canvas = inner.node("canvas", { role: "img", "aria-label": label });
    canvases.set(key, { canvas, layer, head });
    inner.whenRemoved(() => canvases.delete(key));
    const about = { type: "button", "aria-pressed": isOpen, tabindex: () => (isOpen() ? 0 : -1) },
      flip = { type: "button", role: "switch", tabindex: -1, title: words, "aria-label": words };
    return inner.node(
      "div.box",
      {
        style: areaStyle(item),
        ".open": isOpen,
        ".off": isOff,
        ".flat": isFlat,
        ".faint": () => state.isFaint(layer, head),
      },
      inner.node(
        "button.tile",
        { ...about, onclick: () => does.open(layer, head), onpointerenter: point, onfocus: point },
        canvas,
      ),
      inner.node(
        "button.flip",
        { ...flip, "aria-checked": () => !isOff(), onclick: () => does.flip(layer, head) },
        inner.node("i"),
      ),
      inner.node(
        "div.tile-words",
        inner.node("span.tile-name", `${layer + 1} · ${head + 1}`),
        inner.node("b.tile-value", number),
      ),
    );
  }
  const makers = { title: makeTitle, layer: makeLayer, tile: makeTile };
  const isSmall = () => sizes.side < SWITCHABLE;
  const root = node(
    "div.grid",
    {
      role: "group",
      "aria-label": "All heads",
      ".sorted": () => order,
      ".large": () => large,
      ".small": isSmall,
      ".square": () => large || !state?.view.causal || state.view.queries < 4, // no corner is left free for a switch
      onpointerleave: () => does.point(null),
      onkeydown: moveFocus,
    },
    keyed(
      listItems,
      (item, inner) => makers[item().kind](item, inner),
      ({ key }) => key,
    ),
  );
  root.addEventListener("focusout", (event) => {
    if (!root.contains(event.relatedTarget)) does.point(null);
  });
  function moveFocus(event) {
    const boxes = /** @type {HTMLElement[]} */ ([...root.querySelectorAll(".box")]),
      at = boxes.findIndex((box) => box.contains(event.target)),
      fitting = () => Math.floor((root.clientWidth + sizes.gap) / (boxes[0].offsetWidth + sizes.gap)),
      to = at < 0 ? null : moveIndex(event.key, at, boxes.length, order ? Math.max(1, fitting()) : state.view.heads);
    if (to === null) return;
    event.preventDefault();
    /** @type {HTMLElement} */ (boxes[to]?.firstElementChild)?.focus();
  }

  return {
    root,
    /** Return the tiles in their order, as text. */
    orderOf: () => `${order} ${places.join(" ")}`,
    /** Arrange the tiles in a room `width` px wide; their order stays while the training is moved (`isMoving`). */
    show(/** @type {any} */ newState, width) {
      state = newState;
      const { view, sort, asked, isMoving } = state,
        isLarge = view.layers * view.heads > MOST_SORTED,
        newOrder = sort === "place" || isLarge ? "" : sort;
      if (!isMoving || newOrder !== order || places.length !== view.layers * view.heads)
        places = sortHeads(view.layers, view.heads, newOrder ? state.value : null);
      order = newOrder;
      large = isLarge ? layoutLarge(view, width) : null;
      sizes = large ? { side: large.side, gap: TIGHT } : layoutRows(view, width);
      for (const [name, size] of Object.entries(sizes)) root.style.setProperty(`--${name}`, `${size}px`);
      root.style.setProperty("--heads", view.heads);
      root.style.setProperty("--row", String((asked + 0.5) / view.queries)); // marks the query in every tile
      root.style.gridTemplateColumns = Array.from(
        { length: large?.blocks ?? 0 },
        (_, block) => `${LAYERS + (block && BETWEEN)}px repeat(${view.heads}, ${large.side}px)`,
      ).join(" ");
      update();
    },
    /** Redraw only the pixels; called at every training step shown. */
    paintTiles(view, look) {
      const ratio = devicePixelRatio || 1,
        pixels = tileSide(view.queries, Math.round(sizes.side * ratio)),
        between = pixels / view.queries >= 8 * ratio ? Math.round(ratio) : 0;
      root.style.setProperty("--drawn", `${pixels / ratio}px`);
      for (const { canvas, layer, head } of canvases.values()) {
        if (canvas.width !== pixels) canvas.width = canvas.height = pixels;
        paintCells(canvas, headCells(view, layer, head, look.scale), look.shades, between);
      }
    },
  };
}
