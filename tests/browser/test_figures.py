"""Charts can be zoomed, and saved pictures are light in either theme."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.steps import wait_until_idle

pytestmark = pytest.mark.slow

RANGE = "([...document.querySelectorAll('.lineage-plot-frame .js-plotly-plot')].at(-1))._fullLayout.xaxis.range"


def save(page: Page, kind: str, folder: Path) -> bytes:
    page.locator(".lineage-plot-frame").last.get_by_role("button", name="Save this figure").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name=kind, exact=True).click()
    assert download.value.suggested_filename.endswith("." + kind.split(",")[0].lower())
    download.value.save_as(folder / kind)
    return (folder / kind).read_bytes()


def test_a_drag_zooms_a_chart_and_a_double_click_resets_it(visit: Any) -> None:
    page = visit("/compare")
    plot = page.locator(".lineage-plot-frame .js-plotly-plot").last
    expect(plot).to_be_visible()
    plot.scroll_into_view_if_needed()
    wait_until_idle(page)
    before, box = page.evaluate(RANGE), plot.bounding_box()
    assert box
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 200, y)
    page.mouse.down()
    page.mouse.move(box["x"] + 400, y, steps=5)
    page.mouse.up()
    page.wait_for_function(f"before => {RANGE}.join() !== before.join()", arg=before)
    zoomed = page.evaluate(RANGE)
    assert zoomed[1] - zoomed[0] < 0.7 * (before[1] - before[0])
    page.mouse.dblclick(box["x"] + 300, y)
    page.wait_for_function(f"before => {RANGE}.join() === before.join()", arg=before)


def test_pictures_saved_from_the_dark_theme_are_light_unless_dark_is_chosen(visit: Any, tmp_path: Path) -> None:
    page = visit("/compare")
    expect(page.locator(".lineage-plot-frame .js-plotly-plot").last).to_be_visible()
    page.emulate_media(color_scheme="dark")
    wait_until_idle(page)
    svg = save(page, "SVG", tmp_path).decode()
    ground = re.search(r'<rect [^>]*fill="(rgb[^"]*)"', svg)
    assert ground and ground.group(1) == "rgb(255, 255, 255)"
    assert "rgb(236, 234, 228)" not in svg, "no text has the colour of the dark theme"
    assert save(page, "PNG", tmp_path) != save(page, "PNG, dark", tmp_path)
    page.emulate_media(color_scheme="light")
    page.locator(".lineage-plot-frame").last.get_by_role("button", name="Save this figure").click()
    expect(page.get_by_role("menuitem", name="PNG, dark")).to_be_hidden()
