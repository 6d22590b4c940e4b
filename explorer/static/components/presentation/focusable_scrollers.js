/* Make Streamlit's code blocks and wide formulas focusable with the Tab key while they are larger than their box, so that
   they can be scrolled without a pointer. */

const SCROLLING = '[data-testid="stCode"] pre, .katex-display, .section-code';

/** Return whether a node is in one of our components; the blocks of a section belong to the page. */
export const isInComponent = (target) =>
  target instanceof Element && (target.closest(".lineage")?.matches(":not(.lineage-section)") ?? false);

export function makeScrollersFocusable(root) {
  const size = new ResizeObserver((entries) => entries.forEach(({ target }) => setFocusable(target)));
  const watched = new WeakSet();
  const updateScrollers = () => {
    for (const each of root.querySelectorAll(SCROLLING)) {
      if (watched.has(each)) continue;
      watched.add(each);
      size.observe(each);
    }
  };
  new MutationObserver((records) => records.some(({ target }) => !isInComponent(target)) && updateScrollers()).observe(
    root,
    { childList: true, subtree: true },
  );
  updateScrollers();
}

function setFocusable(element) {
  const scrolls = element.scrollHeight > element.clientHeight + 1 || element.scrollWidth > element.clientWidth + 1;
  if (scrolls) {
    element.tabIndex = 0;
    element.role ??= "group";
    element.ariaLabel ??= element.matches("pre") ? "Code" : "Formula";
  } else element.removeAttribute("tabindex");
}
