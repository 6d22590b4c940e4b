from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.browser.steps import WebSocketRecorder, open_page, wait_for_url_params


def test_a_typed_source_is_translated_by_every_model_and_stored_in_the_url(visit: Visit) -> None:
    page = visit("/translation")
    field = page.get_by_role("textbox", name="Source: digits")
    field.fill("4711")
    field.press("Enter")
    expect(page.get_by_role("heading", name=re.compile("reverses? 4711 correctly"))).to_be_visible()
    wait_for_url_params(page, say="4711")
    field.fill("47x1")
    field.press("Enter")
    expect(page.get_by_text(re.compile("which the model never saw. Give digits from 0 to 9")).first).to_be_visible()
    page.get_by_text("314159", exact=True).first.click()
    expect(page.get_by_role("heading", name=re.compile("reverses? 314159 correctly"))).to_be_visible()
    open_page(page, page.url.split("?")[0] + "?task=dates&say=31+february+1999")
    expect(page.get_by_text(re.compile("There is no such date: february 1999 has 28 days")).first).to_be_visible()
    expect(page.locator(".lineage-translation-answers")).to_contain_text("end")


def test_hovering_the_alignment_sends_no_message_to_the_server(visit: Visit) -> None:
    page = visit("/translation?say=314159&who=additive&unfold=alignment,decoding")
    alignment, beams = page.locator(".lineage-alignment"), page.locator(".lineage-beam-search")
    expect(page.get_by_role("heading", name=re.compile("^In 6 of 6 steps"))).to_be_visible()
    expect(alignment.get_by_text("Candidates at step 1")).to_be_visible()
    wire = WebSocketRecorder(page)
    picture = alignment.locator("canvas, svg").first
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.6)
    expect(alignment.get_by_text(re.compile("Candidates at step [2-7]"))).to_be_visible()
    assert wire.events() == []
    slider = beams.locator("input[type=range]")
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text(re.compile("With width 4 beam search"))).to_be_visible()
    wait_for_url_params(page, width="4")
