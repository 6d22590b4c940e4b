/* Measure labels in px and shorten them until they fit. */

export const FONT = '"Source Sans", "Source Sans 3", "Source Sans Pro", sans-serif';

const pen = document.createElement("canvas").getContext("2d");

/** Return the width of a label in px. */
export function measure(text, size, weight = 400) {
  pen.font = `${weight} ${size}px ${FONT}`;
  return pen.measureText(text).width;
}

/** Shorten a label until it fits into `width` px. */
export function fit(text, width, size, weight = 400) {
  if (measure(text, size, weight) <= width) return text;
  let kept = text;
  while (kept.length > 1 && measure(`${kept}…`, size, weight) > width) kept = kept.slice(0, -1);
  return `${kept}…`;
}
