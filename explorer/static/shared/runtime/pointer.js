/* Return the position of the pointer inside an element in the element's own px; presentation mode scales pages. */

export function pointerPosition({ clientX, clientY }, element) {
  const { left, top, width } = element.getBoundingClientRect(),
    scale = width / element.clientWidth || 1;
  return { x: (clientX - left) / scale, y: (clientY - top) / scale };
}
