from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.browser.steps import wait_for_url_params


def test_left_padding_leaves_fully_masked_rows_and_both_models_continue_a_text(visit: Visit) -> None:
    page = visit("/masks")
    masks = page.locator(".lineage-masks")
    expect(masks.locator("h3")).to_have_text("18 of 36 pairs are visible; the mask hides 18.")
    masks.get_by_label("padding side").select_option("left")
    expect(masks.locator("h3")).to_contain_text("softmax gives NaN. After a second layer it is 6 of 6")
    masks.locator(".weights td[data-r='0'][data-c='0']").click()
    expect(masks.locator(".words")).to_have_text(re.compile(r"it is padding.*0 / 0 is NaN\.$"))
    masks.get_by_label("hidden scores become").select_option("self")
    expect(masks.locator("h3")).to_have_text("12 of 36 pairs are visible; the mask hides 24.")
    wait_for_url_params(page, side="left", fill="self", shown="")

    texts = page.locator(".section-code")
    expect(texts.nth(1)).to_contain_text("the old king")
    beginning = page.get_by_label("Prompt")
    beginning.fill("The lonely wolf!")
    beginning.press("Enter")
    for text in (texts.nth(0), texts.nth(1)):
        expect(text).to_contain_text("the lonely wolf")
    expect(page.get_by_text("left out: “!”")).to_be_visible()
    wait_for_url_params(page, begin="The lonely wolf!", side="left", fill="self")
