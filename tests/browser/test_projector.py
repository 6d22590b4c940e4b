"""Projector mode: a page shown screen by screen with the arrow keys."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Page, expect

from tests.browser.slides import walk_slides
from tests.browser.steps import NEXT_FRAMES, go_to_page, wait_for_url_params, wait_until_idle

# Measure the visible elements: their right and bottom edges and the smallest font size of values.
MEASURE_VISIBLE = """() => {
    const main = document.querySelector('[data-testid="stMainBlockContainer"]');
    const scale = main.getBoundingClientRect().width / main.offsetWidth;
    const shown = [...main.querySelectorAll(".row .answer, .row b, h1, h2, h3, .frame-value")]
        .filter((each) => each.getClientRects().length);
    return {
        letters: Math.min(...shown.map((each) => scale * parseFloat(getComputedStyle(each).fontSize))),
        right: Math.max(...shown.map((each) => each.getBoundingClientRect().right)),
        bottom: Math.max(...shown.map((each) => each.getBoundingClientRect().bottom)),
    };
}"""


def projector_bar(page: Page) -> Any:
    return page.get_by_role("navigation", name="Projector")


def expect_screen(page: Page, expected_caption: str) -> None:
    expect(projector_bar(page).locator(".place")).to_have_text(re.compile(expected_caption))


def test_the_projector_shows_a_page_screen_by_screen_and_escape_restores_it(visit: Any) -> None:
    page = visit("/negation", 1280, 720)
    expect(page.locator(".lineage-plot-frame .js-plotly-plot").first).to_be_visible()
    default_height = page.locator(".lineage-plot-frame .frame-area").first.evaluate(
        "area => getComputedStyle(area).height"
    )
    page.get_by_role("button", name="Projector").click()
    wait_for_url_params(page, screen="projector")
    expect_screen(page, r"^1 / \d+Can a sum")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.get_by_role("button", name="Settings")).to_be_hidden()
    next(slide for slide in walk_slides(page) if page.locator(".lineage-verdicts .row").first.is_visible())
    visible = page.evaluate(MEASURE_VISIBLE)
    assert visible["letters"] >= 18 and visible["right"] <= 1280 and visible["bottom"] <= 720

    page.keyboard.press("Home")
    expect_screen(page, r"^1 / ")
    page.keyboard.press("PageUp")
    expect_screen(page, r"^1 / ")
    next(slide for slide in walk_slides(page) if not slide.name.startswith("1 "))  # perhaps the second or third view
    expect_screen(page, r"^2 / ")
    page.evaluate("""() => {
        history.replaceState(history.state, "", location.search + "&step=3");  // as a page does
        document.querySelector('[data-testid="stApp"]').append(document.createElement("i"));
    }""")
    page.evaluate(NEXT_FRAMES)
    expect_screen(page, r"^2 / ")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    for key in ("ArrowRight", "p"):  # keys typed into a field do not change the slide
        page.get_by_label("Type a sentence").dispatch_event("keydown", {"key": key, "bubbles": True})
    expect_screen(page, r"^1 / ")

    menu = page.get_by_test_id("stHeader")
    page.mouse.move(640, 2)  # at the upper edge, where the menu of pages is outside presentation mode
    expect(menu).to_have_css("visibility", "hidden")
    page.keyboard.press("m")
    expect(menu).to_have_css("visibility", "visible")
    go_to_page(page, "Memory")  # the projector mode stays on when another page is opened
    expect(page.get_by_role("heading", level=1)).to_have_text("How long does a network remember?")
    expect_screen(page, r"^1 / ")
    expect(menu).to_have_css("visibility", "hidden")
    wait_for_url_params(page, screen="projector")
    page.keyboard.press("Escape")
    expect(projector_bar(page)).to_be_hidden()
    wait_for_url_params(page, screen="")
    page.go_back()
    wait_until_idle(page)
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("^Can a sum"))
    expect(projector_bar(page)).to_be_hidden()
    assert page.locator("[data-stop]").count() == 0
    expect(page.get_by_role("paragraph").filter(has_text="Code and papers")).to_be_visible()
    main = page.get_by_test_id("stMainBlockContainer")
    assert main.evaluate("main => getComputedStyle(main).transform") == "none"
    expect(page.locator(".lineage-plot-frame .frame-area").first).to_have_css("height", default_height)
