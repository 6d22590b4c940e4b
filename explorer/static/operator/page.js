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
  for (; count >= 999.5 && unit < UNITS.length - 1; unit += 1) count /= 1000;
  return `${unit && count < 9.95 ? formatNumber(count, 1) : formatCount(count)} ${UNITS[unit]}`;
}

/** Format how long ago something happened, given two times in milliseconds. */
export function formatAge(time, now) {
  const seconds = Math.max(0, (now - time) / 1000);
  return seconds < 1 ? "now" : `${formatDuration(seconds)} ago`;
}

/** Count equal errors, given the newest first: [{source, exception, count, time of the last one}]. */
export function countErrors(errors) {
  const counted = {};
  for (const { time, source, exception } of errors)
    (counted[`${source}/${exception}`] ??= { source, exception, count: 0, time }).count += 1;
  return Object.values(counted);
}

const button = (label, key, onclick, words) =>
  node("button.lineage-button", { type: "button", "data-key": key, "aria-label": words, onclick }, label);
const section = (title, ...content) => node("section", node("h2", title), content);

/** A table; each cell has the name of its column, which a narrow screen shows beside it. */
function table(caption, columns, rows, empty, remark = "") {
  const below = remark && node("p.soft", remark);
  if (!rows.length) return section(caption, node("p.soft", empty), below);
  const head = columns.map((name) => node("th", { scope: "col" }, name)),
    makeRow = (cells) =>
      node(
        "tr",
        cells.map((cell, i) => node("td", { "data-column": columns[i] }, cell)),
      );
  return section(caption, node("table", node("thead", node("tr", head)), node("tbody", rows.map(makeRow))), below);
}

function serverSection({ id, name, version, started, presence, memory, disk, jobs, workers }, now) {
  const isHere = workers.executor === "here",
    executor = isHere ? "in the server" : workers.executor;
  const facts = {
    Name: `${name}, ${id} in the log`,
    Version: `${version}, started ${formatAge(Date.parse(started), now)}`,
    Visitors: `${formatUnits(presence.browsers, "browser")}, ${formatUnits(presence.tabs, "tab")}`,
    Memory: `${formatBytes(memory.server)}${isHere ? "" : `, workers ${formatBytes(memory.workers)}`}`,
    "Free disk": formatBytes(disk.free),
    Executor: `${executor}${workers.machine && `, ${workers.machine}`}`,
    Trainings: `${formatCount(jobs.running)} of at most ${formatCount(workers.most)} running, ${formatCount(jobs.waiting)} waiting`,
  };
  if (jobs.started)
    facts["First evaluation"] = `after ${formatDuration(jobs.first_seconds)} (mean of ${formatCount(jobs.started)})`;
  const list = Object.entries(facts).map(([fact, value]) => [node("dt", fact), node("dd", value)]);
  return section("Server", node("dl", list.flat()));
}

const jobRow = ({ key, title, detail, state, step, steps, left }) => [
  title,
  detail,
  state,
  `${formatCount(step)} of ${formatCount(steps)}`,
  left == null ? "–" : formatDuration(left),
  button("Stop", `stop/${key}`, () => post(`jobs/${key}/stop`), `Stop the training of ${title}`),
];

function classRow({ code, seconds, present, joined, question }) {
  const end = () => {
    const warning = `End class ${code}? Its answers are deleted, also for its teacher.`;
    if (window.confirm(warning)) post(`class/${code}/end`, { number: question });
  };
  return [
    code,
    formatDuration(seconds),
    present,
    joined,
    question,
    button("End", `end/${code}`, end, `End class ${code}`),
  ];
}

function diskSection({ used, limit }) {
  const isKnown = used != null,
    words = isKnown
      ? `Stored runs take ${formatBytes(used)} of ${formatBytes(limit)} (LINEAGE_MOST_DISK).`
      : "The database does not say how much is stored.",
    meter = { min: 0, max: limit, high: 0.9 * limit, value: used, "aria-label": words };
  return section("Disk", node("p", words), isKnown && node("meter", meter));
}

/** Draw the whole state. */
function draw(place, state) {
  const now = Date.now(),
    key = document.activeElement?.getAttribute("data-key");
  const errorRow = ({ source, exception, count, time }) => [source, exception, count, formatAge(Date.parse(time), now)];
  const shown = [
    state.problem && node("p", { role: "alert" }, state.problem),
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
      countErrors(state.server.errors).map(errorRow),
      "No error since the server started.",
    ),
  ];
  place.replaceChildren(...shown.filter(Boolean));
  if (key) /** @type {HTMLElement} */ (place.querySelector(`[data-key="${key}"]`))?.focus();
}

const place = typeof document === "undefined" ? null : document.getElementById("operator");
let isPressed = false; // a redrawn button would lose a click

function showMessage(words) {
  const message = document.getElementById("message") ?? node("p", { id: "message", role: "status" });
  if (!message.isConnected) place.before(message);
  message.textContent = words;
}

async function post(address, body = undefined) {
  try {
    const headers = { "X-Lineage": "1" },
      answer = await fetch(address, { method: "POST", headers, body: body && JSON.stringify(body) });
    showMessage(answer.ok ? "" : (await answer.json()).problem);
  } catch {
    showMessage("The server does not answer. Try again.");
  }
  await update();
}

async function update() {
  const { classList } = document.body;
  try {
    const answer = await fetch("operator/state", { cache: "no-store" }),
      state = await answer.json();
    if (answer.status === 403)
      location.reload(); // the session has ended
    else if (!isPressed) draw(place, state);
    if (classList.contains("unreachable")) showMessage("");
    classList.remove("unreachable");
  } catch {
    classList.add("unreachable");
    showMessage("The server does not answer; what is shown may be old.");
  }
}

if (place) {
  const updateIfVisible = () => document.visibilityState === "visible" && update();
  addEventListener("pointerdown", () => (isPressed = true));
  addEventListener("pointerup", () => setTimeout(() => (isPressed = false), 100));
  addEventListener("pointercancel", () => (isPressed = false));
  setInterval(updateIfVisible, INTERVAL);
  document.addEventListener("visibilitychange", updateIfVisible);
  update();
}
