from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.browser.steps import wait_for_url_params


def test_the_parameter_count_follows_the_edited_size_and_growth_the_chosen_architecture(visit: Visit) -> None:
    page = visit("/cost?who=text-gru&unfold=parameters,growth")
    expect(page.get_by_role("heading", name=re.compile("^GRU, Text: 201,001 parameters"))).to_be_visible()
    field = page.get_by_label("Layers", exact=True)
    field.fill("2")
    field.press("Enter")
    wait_for_url_params(page, layers="2")
    expect(page.get_by_role("heading", name=re.compile(r"^GRU, Text: 482,233 parameters"))).to_be_visible()
    rows = page.get_by_role("table", name="How cost grows with length").get_by_role("row")
    expect(rows.filter(has_text="GRU")).to_contain_text("6 T d²")
    expect(
        page.get_by_role("heading", name=re.compile("^Attention takes longer than the feedforward part"))
    ).to_be_visible()
    section = page.locator(".st-key-page-section-growth")
    expect(section.get_by_role("heading", name=re.compile("networks on the whole text"))).to_be_visible()
    section.get_by_role("radio", name="GRU").or_(section.get_by_role("button", name="GRU")).first.click()
    wait_for_url_params(page, layers="2", architecture="gru")
    expect(section.get_by_role("heading", name=re.compile("^GRU: the largest of four sizes"))).to_be_visible()
    expect(section.get_by_role("button", name="Train again")).to_be_visible()
    expect(section.get_by_text("whole text").first).to_be_visible()
