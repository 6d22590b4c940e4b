from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.browser.steps import WebSocketRecorder, wait_for_url_params, wait_until, wait_until_idle


def test_editing_a_number_updates_the_results_and_the_curves_follow_their_slider(visit: Visit) -> None:
    page = visit("/scaled-attention")
    tables = page.locator(".lineage-dot-product")
    finding, words = tables.locator("h3"), tables.locator(".words")
    expect(finding).to_contain_text("gives")
    before = finding.inner_text()
    key = tables.get_by_label("K, the keys: cat, 1")
    key.click()
    page.keyboard.type("-3")
    expect(finding).not_to_have_text(before)
    page.keyboard.press("Enter")
    wait_for_url_params(page, k="0.0,0.0,2.0,0.0,-3.0,0.0,0.0,1.0,0.0,2.0,0.0,1.0,0.0,1.0,0.0,-1.0")
    key.click()
    page.keyboard.type("abc")
    page.keyboard.press("Enter")
    expect(tables.get_by_text("“abc” is no number from −100 to 100; −3.00 stays.")).to_be_visible()
    weights = tables.get_by_role("grid", name="softmax")
    cell = weights.get_by_label(re.compile("^sat, the:"))
    cell.click()
    expect(words).to_contain_text("sum of the row")
    wait_for_url_params(page, at="weights.2.0")
    wait_until_idle(page)
    cell.press("ArrowRight")
    page.keyboard.press("Enter")
    wait_for_url_params(page, at="weights.2.1")

    panels = page.locator(".lineage-plot-frame").filter(has_text="Standard deviation of the scores")
    caption, slider = panels.locator(".frame-said span"), panels.get_by_role("slider", name="width shown")
    spread = (
        panels.locator("figure")
        .filter(has_text="Standard deviation of the scores")
        .locator(".frame-readout-value")
        .first
    )
    expect(caption).to_contain_text("At d_k = 64 the scores are divided by 8.00")
    height, wire = panels.bounding_box()["height"], WebSocketRecorder(page)
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 4, box["y"] + box["height"] / 2, steps=5)
    expect(caption).to_contain_text("At d_k = 1,024 the scores are divided by 32.00")
    wait_until(lambda: 25 < float(spread.inner_text()) < 40)  # about the root of 1,024
    assert wire.events() == [], "dragging sends no messages to the server"
    assert panels.bounding_box()["height"] == height, "nothing below moves"
    page.mouse.up()
    wait_for_url_params(page, wide="1024", at="weights.2.1")
    expect(caption).to_contain_text("At d_k = 1,024")


def test_the_page_recomputes_a_head_of_a_model(visit: Visit) -> None:
    page = visit("/scaled-attention?source=model&model=negation-single-transformer&layer=0&head=0", 390, 844)
    tables = page.locator(".lineage-dot-product")
    comparison = tables.locator(".same")
    expect(comparison).to_contain_text("its weights are the model’s own: the largest difference is")
    assert re.search(r"10⁻⁸|10⁻⁷|10⁻⁹|is 0\.$", comparison.inner_text())
    tables.get_by_label("Q, the queries: not, 1").first.fill("9")
    page.keyboard.press("Enter")
    expect(comparison).to_contain_text("You changed a copy")
    tables.get_by_role("button", name="Back to the model’s numbers").click()
    expect(comparison).to_contain_text("the model’s own: the largest")
