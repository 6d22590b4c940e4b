/**
 * The operator's page: the server that answers (see server_facts.py), trainings, classes, disk and errors, read every
 * three seconds from operator/state, and the actions of the operator. No text of a visitor arrives here.
 */
import { node } from "../shared/runtime/dom.js";
import { formatCount, formatDuration, formatNumber, formatUnits } from "../shared/runtime/format.js";

const INTERVAL = 3000; // milliseconds between two requests
const UNITS = ["bytes", "kB", "MB", "GB", "TB"];

/** Format a number of bytes with the unit in which it has one to three digits. */
export function formatBytes(count) {
  let unit = 0;
  while (count >= 999.5 && unit < UNITS.length - 1) {
    count /= 1000;
    unit += 1;
  }
  return `${unit && count < 9.95 ? formatNumber(count, 1) : formatCount(count)} ${UNITS[unit]}`;
}

/** Format how long ago something happened, given two times in milliseconds. */
export function formatAge(time, now) {
  const seconds = Math.max(0, (now - time) / 1000);
  return seconds < 1 ? "now" : `${formatDuration(seconds)} ago`;
}

/** Count equal errors, given the newest first: [{source, exception, count, time of the last one}]. */
export function countErrors(errors) {
  const counted = new Map();
  for (const { time, source, exception } of errors) {
    const key = `${source}/${exception}`;
    const entry = counted.get(key) ?? { source, exception, count: 0, time };
    entry.count += 1;
    counted.set(key, entry);
  }
  return [...counted.values()];
}

function button(label, key, act, words = "") {
  return node(
    "button",
    { class: "lineage-button", type: "button", "data-key": key, "aria-label": words, onclick: act },
    label,
  );
}

/** A table; each cell has the name of its column, which a narrow screen shows beside it. */
function table(caption, columns, rows, empty, remark = "") {
  const heading = node("h2", {}, caption);
  const below = remark ? node("p", { class: "soft" }, remark) : null;
  if (!rows.length) return node("section", {}, heading, node("p", { class: "soft" }, empty), below);
  const head = node("tr", {}, ...columns.map((name) => node("th", { scope: "col" }, name)));
  const body = rows.map((cells) =>
    node(
      "tr",
      {},
      ...cells.map((cell, i) => node("td", { "data-column": columns[i] }, typeof cell === "number" ? `${cell}` : cell)),
    ),
  );
  const shown = node("table", {}, node("thead", {}, head), node("tbody", {}, ...body));
  return node("section", {}, heading, shown, below);
}

function serverSection({ id, name, version, started, presence, memory, disk, jobs, workers }, now) {
  const executor = { here: "in the server", processes: "processes" }[workers.executor] ?? workers.executor;
  const facts = {
    Name: `${name}, ${id} in the log`,
    Version: `${version}, started ${formatAge(Date.parse(started), now)}`,
    Visitors: `${formatUnits(presence.browsers, "browser")}, ${formatUnits(presence.tabs, "tab")}`,
    Memory: `${formatBytes(memory.server)}${workers.executor === "here" ? "" : `, workers ${formatBytes(memory.workers)}`}`,
    "Free disk": formatBytes(disk.free),
    Executor: `${executor}${workers.machine && `, ${workers.machine}`}`,
    Trainings: `${formatCount(jobs.running)} of at most ${formatCount(workers.most)} running, ${formatCount(jobs.waiting)} waiting`,
  };
  if (jobs.started) {
    facts["First evaluation"] = `after ${formatDuration(jobs.first_seconds)} (mean of ${formatCount(jobs.started)})`;
  }
  const list = Object.entries(facts).flatMap(([fact, value]) => [node("dt", {}, fact), node("dd", {}, value)]);
  return node("section", {}, node("h2", {}, "Server"), node("dl", {}, ...list));
}

function jobRow(job) {
  return [
    job.title,
    job.detail,
    job.state,
    `${formatCount(job.step)} of ${formatCount(job.steps)}`,
    job.left == null ? "–" : formatDuration(job.left),
    button("Stop", `stop/${job.key}`, () => post(`jobs/${job.key}/stop`), `Stop the training of ${job.title}`),
  ];
}

function classRow(each) {
  const end = () => {
    const warning = `End class ${each.code}? Its answers are deleted, also for its teacher.`;
    if (window.confirm(warning)) post(`class/${each.code}/end`, { number: each.question });
  };
  return [
    each.code,
    formatDuration(each.seconds),
    each.present,
    each.joined,
    each.question,
    button("End", `end/${each.code}`, end, `End class ${each.code}`),
  ];
}

function diskSection({ used, limit }) {
  const words =
    used == null
      ? "The database does not say how much is stored."
      : `Stored runs take ${formatBytes(used)} of ${formatBytes(limit)} (LINEAGE_MOST_DISK).`;
  return node(
    "section",
    {},
    node("h2", {}, "Disk"),
    node("p", {}, words),
    used == null ? null : node("meter", { min: 0, max: limit, high: 0.9 * limit, value: used, "aria-label": words }),
  );
}

/** Draw the whole state. */
function draw(place, state) {
  const now = Date.now();
  const key = document.activeElement?.getAttribute("data-key");
  place.replaceChildren(
    ...(state.problem ? [node("p", { role: "alert" }, state.problem)] : []),
    serverSection(state.server, now),
    table(
      "Trainings",
      ["Model", "Settings", "State", "Step", "Time left", "Action"],
      state.jobs.map(jobRow),
      "Nothing is trained.",
      "Trainings on visitors' own texts are counted above, but not listed.",
    ),
    table(
      "Classes",
      ["Class", "Open for", "Present", "Joined", "Question", "Action"],
      state.classes.map(classRow),
      "There is no class.",
    ),
    diskSection(state.disk),
    table(
      "Last errors",
      ["Where", "Exception", "Number", "Last one"],
      countErrors(state.server.errors).map((error) => [
        error.source,
        error.exception,
        error.count,
        formatAge(Date.parse(error.time), now),
      ]),
      "No error since the server started.",
    ),
  );
  if (key) /** @type {HTMLElement} */ (place.querySelector(`[data-key="${key}"]`))?.focus();
}

const place = typeof document === "undefined" ? null : document.getElementById("operator");
let isPressed = false; // a redrawn button would lose a click

function showMessage(words) {
  let message = document.getElementById("message");
  if (!message) {
    message = node("p", { id: "message", role: "status" });
    place.before(message);
  }
  message.textContent = words;
}

async function post(address, body = undefined) {
  try {
    const answer = await fetch(address, {
      method: "POST",
      headers: { "X-Lineage": "1" },
      body: body && JSON.stringify(body),
    });
    const problem = answer.ok ? "" : (await answer.json()).problem;
    showMessage(problem);
  } catch {
    showMessage("The server does not answer. Try again.");
  }
  await update();
}

async function update() {
  try {
    const answer = await fetch("operator/state", { cache: "no-store" });
    const state = await answer.json();
    if (answer.status === 403) {
      location.reload(); // the session has ended
    } else if (!isPressed) {
      draw(place, state);
    }
    if (document.body.classList.contains("unreachable")) showMessage("");
    document.body.classList.remove("unreachable");
  } catch {
    document.body.classList.add("unreachable");
    showMessage("The server does not answer; what is shown may be old.");
  }
}

if (place) {
  addEventListener("pointerdown", () => (isPressed = true));
  addEventListener("pointerup", () => setTimeout(() => (isPressed = false), 100));
  addEventListener("pointercancel", () => (isPressed = false));
  setInterval(() => document.visibilityState === "visible" && update(), INTERVAL);
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && update());
  update();
}
