"""What fits on which screen, and pictures of it for a person to look at."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests import needs
from tests.browser.steps import assert_fits, placeholders

pytestmark = pytest.mark.slow

PAGES = {
    "home": "/",
    "negation": "/negation",
    "studio": "/studio?tokens=100",
    "attention": "/attention",
    "memory": "/memory",
    "translation": "/translation",
}
SIZES = {"wide": (1440, 900), "narrow": (390, 844)}
RNN_CURVE = ".lineage-plot-frame:has(.frame-controls) figure:nth-child(3) .trace path.js-line"
RNN_COLOUR = {"light": "rgb(180, 68, 11)", "dark": "rgb(206, 88, 5)"}
# The heads at the end of the training, one of them opened, and all of them through the training.
WEIGHTS = """() => new Set(performance.getEntriesByType("resource").map(({ name }) => name)
    .filter((name) => new URL(name).pathname.startsWith("/packed/"))).size >= 3"""
COUNT_RERUNS = """() => {
    window.reruns = 0;
    const app = document.querySelector("[data-testid=stApp]");
    new MutationObserver(() => { window.reruns += app.dataset.testScriptState === "running"; })
        .observe(app, { attributes: true, attributeFilter: ["data-test-script-state"] });
}"""


def settled(page: Page, name: str) -> None:
    """Until everything is drawn."""
    if name == "home":
        expect(page.locator(".lineage-home-timeline li.drawn svg")).to_have_count(7)
        expect(page.locator(".lineage-verdicts .row")).to_have_count(4)
    elif name == "studio":
        expect(page.locator(".lineage-temperature .card .most")).to_have_count(2)
        expect(page.locator(".lineage-token-tree .candidate.taken").first).to_be_attached()
        expect(page.locator(".lineage-text-stream .panel")).to_have_count(2)
        expect(page.locator(".lineage-plot-frame .js-plotly-plot")).to_have_count(3)
    elif name == "attention":
        expect(page.locator(".lineage-attention-heads .asks button").first).to_be_attached()
        expect(page.locator(".lineage-attention-walkthrough .row").first).to_be_attached()
        expect(page.locator(".lineage-plot-frame .js-plotly-plot")).to_have_count(
            4 if needs.has_tiny_shakespeare() else 3
        )
        page.wait_for_function(WEIGHTS)
    else:
        expect(page.get_by_role("heading", name="The papers")).to_be_attached()
        expect(placeholders(page)).to_have_count(0, timeout=90_000)
        page.wait_for_function(
            "most => document.querySelectorAll('.js-plotly-plot .main-svg').length"
            " >= 3 * document.querySelectorAll('.frame-plot').length"
            " && document.querySelectorAll('.frame-plot').length > most",
            arg=5 if name == "translation" else 10,
        )
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    page.wait_for_timeout(300)


def take_picture(page: Page, name: str) -> None:
    """Save a picture of the page if the environment names a folder for pictures."""
    if folder := os.environ.get("LINEAGE_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.wait_for_timeout(500)  # what moves has arrived by then
        page.screenshot(path=Path(folder) / f"{name}.png")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_its_screen_and_follows_light_and_dark_without_a_rerun(visit: Any, name: str) -> None:
    """On a phone, and after the window has become wide; test_axe.py opens every page in a wide window."""
    page = visit(PAGES[name], *SIZES["narrow"])
    settled(page, name)
    for size, (width, height) in reversed(SIZES.items()):
        page.set_viewport_size({"width": width, "height": height})
        settled(page, name)
        assert_fits(page)
        tall = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
        page.evaluate(COUNT_RERUNS)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            if name == "negation":
                expect(page.locator(RNN_CURVE).last).to_have_css("stroke", RNN_COLOUR[scheme])
            page.wait_for_timeout(200)
            take_picture(page, f"{name}-{size}-{scheme}")
        assert page.evaluate("window.reruns") == 0, "the scheme of the browser is no matter of the server"
        page.set_viewport_size({"width": width, "height": min(tall + 40, 9000)})
        take_picture(page, f"{name}-{size}-whole")
