from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Page, expect

from tests.browser.steps import button, wait_until_settled

OWN_TEXT = "How much wood would a woodchuck chuck, if a woodchuck could chuck wood?\n" * 30
SMALL = (
    "/text?models=ngram,gru&context=16&sample=40&gru.hidden=16&gru.width=8&gru.iterations=20&unfold=text-samples,text-each,experiment-ends"
    "&gru.evaluate_every=10&gru.batch_size=4"
)


def sample_texts(page: Page) -> list[str]:
    """Return the texts of the samples."""
    return page.locator(".lineage-text-samples .text").all_inner_texts()


def test_a_model_trains_on_a_pasted_text_and_shows_a_sample(visit: Any) -> None:
    page = visit(SMALL)
    page.get_by_role("radio", name="Your own").or_(page.get_by_role("button", name="Your own")).first.click()
    page.get_by_label("Paste a text").fill(OWN_TEXT)
    button(page, "Use this text").click()
    expect(page).to_have_url(re.compile("text=[0-9a-f]{64}"))
    wait_until_settled(page)
    button(page, "Train").click()
    expect(page.get_by_text("These models are trained on your text.")).to_be_visible()
    expect(page.locator(".lineage-table", has_text="GRU").first).to_be_visible()
    page.wait_for_function(
        "() => [...document.querySelectorAll('.lineage-text-samples .text')]"
        ".filter(node => node.textContent.length >= 30)"
        ".length === 2"
    )
    letters = set(OWN_TEXT)
    assert all(set(text) <= letters for text in sample_texts(page))


def test_on_a_phone_the_results_fit_and_one_slider_selects_the_samples_of_all_models(visit: Any) -> None:
    page = visit("/text?models=gru,lstm,transformer&unfold=text-samples", 390, 844)
    wait_until_settled(page)
    results = page.locator(".lineage-table", has_text="bits per byte").first
    results.scroll_into_view_if_needed()
    heading = results.get_by_role("columnheader", name="training time")
    width = "table => table.querySelector('.scroller').scrollWidth - table.querySelector('.scroller').clientWidth"
    expect(results.get_by_role("columnheader", name="context")).to_be_visible()
    expect(heading).to_be_hidden()
    assert results.evaluate(width) == 0
    results.get_by_role("button", name="All columns").click()
    expect(heading).to_be_attached()
    expect(heading).not_to_be_hidden()
    page.set_viewport_size({"width": 1440, "height": 900})
    expect(results.get_by_role("button", name="All columns")).to_be_hidden()
    expect(heading).to_be_visible()
    slider = page.locator(".lineage-text-samples input[type=range]")
    expect(slider).to_be_visible()
    last = sample_texts(page)
    slider.focus()
    page.keyboard.press("Home")
    page.wait_for_function(
        "last => [...document.querySelectorAll('.lineage-text-samples .text')]"
        ".every((node, i) => node.textContent !== last[i])",
        arg=last,
    )
