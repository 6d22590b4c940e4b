/* Record a figure as a short video: its playback from the beginning to the end, or the figure as it is, from left to right. */
import { colourAround, download, figureImage } from "./export_menu.js";
import { nextFrames, node } from "./dom.js";

const SECONDS = 6;
const HOLD = 0.2; // the share of these seconds for which the last picture stays
const FRAMES = 24; // of a playback
const MAX_WIDTH = 960; // px
const BITS = 1_500_000; // a second, which makes about 1.2 MB
const KIND = "video/webm";

export const canRecord = () => Boolean(window.MediaRecorder?.isTypeSupported(KIND));

/** Record the figure of a save menu and save the file; `say` gets what is being done. */
export async function recordFigure({ container, source }, say) {
  const images = await imagesOf(container, source, say),
    scale = Math.min(1, MAX_WIDTH / images[0].width),
    [width, height] = [images[0].width, images[0].height].map((side) => 2 * Math.round((scale * side) / 2)),
    canvas = node("canvas", { width, height }),
    context = canvas.getContext("2d"),
    recorder = new MediaRecorder(canvas.captureStream(), { mimeType: KIND, videoBitsPerSecond: BITS }),
    parts = [],
    background = colourAround(container, "--page");
  const draw = (share) => {
    const image = images[Math.min(images.length - 1, Math.floor(share * images.length))];
    context.fillStyle = background;
    context.fillRect(0, 0, width, height);
    context.drawImage(image, 0, 0, width, height);
    if (images.length === 1) context.fillRect(share * width, 0, width, height); // not shown yet
  };
  say(`Recording for ${SECONDS} s …`);
  recorder.ondataavailable = ({ data }) => parts.push(data);
  const stopped = new Promise((done) => (recorder.onstop = done));
  recorder.start();
  for (let begin = performance.now(), at = 0; at < 1;) {
    at = (performance.now() - begin) / 1000 / SECONDS;
    draw(Math.min(1, at / (1 - HOLD)));
    await new Promise(requestAnimationFrame);
  }
  recorder.stop();
  await stopped;
  download(`${source.file || "figure"}.webm`, new Blob(parts, { type: KIND }));
}

async function imagesOf(container, source, say) {
  const scrubber = container.querySelector(".frame-scrubber"),
    images = [];
  if (!scrubber) return [await figureImage(await source.svg())];
  const { value, max } = scrubber;
  const moveTo = (to) => {
    scrubber.value = to;
    scrubber.dispatchEvent(new Event("input"));
    return nextFrames();
  };
  try {
    for (let i = 0; i <= FRAMES; i++) {
      say(`Drawing picture ${i} of ${FRAMES} …`);
      await moveTo((i / FRAMES) * max);
      images.push(await figureImage(await source.svg()));
    }
  } finally {
    await moveTo(value);
  }
  return images;
}
