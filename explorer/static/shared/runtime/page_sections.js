/* The sections of a page (explorer/ui/sections.py), found by their names. */

/** Return the element of a section, or of the figure of a page that has this name; null if it is not drawn (yet). */
export function findSection(name) {
  const key = CSS.escape(name);
  return /** @type {HTMLElement | null} */ (
    document.querySelector(`.st-key-page-section-${key}`) ??
      document.querySelector(`.st-key-section-${key}`) ??
      document.querySelector(`.st-key-${key}`)
  );
}

/** Unfold a section if it is folded, scroll to it and move the keyboard focus there. Returns it, or null. */
export function showSection(name) {
  const section = findSection(name);
  if (!section) return null;
  /** @type {HTMLElement | null} */
  (section.querySelector("details:not([open]) > summary"))?.click();
  section.tabIndex = -1;
  section.focus({ preventScroll: true });
  section.scrollIntoView({ block: "start" });
  return section;
}
