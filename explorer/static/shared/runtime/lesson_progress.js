/* The steps of lessons that a visitor has done, in the storage of this browser only. */

const KEY = "lineage.lessons";

/** Return the numbers of the steps that are done, by the name of the lesson. */
function readAll() {
  try {
    const found = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    return found && typeof found === "object" && !Array.isArray(found) ? found : {};
  } catch {
    return {}; // no storage, or not ours
  }
}

/** Return the numbers of the done steps of a lesson with so many steps, in order. */
export function doneSteps(lesson, count) {
  const found = readAll()[lesson];
  const isStep = (number) => Number.isInteger(number) && number >= 1 && number <= count;
  return Array.isArray(found) ? [...new Set(found.filter(isStep))].sort((a, b) => a - b) : [];
}

/** Record that a step is done. */
export function recordDone(lesson, number) {
  const all = readAll();
  if (Array.isArray(all[lesson]) && all[lesson].includes(number)) return;
  all[lesson] = [...(Array.isArray(all[lesson]) ? all[lesson] : []), number];
  try {
    localStorage.setItem(KEY, JSON.stringify(all));
  } catch {
    // no storage: nothing is ticked
  }
}
