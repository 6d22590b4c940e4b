from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.browser.steps import NEXT_FRAMES, WebSocketRecorder, wait_for_url_params


def test_arrows_open_without_a_message_to_the_server_and_another_kind_is_drawn_when_its_numbers_are_there(
    visit: Visit,
) -> None:
    page = visit("/block?kind=encoder&open=attention.weights")
    diagram = page.locator(".lineage-block-diagram")
    expect(diagram.locator(".box")).to_have_count(10)
    expect(diagram.locator(".arrow")).to_have_count(13)
    wire = WebSocketRecorder(page)
    panel = diagram.locator(".panel")
    expect(panel.locator("h3")).to_have_text("Weights")
    panel.locator(".map").hover(position={"x": 10, "y": 50})
    expect(panel.locator(".value")).to_contain_text("“not”, “<BOS>”")
    assert wire.events() == [], "hovering sends no messages to the server"

    diagram.get_by_role("button", name="Norm 1, 32 parameters").click()
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

    # Another block is wider: its place changes its size at once, and the numbers come later.
    waiting: list[Any] = []
    page.route("**/results/*", waiting.append)
    page.get_by_role("radio", name="Encoder–decoder").first.click()
    expect(page).to_have_url(re.compile("kind=both"))
    page.evaluate(NEXT_FRAMES)
    page.unroute("**/results/*", waiting.append)
    for route in waiting:
        route.continue_()
    expect(diagram.locator(".box")).not_to_have_count(10)
    expect(diagram.locator("svg[role=group]")).to_have_attribute("aria-label", re.compile("boxes and"))
