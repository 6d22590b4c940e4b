from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import expect


def test_navigating_from_the_home_page_to_a_lab_and_back_does_not_reload(visit: Any) -> None:
    page = visit("/")
    expect(page.get_by_role("heading", level=1)).to_have_text("From a bag of words to attention")
    expect(page.locator(".lineage-home-timeline li")).to_have_count(10)
    expect(page.locator(".lineage-home-timeline li.drawn svg")).to_have_count(10)
    expect(page.locator(".lineage-verdicts .row")).to_have_count(4)
    page.evaluate("window.here = true")
    page.locator(".lineage-home-timeline a", has_text="Bag of words").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("sum of word weights")
    expect(page).to_have_url(re.compile("/negation$"))
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("From a bag of words to attention")
    page.go_forward()
    expect(page.get_by_role("heading", level=1)).to_contain_text("sum of word weights")
    assert page.evaluate("window.here"), "the page was reloaded"
