/* The pages that a visitor has opened and the steps of lessons that are done, in the storage of this browser only. */

const KEY = "lineage.lessons";
export const PAGES = "pages visited"; // stands beside the names of lessons

/** Return what is done, by the name of the lesson: the numbers of steps, or the paths of pages. */
function readAll() {
  try {
    const found = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    return found && typeof found === "object" && !Array.isArray(found) ? found : {};
  } catch {
    return {}; // no storage, or not ours
  }
}

/** Return what is recorded under a name. */
export function readDone(name) {
  const found = readAll()[name];
  return Array.isArray(found) ? [...new Set(found)] : [];
}

/** Return the numbers of the done steps of a lesson with so many steps, in order. */
export const doneSteps = (lesson, count) =>
  readDone(lesson)
    .filter((number) => Number.isInteger(number) && number >= 1 && number <= count)
    .sort((a, b) => a - b);

/** Record that a step of a lesson is done, or that a page was visited. */
export function recordDone(name, item) {
  const done = readDone(name);
  if (!done.includes(item)) write({ ...readAll(), [name]: [...done, item] });
}

/** Forget everything, and tell the components that show it. */
export function forgetAll() {
  write({});
  dispatchEvent(new Event("lineage:forgotten"));
}

function write(all) {
  try {
    localStorage.setItem(KEY, JSON.stringify(all));
  } catch {
    // no storage: nothing is ticked
  }
}
