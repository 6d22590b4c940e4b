/* Draw the slider over the snapshots of a training run with the loss curve above it. The snapshots are evenly spaced
   whatever their steps: the curve is drawn on the slider's own axis. */
import { snapshotPosition, lossAt } from "./math.js";
import { setTextIfChanged, icon, svgNode, node } from "../../shared/runtime/dom.js";
import { formatCount, formatNumber } from "../../shared/runtime/format.js";

export const TALL = 64,
  EDGE = 8; // px of the curve; half a thumb, by which the slider's stops are inside its ends
const PACE = 170; // ms a snapshot while it plays

/** Return the loss curve as a path in a box, and the highest and lowest loss. */
export function lossCurve({ steps, losses }, stops, width, tall) {
  const points = [...new Set([...steps, ...stops])]
    .filter((step) => step >= stops[0] && step <= stops.at(-1))
    .sort((a, b) => a - b);
  const lossesAtPoints = points.map((step) => lossAt({ steps, losses }, step)),
    low = Math.min(...lossesAtPoints),
    high = Math.max(...lossesAtPoints);
  const x = (step) => EDGE + snapshotPosition(stops, step) * (width - 2 * EDGE),
    y = (loss) => 6 + ((high - loss) / (high - low || 1)) * (tall - 12);
  return {
    x,
    y,
    low,
    high,
    path: `M${points.map((step, i) => `${x(step).toFixed(1)} ${y(lossesAtPoints[i]).toFixed(1)}`).join("L")}`,
  };
}

/** Return the steps that get a label: the first, the last, and as many others as fit. */
export function labelledSteps(steps, x, least) {
  const last = steps.length - 1,
    ticks = [0];
  for (let i = 1; i < last; i++)
    if (x(steps[i]) - x(steps[ticks.at(-1)]) >= least && x(steps[last]) - x(steps[i]) >= least * 1.15) ticks.push(i);
  return last ? [...ticks, last] : ticks;
}

/** `does` = { move(index), settle(index), reach() }. */
export function trainingSlider(does) {
  const slider = node("input", { type: "range", class: "slider", min: 0, step: 1, "aria-label": "Training step" });
  const line = svgNode("path", { class: "loss" }),
    cursor = node("i", { class: "cursor" }),
    dot = node("i", { class: "dot" });
  const picture = svgNode("svg", { class: "curve", height: TALL, role: "img" }, line);
  const marks = node("div", { class: "ticks", "aria-hidden": "true" });
  const play = node("button", { type: "button", class: "lineage-button play" });
  const stepLabel = node("output", { class: "where" });
  const root = node(
    "div",
    { class: "training" },
    node("div", { class: "training-head" }, play, stepLabel),
    node("div", { class: "track" }, picture, cursor, dot, slider, marks),
  );
  const listening = new AbortController();
  let data = null,
    at = 0,
    timer = null,
    curve = null,
    drawnState = "",
    waiting = false,
    isHeld = false;

  function pause(settle = true) {
    if (!timer) return;
    clearInterval(timer);
    timer = null;
    updateButton();
    if (settle) does.settle(at);
  }
  function start() {
    does.reach();
    const last = data.steps.length - 1;
    if (at >= last) does.move(0);
    timer = setInterval(() => {
      if (waiting) return;
      if (at >= last) return pause();
      does.move(at + 1);
    }, PACE);
    updateButton();
  }
  function updateButton() {
    play.replaceChildren(icon(timer ? "pause" : "play_arrow"), node("span", {}, timer ? "Pause" : "Play the training"));
  }
  play.onclick = () => (timer ? pause() : start());
  function releaseSlider() {
    if (!isHeld) return;
    isHeld = false;
    does.settle(Number(slider.value));
  }
  slider.oninput = () => {
    pause(false);
    isHeld = true;
    does.move(Number(slider.value));
  };
  slider.onchange = releaseSlider;
  // A slider released at its old value fires no change event.
  for (const end of ["pointerup", "pointercancel"])
    window.addEventListener(end, releaseSlider, { signal: listening.signal });
  slider.onpointerdown = slider.onpointerenter = slider.onfocus = () => does.reach();
  updateButton();

  return {
    root,
    show(training, width) {
      data = training;
      const state = JSON.stringify([training.steps, training.curve, width]);
      if (state === drawnState || !width) return;
      drawnState = state;
      slider.max = Math.max(0, training.steps.length - 1);
      slider.disabled = play.disabled = training.steps.length < 2;
      picture.setAttribute("width", width);
      picture.setAttribute("viewBox", `0 0 ${width} ${TALL}`);
      curve = training.curve?.steps.length ? lossCurve(training.curve, training.steps, width, TALL) : null;
      picture.style.display = cursor.style.display = dot.style.display = curve ? "" : "none";
      if (curve) line.setAttribute("d", curve.path);
      const x = (step) => EDGE + snapshotPosition(training.steps, step) * (width - 2 * EDGE);
      marks.replaceChildren(
        ...labelledSteps(training.steps, x, 46).map((i) => {
          const mark = node("span", {}, formatCount(training.steps[i]));
          mark.style.left = `${x(training.steps[i])}px`;
          return mark;
        }),
      );
    },
    /** Move the cursor without causing a new layout of the page. */
    setStep(index, loading, ablated = false) {
      at = index;
      waiting = loading;
      const step = data.steps[index],
        share = data.steps.length < 2 ? 0 : index / (data.steps.length - 1);
      if (Number(slider.value) !== index) slider.value = index;
      slider.style.setProperty("--at", share);
      const loss = data.curve?.steps.length ? lossAt(data.curve, step) : NaN; // of the unchanged model
      const words = `step ${formatCount(step)} of ${formatCount(data.steps.at(-1))}`;
      const text = loading
        ? `${words}, loading …`
        : Number.isNaN(loss) || ablated
          ? words
          : `${words}, loss ${formatNumber(loss)} ${data.unit ?? ""}`.trim();
      setTextIfChanged(stepLabel, text);
      slider.setAttribute("aria-valuetext", text);
      if (!curve) return;
      const x = curve.x(step).toFixed(1),
        y = curve.y(loss).toFixed(1);
      cursor.style.transform = `translateX(${x}px)`;
      dot.style.transform = `translate(${x}px, ${y}px)`;
      picture.setAttribute(
        "aria-label",
        `The loss of the training falls from ${formatNumber(curve.high)} to ${formatNumber(curve.low)} at its lowest; here ${text}.`,
      );
    },
    /** Stop the playback, because there is no training to show any more. */
    stop() {
      pause(false);
      isHeld = false;
    },
    close() {
      clearInterval(timer);
      listening.abort();
    },
  };
}
