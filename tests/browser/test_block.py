from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.browser.steps import WebSocketRecorder, wait_for_url_params, wait_until_idle

pytestmark = pytest.mark.slow


def test_arrows_open_without_a_message_to_the_server_and_are_stored_in_the_url(visit: Visit) -> None:
    page = visit("/block?kind=encoder&open=attention.weights")
    diagram = page.locator(".lineage-block-diagram")
    expect(diagram.locator(".box")).to_have_count(10, timeout=30_000)
    expect(diagram.locator(".arrow")).to_have_count(13)
    wait_until_idle(page)
    wire = WebSocketRecorder(page)
    messages_before = wire.wait_until_quiet()
    panel = diagram.locator(".panel")
    expect(panel.locator("h3")).to_have_text("Weights")
    panel.locator(".map").hover(position={"x": 10, "y": 50})
    expect(panel.locator(".value")).to_contain_text("“not”, “<BOS>”")
    assert len(wire.frames) == messages_before, "hovering sends no messages to the server"

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


def test_another_kind_of_block_is_drawn_when_its_numbers_have_arrived(visit: Visit) -> None:
    page = visit("/block?kind=encoder")
    diagram = page.locator(".lineage-block-diagram")
    expect(diagram.locator(".box")).to_have_count(10, timeout=30_000)
    wait_until_idle(page)
    # Another block is wider: its place changes its size at once, and the numbers come later.
    page.route("**/results/*", lambda route: (page.wait_for_timeout(1_000), route.continue_()))
    page.get_by_role("radio", name="Encoder–decoder").first.click()
    expect(diagram.locator(".box")).not_to_have_count(10)
    expect(diagram.locator("svg[role=group]")).to_have_attribute("aria-label", re.compile("boxes and"))
