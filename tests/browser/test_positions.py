from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.browser.steps import WebSocketRecorder, wait_for_url_params, wait_until_idle

pytestmark = pytest.mark.slow


def test_a_place_is_dragged_without_the_server_and_stands_in_the_address(visit: Visit) -> None:
    page = visit("/positions?draw=4")
    pictures = page.locator(".lineage-positions")
    expect(pictures.locator("h3")).to_contain_text("Learned neighbours have come to")
    wait_until_idle(page)
    told, wire = pictures.locator(".rotary .told").first, WebSocketRecorder(page)
    before, spoken = told.inner_text(), wire.wait_until_quiet()
    square = pictures.locator(".rotary .map").nth(1)
    square.hover(position={"x": 5, "y": 5})
    expect(told).to_have_text(re.compile(r"^Query at 0, key at 0: (\S+)\. Both one place on: \1\.$"))
    assert len(wire.frames) == spoken and told.inner_text() != before
    place = pictures.get_by_label("place that is looked from")
    place.focus()
    page.keyboard.press("ArrowRight")
    wait_for_url_params(page, place="9", draw="4")
    pictures.get_by_label("after training").uncheck()
    expect(pictures.locator("h3")).to_contain_text("drawn at random")
    wait_for_url_params(page, after="false")
