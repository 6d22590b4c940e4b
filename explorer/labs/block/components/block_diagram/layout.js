/* Place the boxes and arrows of the block as in figure 1 of Vaswani et al. 2017, in one column or two. No DOM.

   boxes: [{name, column, row, kind}], rows counted from 1 at the bottom; arrows: [{flow, start, end, way}]. */

const PITCH = 60,
  BOX = 36,
  ROUND = 24; // px from row to row; heights of a box and of the circle of a sum
const FOOT = 74,
  TOP = 44,
  EDGE = 4; // px below the first row and above the last, and at the sides

/**
 * {width, height, scale, boxes: {name: {x, y, w, h}}, arrows: [{d, x, y, anchor}]}: paths from bottom to top, and where
 * their shape is written. All heights are scaled so that the diagram is at most `most` px high.
 */
export function layOut(boxes, arrows, width, most = Infinity) {
  const columns = 1 + Math.max(...boxes.map(({ column }) => column)),
    rows = Math.max(...boxes.map(({ row }) => row));
  const each = width / columns,
    side = columns > 1 && each < 200 ? 16 : 24,
    gap = columns > 1 ? side : 0,
    w = each - 2 * EDGE - side - gap;
  const usual = FOOT + TOP + (rows - 1) * PITCH + BOX,
    height = Math.min(usual, most),
    scale = height / usual;
  const place = ({ name, column, row, kind }) => {
    const isRound = kind === "sum",
      x = column === 0 ? EDGE + side + w / 2 : width - EDGE - side - w / 2,
      y = height - scale * (FOOT + BOX / 2 + (row - 1) * PITCH);
    return [name, { x, y, w: isRound ? ROUND * scale : w, h: scale * (isRound ? ROUND : BOX), column }];
  };
  const positions = Object.fromEntries(boxes.map(place)),
    sizes = { side, w, width, scale },
    ways = arrows.map(({ start, end, way }) => arrowPath(positions[start], positions[end], way, sizes));
  return { width, height, scale, boxes: positions, arrows: ways };
}

function arrowPath(from, to, way, { side, w, width, scale }) {
  if (way === "residual") {
    const out = to.column === 0 ? -1 : 1,
      x = to.x + out * (w / 2 + side - 6),
      leave = from.y - from.h / 2 - 9 * scale,
      d = `M${from.x} ${leave}H${x}V${to.y}H${to.x + out * (to.w / 2)}`;
    return { d, x: x - out * 4, y: (leave + to.y) / 2, anchor: null };
  }
  if (way === "cross") {
    const top = from.y - from.h / 2,
      x = width / 2;
    return { d: `M${from.x} ${top}V${top - 18 * scale}H${x}V${to.y}H${to.x - to.w / 2}`, x, y: to.y, anchor: null };
  }
  const { x, column } = from ?? to,
    low = from ? from.y - from.h / 2 : to.y + to.h / 2 + 30 * scale,
    high = to ? to.y + to.h / 2 : from.y - from.h / 2 - 30 * scale,
    isLeft = column === 1;
  return { d: `M${x} ${low}V${high}`, x: x + (isLeft ? -9 : 9), y: (low + high) / 2, anchor: isLeft ? "end" : "start" };
}

/** Return the keyboard order of the boxes and arrows: from bottom to top, column by column. */
export function focusOrder(layout, boxes, arrows) {
  const boxPlace = ({ name, column }, i) => ({ kind: "box", i, column, y: layout.boxes[name].y }),
    arrowPlace = ({ start, end, way }, i) => {
      const y = layout.arrows[i].y + (way === "up" ? 0 : 1);
      return { kind: "arrow", i, column: layout.boxes[end || start].column, y };
    };
  return [...boxes.map(boxPlace), ...arrows.map(arrowPlace)].sort((a, b) => a.column - b.column || b.y - a.y);
}
