"""Projector mode: a page shown screen by screen with the arrow keys."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.slides import walk_slides
from tests.browser.steps import (
    NEXT_FRAMES,
    choose_to_share,
    go_to_page,
    wait_for_url_params,
    wait_until_idle,
    wait_until_settled,
)

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
    page = visit("/negation?language=words", 1280, 720)
    expect(page.locator(".lineage-plot-frame .js-plotly-plot").first).to_be_visible()
    default_height = page.locator(".lineage-plot-frame .frame-area").first.evaluate(
        "area => getComputedStyle(area).height"
    )
    choose_to_share(page, "Projector")
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
        page.get_by_label("Type a sentence", exact=True).dispatch_event("keydown", {"key": key, "bubbles": True})
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


# Count how often each element of the slide changes its visibility, and list what of the code of a class is not whole.
WATCH = """() => {
    const seen = new Map();
    window.changes = () => Math.max(0, ...[...seen.values()].map(({ changes }) => changes));
    (function look() {
        for (const each of document.querySelectorAll("[data-testid=stMainBlockContainer] :is(h1, p, svg, .lineage)")) {
            const isShown = each.checkVisibility({ visibilityProperty: true, opacityProperty: true });
            const before = seen.get(each) ?? { isShown, changes: 0 };
            seen.set(each, { isShown, changes: before.changes + (before.isShown !== isShown) });
        }
        requestAnimationFrame(look);
    })();
}"""
OUTSIDE = """() => {
    const bar = document.querySelector(".lineage-presentation-bar").getBoundingClientRect().top;
    return ["aside .qr svg", "aside .where", "aside .code", ".question"].filter((each) => {
        const box = document.querySelector(`.lineage-classroom ${each}`).getBoundingClientRect();
        return !box.width || box.top < 0 || box.bottom > bar || box.left < 0 || box.right > innerWidth;
    });
}"""


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (1920, 1080), (1024, 768)])
def test_the_slide_of_a_class_shows_the_whole_code_and_does_not_flicker(visit: Any, width: int, height: int) -> None:
    teacher = visit("/negation?lesson=counting&part=2", width, height)
    teacher.locator(".st-key-lesson-class button").click()
    teacher.wait_for_url(re.compile("class=[A-Z]{5}"))
    wait_until_settled(teacher)
    teacher.locator("body").press("p")
    next(walk_slides(teacher))
    assert teacher.evaluate(OUTSIDE) == []
    teacher.evaluate(WATCH)
    code = teacher.url.split("class=")[1][:5]
    visit(f"/?class={code}", 390, 844)
    board = teacher.locator(".lineage-classroom")
    expect(board.locator(".say").first).to_have_text("0 of 1 answered")
    next(walk_slides(teacher))
    assert teacher.evaluate(OUTSIDE) == []
    board.get_by_role("button", name="Everybody is in").click()
    expect(board.locator("aside")).to_be_hidden()
    next(walk_slides(teacher))
    assert teacher.evaluate("() => window.changes()") <= 1
