from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.browser.steps import WebSocketRecorder, wait_for_url_params


def test_positions_change_without_the_server_and_are_stored_in_the_url(visit: Visit) -> None:
    page = visit("/positions?draw=4")
    pictures = page.locator(".lineage-positions")
    expect(pictures.locator("h3")).to_contain_text("after training")
    caption, wire = pictures.locator(".rotary .told").first, WebSocketRecorder(page)
    before = caption.inner_text()
    square = pictures.locator(".rotary .map").nth(1)
    square.hover(position={"x": 5, "y": 5})
    expect(caption).to_have_text(re.compile(r"^Query at 0, key at 0: (\S+)\. Both moved on by one: \1\.$"))
    assert wire.events() == [] and caption.inner_text() != before
    slider = pictures.get_by_label("position of the query")
    slider.focus()
    page.keyboard.press("ArrowRight")
    wait_for_url_params(page, place="9", draw="4")
    pictures.get_by_label("after training").click()
    expect(pictures.locator("h3")).to_contain_text("before training")
    wait_for_url_params(page, after="false")
