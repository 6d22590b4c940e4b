/* Paint the attention of one head on a canvas with the shared colour scale. */

export const FULL = 65535; // the unsigned 16-bit number that stands for a weight of 1
const SHADES = 1024;

/** The amount ramp as pixels for weights 0 to 65535, by `shade(weight)`; rebuilt when the colour scheme changes. */
export function colourRamp(colour) {
  const stops = Array.from({ length: 7 }, (_, i) =>
    colour(`--amount-${i}`)
      .match(/[\d.]+/g)
      .slice(0, 3)
      .map(Number),
  );
  const shades = new Uint32Array(SHADES + 1);
  for (let i = 0; i <= SHADES; i++) {
    const at = (6 * i) / SHADES,
      low = Math.min(5, Math.floor(at)),
      part = at - low;
    const [red, green, blue] = stops[low].map((from, c) => Math.round(from + (stops[low + 1][c] - from) * part));
    shades[i] = ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
  }
  return shades;
}

/** The colour of a share of 0 to 1 as CSS. */
export function rampColour(shades, share) {
  const pixel = shades[Math.round(share * SHADES)];
  return `rgb(${pixel & 255}, ${(pixel >> 8) & 255}, ${(pixel >> 16) & 255})`;
}

/** Return the weight that gets the full colour: 1, or the largest of its row if each row has its own scale. */
export function fullColourWeight(view, layer, head, query, scale) {
  if (scale !== "row") return FULL;
  const row = view.row(layer, head, query),
    reach = view.reach(query);
  let most = 0;
  for (let key = 0; key < reach; key++)
    if (!view.hidden[key] && view.data[row + key] > most) most = view.data[row + key];
  return most || FULL;
}

/** Return the edges of `count` cells on `pixels` pixels. If there are more cells than pixels, cells share them. */
export function cellEdges(count, pixels) {
  return Int32Array.from({ length: count + 1 }, (_, i) => Math.round((i * pixels) / count));
}

const imageBuffers = new Map(); // one serves all tiles of a size

function imageBufferFor(width, height) {
  const size = `${width} ${height}`;
  if (!imageBuffers.has(size) && imageBuffers.size > 3) imageBuffers.delete(imageBuffers.keys().next().value);
  if (!imageBuffers.has(size))
    imageBuffers.set(size, { image: new ImageData(width, height), line: new Int32Array(width) });
  return imageBuffers.get(size);
}

/**
 * Draw one head into the whole of `canvas`. Masked cells stay empty. `gap` px are left between cells. Where one pixel
 * holds several cells it shows the strongest of them, so that a thin diagonal does not fade with the length of the text.
 */
export function paintHead(canvas, view, layer, head, { shades, scale, gap = 0 }) {
  const { width, height } = canvas,
    context = canvas.getContext("2d");
  const { image, line } = imageBufferFor(width, height),
    pixels = new Uint32Array(image.data.buffer);
  const across = cellEdges(view.keys, width),
    down = cellEdges(view.queries, height);
  const firstPixelRow = (query) => Math.min(down[query], height - 1); // its first row of pixels
  pixels.fill(0);
  for (let query = 0; query < view.queries; query++) {
    const row = view.row(layer, head, query),
      reach = view.reach(query),
      times = SHADES / fullColourWeight(view, layer, head, query, scale);
    const top = firstPixelRow(query);
    if (!query || firstPixelRow(query - 1) !== top) line.fill(-1);
    for (let key = 0; key < reach; key++) {
      if (view.hidden[key]) continue;
      const shade = (view.data[row + key] * times + 0.5) | 0;
      const left = Math.min(across[key], width - 1),
        right = Math.max(left + 1, across[key + 1] - gap);
      for (let x = left; x < right; x++) if (shade > line[x]) line[x] = shade;
    }
    if (query + 1 < view.queries && firstPixelRow(query + 1) === top) continue; // the next one shares these pixels
    const start = top * width,
      bottom = Math.max(top + 1, down[query + 1] - gap);
    for (let x = 0; x < width; x++) if (line[x] >= 0) pixels[start + x] = shades[line[x]];
    for (let y = top + 1; y < bottom; y++) pixels.copyWithin(y * width, start, start + width);
  }
  context.putImageData(image, 0, 0);
}

/** Return the side of a tile in device pixels: close to `room`, if possible with cells of equal size. */
export function tileSide(count, room) {
  const cell = Math.floor(room / count);
  return cell && cell * count >= 0.8 * room ? cell * count : room;
}

/** Return one head as a picture for a file; each cell takes `grown` x `grown` pixels. */
export function headDataUrl(view, layer, head, look, grown) {
  const canvas = document.createElement("canvas");
  canvas.width = view.keys * grown;
  canvas.height = view.queries * grown;
  paintHead(canvas, view, layer, head, look);
  return canvas.toDataURL();
}
