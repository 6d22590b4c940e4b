from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.browser.steps import Wire, calm, holds


def test_a_place_is_dragged_without_the_server_and_stands_in_the_address(visit: Visit) -> None:
    page = visit("/positions?draw=4")
    pictures = page.locator(".lineage-positions")
    expect(pictures.locator("h3")).to_contain_text("Learned neighbours have come to")
    calm(page)
    told, wire = pictures.locator(".rotary .told").first, Wire(page)
    before, spoken = told.inner_text(), wire.quiet()
    square = pictures.locator(".rotary .map").nth(1)
    square.hover(position={"x": 5, "y": 5})
    expect(told).to_have_text(re.compile(r"^Query at 0, key at 0: (\S+)\. Both one place on: \1\.$"))
    assert len(wire.frames) == spoken and told.inner_text() != before
    place = pictures.get_by_label("place that is looked from")
    place.focus()
    page.keyboard.press("ArrowRight")
    holds(page, place="9", draw="4")
    pictures.get_by_label("after training").uncheck()
    expect(pictures.locator("h3")).to_contain_text("drawn at random")
    holds(page, after="false")
