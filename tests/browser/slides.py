"""What presentation mode makes of a page: its slides, the labels that are cut off, and the text that is too small."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from playwright.sync_api import Page

MAX_SLIDES = 12  # of a page
MIN_TEXT = 18  # px of the screen
WALLS = tuple((size, scheme) for size in ((1280, 720), (1920, 1080)) for scheme in ("light", "dark"))
# No slide is being fitted, every figure of plotly has been drawn for its room, and the sizes of the slide and of what
# is on it have not changed for six frames.
_STILL = """() => {
    const main = document.querySelector("[data-testid=stMainBlockContainer]"),
        isDrawn = (plot) => Math.abs(plot.querySelector(".main-svg")?.clientHeight - plot.clientHeight) < 2,
        isReady = !document.querySelector(".lineage-fitting") && document.fonts.status === "loaded"
            && [...main.querySelectorAll(".js-plotly-plot")].every(isDrawn),
        sizes = [...main.querySelectorAll(".lineage, .lineage :is(canvas, svg, table)")].map((each) =>
            [each.clientWidth, each.clientHeight]),
        slide = isReady && [main.style.cssText, main.scrollHeight, sizes].join();
    window.stillFrames = slide && slide === window.lastSlide ? window.stillFrames + 1 : 0;
    window.lastSlide = slide;
    if (window.stillFrames < 6) return false;
    delete window.lastSlide;
    return true;
}"""
# Text of the slide: what lies outside the wall or outside a box that cuts it, what is too small, and titles of axes
# that lie on numbers.
_MEASURE = r"""(minimum) => {
    const main = document.querySelector("[data-testid=stMainBlockContainer]"),
        bar = document.querySelector(".lineage-presentation-bar"),
        scale = main.getBoundingClientRect().width / main.offsetWidth,
        wall = { left: 0, top: 0, right: innerWidth, bottom: bar.getBoundingClientRect().top },
        below = getComputedStyle(main).clipPath.match(/([\d.]+)px/),
        cut = new Set(), small = new Set();
    let isEmpty = true;
    const isOutside = (box, room, edge) =>
        box.left < room.left - edge || box.right > room.right + edge ||
        box.top < room.top - edge || box.bottom > room.bottom + edge;
    const isPart = main.style.getPropertyValue("--below") !== "0px";
    const fontOf = (element) => {
        const size = parseFloat(getComputedStyle(element).fontSize);
        const matrix = element instanceof SVGElement && element.getScreenCTM?.();
        // The determinant of a rotated and scaled text is the square of its scale.
        return size * (matrix ? Math.sqrt(Math.abs(matrix.a * matrix.d - matrix.b * matrix.c)) : scale);
    };
    const walker = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const text = walker.currentNode, element = text.parentElement, range = document.createRange();
        if (!text.data.trim()) continue;
        if (element.closest("style, script, option, .katex-mathml, .lineage-icon, sub, sup, .subscript")) continue;
        if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
        range.selectNodeContents(text);
        const boxes = [...range.getClientRects()].filter(({ width, height }) => width > 1 && height > 1);
        if (!boxes.length) continue;
        const isClipped = (each) =>
            each && (getComputedStyle(each).clipPath.includes("inset(50%)") || isClipped(each.parentElement));
        const hidden = isClipped(element);
        if (hidden || element.getBoundingClientRect().width <= 2) continue;
        const words = text.data.trim().slice(0, 50);
        if (isPart && boxes.every((box) => box.bottom < 0 || box.top > wall.bottom - 40)) continue;
        isEmpty = false;
        if (!isPart && boxes.some((box) => isOutside(box, wall, 2))) cut.add(`outside the wall: ${words}`);
        for (let up = element; up && up !== main; up = up.parentElement) {
            const style = getComputedStyle(up);
            if (style.overflowX === "visible" || style.display === "inline" || up instanceof SVGElement) continue;
            if (boxes.some((box) => isOutside(box, up.getBoundingClientRect(), 4)))
                cut.add(`cut by ${up.className || up.tagName}: ${words}`);
            break;
        }
        if (fontOf(element) && fontOf(element) < minimum - 0.3) small.add(`${fontOf(element).toFixed(1)} px: ${words}`);
    }
    if (isEmpty) cut.add("nothing is on the slide");
    for (const title of main.querySelectorAll(".xtitle, .ytitle")) {
        const box = title.getBoundingClientRect();
        for (const tick of title.closest(".main-svg").parentElement.querySelectorAll(".xtick text, .ytick text")) {
            const other = tick.getBoundingClientRect();
            if (box.width && other.width && box.left < other.right - 3 && other.left < box.right - 3 &&
                box.top < other.bottom - 3 && other.top < box.bottom - 3)
                cut.add(`${title.textContent} lies on ${tick.textContent}`);
        }
    }
    return { name: bar.querySelector(".place").textContent, cut: [...cut], small: [...small] };
}"""


@dataclass(frozen=True)
class Slide:
    """One view of presentation mode."""

    name: str  # as the bar says it
    cut: list[str] = field(default_factory=list)
    small: list[str] = field(default_factory=list)

    @property
    def problems(self) -> list[str]:
        """Return what a viewer in the last row cannot read."""
        return [f"{self.name}: {problem}" for problem in (*self.cut, *self.small)]


def walk_slides(page: Page) -> Iterator[Slide]:
    """Go through the slides of a page that is in presentation mode, from the first to the last."""
    page.keyboard.press("Home")
    for _ in range(60):
        page.wait_for_function(_STILL)
        yield Slide(**page.evaluate(_MEASURE, MIN_TEXT))
        if page.get_by_role("navigation", name="Projector").get_by_role("button", name="Next").is_disabled():
            return
        page.keyboard.press("ArrowRight")


def slide_problems(slides: list[Slide]) -> list[str]:
    """Return what is wrong with the slides of a page."""
    many = [f"{len(slides)} slides, at most {MAX_SLIDES} are allowed"] if len(slides) > MAX_SLIDES else []
    return [*many, *(problem for slide in slides for problem in slide.problems)]
