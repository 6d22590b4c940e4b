from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.browser.steps import WebSocketRecorder, open_page, wait_for_url_params, wait_until


def test_training_is_scrubbed_in_the_browser_and_a_typed_string_is_learned(visit: Visit) -> None:
    page = visit("/memory?who=gru-chrono,rnn-usual")
    gradient_figure = page.locator(".lineage-plot-frame", has=page.get_by_text("before training", exact=True))
    scrubber, readout = gradient_figure.locator("input[type=range]"), gradient_figure.locator(".frame-readout")
    expect(scrubber).to_be_visible()
    wire = WebSocketRecorder(page)
    before = readout.inner_text()
    scrubber.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(page.get_by_text("before training", exact=True)).to_have_count(0)
    figure = page.get_by_label(re.compile("^The gradient at each symbol, from before training"))
    wait_until(lambda: figure.locator(".frame-readout").inner_text() != before)  # other numbers at another step
    assert wire.events() == []

    page.locator("summary").filter(has_text="What does a network learn from a single string").click()
    expect(page.get_by_text(re.compile("Memory saves 0.297 nats"))).to_be_visible()
    field = page.get_by_role("textbox", name="String")
    field.fill("to be or not to be ")
    field.press("Enter")
    expect(page.get_by_text(re.compile("Memory saves 0.707 nats"))).to_be_visible()
    open_page(page, page.url)
    expect(page.get_by_text(re.compile("Memory saves 0.707 nats"))).to_be_visible()


def test_a_click_pins_a_unit_and_a_typed_sequence_is_read(visit: Visit) -> None:
    page = visit("/memory?who=lstm-chrono,gru-chrono&unfold=gates")
    gates = page.locator(".lineage-gate-viewer")
    caption = gates.locator(".words")
    expect(caption).to_contain_text("Point at a unit")
    first = gates.locator(".map").first
    first.scroll_into_view_if_needed()
    first.hover(position={"x": 40, "y": 30})
    expect(caption).to_contain_text("keeps half for")
    description = caption.inner_text()
    first.click(position={"x": 40, "y": 30})
    page.mouse.move(5, 5)
    expect(caption).to_contain_text(description.split(";")[0])
    gates.locator(".parts").press("Escape")
    page.mouse.move(5, 5)
    expect(caption).not_to_have_text(description)

    field = page.get_by_label(re.compile("^Sequence of the letters"))
    field.fill("abba")
    field.press("Enter")
    wait_for_url_params(page, say="abba")
    expect(page.get_by_text(re.compile("^After 4 symbols the LSTM"))).to_be_visible()
    field.fill("abxa")
    field.press("Enter")
    expect(page.get_by_role("alert").filter(has_text="“x”")).to_be_visible()
    field.fill("")
    field.press("Enter")
    expect(page.get_by_text(re.compile("^After 50 symbols the LSTM"))).to_be_visible()
