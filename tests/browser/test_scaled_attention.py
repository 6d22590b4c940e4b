from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.browser.steps import calm, holds


def test_an_edited_number_is_answered_at_once_and_stands_in_the_address(visit: Visit) -> None:
    page = visit("/scaled-attention")
    tables = page.locator(".lineage-dotproduct")
    finding, words = tables.locator("h3"), tables.locator(".words")
    expect(finding).to_contain_text("gives")
    calm(page)
    before = finding.inner_text()
    key = tables.get_by_label("K, the keys: cat, 1")
    key.click()
    page.keyboard.type("-3")
    expect(finding).not_to_have_text(before)
    page.keyboard.press("Enter")
    holds(page, k="0.0,0.0,2.0,0.0,-3.0,0.0,0.0,1.0,0.0,2.0,0.0,1.0,0.0,1.0,0.0,-1.0")
    key.click()
    page.keyboard.type("abc")
    page.keyboard.press("Enter")
    expect(tables.get_by_text("“abc” is no number from −100 to 100; −3.00 stays.")).to_be_visible()
    weights = tables.get_by_role("grid", name="softmax")
    cell = weights.get_by_label(re.compile("^sat, the:"))
    cell.click()
    expect(words).to_contain_text("sum of the row")
    holds(page, at="weights.2.0")
    calm(page)
    cell.press("ArrowRight")
    page.keyboard.press("Enter")
    holds(page, at="weights.2.1")


def test_a_models_head_is_computed_again_here(visit: Visit) -> None:
    page = visit("/scaled-attention?source=model&model=negation-single-transformer&layer=0&head=0", 390, 844)
    tables = page.locator(".lineage-dotproduct")
    same = tables.locator(".same")
    expect(same).to_contain_text("its weights are the model’s own: the largest difference is")
    assert re.search(r"10⁻⁸|10⁻⁷|10⁻⁹|is 0\.$", same.inner_text())
    calm(page)
    tables.get_by_label("Q, the queries: not, 1").first.fill("9")
    page.keyboard.press("Enter")
    expect(same).to_contain_text("You changed a copy")
    tables.get_by_role("button", name="Back to the model’s numbers").click()
    expect(same).to_contain_text("the model’s own: the largest")
