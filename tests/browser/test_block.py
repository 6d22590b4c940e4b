from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.browser.steps import WebSocketRecorder, wait_for_url_params, wait_until_idle

pytestmark = pytest.mark.slow


def test_any_arrow_opens_without_a_word_to_the_server_and_then_stands_in_the_address(visit: Visit) -> None:
    page = visit("/block?kind=encoder")
    place = page.locator(".lineage-block-diagram")
    expect(place.locator(".box")).to_have_count(10, timeout=30_000)
    expect(place.locator(".arrow")).to_have_count(13)
    wait_until_idle(page)
    wire = WebSocketRecorder(page)
    spoken = wire.wait_until_quiet()
    panel = place.locator(".panel")
    expect(panel.locator("h3")).to_have_text("Weights")
    panel.locator(".map").hover(position={"x": 10, "y": 50})
    expect(panel.locator(".value")).to_contain_text("“not”, “<BOS>”")
    assert len(wire.frames) == spoken, "the pointer asks nothing of the server"

    place.get_by_role("button", name="Norm 1, 32 parameters").click()
    expect(panel.locator(".formula")).to_have_text("(x − mean) / deviation · g + b")
    expect(panel.locator(".share")).to_contain_text("32 parameters")
    wait_for_url_params(page, open="attention_norm.out")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    wait_for_url_params(page, open="attention_norm.out")
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    expect(panel.locator(".shape")).to_have_text("batch 1 × tokens 1 × answers 2")
    wait_for_url_params(page, open="softmax.out")
    panel.locator(".map").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(panel.locator(".value")).to_contain_text("“sustain”")
    wait_for_url_params(page, open="softmax.out", unit="1")
