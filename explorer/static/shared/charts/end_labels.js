/* The labels at the right ends of lines, which the server places for the usual height of a figure. */

const AXIS = 60; // px below the axes: ticks and title
const LINE = 1.2; // line height, in units of the font size

const isEndLabel = ({ xref, yref, x, xanchor }) =>
  xref === "paper" && yref === "paper" && x === 1 && xanchor === "left";

/** Return the annotations of a figure of this height (px), its end labels moved apart where they would overlap. */
export function spreadEndLabels(annotations, height) {
  const ends = annotations
    .map((each, index) => ({ index, y: each.y, size: each.font?.size ?? 14 }))
    .filter(({ index }) => isEndLabel(annotations[index]))
    .sort((one, other) => one.y - other.y);
  const gap = (LINE * Math.max(...ends.map(({ size }) => size))) / Math.max(height - AXIS, 1);
  let floor = -Infinity,
    ceiling = Infinity;
  for (const end of ends) {
    end.y = Math.max(end.y, floor);
    floor = end.y + gap;
  }
  if (ends.at(-1)?.y > 1) ceiling = 1;
  for (const end of ends.toReversed()) {
    end.y = Math.min(end.y, ceiling);
    ceiling = end.y - gap;
  }
  const moved = new Map(ends.map(({ index, y }) => [index, y]));
  return annotations.map((each, index) => (moved.has(index) ? { ...each, y: moved.get(index) } : each));
}
