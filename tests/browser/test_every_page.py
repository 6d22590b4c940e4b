"""Every page in a wide window and on a phone, light and dark: it fits, it is accessible (axe-core), nothing reruns.

LINEAGE_SCREENSHOTS=FOLDER saves a picture of each for a person to look at.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from explorer.catalogue import PAGES
from tests import needs
from tests.browser.page_size import measure_page_size
from tests.browser.slides import WALLS, slide_problems, walk_slides
from tests.browser.steps import assert_fits, placeholders, wait_until_idle

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
# All components have their data, none fades in, and all style sheets are loaded, also that of the button that every
# page has.
DRAWN = """() => document.querySelector(".lineage-presentation-button")
    && !document.querySelector(".lineage.waiting, .lineage-section[aria-busy], .lineage-outdated")
    && [...document.querySelectorAll(".lineage:not([hidden])")].every((place) => place.childElementCount)
    && [...document.querySelectorAll("link[rel=stylesheet]")].every((link) => link.sheet)
    && !document.getAnimations().some((moving) => moving instanceof CSSTransition)"""


COUNT_RERUNS = """() => {
    window.reruns = 0;
    const app = document.querySelector("[data-testid=stApp]");
    new MutationObserver(() => { window.reruns += app.dataset.testScriptState === "running"; })
        .observe(app, { attributes: true, attributeFilter: ["data-test-script-state"] });
}"""
RNN_CURVE = ".lineage-plot-frame:has(.frame-controls) figure:nth-child(5) .trace path.js-line"
RNN_COLOUR = {"light": "rgb(180, 68, 11)", "dark": "rgb(206, 88, 5)"}

pytestmark = [needs.axe, pytest.mark.slow]


def take_picture(page: Page, name: str) -> None:
    """Save a picture of the window if the environment names a folder for pictures."""
    if folder := os.environ.get("LINEAGE_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.wait_for_timeout(500)  # what moves has arrived by then
        page.screenshot(path=Path(folder) / f"{name}.png")


def run_axe(page: Page, name: str, asked: list[Any]) -> list[str]:
    """Return the serious violations that axe finds now."""
    return [
        f"{name}: {rule['impact']}, {rule['id']} ({rule['help']}) at {node['target']}: {node['html'][:200]}"
        for rule in page.evaluate(RUN, asked)["violations"]
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"]
    ]


@pytest.fixture
def violations() -> Any:
    """Return a function that lists the serious violations of a page, each with its rule and its element."""

    def list_violations(page: Page, name: str, again: bool = False) -> list[str]:
        wait_until_idle(page)
        page.wait_for_function(DRAWN)
        if not page.evaluate("'axe' in window"):
            page.evaluate(needs.AXE.read_text())
        asked = [NOT_READ, OF_THE_SCREEN, "rule"] if again else [NOT_READ, EVERYTHING, "tag"]
        found = run_axe(page, name, asked)
        if found:  # a colour that was still changing is no violation
            page.wait_for_timeout(2_000)
            found = run_axe(page, name, asked)
        return found

    return list_violations


# In the process that has the page's own tests: its server has the page's first results already.
@pytest.mark.parametrize(
    "address",
    [
        pytest.param(row.address, marks=pytest.mark.xdist_group(str(Path(__file__).with_name(f"test_{row.file}"))))
        for row in PAGES
    ],
)
def test_a_page_fits_and_is_accessible_in_every_width_and_scheme(violations: Any, visit: Any, address: str) -> None:
    page = visit(f"/{address}")
    expect(placeholders(page)).to_have_count(0)
    found = violations(page, "light, 1440")
    assert_fits(page)
    sizes = [measure_page_size(page)]
    take_picture(page, f"{address or 'home'}-wide-light")
    page.evaluate(COUNT_RERUNS)
    page.wait_for_timeout(500)
    while page.evaluate("window.reruns"):  # sections that arrive late rerun their part of the page
        page.evaluate("window.reruns = 0")
        page.wait_for_timeout(1_000)
    for scheme in ("dark", "light", "dark") if address == "negation" else ("dark",):
        page.emulate_media(color_scheme=scheme)
        if address == "negation":
            expect(page.locator(RNN_CURVE).last).to_have_css("stroke", RNN_COLOUR[scheme])
    page.wait_for_timeout(200)
    assert page.evaluate("window.reruns") == 0, "the colour scheme of the browser does not concern the server"
    page.set_viewport_size({"width": 390, "height": 844})
    assert found + violations(page, "dark, 390", again=True) == []
    assert_fits(page)
    sizes.append(measure_page_size(page))
    assert [problem for size in sizes for problem in size.problems()] == []
    take_picture(page, f"{address or 'home'}-narrow-dark")
    assert page.evaluate(TRAPS) == []
    page.emulate_media(reduced_motion="reduce")
    assert page.evaluate(MOVES) == []
    (width, height), scheme = WALLS[[row.address for row in PAGES].index(address) % len(WALLS)]
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=scheme)
    page.get_by_role("button", name="Projector").click()
    expect(page.get_by_role("navigation", name="Projector")).to_be_visible()
    assert slide_problems(list(walk_slides(page))) == []


def test_the_menu_of_pages_fits_a_projector_of_1024_px(visit: Any) -> None:
    page = visit("/perplexity", 1024, 768)
    menu = [*dict.fromkeys(row.section or row.title for row in PAGES)]
    expect(page.locator("[data-testid=stTopNavLink]:visible, [data-testid=stTopNavSection]:visible")).to_have_count(
        len(menu)
    )
    assert len(PAGES) <= 24
    assert_fits(page)


def test_a_page_in_presentation_mode_is_accessible(violations: Any, visit: Any) -> None:
    page = visit("/negation?screen=projector", 1280, 720)
    bar = page.get_by_role("navigation", name="Projector")
    expect(bar).to_be_visible()
    for scheme, background in (("dark", "rgb(21, 24, 27)"), ("light", "rgb(255, 255, 255)")):
        page.emulate_media(color_scheme=scheme)
        expect(bar).to_have_css("background-color", background)
    page.keyboard.press("ArrowRight")
    assert violations(page, "projector") == []
