"""The search for good settings in a browser: it runs to its end while the page shows it, and a cell opens its run."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import expect

from tests.browser.steps import assert_fits, button, wait_until_settled

FORM = "unfold=sweeps&sweep_models=bag_of_words&sweep_space=learning_rate=0.01,0.1;epochs=1,2&sweep_halving=false"


def test_a_search_is_started_followed_and_opened(visit: Any) -> None:
    page = visit(f"/compare?{FORM}&sweep_seeds=2")
    section = page.locator(".st-key-page-section-sweeps")
    expect(section.get_by_text(re.compile("6 runs, about"))).to_be_visible()
    button(page, "Search").click()
    expect(page).to_have_url(re.compile(r"[?&]sweeps=[a-z2-7]{12}"))
    expect(
        section.get_by_role("heading", name=re.compile("Best: |Cannot tell which is best|same result"))
    ).to_be_visible()
    expect(button(page, "Stop")).to_be_hidden()
    rows = section.get_by_role("table").locator("tbody tr")
    expect(rows).to_have_count(4)
    wait_until_settled(page)
    assert_fits(page)
    picture = section.locator(".js-plotly-plot .nsewdrag").last
    box = picture.bounding_box()
    assert box
    picture.click(position={"x": box["width"] * 0.84, "y": box["height"] * 0.25})
    expect(page).to_have_url(re.compile(r"/runs\?.*run=[a-z2-7]{12}"))
