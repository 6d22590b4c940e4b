from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.browser.steps import WebSocketRecorder, wait_for_url_params


def test_layers_are_scrubbed_in_the_browser_and_a_sentence_can_be_inspected(visit: Visit) -> None:
    page = visit("/sentences?task=gist")
    senses, word_attention = page.locator(".lineage-sense-map"), page.locator(".lineage-word-attention")
    slider = senses.get_by_role("slider", name="Layer")
    expect(senses.locator("output")).to_have_text("layer 2")
    second_similarity = senses.locator(".list button").nth(1).locator(".similarity")
    final_similarity = float(second_similarity.inner_text().replace("−", "-"))
    wire = WebSocketRecorder(page)
    slider.evaluate("s => { s.value = 0; s.dispatchEvent(new Event('input', { bubbles: true })); }")
    expect(senses.locator("output")).to_have_text("layer 0 (embeddings)")
    expect(second_similarity).to_have_text("1.00")
    assert final_similarity < 0.9 and wire.events() == [], "dragging sends no messages to the server"
    slider.evaluate("s => s.dispatchEvent(new Event('change', { bubbles: true }))")
    wait_for_url_params(page, task="gist", layer="0")
    senses.locator(".list button").nth(3).click()
    wait_for_url_params(page, task="gist", layer="0", chosen="3")
    expect(word_attention.get_by_role("grid", name="Attention weights").locator("tbody th").nth(2)).to_have_text("the")
    word_attention.locator("select").nth(2).select_option("3")
    expect(word_attention.locator(".whose")).to_contain_text("“bat” (word 4): its 48 numbers")
    expect(word_attention.locator(".numbers")).to_contain_text(re.compile(r"^Last layer: \[(−?\d\.\d\d(, )?){48}\]$"))
