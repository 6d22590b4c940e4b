/**
 * Show the jobs of a visitor, and to the operator those of all, in a corner of every page. The panel polls the server itself;
 * Stop and Resume are POST requests. GET /jobs answers {jobs: Job[]}, own ones first; POST /jobs/KEY/stop and
 * /jobs/KEY/resume answer {ok, problem}. Sends no events.
 *
 * @typedef {{here: string, news: number}} JobsPanelData `here` is the key of the run on this page; when the version number
 *   `news` changes, the panel polls at once
 *
 * @typedef {{key: string, title: string, detail: string, href: string, colour: string, step: number, steps: number,
 *   state: "waiting" | "running" | "finished" | "stopped" | "diverged" | "failed", left: number | null, ahead: number,
 *   loss: number | null, mine: boolean, can_stop: boolean, can_resume: boolean, problem: string}} Job `colour` is a CSS
 *   variable, `left` are seconds, `ahead` are jobs before it in the queue
 */
import { defineComponent } from "../../shared/runtime/component.js";
import { LiveElements } from "../../shared/runtime/view_state.js";
import { formatCount, formatDuration, formatNumber } from "../../shared/runtime/format.js";

const LIVE = ["waiting", "running"];
const NO_ANSWER = "no answer from the server";

const isActive = (job) => LIVE.includes(job.state);
const progressOf = ({ step, steps }) => (steps ? Math.min(1, step / steps) : 0);
const formatPercent = (part) => `${Math.floor(100 * part)} %`;

const describeQueue = ({ ahead }) => (ahead ? `waits, ${ahead} before it` : "waits, it is next");

/** Describe all jobs in one line: the own ones of the visitor if any is active, else all, which an operator sees. */
export function describeJobs(jobs) {
  const all = jobs.filter(isActive),
    own = all.filter((job) => job.mine);
  if (!all.length) return jobs.length === 1 ? "1 training ended" : `${jobs.length} trainings ended`;
  const these = own.length ? own : all;
  const name = own.length ? "Yours:" : `Training ${all.length} ·`;
  if (these.every((job) => job.state === "waiting")) return `${name} ${own.length ? describeQueue(own[0]) : "waiting"}`;
  const steps = these.reduce((sum, job) => sum + job.steps, 0),
    step = these.reduce((sum, job) => sum + job.step, 0);
  const left = these.every((job) => job.left != null)
    ? ` · about ${formatDuration(Math.max(...these.map((job) => job.left)))} left`
    : "";
  return `${name} ${formatPercent(progressOf({ step, steps }))}${left}`;
}

/** Describe the state of one training run. */
export function describeJob(job) {
  const [step, steps] = [job.step, job.steps].map(formatCount);
  const at = `at step ${step} of ${steps}`;
  return (
    {
      waiting: () => describeQueue(job),
      running: () => (job.left == null ? "" : `about ${formatDuration(job.left)} left`),
      finished: () => "finished",
      stopped: () => job.problem || `stopped ${at}`,
      diverged: () => job.problem || `diverged ${at}`,
      failed: () => job.problem || "failed",
    }[job.state]?.() ?? job.state
  );
}

/** Return the milliseconds until the next request to the server. */
export function pollDelay(jobs, failures) {
  if (failures) return Math.min(10, 2 ** failures) * 1000;
  return jobs.some(isActive) ? 1000 : 5000;
}

/** Make the row of one training run. It stays while the run is listed, so that a press is never lost. */
function makeRow(
  /** @type {() => Job} */ job,
  /** @type {LiveElements} */ { node, button, follow, update },
  isHere,
  poll,
) {
  let trouble = "",
    isBusy = false;
  const percent = () => formatPercent(progressOf(job())),
    verb = () => (job().can_stop ? "stop" : job().can_resume ? "resume" : null),
    word = () => (verb() === "resume" ? "Go on" : "Stop");
  const bar = {
    role: "progressbar",
    "aria-label": () => job().title,
    "aria-valuemin": 0,
    "aria-valuemax": 100,
    "aria-valuenow": () => Math.floor(100 * progressOf(job())),
  };
  const title = node(
      "a.title",
      { target: "_self", href: () => job().href, "aria-current": () => (isHere(job()) ? "page" : null) },
      () => job().title,
    ),
    press = button(
      {
        symbol: () => (verb() === "resume" ? "play_arrow" : "stop"),
        hidden: () => !verb(),
        "aria-label": () => `${word()} ${job().title}`,
        onclick: control,
      },
      word,
    );
  follow(() => !verb() && document.activeElement === press && title.focus());
  async function control() {
    if (isBusy) return;
    [isBusy, trouble] = [true, ""]; // not disabled: a disabled button loses the focus
    update();
    const address = `jobs/${encodeURIComponent(job().key)}/${verb()}`;
    const answer = await fetch(address, { method: "POST", headers: { "X-Lineage": "1" } }).catch(() => null);
    const { problem } = (await answer?.json().catch(() => null)) ?? {};
    if (!answer) trouble = `There is ${NO_ANSWER}.`;
    else if (!answer.ok || problem) trouble = problem || `The server refused (${answer.status}).`;
    await poll();
    isBusy = false;
  }
  return node(
    "li",
    { ".live": () => isActive(job()), "--colour": () => job().colour && `var(${job().colour})` },
    node("div.head", node("span.dot"), title, node("span.yours", { hidden: () => !job().mine }, "yours")),
    node("div.detail", () => job().detail ?? ""),
    node(
      "div.progress",
      node("div.bar", bar, node("i", { style: () => `width: ${percent().replace(" ", "")}` })),
      node("span.percent", percent),
    ),
    node(
      "div.state",
      node("span.words", () => describeJob(job())),
      node("span.loss", () => (job().loss == null ? "" : `loss ${formatNumber(job().loss, 3)}`)),
      press,
    ),
    node("div.trouble", { role: "status" }, () => trouble),
  );
}

export default defineComponent((place) => {
  /** @type {Job[]} */
  let jobs = [];
  let currentKey = "",
    version = 0,
    failures = 0,
    timer = 0,
    isOpen = false,
    headline = "";
  const ending = new AbortController(), // of the component
    { signal } = ending;
  let asking = new AbortController(); // of the last request
  const { node, keyed, update } = new LiveElements(),
    setOpen = (yes) => {
      isOpen = yes;
      update();
    };
  const pill = node(
    "button.pill",
    {
      type: "button",
      "aria-expanded": () => isOpen,
      "aria-controls": "lineage-jobs-panel-list",
      onclick: () => setOpen(!isOpen),
    },
    node("span.headline", () => headline),
    node("span.lineage-icon", { "aria-hidden": "true" }, () => (isOpen ? "expand_more" : "expand_less")),
  );
  const isHere = (job) => job.key === currentKey,
    hasBoth = () => new Set(jobs.map((job) => Boolean(job.mine))).size > 1;
  const makeGroup = (title, isListed) => [
    node("h2", { hidden: () => !hasBoth() }, title),
    node(
      "ul",
      keyed(
        () => jobs.filter(isListed),
        (job, inner) => makeRow(job, inner, isHere, pollJobs),
        ({ key }) => key,
      ),
    ),
  ];
  const panel = node(
    "div.panel",
    { id: "lineage-jobs-panel-list", hidden: () => !isOpen },
    makeGroup("Yours", (job) => job.mine),
    makeGroup("Others", (job) => !job.mine),
  );
  // A page that shows a training live has its progress there.
  const isHidden = () => !jobs.length || Boolean(document.querySelector(".frame-live"));
  const about = { "aria-label": "Trainings on this server", hidden: isHidden, ".live": () => jobs.some(isActive) };
  place.replaceChildren(node("section.corner", about, pill, panel));

  const closeOnEscape = (event) => {
    if (event.key !== "Escape" || !isOpen) return;
    if (panel.contains(document.activeElement)) pill.focus();
    setOpen(false);
  };

  function showJobs() {
    if (isHidden()) isOpen = false;
    const previous = headline,
      hadFocus = panel.contains(document.activeElement),
      shapeOf = (text) => text.replace(/[\d.]+/g, "");
    headline = failures >= 3 ? NO_ANSWER : describeJobs(jobs);
    if (shapeOf(previous) !== shapeOf(headline)) pill.style.minWidth = ""; // else it may grow but not shrink
    update();
    pill.style.minWidth = `${pill.offsetWidth}px`;
    if (hadFocus && !panel.contains(document.activeElement)) pill.focus();
  }

  async function pollJobs() {
    clearTimeout(timer);
    asking.abort(); // only the answer to the last request counts
    const { signal: asked } = (asking = new AbortController());
    try {
      const limits = AbortSignal.any([asked, signal, AbortSignal.timeout(10_000)]),
        answer = await fetch("jobs", { cache: "no-store", signal: limits });
      if (!answer.ok) throw new Error(answer.statusText);
      [jobs, failures] = [(await answer.json()).jobs, 0];
    } catch {
      failures += asked.aborted ? 0 : 1;
    }
    if (asked.aborted || signal.aborted) return;
    showJobs();
    if (!document.hidden) timer = setTimeout(pollJobs, pollDelay(jobs, failures));
  }
  const pollWhenVisible = () => (document.hidden ? clearTimeout(timer) : pollJobs());
  window.addEventListener("keydown", closeOnEscape, { signal });
  document.addEventListener("visibilitychange", pollWhenVisible, { signal });
  window.addEventListener("lineage:training", pollJobs, { signal }); // a training on this page has begun or ended
  pollJobs();

  return {
    show(/** @type {JobsPanelData} */ data) {
      currentKey = data.here;
      if (data.news !== version) pollJobs();
      version = data.news;
      showJobs();
    },
    close() {
      ending.abort();
      clearTimeout(timer);
    },
  };
});
