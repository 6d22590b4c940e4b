/* Draw the slider over the snapshots of a training run with the loss curve above it. The snapshots are evenly spaced
   whatever their steps: the curve is drawn on the slider's own axis. */
import { snapshotPosition, lossAt } from "./math.js";
import { formatCount, formatNumber } from "../../shared/runtime/format.js";
import { LiveElements } from "../../shared/runtime/view_state.js";

const TALL = 64; // px of the curve
const EDGE = 8; // px, half a thumb, by which the slider's stops are inside its ends
const NOTHING = { steps: [], width: 0, at: 0 };
const PACE = 170; // ms a snapshot while it plays

/** Return the loss curve as a path, the place of a loss, and the highest and lowest loss. */
function lossCurve({ steps, losses }, stops, x) {
  const points = [...new Set([...steps, ...stops])]
    .filter((step) => step >= stops[0] && step <= stops.at(-1))
    .sort((a, b) => a - b);
  const lossesAtPoints = points.map((step) => lossAt({ steps, losses }, step)),
    low = Math.min(...lossesAtPoints),
    high = Math.max(...lossesAtPoints);
  const y = (loss) => 6 + ((high - loss) / (high - low || 1)) * (TALL - 12);
  const path = points.map((step, i) => `${x(step).toFixed(1)} ${y(lossesAtPoints[i]).toFixed(1)}`).join("L");
  return { y, low, high, path: `M${path}` };
}

/** Return the steps that get a label: the first, the last, and as many others as fit. */
function labelledSteps(steps, x, least) {
  const last = steps.at(-1);
  return steps.reduce((ticks, step, i) => {
    const fits = x(step) - x(ticks.at(-1)) >= least && x(last) - x(step) >= least * 1.15;
    return !i || step === last || fits ? [...ticks, step] : ticks;
  }, []);
}

/** `does` = { move(index), settle(index), reach() }. */
export function trainingSlider(does) {
  const { node, svg, list, playButton, update } = new LiveElements();
  const listening = new AbortController();
  /** @type {any} */
  let shown = NOTHING; // {steps, curve, unit, width, at, isLoading, isAblated}
  let curve = null,
    drawn = "",
    timer = null,
    isHeld = false;
  const x = (step) => EDGE + snapshotPosition(shown.steps, step) * (shown.width - 2 * EDGE),
    stepShown = () => shown.steps[shown.at],
    isSingle = () => shown.steps.length < 2;

  function pause(settle = true) {
    if (!timer) return;
    clearInterval(timer);
    timer = null;
    update();
    if (settle) does.settle(shown.at);
  }
  function start() {
    does.reach();
    const last = shown.steps.length - 1;
    if (shown.at >= last) does.move(0);
    timer = setInterval(() => {
      if (shown.isLoading) return;
      if (shown.at >= last) return pause();
      does.move(shown.at + 1);
    }, PACE);
    update();
  }
  function releaseSlider() {
    if (!isHeld) return;
    isHeld = false;
    does.settle(Number(slider.value));
  }
  // A slider released at its old value fires no change event.
  for (const end of ["pointerup", "pointercancel"])
    window.addEventListener(end, releaseSlider, { signal: listening.signal });

  function describeStep() {
    const { steps, unit, isLoading, isAblated } = shown,
      words = `step ${formatCount(stepShown())} of ${formatCount(steps.at(-1))}`;
    if (isLoading) return `${words}, loading …`;
    if (!curve || isAblated) return words; // the losses are of the unchanged model
    return `${words}, loss ${formatNumber(lossAt(shown.curve, stepShown()))} ${unit ?? ""}`.trim();
  }
  const label = () => (shown.steps.length ? describeStep() : "");
  const describeCurve = () =>
    curve &&
    `The loss of the training falls from ${formatNumber(curve.high)} to ${formatNumber(curve.low)} at its lowest; here ${label()}.`;
  /** Move a mark without causing a new layout of the page. */
  const markStyle = (down) => () =>
    curve
      ? `transform: translate(${x(stepShown()).toFixed(1)}px, ${down ? curve.y(lossAt(shown.curve, stepShown())).toFixed(1) : 0}px)`
      : "display: none";
  const slider = node("input.slider", {
    type: "range",
    min: 0,
    step: 1,
    max: () => Math.max(0, shown.steps.length - 1),
    value: () => shown.at,
    disabled: isSingle,
    "aria-label": "Training step",
    "aria-valuetext": label,
    oninput() {
      const at = Number(slider.value); // read before pausing, which redraws the slider
      pause(false);
      isHeld = true;
      does.move(at);
    },
    onchange: releaseSlider,
    onpointerdown: does.reach,
    onpointerenter: does.reach,
    onfocus: does.reach,
  });
  const ticks = () => labelledSteps(shown.steps, x, 46).map((step) => ({ step, left: x(step) }));
  const picture = {
    role: "img",
    height: TALL,
    width: () => shown.width,
    viewBox: () => `0 0 ${shown.width} ${TALL}`,
    style: () => (curve ? null : "display: none"),
    "aria-label": describeCurve,
  };
  const play = { class: "lineage-button play", disabled: isSingle, onclick: () => (timer ? pause() : start()) };
  const root = node(
    "div.training",
    { hidden: () => !shown.steps.length },
    node(
      "div.training-head",
      playButton(() => timer, play, "Play the training"),
      node("output.where", label),
    ),
    node(
      "div.track",
      svg("svg.curve", picture, svg("path.loss", { d: () => curve?.path })),
      node("i.cursor", { style: markStyle(false) }),
      node("i.dot", { style: markStyle(true) }),
      slider,
      node(
        "div.ticks",
        { "aria-hidden": "true" },
        list(ticks, ({ step, left }) => node("span", { style: `left: ${left}px` }, formatCount(step))),
      ),
    ),
  );
  return {
    root,
    /** Show the snapshots of a training; null: there is none any more. */
    show(training) {
      if (!training) {
        pause(false);
        isHeld = false;
      }
      shown = training ?? NOTHING;
      const state = JSON.stringify([shown.steps, shown.curve, shown.width]);
      if (state !== drawn) curve = shown.curve?.steps.length ? lossCurve(shown.curve, shown.steps, x) : null;
      drawn = state;
      update();
    },
    close() {
      clearInterval(timer);
      listening.abort();
    },
  };
}
