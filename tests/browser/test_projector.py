"""A page on a wall, driven by a teacher's arrow keys."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.steps import go_to_page, wait_for_url_params, wait_until_idle

pytestmark = pytest.mark.slow

# Of what is seen: does anything leave the screen, and how high are the letters of values?
SEEN = """() => {
    const main = document.querySelector('[data-testid="stMainBlockContainer"]');
    const scale = main.getBoundingClientRect().width / main.offsetWidth;
    const shown = [...main.querySelectorAll(".row .verdict, .row b, h1, h2, h3, .frame-value")]
        .filter((each) => each.getClientRects().length);
    return {
        letters: Math.min(...shown.map((each) => scale * parseFloat(getComputedStyle(each).fontSize))),
        right: Math.max(...shown.map((each) => each.getBoundingClientRect().right)),
        bottom: Math.max(...shown.map((each) => each.getBoundingClientRect().bottom)),
    };
}"""


def bar(page: Page) -> Any:
    return page.get_by_role("navigation", name="Projector")


def at(page: Page, place: str) -> None:
    expect(bar(page).locator(".place")).to_have_text(re.compile(place))


def test_a_page_goes_by_screen_by_screen_and_comes_back_whole(visit: Any) -> None:
    page = visit("/negation", 1280, 720)
    expect(page.locator(".lineage-plot-frame .js-plotly-plot").first).to_be_visible()
    usual = page.locator(".lineage-plot-frame .frame-area").first.evaluate("area => getComputedStyle(area).height")
    page.get_by_role("button", name="Projector").click()
    wait_for_url_params(page, screen="projector")
    at(page, r"^1 / \d+Can a model")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.locator(".lineage-verdicts .row").first).to_be_hidden()

    page.keyboard.press("ArrowRight")  # the question, the sentence to ask, then what is said to it
    while not page.locator(".lineage-verdicts .row").first.is_visible():
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(100)
    seen = page.evaluate(SEEN)
    assert seen["letters"] >= 24 and seen["right"] <= 1280 and seen["bottom"] <= 720

    page.keyboard.press("Home")
    at(page, r"^1 / ")
    page.keyboard.press("PageUp")
    at(page, r"^1 / ")
    page.keyboard.press("PageDown")
    at(page, r"^2 / ")
    page.evaluate("""() => {
        history.replaceState(history.state, "", location.search + "&step=3");  // as a page does
        document.querySelector('[data-testid="stApp"]').append(document.createElement("i"));
    }""")
    page.wait_for_timeout(200)
    at(page, r"^2 / ")
    page.get_by_label("Type a sentence").click()  # a field keeps its keys
    page.keyboard.press("ArrowLeft")
    page.keyboard.type("p")
    at(page, r"^2 / ")
    page.get_by_label("Type a sentence").blur()

    go_to_page(page, "Memory")  # it stays on from page to page
    expect(page.get_by_role("heading", level=1)).to_have_text("How long does a net remember?")
    at(page, r"^1 / \d+How long")
    wait_for_url_params(page, screen="projector")
    page.keyboard.press("Escape")
    expect(bar(page)).to_be_hidden()
    wait_for_url_params(page, screen="")
    page.go_back()
    wait_until_idle(page)
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("^Can a model"))
    expect(bar(page)).to_be_hidden()
    assert page.locator("[data-stop]").count() == 0
    expect(page.get_by_role("heading", name="The papers")).to_be_visible()
    main = page.get_by_test_id("stMainBlockContainer")
    assert main.evaluate("main => getComputedStyle(main).transform") == "none"
    expect(page.locator(".lineage-plot-frame .frame-area").first).to_have_css("height", usual)


def test_an_instrument_that_is_made_of_several_shows_them_one_by_one(visit: Any) -> None:
    page = visit("/masks?screen=projector", 1280, 720)
    at(page, r"^1 / ")
    matrices = page.locator(".lineage-masks .steps section")
    seen: list[set[str]] = []
    for _ in range(5):
        page.keyboard.press("ArrowRight")
        expect(bar(page).locator(".place")).not_to_contain_text("part")
        expect(bar(page).locator(".place")).not_to_have_text(re.compile(r"^1 / "))
        page.wait_for_timeout(300)  # it takes its room, and then its size
        shown = [each for each in matrices.all() if each.is_visible()]
        seen.append({each.get_attribute("class") or "" for each in shown})
        for each in shown:  # whole, above the bar, with its numbers
            box = each.bounding_box()
            assert box and box["y"] >= 0 and box["y"] + box["height"] <= 676 and box["x"] + box["width"] <= 1280
            expect(each.locator("table")).not_to_have_class(re.compile("bare"))
    assert seen == [set(), {"padding", "causal"}, {"both", "scores"}, {"under", "weights"}, set()]
    page.keyboard.press("Escape")
    expect(matrices).to_have_count(6)
    for each in matrices.all():
        expect(each).to_be_visible()


def test_a_screen_that_is_not_there_is_said(visit: Any) -> None:
    page = visit("/compare?screen=cinema")
    expect(page.get_by_text("There is no screen “cinema”.")).to_be_visible()
    expect(bar(page)).to_be_hidden()
