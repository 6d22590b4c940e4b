/**
 * Show the jobs of a visitor, and to the operator those of all, in a corner of every page. The panel polls the server itself; Stop and Resume are POST
 * requests. GET /jobs answers {jobs: Job[]}, own ones first; POST /jobs/KEY/stop and /jobs/KEY/resume answer {ok,
 * problem}. Sends no events.
 *
 * @typedef {object} JobsPanelData
 * @property {string} here key of the run on this page
 * @property {number} news version number; when it changes the panel polls at once
 *
 * @typedef {object} Job
 * @property {string} key
 * @property {string} title
 * @property {string} detail
 * @property {string} colour CSS variable
 * @property {"waiting" | "running" | "finished" | "stopped" | "diverged" | "failed"} state
 * @property {number} step
 * @property {number} steps
 * @property {number | null} left seconds
 * @property {number | null} loss
 * @property {boolean} mine
 * @property {boolean} can_stop
 * @property {boolean} can_resume
 * @property {string} problem
 * @property {string} href
 * @property {number} ahead jobs before it in the queue
 */
import { icon, node, tint } from "../../shared/runtime/dom.js";
import { defineComponent } from "../../shared/runtime/component.js";
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

function setTextIfChanged(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** The row of one training run. Its nodes are reused while it is listed, so that a press is never lost. */
function makeRow(controlJob) {
  const parts = {
    title: node("a", { class: "title", target: "_self" }),
    yours: node("span", { class: "yours" }, "yours"),
    detail: node("div", { class: "detail" }),
    bar: node("div", { class: "bar", role: "progressbar", "aria-valuemin": 0, "aria-valuemax": 100 }, node("i")),
    percent: node("span", { class: "percent" }),
    words: node("span", { class: "words" }),
    loss: node("span", { class: "loss" }),
    button: node("button", { type: "button", class: "lineage-button" }, icon("stop"), node("span")),
    trouble: node("div", { class: "trouble", role: "status" }),
  };
  parts.element = node(
    "li",
    {},
    node("div", { class: "head" }, node("span", { class: "dot" }), parts.title, parts.yours),
    parts.detail,
    node("div", { class: "progress" }, parts.bar, parts.percent),
    node("div", { class: "state" }, parts.words, parts.loss, parts.button),
    parts.trouble,
  );
  parts.button.onclick = () => controlJob(parts);
  return parts;
}

function fillRow(parts, job, currentKey) {
  parts.job = job;
  tint(parts.element, job.colour).classList.toggle("live", isActive(job));
  setTextIfChanged(parts.title, job.title);
  if (parts.title.getAttribute("href") !== job.href) parts.title.setAttribute("href", job.href);
  parts.title.ariaCurrent = job.key === currentKey ? "page" : null;
  parts.yours.hidden = !job.mine;
  setTextIfChanged(parts.detail, job.detail ?? "");
  parts.bar.firstChild.style.width = formatPercent(progressOf(job)).replace(" ", "");
  parts.bar.ariaLabel = job.title;
  parts.bar.ariaValueNow = Math.floor(100 * progressOf(job));
  setTextIfChanged(parts.percent, formatPercent(progressOf(job)));
  setTextIfChanged(parts.words, describeJob(job));
  setTextIfChanged(parts.loss, job.loss == null ? "" : `loss ${formatNumber(job.loss, 3)}`);
  parts.verb = job.can_stop ? "stop" : job.can_resume ? "resume" : null;
  if (!parts.verb && document.activeElement === parts.button) parts.title.focus();
  parts.button.hidden = !parts.verb;
  setTextIfChanged(parts.button.firstChild, parts.verb === "resume" ? "play_arrow" : "stop");
  setTextIfChanged(parts.button.lastChild, parts.verb === "resume" ? "Go on" : "Stop");
  parts.button.ariaLabel = `${parts.button.lastChild.textContent} ${job.title}`;
}

export default defineComponent((place) => {
  const words = node("span", { class: "headline" });
  const pill = node(
    "button",
    { type: "button", class: "pill", "aria-expanded": "false", "aria-controls": "lineage-jobs-panel-list" },
    words,
    icon("expand_less"),
  );
  const groups = [true, false].map((mine) => ({
    mine,
    head: node("h2", {}, mine ? "Yours" : "Others"),
    list: node("ul"),
  }));
  const panel = node(
    "div",
    { class: "panel", id: "lineage-jobs-panel-list", hidden: "" },
    ...groups.flatMap(({ head, list }) => [head, list]),
  );
  const region = node(
    "section",
    { class: "corner", "aria-label": "Trainings on this server", hidden: "" },
    pill,
    panel,
  );
  place.replaceChildren(region);
  const rows = new Map();
  let jobs = [],
    currentKey = "",
    version = 0,
    failures = 0,
    timer = 0,
    requestNumber = 0,
    closed = false,
    shape;

  function setOpen(yes) {
    panel.hidden = !yes;
    pill.ariaExpanded = String(yes);
    setTextIfChanged(pill.lastChild, yes ? "expand_more" : "expand_less");
  }
  pill.onclick = () => setOpen(panel.hidden);
  const closeOnEscape = (event) => {
    if (event.key !== "Escape" || panel.hidden) return;
    if (panel.contains(document.activeElement)) pill.focus();
    setOpen(false);
  };
  window.addEventListener("keydown", closeOnEscape);

  /* While only the numbers change, the pill may grow but not shrink. */
  function setHeadline(text) {
    const newShape = text.replace(/[\d.]+/g, "");
    if (newShape !== shape) pill.style.minWidth = "";
    shape = newShape;
    setTextIfChanged(words, text);
    pill.style.minWidth = `${pill.offsetWidth}px`;
  }

  function showJobs() {
    // A page that shows a training live has its progress there.
    region.hidden = !jobs.length || Boolean(document.querySelector(".frame-live"));
    if (region.hidden) setOpen(false);
    region.classList.toggle("live", jobs.some(isActive));
    setHeadline(failures >= 3 ? NO_ANSWER : describeJobs(jobs));
    const keys = new Set(jobs.map((job) => job.key));
    for (const [key, { element }] of rows) {
      if (keys.has(key)) continue;
      if (element.contains(document.activeElement)) pill.focus();
      element.remove();
      rows.delete(key);
    }
    const both = new Set(jobs.map((job) => Boolean(job.mine))).size > 1;
    for (const { mine, head, list } of groups) {
      head.hidden = !both;
      jobs
        .filter((job) => Boolean(job.mine) === mine)
        .forEach((job, i) => {
          if (!rows.has(job.key)) rows.set(job.key, makeRow(controlJob));
          const row = rows.get(job.key);
          fillRow(row, job, currentKey);
          if (list.children[i] !== row.element) list.insertBefore(row.element, list.children[i] ?? null);
        });
    }
  }

  async function controlJob(row) {
    if (row.busy) return;
    row.busy = true; // not disabled: a disabled button loses the focus
    setTextIfChanged(row.trouble, "");
    const address = `jobs/${encodeURIComponent(row.job.key)}/${row.verb}`;
    const answer = await fetch(address, { method: "POST", headers: { "X-Lineage": "1" } }).catch(() => null);
    const { problem } = (await answer?.json().catch(() => null)) ?? {};
    if (!answer) setTextIfChanged(row.trouble, `There is ${NO_ANSWER}.`);
    else if (!answer.ok || problem) setTextIfChanged(row.trouble, problem || `The server refused (${answer.status}).`);
    await pollJobs();
    row.busy = false;
  }

  async function pollJobs() {
    clearTimeout(timer);
    const turn = ++requestNumber;
    try {
      const answer = await fetch("jobs", { cache: "no-store", signal: AbortSignal.timeout(10_000) });
      if (!answer.ok) throw new Error(answer.statusText);
      const newJobs = (await answer.json()).jobs;
      if (closed || turn !== requestNumber) return; // a later request has been sent meanwhile
      jobs = newJobs;
      failures = 0;
    } catch {
      if (closed || turn !== requestNumber) return;
      failures += 1;
    }
    showJobs();
    if (!document.hidden) timer = setTimeout(pollJobs, pollDelay(jobs, failures));
  }
  const pollWhenVisible = () => {
    if (document.hidden) clearTimeout(timer);
    else pollJobs();
  };
  document.addEventListener("visibilitychange", pollWhenVisible);
  window.addEventListener("lineage:training", pollJobs); // a training on this page has begun or ended
  pollJobs();

  return {
    show(/** @type {JobsPanelData} */ data) {
      currentKey = data.here;
      if (data.news !== version) pollJobs();
      version = data.news;
      showJobs();
    },
    close() {
      closed = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", pollWhenVisible);
      window.removeEventListener("lineage:training", pollJobs);
      window.removeEventListener("keydown", closeOnEscape);
    },
  };
});
