/* Draw small heat maps of all heads in their layers, to select one of them. */
import { colourRamp, paintPixels } from "../../../../static/shared/charts/heatmap.js";
import { headName } from "../../../../static/shared/runtime/format.js";
import { node } from "../../../../static/shared/runtime/dom.js";

/** `open(layer, head)` is called when a head is selected. */
export function headPicker(open) {
  const root = node("div.heads", { role: "group", "aria-label": "All heads" });
  let tiles = [],
    drawnShape = "",
    heads = 0;

  function makeTiles(layers) {
    tiles = Array.from({ length: layers * heads }, (_, i) => {
      const layer = Math.floor(i / heads),
        head = i % heads,
        canvas = node("canvas");
      const button = node("button", { type: "button", "aria-label": headName(layer, head) }, canvas);
      button.onclick = () => open(layer, head);
      return { layer, head, canvas, button };
    });
    root.style.setProperty("--heads", heads);
    const names = Array.from({ length: heads }, (_, head) =>
      node("span", { "aria-hidden": "true" }, `head ${head + 1}`),
    );
    root.replaceChildren(
      node("span"),
      ...names,
      ...Array.from({ length: layers }, (_, layer) => [
        node("span.layer", { "aria-hidden": "true" }, `layer ${layer + 1}`),
        ...tiles.filter((tile) => tile.layer === layer).map(({ button }) => button),
      ]).flat(),
    );
  }
  root.onkeydown = (event) => {
    const at = tiles.findIndex(({ button }) => button === event.target);
    const to = at + ({ ArrowLeft: -1, ArrowRight: 1, ArrowUp: -heads, ArrowDown: heads }[event.key] ?? NaN);
    if (!tiles[to]) return;
    event.preventDefault();
    tiles[to].button.focus();
    open(tiles[to].layer, tiles[to].head);
  };

  return {
    root,
    /** `weights` has the axes (layers, heads, rows, columns); causal: what is behind the diagonal is masked. */
    show(weights, { layer, head }, colour, causal) {
      root.hidden = !weights || weights.shape[0] * weights.shape[1] < 2;
      if (root.hidden) return;
      const [layers, count, rows, columns] = weights.shape;
      heads = count;
      if (drawnShape !== `${layers} ${heads}`) makeTiles(layers);
      drawnShape = `${layers} ${heads}`;
      const shades = colourRamp(colour);
      tiles.forEach((tile, i) => {
        const isSelected = tile.layer === layer && tile.head === head;
        const row = (r) =>
          weights.data
            .slice((i * rows + r) * columns, (i * rows + r + 1) * columns)
            .map((weight, c) => (causal && c > r ? NaN : weight));
        paintPixels(tile.canvas, { rows, columns, row }, shades);
        tile.button.setAttribute("aria-pressed", isSelected);
        tile.button.tabIndex = isSelected ? 0 : -1;
      });
    },
  };
}
