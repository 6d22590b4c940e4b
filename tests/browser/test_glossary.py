"""A technical term shows its definition to the pointer, the keyboard and a finger, and leads nowhere."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from explorer.ui.glossary import TERMS, mark_terms
from tests.browser.conftest import TIMEOUT
from tests.browser.steps import open_page

PROSE = """async (texts) => {
    const { prose } = await import(new URL("assets/static/shared/runtime/glossary.js", document.baseURI).href);
    const write = (part) => part.href ? `[${part.textContent}](${part.getAttribute("href")})` : part;
    return texts.map((text) => prose(text).map(write).join(""));
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_term_is_defined_at_the_pointer_and_at_the_keyboard_focus(visit: Any, scheme: str) -> None:
    page = visit("/gates", scheme=scheme)
    url, tip = page.url, page.get_by_role("tooltip")
    gates = page.locator("p a", has_text="gate").first
    expect(gates).to_have_css("text-decoration-line", "underline")
    gates.hover()
    expect(tip).to_have_text(TERMS["gate"]["definition"])
    expect(gates).to_have_accessible_description(TERMS["gate"]["definition"])
    expect(tip).to_have_css("background-color", {"light": "rgb(29, 35, 39)", "dark": "rgb(236, 234, 228)"}[scheme])
    page.mouse.move(0, 0)
    expect(tip).to_have_count(0)
    gates.focus()
    page.mouse.move(5, 5)
    expect(tip).to_have_text(TERMS["gate"]["definition"])
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    expect(tip).to_have_count(0)
    assert page.url == url


def test_a_tap_shows_a_definition_and_a_tap_elsewhere_hides_it(browser: Any, server: str) -> None:
    context = browser.new_context(has_touch=True, viewport={"width": 390, "height": 844})
    context.set_default_timeout(TIMEOUT)
    page = open_page(context.new_page(), f"{server}/gates")
    page.locator("p a", has_text="gate").first.tap()
    tip = page.get_by_role("tooltip")
    expect(tip).to_have_text(TERMS["gate"]["definition"])
    box = tip.bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 390
    page.get_by_role("heading", level=1).tap(position={"x": 4, "y": 4})
    expect(tip).to_have_count(0)
    assert page.url == f"{server}/gates"
    context.close()


def test_the_browser_marks_the_same_terms_as_the_server(visit: Any) -> None:
    texts = ["Loss in nats; a nat is a unit.", "She wrote “seed”: the n-gram of top-k", "lossless <BOS>", ""]
    assert visit("/lessons").evaluate(PROSE, texts) == [mark_terms(text) for text in texts]
