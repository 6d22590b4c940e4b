from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.browser.steps import wait_for_url_params

pytestmark = pytest.mark.slow


def test_the_parameter_count_follows_the_edited_size(visit: Visit) -> None:
    page = visit("/cost?who=text-gru&unfold=parameters")
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
