from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.browser.steps import WebSocketRecorder, wait_for_url_params, wait_until, wait_until_idle

pytestmark = pytest.mark.slow


def test_scrubbing_through_training_sends_no_messages_to_the_server(visit: Visit) -> None:
    page = visit("/memory?who=gru-chrono,rnn-usual")
    gradient_figure = page.locator(".lineage-plot-frame", has=page.get_by_text("before training", exact=True))
    scrubber, readout = gradient_figure.locator("input[type=range]"), gradient_figure.locator(".frame-readout")
    expect(scrubber).to_be_visible()
    wait_until_idle(page)
    wire = WebSocketRecorder(page)
    messages_before, before = wire.wait_until_quiet(), readout.inner_text()
    scrubber.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(page.get_by_text("before training", exact=True)).to_have_count(0)
    figure = page.get_by_label(re.compile("^The gradient at each symbol, from before training"))
    wait_until(lambda: figure.locator(".frame-readout").inner_text() != before)  # other numbers at another step
    assert len(wire.frames) == messages_before


def test_a_click_pins_the_unit_and_shows_its_description(visit: Visit) -> None:
    page = visit("/memory?who=lstm-chrono,gru-chrono&unfold=gates")
    gates = page.locator(".lineage-gate-viewer")
    caption = gates.locator(".words")
    expect(caption).to_contain_text("Point at a unit")
    first = gates.locator(".map").first
    first.scroll_into_view_if_needed()
    wait_until_idle(page)
    first.hover(position={"x": 40, "y": 30})
    expect(caption).to_contain_text("keeps half for")
    description = caption.inner_text()
    first.click(position={"x": 40, "y": 30})
    page.mouse.move(5, 5)
    expect(caption).to_contain_text(description.split(";")[0])
    gates.locator(".parts").press("Escape")
    page.mouse.move(5, 5)
    expect(caption).not_to_have_text(description)


def test_a_typed_sequence_is_read_and_an_unknown_letter_is_reported(visit: Visit) -> None:
    page = visit("/memory?who=gru-chrono&unfold=gates")
    field = page.get_by_label(re.compile("^Sequence of the letters"))
    field.fill("abba")
    field.press("Enter")
    wait_for_url_params(page, say="abba")
    expect(page.get_by_text(re.compile("^After 4 symbols the GRU"))).to_be_visible()
    field.fill("abxa")
    field.press("Enter")
    expect(page.get_by_role("alert").filter(has_text="“x”")).to_be_visible()
    field.fill("")
    field.press("Enter")
    expect(page.get_by_text(re.compile("^After 50 symbols the GRU"))).to_be_visible()


def test_typing_a_string_updates_its_results(visit: Visit) -> None:
    page = visit("/memory?who=gru-chrono")
    page.locator("summary").filter(has_text="What does a network learn from a single string").click()
    expect(page.get_by_text(re.compile("Memory saves 0.297 nats"))).to_be_visible()
    field = page.get_by_role("textbox", name="String")
    field.fill("to be or not to be ")
    field.press("Enter")
    expect(page.get_by_text(re.compile("Memory saves 0.707 nats"))).to_be_visible()
    page.reload()
    expect(page.get_by_text(re.compile("Memory saves 0.707 nats"))).to_be_visible()
