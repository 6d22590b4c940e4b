"""What fits on which screen, and pictures of it for a person to look at."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.steps import meanwhile

PAGES = {
    "home": "/",
    "negation": "/negation",
    "studio": "/studio?tokens=100",
    "attention": "/attention",
    "memory": "/memory",
    "translation": "/translation",
}
SIZES = {"wide": (1440, 900), "narrow": (390, 844)}
RNN_CURVE = ".lineage-frame:has(.frame-controls) figure:nth-child(3) .trace path.js-line"
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
        expect(page.locator(".lineage-timeline li.drawn svg")).to_have_count(7)
        expect(page.locator(".lineage-verdicts .row")).to_have_count(4)
    elif name == "studio":
        expect(page.locator(".lineage-temperature .card .most")).to_have_count(2)
        expect(page.locator(".lineage-tree .candidate.taken").first).to_be_attached()
        expect(page.locator(".lineage-writing .panel")).to_have_count(2)
        expect(page.locator(".lineage-frame .js-plotly-plot")).to_have_count(3)
    elif name == "attention":
        expect(page.locator(".lineage-heads .asks button").first).to_be_attached()
        expect(page.locator(".lineage-walk .row").first).to_be_attached()
        expect(page.locator(".lineage-frame .js-plotly-plot")).to_have_count(4)
        page.wait_for_function(WEIGHTS)
    else:
        expect(page.get_by_role("heading", name="The papers")).to_be_attached()
        expect(meanwhile(page)).to_have_count(0, timeout=90_000)
        page.wait_for_function(
            "most => document.querySelectorAll('.js-plotly-plot .main-svg').length"
            " >= 3 * document.querySelectorAll('.frame-plot').length"
            " && document.querySelectorAll('.frame-plot').length > most",
            arg=5 if name == "translation" else 10,
        )
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    page.wait_for_timeout(300)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_its_screen_and_follows_light_and_dark_without_a_rerun(
    visit: Any, tmp_path: Path, name: str, size: str
) -> None:
    folder = Path(os.environ.get("LINEAGE_SCREENSHOTS") or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    page = visit(PAGES[name], *SIZES[size])
    settled(page, name)
    wide = page.evaluate(
        "[document.documentElement, document.querySelector('[data-testid=stMain]')]"
        ".map(node => node.scrollWidth - node.clientWidth)"
    )
    assert wide == [0, 0], "the page is wider than its screen"
    tall = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
    page.evaluate(COUNT_RERUNS)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        if name == "negation":
            expect(page.locator(RNN_CURVE).last).to_have_css("stroke", RNN_COLOUR[scheme])
        page.wait_for_timeout(200)
        page.screenshot(path=folder / f"{name}-{size}-{scheme}.png")
    assert page.evaluate("window.reruns") == 0, "the scheme of the browser is no matter of the server"
    page.set_viewport_size({"width": SIZES[size][0], "height": min(tall + 40, 9000)})
    page.wait_for_timeout(500)
    page.screenshot(path=folder / f"{name}-{size}-whole.png")
