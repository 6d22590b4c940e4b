/* Heat maps: cells with the colours of base.css's scales "amount" (0 to 1) and "sign" (−1 to 1).

   A grid is { rows, columns, row(r) }: `row` returns the positions of a row's values on their scale, 0 to 1; NaN is a
   masked cell and stays empty. */

import { mixColours, labelledColumns, parseColour } from "./value_scale.js";
import { node } from "../runtime/dom.js";

const SHADES = 1024;

/** Return the pixels of a colour scale of the current colours; `colour` reads one of base.css's variables. */
export function colourRamp(colour, name = "amount") {
  const stops = Array.from({ length: 7 }, (_, i) => parseColour(colour(`--${name}-${i}`)));
  return Uint32Array.from({ length: SHADES + 1 }, (_, i) => {
    const [red, green, blue] = mixColours(stops, i / SHADES);
    return (255 << 24) | (blue << 16) | (green << 8) | red;
  });
}

/** Return the grid of numbers that are stored row by row. */
export const arrayGrid = (values, rows, position) => {
  const columns = values.length / rows;
  return { rows, columns, row: (r) => Float32Array.from(values.subarray(r * columns, (r + 1) * columns), position) };
};

/** Return the edges of `count` cells on `pixels` pixels. If there are more cells than pixels, cells share them. */
export function cellEdges(count, pixels) {
  return Int32Array.from({ length: count + 1 }, (_, i) => Math.round((i * pixels) / count));
}

const imageBuffers = new Map(); // one serves all canvases of a size

function imageBufferFor(width, height) {
  const size = `${width} ${height}`,
    buffer = imageBuffers.get(size) ?? { image: new ImageData(width, height), line: new Int32Array(width) };
  if (imageBuffers.size > 3) imageBuffers.clear();
  imageBuffers.set(size, buffer);
  return buffer;
}

/**
 * Draw a grid into the whole of `canvas`; `gap` px are left between cells, `gapBelow` px below each. Where one pixel holds several cells it shows
 * the strongest of them, so that a thin diagonal does not fade with the length of the text.
 */
export function paintCells(canvas, grid, shades, gap = 0, gapBelow = gap) {
  const { width, height } = canvas;
  const { image, line } = imageBufferFor(width, height),
    pixels = new Uint32Array(image.data.buffer);
  const across = cellEdges(grid.columns, width),
    down = cellEdges(grid.rows, height);
  const firstPixelRow = (row) => Math.min(down[row], height - 1);
  pixels.fill(0);
  for (let row = 0; row < grid.rows; row++) {
    const shares = grid.row(row),
      top = firstPixelRow(row);
    if (!row || firstPixelRow(row - 1) !== top) line.fill(-1);
    for (let column = 0; column < grid.columns; column++) {
      const share = shares[column];
      if (!(share >= 0)) continue;
      const shade = (share * SHADES + 0.5) | 0;
      const left = Math.min(across[column], width - 1),
        right = Math.max(left + 1, across[column + 1] - gap);
      for (let x = left; x < right; x++) if (shade > line[x]) line[x] = shade;
    }
    const start = top * width,
      bottom = Math.max(top + 1, down[row + 1] - gapBelow);
    for (let x = 0; x < width; x++) if (line[x] >= 0) pixels[start + x] = shades[line[x]];
    for (let y = top + 1; y < bottom; y++) pixels.copyWithin(y * width, start, start + width);
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
}

/** Draw a grid with one pixel per cell; the style of the canvas enlarges them. */
export function paintPixels(canvas, grid, shades) {
  canvas.width = grid.columns;
  canvas.height = grid.rows;
  paintCells(canvas, grid, shades);
}

/** Return the side of a square heat map in device pixels: close to `room`, if possible with cells of equal size. */
export function tileSide(count, room) {
  const cell = Math.floor(room / count);
  return cell && cell * count >= 0.8 * room ? cell * count : room;
}

/** Return the cell under a pointer, or the nearest one. */
export function cellAt({ clientX, clientY }, { left, top, width, height }, { rows, columns }) {
  const indexAt = (share, count) => Math.max(0, Math.min(count - 1, Math.floor(share * count)));
  return { row: indexAt((clientY - top) / height, rows), column: indexAt((clientX - left) / width, columns) };
}

/**
 * A heat map that the user can point at, with the mark of a row and that of a column or of one cell. The component's
 * style.css imports shared/charts/heatmap.css and sets the height of `.map`.
 */
export class HeatMap {
  followsTouch = false; // whether a finger that moves points at cells, as the mouse does
  /** Called with the cell under the mouse.
   * @type {(cell: {row: number, column: number}) => void} */
  onpoint = () => {};
  /** Called with the cell that was clicked.
   * @type {(cell: {row: number, column: number}) => void} */
  onpick = () => {};
  grid = { rows: 1, columns: 1, row: () => [] };
  canvas = node("canvas", { role: "img" });
  rowMark = node("i.row-mark", { hidden: true });
  columnMark = node("i.column-mark", { hidden: true });
  cellMark = node("i.cell-mark", { hidden: true });

  constructor(attributes = {}) {
    this.root = node("div.map", attributes, this.canvas, this.rowMark, this.columnMark, this.cellMark);
    this.root.onpointermove = (event) =>
      (this.followsTouch || event.pointerType !== "touch") && this.onpoint(this.cellOf(event));
    this.root.onclick = (event) => this.onpick(this.cellOf(event));
  }

  cellOf(event) {
    return cellAt(event, this.canvas.getBoundingClientRect(), this.grid);
  }

  show(grid, shades) {
    this.grid = grid;
    this.canvas.ariaLabel = `Heat map of ${grid.rows} × ${grid.columns} numbers`; // the component says what they are
    paintPixels(this.canvas, grid, shades);
  }

  /** Mark rows and columns that begin here; null: no mark. */
  markRow(row) {
    this.#place(this.rowMark, row === null ? null : { row });
  }
  markColumn(column, columns = 1) {
    this.#place(this.columnMark, column === null ? null : { column, columns });
  }
  markCell(cell) {
    this.#place(this.cellMark, cell);
  }
  /** @param {{row?: number, column?: number, columns?: number} | null} cell */
  #place(mark, cell) {
    mark.hidden = !cell;
    if (!cell) return;
    const { row, column, columns = 1 } = cell,
      percent = (part, whole) => `${(100 * part) / whole}%`,
      { style } = mark;
    if (row !== undefined) [style.top, style.height] = [row, 1].map((part) => percent(part, this.grid.rows));
    if (column !== undefined)
      [style.left, style.width] = [column, columns].map((part) => percent(part, this.grid.columns));
  }
}

/**
 * Write the names of rows ("top") or columns ("left") beside a heat map of that size in px: all of them, or as many as
 * fit, `least` px apart.
 * @param {(i: number) => string} name
 * @param {"top" | "left"} side
 * @param {number} [least]
 */
export function labelCells(place, count, name, side, size, least) {
  const makeLabel = (i) => node("span", { style: `${side}: ${(100 * (i + 0.5)) / count}%` }, name(i));
  place.replaceChildren(...labelledColumns(count, size, least).map(makeLabel));
}
