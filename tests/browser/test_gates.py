from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.browser.steps import WebSocketRecorder, open_page, save_figure, wait_for_url_params


def test_the_cell_follows_the_sliders_and_the_url_stores_the_settings(visit: Visit, tmp_path: Path) -> None:
    page = visit("/gates")
    lstm = page.get_by_label("LSTM", exact=True)
    heading = lstm.get_by_role("heading", level=3)
    expect(heading).to_have_text("With f = 0.90 the LSTM keeps 0.6 % of step 1 at step 50; with 0.99 it would be 61 %.")
    wire = WebSocketRecorder(page)
    slider = lstm.get_by_role("slider", name=re.compile("^f, forget gate: the steps"))
    slider.evaluate("s => { s.value = 0.99; s.dispatchEvent(new Event('input', { bubbles: true })); }")
    expect(heading).to_contain_text("With f = 0.99 the LSTM keeps 61 % of step 1")
    assert wire.events() == [], "dragging sends no messages to the server"
    slider.evaluate("s => s.dispatchEvent(new Event('change', { bubbles: true }))")
    wait_for_url_params(page, f="0.99")
    input_gate = lstm.get_by_role("slider", name=re.compile("^i, input gate, step by step"))
    input_gate.focus()
    page.keyboard.press("Home")
    for _ in range(9):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("PageUp")
    wait_for_url_params(page, f="0.99", i="1,0x8,0.25,0", at="10")
    box = input_gate.bounding_box()
    assert box
    page.mouse.click(box["x"] + 30.5 / 50 * box["width"], box["y"] + 1)
    wait_for_url_params(page, f="0.99", i="1,0x8,0.25,0x20,1,0", at="31")
    files = save_figure(page, page.locator(".lineage-gates-by-hand"), "gates-by-hand", tmp_path, "CSV")
    assert files["CSV"].decode().splitlines()[31].startswith("31,0.99,1,")
    for _ in range(3):
        page.get_by_role("button", name="Undo").click()
    wait_for_url_params(page)
    expect(heading).to_contain_text("With f = 0.90")
    page.get_by_role("button", name="A counter").click()
    expect(lstm.locator(".value").first).to_have_text("10.00")
    wait_for_url_params(page, f="1", n="1")
    open_page(page, page.url)
    expect(page.get_by_role("button", name="A counter")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Back to the defaults").click()
    wait_for_url_params(page)
