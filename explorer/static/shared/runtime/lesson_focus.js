/* The keyboard focus in a lesson: where it goes when a step is opened and when its answer arrives. The element that had
   it is gone then. A page that was just loaded leaves the focus where the browser puts it. */

const PATIENCE = 3000; // ms in which the title of a new step is drawn
const seen = new Set(); // steps and answers that had the focus in this tab

const isActive = () => navigator.userActivation?.hasBeenActive ?? false;

/** Focus an element without a scroll that moves what the visitor reads. */
export function focusOn(/** @type {HTMLElement | null} */ element) {
  if (!element) return;
  element.tabIndex = -1;
  element.focus({ preventScroll: true });
  element.scrollIntoView({ block: "nearest" });
}

/** Return whether this step or answer may take the focus: once, after the visitor has used the page. */
export function takesFocus(name) {
  const isNew = !seen.has(name);
  seen.add(name);
  return isNew && isActive();
}

/** Move the focus to the title of the lesson step `step`, if it is new in this tab. */
export function focusTitle(step) {
  if (seen.has(step)) return;
  for (const each of seen) if (each.startsWith("step ")) seen.delete(each); // a step that is opened again is new
  if (!takesFocus(step)) return;
  const end = Date.now() + PATIENCE;
  const look = () => {
    const title = /** @type {HTMLElement | null} */ (
      document.querySelector(".st-key-lesson-card :is(h3, h4):not(.stAlert *)")
    );
    if (title) focusOn(title);
    else if (Date.now() < end) setTimeout(look, 50);
  };
  look();
}
