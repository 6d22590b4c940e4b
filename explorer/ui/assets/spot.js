/* Where the pointer is inside an element, in the element's own px: a projector shows pages larger than they are. */

export function spot({ clientX, clientY }, element) {
  const { left, top, width } = element.getBoundingClientRect(), scale = width / element.clientWidth || 1;
  return { x: (clientX - left) / scale, y: (clientY - top) / scale };
}
