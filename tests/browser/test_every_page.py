"""Every page in a wide window, on a phone and on a projector, light and dark: it fits, and it is accessible."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from explorer.catalogue import PAGES, page_row
from explorer.ui.glossary import mark_terms
from explorer.ui.page_sections import escape_markdown
from tests import needs
from tests.browser.page_size import measure_page_size
from tests.browser.slides import WALLS, slide_problems, walk_slides
from tests.browser.steps import WebSocketRecorder, assert_fits, choose_to_share, wait_until_settled

NOT_READ = [
    # Streamlit's own drawer of pages on a phone: its list holds <div>s around the <li>s.
    ['[data-testid="stSidebarNavItems"]'],
    # Streamlit's own colours of code, each word an element of its own.
    ['[data-testid="stCode"] code'],
    # What plotly draws is hidden from readers: the figure's label says it in words. Thousands of elements.
    [".frame-plot"],
]
EVERYTHING = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]
OF_THE_SCREEN = [  # what another width or another scheme may change
    "aria-hidden-focus",
    "aria-toggle-field-name",
    "button-name",
    "color-contrast",
    "label-content-name-mismatch",
    "link-name",
    "scrollable-region-focusable",
]
RUN = """([exclude, values, type]) =>
    axe.run({ exclude }, { runOnly: { type, values }, resultTypes: ["violations"] })"""
# Elements that keep the Tab key: without a mouse nobody gets past them.
TRAPS = """() => [...document.querySelectorAll("a[href], button, input, select, textarea, [tabindex]")]
    .filter((each) => each.getClientRects().length)
    .map((each) => [each, new KeyboardEvent("keydown", { key: "Tab", bubbles: true, cancelable: true })])
    .filter(([each, tab]) => !each.dispatchEvent(tab))
    .map(([each]) => each.outerHTML.slice(0, 200))"""
# Elements with transitions although the system asks for reduced motion.
MOVES = """() => [...document.querySelectorAll(".lineage, .lineage *")]
    .filter((each) => !each.matches(".frame-probe") && /[1-9]/.test(getComputedStyle(each).transitionDuration))
    .map((each) => each.outerHTML.slice(0, 200))"""
# Figures without their colours, and chosen options without a mark, where the system forces its colours on a page.
UNSEEN = """() => [
    ...document.querySelectorAll(".lineage :is(svg, canvas, i), [data-selected=true], [aria-pressed=true]")]
    .filter((each) => each.matches("[data-selected=true], [aria-pressed=true]")
        ? getComputedStyle(each).outlineStyle === "none" : getComputedStyle(each).forcedColorAdjust === "auto")
    .map((each) => each.outerHTML.slice(0, 200))"""
# Pictures without a name. What plotly draws is named by its figure.
UNNAMED = """() => [...document.querySelectorAll("svg, canvas, img, [role=img]")]
    .filter((each) => each.checkVisibility() && !each.closest("[aria-hidden=true], .frame-plot, button, a, summary"))
    .filter((each) => !each.parentElement.closest("[role=img], [role=figure]"))
    .filter((each) => !["aria-label", "aria-labelledby", "alt"].some((name) => each.getAttribute(name)))
    .map((each) => each.outerHTML.slice(0, 200))"""
# Streamlit has drawn the page in the colours that the system asks for.
HAS_SCHEME = """(scheme) =>
    getComputedStyle(document.querySelector("[data-testid=stApp]")).colorScheme === scheme"""
# The headings and texts of the first screen, and the links to the glossary there. Buttons and fields have no links.
FIRST_SCREEN = """() => {
    const isSeen = (each) => each.checkVisibility() && each.getBoundingClientRect().top < innerHeight;
    const texts = "[data-testid=stMain] :is(h1, h2, h3, p, li)";
    const own = [...document.querySelectorAll(texts)].filter(isSeen)
        .filter((each) => !each.closest("button, label, summary, [role=group], [class*=waiting]"))
        .filter((each) => !each.closest(".frame-controls, .frame-readout"));
    const links = [...document.querySelectorAll('a[href^="#glossary-"]')].filter(isSeen);
    return [own.map((each) => each.innerText), links.map((each) => each.hash)];
}"""
RNN_CURVE = ".lineage-plot-frame:has(.frame-controls) path.js-line[style*='stroke: {}']"
RNN_COLOUR = {"light": "rgb(180, 68, 11)", "dark": "rgb(206, 88, 5)"}


def set_screen(page: Page, width: int, height: int, scheme: str) -> None:
    """Change the window and the colour scheme, and wait until the page is drawn for both."""
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.set_viewport_size({"width": width, "height": height})
    page.wait_for_function(HAS_SCHEME, arg=scheme)
    wait_until_settled(page)


def find_violations(page: Page, name: str, values: list[str], kind: str) -> list[str]:
    """Return the serious violations that axe finds, each with its rule and its element."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(needs.AXE.read_text())
    return [
        f"{name}: {rule['impact']}, {rule['id']} ({rule['help']}) at {node['target']}: {node['html'][:200]}"
        for rule in page.evaluate(RUN, [NOT_READ, values, kind])["violations"]
        if rule["impact"] in ("serious", "critical") or rule["id"] == "heading-order"
        for node in rule["nodes"]
    ]


# Labels that stand side by side, but not on one line, and choices that are cut at the right edge.
CROOKED = """() => {
    const isCrooked = (one, other) => Math.abs(one - other) > 1.5 && Math.abs(one - other) < 22;
    const labels = [...document.querySelectorAll("[data-testid=stWidgetLabel]")].filter((l) => l.offsetHeight > 2);
    const tops = labels.map((label) => label.getBoundingClientRect().top);
    const cut = [...document.querySelectorAll("[data-testid=stButtonGroup] > [role]")]
        .filter((group) => group.scrollWidth > group.clientWidth + 1);
    return [...labels.filter((_, i) => tops.some((top) => isCrooked(top, tops[i]))), ...cut]
        .map((each) => each.textContent);
}"""


def unexplained_terms(page: Page) -> set[str]:
    """Return the terms of the glossary that the first screen uses and does not explain."""
    texts, explained = page.evaluate(FIRST_SCREEN)
    used = {
        link for text in texts for link in re.findall(r"\]\((#glossary-[^)]*)\)", mark_terms(escape_markdown(text)))
    }
    return used - set(explained)


# Labels of a chart that meet another label, or stand on a line.
MEETING_LABELS = """() => [...document.querySelectorAll(".frame-plot")].flatMap((plot) => {
    const labels = [...plot.querySelectorAll(".annotation-text")].filter((each) => each.textContent.trim());
    const boxes = labels.map((label) => label.getBoundingClientRect());
    const isIn = (box, x, y) => x > box.left + 3 && x < box.right - 3 && y > box.top + 3 && y < box.bottom - 3;
    const meet = (a, b) => // letters fill three quarters of the height of their boxes
        a.left + 5 < b.right && b.left + 5 < a.right && a.top + 5 < b.bottom && b.top + 5 < a.bottom;
    const pairs = boxes.flatMap((box, i) => boxes.slice(i + 1).map((other, j) => [box, other, i, i + 1 + j]));
    const found = pairs.filter(([box, other]) => meet(box, other)).map(([, , i, j]) => [i, j]);
    for (const path of plot.querySelectorAll("path.js-line")) {
        if (!parseFloat(getComputedStyle(path).strokeWidth)) continue; // the edge of a band is not drawn
        const matrix = path.getScreenCTM();
        for (let at = 0; at <= path.getTotalLength(); at += 3) {
            const { x, y } = path.getPointAtLength(at).matrixTransform(matrix);
            found.push(...boxes.flatMap((box, i) => (isIn(box, x, y) ? [[i]] : [])));
        }
    }
    return [...new Set(found.map((each) => each.map((i) => labels[i].textContent).join(" meets ")))];
})"""


@pytest.mark.parametrize("address", [row.address for row in PAGES])
def test_a_page_fits_and_is_accessible_in_every_width_and_scheme(visit: Any, address: str) -> None:
    page = visit(f"/{address}")
    found = find_violations(page, "light, 1440", EVERYTHING, "tag")
    assert unexplained_terms(page) == set()
    assert_fits(page)
    assert page.evaluate(CROOKED) == []
    row = page_row(address)
    expect(page.locator("[data-testid=stTopNav] [aria-current=page]")).to_have_text(row.section or row.title)
    assert page.evaluate(MEETING_LABELS) == []
    sizes = [measure_page_size(page)]
    wire = WebSocketRecorder(page)
    for scheme in ("dark", "light", "dark") if address == "negation" else ("dark",):
        set_screen(page, 1440, 900, scheme)
        if address == "negation":
            expect(page.locator(RNN_CURVE.format(RNN_COLOUR[scheme])).first).to_be_attached()
    assert wire.frames == [], "the colour scheme of the browser does not concern the server"
    set_screen(page, 390, 844, "dark")
    found += find_violations(page, "dark, 390", OF_THE_SCREEN, "rule")
    assert_fits(page)
    assert page.evaluate(CROOKED) == []
    assert page.evaluate(MEETING_LABELS) == []
    sizes.append(measure_page_size(page))
    assert found + [problem for size in sizes for problem in size.problems()] == []
    assert page.evaluate(TRAPS) == []
    page.emulate_media(reduced_motion="reduce")
    assert page.evaluate(MOVES) == []
    assert page.evaluate(UNNAMED) == []
    page.emulate_media(forced_colors="active")
    assert page.evaluate(UNSEEN) == []
    page.emulate_media(forced_colors="none")
    (width, height), scheme = WALLS[[row.address for row in PAGES].index(address) % len(WALLS)]
    set_screen(page, width, height, scheme)
    choose_to_share(page, "Projector")
    bar = page.get_by_role("navigation", name="Projector")
    expect(bar).to_be_visible()
    expect(bar).to_have_css("background-color", {"dark": "rgb(21, 24, 27)", "light": "rgb(255, 255, 255)"}[scheme])
    assert slide_problems(list(walk_slides(page))) == []
    if address == "negation":
        assert find_violations(page, "projector", EVERYTHING, "tag") == []


def test_the_menu_of_pages_fits_a_projector_of_1024_px(visit: Any) -> None:
    page = visit("/perplexity", 1024, 768)
    menu = {row.section or row.title for row in PAGES}
    expect(page.locator("[data-testid=stTopNavLink]:visible, [data-testid=stTopNavSection]:visible")).to_have_count(
        len(menu)
    )
    assert len(PAGES) <= 24
    assert_fits(page)
