/* The labels at the right ends of lines, which the server places for the usual height of a figure. */

const AXIS = 60; // px below the axes: ticks and title
const LINE = 1.2; // line height, in units of the font size

const isEndLabel = ({ yref, xanchor }) => yref === "paper" && xanchor === "left";
/* Labels in the units of the x axis may overlap wherever their lines end; others only where they end together. */
const groupOf = ({ xref, x }) => (xref === "paper" ? x : xref);

/** Return the annotations of a figure of this height (px), its end labels moved apart where they would overlap. */
export function spreadEndLabels(annotations, height) {
  const ends = annotations.filter(isEndLabel),
    groups = [...new Set(ends.map(groupOf))].map((name) => ends.filter((each) => groupOf(each) === name)),
    moved = new Map(groups.flatMap((group) => spreadGroup(group, height)));
  return annotations.map((each) => (moved.has(each) ? { ...each, y: moved.get(each) } : each));
}

/* Return [label, height] of each label. */
function spreadGroup(labels, height) {
  const ends = labels.map((label) => ({ label, y: label.y })).sort((one, other) => one.y - other.y),
    sizes = labels.map(({ font }) => font?.size ?? 14),
    gap = (LINE * Math.max(...sizes)) / Math.max(height - AXIS, 1);
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
  return ends.map(({ label, y }) => [label, y]);
}
