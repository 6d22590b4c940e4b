/* Sizes and colours of the tiles of heads, and the sentence about a cell. No DOM. */

const STAGE = { wide: 440, narrow: 390 },
  HEAD = 24,
  GAP = 12; // px; the area has the same height for any number of heads

export function tileSizes(width, heads, most = Infinity) {
  const wide = width >= 700,
    columns = wide ? Math.min(heads, 4) : ({ 1: 1, 2: 2, 4: 2 }[heads] ?? 4),
    rows = Math.ceil(heads / columns);
  const across = (width - (columns - 1) * GAP) / columns,
    down = (Math.min(wide ? STAGE.wide : STAGE.narrow, most) - (rows - 1) * GAP) / rows - HEAD;
  return { side: Math.max(1, Math.floor(Math.min(across, down))), columns };
}

/** Return the weight of each visible token under uniform attention. */
export const evenShare = (row) => 1 / (row + 1);

/** Return the position (0 to 1) of a weight on its scale: a share, or 1/8 to 8 times uniform attention. */
export function toneOf(weight, row, view) {
  const tone = view === "shares" ? weight : 0.5 + Math.log2(weight / evenShare(row)) / 6;
  return Math.max(0, Math.min(1, tone));
}

export function describeCell(tokens, { row, column }) {
  return `“${tokens[row]}” at position ${row + 1} attends to “${tokens[column]}” at position ${column + 1}.`;
}
