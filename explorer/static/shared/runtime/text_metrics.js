/* Measure labels in px and shorten them until they fit. */

export const FONT = '"Source Sans", "Source Sans 3", "Source Sans Pro", sans-serif';

const canvasContext = document.createElement("canvas").getContext("2d");

/** Return the width of a label in px. */
export function textWidth(text, size, weight = 400) {
  canvasContext.font = `${weight} ${size}px ${FONT}`;
  return canvasContext.measureText(text).width;
}

/** Shorten a label until it fits into `width` px. */
export function shortenToWidth(text, width, size, weight = 400) {
  if (textWidth(text, size, weight) <= width) return text;
  let shortened = text;
  while (shortened.length > 1 && textWidth(`${shortened}…`, size, weight) > width) shortened = shortened.slice(0, -1);
  return `${shortened}…`;
}
