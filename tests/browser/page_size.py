"""How high a page is, how many folds it has, and how many words and controls are on its first screen."""

from __future__ import annotations

from dataclasses import dataclass

from playwright.sync_api import Page

from explorer.ui.sections import MAX_FOLDS

MAX_HEIGHTS = {1440: 3_000, 390: 6_500}  # pixels, by the width of the window
MAX_WORDS, MAX_CONTROLS = 200, 20  # on the first screen at 1440 x 900
# Words of two or more letters in the first window, also in the components; a number is not a word, nor is the name of
# an icon. Controls are what is seen there and the Tab key reaches, so that a matrix or a row of tokens is one; terms of
# the glossary are none.
_MEASURE = r"""() => {
    const main = document.querySelector("[data-testid=stMain]");
    const walker = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
    const UNREAD = "style, script, .lineage-icon, [data-testid=stIconMaterial]";
    // What is seen of an element: the part of it in the window, and in the part of it that is scrolled to.
    const windowOf = (element) => {
        for (; element && element !== main; element = element.parentElement)
            if (element instanceof HTMLElement && element.scrollHeight > element.clientHeight + 4 &&
                getComputedStyle(element).overflowY !== "visible") {
                const { top, bottom } = element.getBoundingClientRect();
                return { top: Math.max(0, top), bottom: Math.min(innerHeight, bottom) };
            }
        return { top: 0, bottom: innerHeight };
    };
    let words = 0;
    while (walker.nextNode()) {
        const { data, parentElement } = walker.currentNode, range = document.createRange();
        if (parentElement.closest(UNREAD)) continue;
        if (!parentElement.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
        const window = windowOf(parentElement);
        for (const { 0: word, index } of data.matchAll(/\p{L}{2,}/gu)) {
            range.setStart(walker.currentNode, index);
            range.setEnd(walker.currentNode, index + word.length);
            const box = range.getBoundingClientRect();
            words += Boolean(box.width && box.bottom > window.top && box.top < window.bottom);
        }
    }
    const CONTROLS = "button, a[href], input, select, textarea, summary, [role=slider], [role=switch], [role=combobox]";
    const NONE = "[tabindex='-1'], td, [href^='#glossary'], [aria-hidden=true]";
    const isShown = (one) => {
        const box = one.getBoundingClientRect();
        return box.width > 4 && box.height > 4 && box.top < innerHeight - 4 && box.bottom > 0 &&
            one.checkVisibility({ visibilityProperty: true, opacityProperty: true });
    };
    const controls = [...main.querySelectorAll(CONTROLS)].filter(
        (one) => isShown(one.matches("input") ? (one.closest("label") ?? one) : one) && !one.closest(NONE) &&
            !one.parentElement.closest(CONTROLS));
    return {
        width: innerWidth,
        height: main.scrollHeight,
        folds: main.querySelectorAll("[data-testid=stExpander]").length,
        words,
        controls: controls.length,
    };
}"""


@dataclass(frozen=True)
class PageSize:
    """The size of a page in a window of this width; lengths are pixels."""

    width: int
    height: int
    folds: int
    words: int  # on the first screen
    controls: int  # on the first screen

    def problems(self) -> list[str]:
        """Return what is larger than a page may be before anything is unfolded."""
        found = []
        if self.height > (limit := MAX_HEIGHTS[self.width]):
            found.append(f"{self.height} px high at {self.width} px, at most {limit} are allowed")
        if self.folds > MAX_FOLDS:
            found.append(f"{self.folds} folds, at most {MAX_FOLDS} are allowed")
        return found


def measure_page_size(page: Page) -> PageSize:
    """Measure a page that has been drawn."""
    return PageSize(**page.evaluate(_MEASURE))
