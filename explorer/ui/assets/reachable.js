/* Whoever has no pointer must reach what scrolls: Streamlit's code and its wide formulas get a place in the order of the
   Tab key as long as they are larger than their place. */

const SCROLLING = '[data-testid="stCode"] pre, .katex-display';

export function reachable(root) {
  const size = new ResizeObserver((entries) => entries.forEach(({ target }) => mark(target)));
  const watched = new WeakSet();
  const look = () => {
    for (const each of root.querySelectorAll(SCROLLING)) {
      if (watched.has(each)) continue;
      watched.add(each);
      size.observe(each);
    }
  };
  new MutationObserver((records) => records.some(({ target }) => !target.closest?.(".lineage")) && look())
    .observe(root, { childList: true, subtree: true });
  look();
}

function mark(element) {
  const scrolls = element.scrollHeight > element.clientHeight + 1 || element.scrollWidth > element.clientWidth + 1;
  if (scrolls) {
    element.tabIndex = 0;
    element.role ??= "group";
    element.ariaLabel ??= element.matches("pre") ? "Code" : "Formula";
  } else element.removeAttribute("tabindex");
}
