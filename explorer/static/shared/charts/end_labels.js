/* The labels at the right ends of lines: near their ends, neither over each other nor over a line. A label that has to
   stand away from its end is joined to it by a thin line. The server gives each label the end of its line, as shares of the axes. Only the browser knows the size in px. */

const LINE = 1.2; // line height, in units of the font size
const AXIS = { left: 34, below: 46 }; // px beside and below the axes, as plotly makes room for ticks and a title
const [NEAR, APART] = [8, 24]; // px from the end of a line to its label; to labels of which one is joined by a line
const JOINED = 5; // px: a label that is moved further up or down is joined
const [PAD, STEP] = [2, 1]; // px between a label and a line; between the heights that are tried
const CROSSED = 50 ** 2; // a label is rather moved by 50 px than written over a line

export const isEndLabel = ({ xref, yref, xanchor }) => xref === "paper" && yref === "paper" && xanchor === "left";

/**
 * Return heights of labels that do not overlap, with the smallest possible sum of squared distances to their ends.
 * @param {{end: number, tall: number, blocked?: number[][]}[]} labels in their order from the top, sizes in px;
 *    `blocked` are intervals in which the middle of a label would cross a line
 * @param {number} low smallest height of the upper edge of a label
 * @param {number} high largest height of the lower edge
 */
export function placeHeights(labels, low, high) {
  if (!labels.length) return [];
  const needed = labels.reduce((sum, { tall }) => sum + tall, 0),
    squeeze = Math.min(1, (high - low) / needed),
    room = needed + 2 * STEP > high - low ? STEP : 0, // heights are rounded
    heights = Array.from({ length: Math.max(1, Math.floor((high - low) / STEP) + 1) }, (_, i) => low + i * STEP);
  const cost = ({ end, tall, blocked = [] }, y) => {
    const half = (squeeze * tall) / 2;
    if (y < low + half - room || y > high - half + room) return Infinity;
    return (y - end) ** 2 + (blocked.some(([from, to]) => y > from && y < to) ? CROSSED : 0);
  };
  const chosen = []; // for each label and height: the index of the height of the label above
  let sums = heights.map(() => 0); // for each height, the least cost of the labels so far
  labels.forEach((label, i) => {
    const gap = i ? Math.floor((squeeze * (label.tall + labels[i - 1].tall)) / 2 / STEP) : 0;
    let best = 0;
    const above = heights.map((_, p) => {
      if (i && p >= gap && sums[p - gap] < sums[best]) best = p - gap;
      return best;
    });
    sums = heights.map((y, p) => (p < gap ? Infinity : sums[above[p]] + cost(label, y)));
    chosen.push(above);
  });
  let p = sums.indexOf(Math.min(...sums));
  const places = chosen.reverse().map((above) => {
    const place = heights[p];
    p = above[p];
    return place;
  });
  return places.reverse();
}

/**
 * Return the annotations and shapes of a figure, its end labels placed and joined to their lines.
 * @param {any} layout of plotly, with ranges of its axes
 * @param {any[]} data the traces
 * @param {number} width of the figure in px
 * @param {number} height of the figure in px
 * @param {(text: string, size: number, weight: number) => number} textWidth in px
 */
export function placeEndLabels(layout, data, width, height, textWidth) {
  const { annotations = [], shapes = [], margin = {}, xaxis, yaxis } = layout;
  const { l = 8, r = 8, t = 12, b = 8 } = margin,
    wide = Math.max(width - r - Math.max(l, AXIS.left), 1),
    high = Math.max(height - t - Math.max(b, AXIS.below), 1);
  const lines = pixelLines(data, shapes, shareOf(xaxis), shareOf(yaxis), wide, high);
  const labels = annotations.filter(isEndLabel).map((annotation) => {
    const size = annotation.font?.size ?? 14,
      rows = annotation.text.split("<br>").map((row) => row.replace(/<[^>]*>/g, "")),
      long = Math.max(...rows.map((row) => textWidth(row, size, 600)));
    return {
      annotation,
      tall: LINE * size * rows.length,
      long,
      x: annotation.x * wide,
      left: Math.max(0, Math.min(annotation.x * wide + NEAR, wide + r - long - 2)),
      end: (1 - annotation.y) * high,
    };
  });
  const placed = new Map(),
    joins = [];
  for (const group of overlappingGroups(labels)) {
    for (const label of group) {
      label.blocked = blockedHeights(label, lines);
      label.end = Math.min(Math.max(label.end, -t), high + label.tall / 2);
    }
    const heights = placeHeights(group, -t, high + LINE * 8),
      isMoved = (i) => Math.abs(heights[i] - group[i].end) > JOINED;
    // All labels of a group move to the right by the same: they stand below each other.
    const room = Math.min(APART - NEAR, ...group.map(({ left, long }) => wide + r - long - 2 - left)),
      away = group.some((_, i) => isMoved(i)) ? Math.max(0, room) : 0;
    group.forEach(({ annotation, x, left, end }, i) => {
      const [x0, x1] = [x + 3, left + away - 2].map((px) => px / wide),
        [y0, y1] = [end, heights[i]].map((px) => 1 - px / high),
        line = { color: annotation.font?.color, width: 1 };
      placed.set(annotation, { ...annotation, x: (left + away) / wide, y: y1, xshift: 0 });
      if (isMoved(i) && x1 > x0) joins.push({ type: "line", xref: "paper", yref: "paper", x0, y0, x1, y1, line });
    });
  }
  return { annotations: annotations.map((each) => placed.get(each) ?? each), shapes: [...shapes, ...joins] };
}

/* Return a function from a value to its share of an axis; null if the axis has no range of numbers. */
function shareOf({ range = null, type = "" } = {}) {
  if (!range || range.some((end) => typeof end !== "number")) return null;
  const [low, high] = range;
  return (value) => ((type === "log" ? Math.log10(value) : value) - low) / (high - low);
}

/* Return the drawn lines and the horizontal reference lines as lists of points in px from the upper left corner. */
function pixelLines(data, shapes, shareX, shareY, wide, high) {
  if (!shareX || !shareY) return [];
  const references = shapes
    .filter(({ xref, yref, y0, y1 }) => xref === "paper" && yref !== "paper" && y0 === y1)
    .map(({ x0, x1, y0 }) => [x0, x1].map((x) => [x * wide, (1 - shareY(y0)) * high]));
  const drawn = data
    .filter(({ mode, line, x }) => mode?.includes("lines") && line?.width !== 0 && Array.isArray(x))
    .map(({ x, y }) => x.map((value, i) => [shareX(value) * wide, (1 - shareY(y[i] ?? NaN)) * high]))
    .map((points) => points.filter((point) => point.every(Number.isFinite)));
  return [...references, ...drawn];
}

/* Return the intervals in which the middle of a label would cross a line. */
function blockedHeights({ left, long, tall }, lines) {
  const right = left + long + APART - NEAR,
    room = tall / 2 + PAD,
    intervals = [];
  for (const points of lines)
    for (let i = 1; i < points.length; i++) {
      const [[x0, y0], [x1, y1]] = [points[i - 1], points[i]];
      if (x1 <= left || x0 >= right) continue;
      const at = (x) => (x1 === x0 ? y1 : y0 + ((x - x0) / (x1 - x0)) * (y1 - y0)),
        ends = [at(Math.max(x0, left)), at(Math.min(x1, right))];
      intervals.push([Math.min(...ends) - room, Math.max(...ends) + room]);
    }
  return intervals;
}

/* Return the labels in groups that stand side by side, each from the top down; of equal ends the first is on top. */
function overlappingGroups(labels) {
  const groups = [];
  let right = -Infinity;
  for (const label of [...labels].sort((one, other) => one.left - other.left)) {
    if (label.left > right) groups.push([]);
    groups.at(-1).push(label);
    right = Math.max(right, label.left + label.long + APART);
  }
  return groups.map((group) =>
    group.sort((one, other) => one.end - other.end || labels.indexOf(one) - labels.indexOf(other)),
  );
}
