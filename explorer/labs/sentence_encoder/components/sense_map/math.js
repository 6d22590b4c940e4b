/* The arithmetic of the sense map: positions of points and labels, nearest points, sentences. No DOM. */

export const EDGE = 26; // px around the points

/** Scale every layer's points to a box; both directions share one scale, so that distances keep their ratios. */
export function fitPoints(layers, others, width, height) {
  return layers.map((points, l) => {
    const all = [...points, ...others[l]],
      minAndMax = (axis) => [Math.min(...all.map((p) => p[axis])), Math.max(...all.map((p) => p[axis]))];
    const [[left, right], [low, high]] = [minAndMax(0), minAndMax(1)];
    const scale = Math.min((width - 2 * EDGE) / (right - left || 1), (height - 2 * EDGE) / (high - low || 1));
    const placePoint = ([x, y]) => [
      width / 2 + scale * (x - (left + right) / 2),
      height / 2 - scale * (y - (low + high) / 2),
    ];
    return { points: points.map(placePoint), own: others[l].map(placePoint) };
  });
}

export const interpolatePoints = (from, to, share) =>
  from.map(([x, y], i) => [x + share * (to[i][0] - x), y + share * (to[i][1] - y)]);

export function meanPoint(points) {
  const sum = points.reduce(([a, b], [x, y]) => [a + x, b + y], [0, 0]);
  return sum.map((each) => each / (points.length || 1));
}

/** Where the labels of two groups are written: above their middles; where these are nearer than `apart` px, the upper
    one above both and the lower one below, so that neither hides the other nor what lies there. */
export function placeLabels(one, other, apart) {
  const placeAbove = ([x, y]) => [x, y - 16],
    placeBelow = ([x, y]) => [x, y + 28],
    upper = one[1] <= other[1];
  if (Math.abs(one[1] - other[1]) >= apart || Math.abs(one[0] - other[0]) > 3 * apart)
    return [placeAbove(one), placeAbove(other)];
  return upper ? [placeAbove(one), placeBelow(other)] : [placeBelow(one), placeAbove(other)];
}

/** Return the index of the point nearest to the pointer, or -1. */
export function nearestPoint(points, x, y, most = 18) {
  let best = -1,
    closest = most * most;
  points.forEach(([a, b], i) => {
    const distance = (a - x) ** 2 + (b - y) ** 2;
    if (distance < closest) [best, closest] = [i, distance];
  });
  return best;
}

/** The similarity of an occurrence to each of the others, or null where the words have nothing to do with each other. */
export const describeSimilarities = (cosines, words, at) =>
  words.map((word, i) => (at < 0 || i === at || word !== words[at] ? null : cosines[at][i]));
