/* The levels of headings for readers of a page: one below the heading before it at most. Findings are headings of one look
   and level, wherever on a page they stand, and the card of a lesson or class may stand above the title of the page. */

const HEADINGS = ":is(h1, h2, h3, h4, h5, h6):not([role])";
const DELAY = 200; // ms between two corrections

/** Return the levels that are announced for headings of these levels: how many higher ones each one stands below. */
export function announcedLevels(levels) {
  const above = [];
  return levels.map((level) => {
    while (above.at(-1) >= level) above.pop();
    return above.push(level);
  });
}

/** Keep the levels of the headings in `root` without a gap, also of those that are drawn later. */
export function correctHeadingLevels(root) {
  let timer = 0;
  const correct = () => {
    timer = 0;
    const headings = [...root.querySelectorAll(HEADINGS)].filter((each) => each.checkVisibility());
    const levels = headings.map((each) => Number(each.tagName[1]));
    announcedLevels(levels).forEach((level, i) => {
      if (level === levels[i]) headings[i].removeAttribute("aria-level");
      else if (headings[i].ariaLevel !== String(level)) headings[i].ariaLevel = String(level);
    });
  };
  new MutationObserver(() => (timer ||= setTimeout(correct, DELAY))).observe(root, { childList: true, subtree: true });
  correct();
}
