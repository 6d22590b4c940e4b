"""The Compare page in a browser: the target, the hairline, the axes, zoom, and saved figures."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.browser.steps import WebSocketRecorder, save_figure, wait_until_settled

RANGE = "document.querySelector('.js-plotly-plot')._fullLayout.xaxis.range"


def readout_rows(page: Page) -> Locator:
    return page.locator(".frame-readout li:visible")


def headline(page: Page) -> Locator:
    return page.get_by_role("heading", level=3).first


def box_of(element: Locator) -> dict[str, float]:
    element.scroll_into_view_if_needed()
    box = element.bounding_box()
    assert box
    return dict(box)


def test_the_target_is_dragged_and_the_axes_are_changed_without_losing_other_settings(visit: Any) -> None:
    page = visit("/compare")
    expect(readout_rows(page)).to_have_count(4)
    initial_headline = headline(page).inner_text()
    node = page.locator(".js-plotly-plot").first
    node.evaluate("node => { node.mark = 'the same'; }")
    grip, wire = page.get_by_role("slider", name="target"), WebSocketRecorder(page)
    box = box_of(grip)
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    readouts = [readout_rows(page).all_inner_texts()]
    for offset in (40, 80, 120):
        page.mouse.move(x, y + offset, steps=4)
        readouts.append(readout_rows(page).all_inner_texts())
    assert wire.frames == [], "the server was asked during the drag"
    assert len({str(words) for words in readouts}) == 4, "the list below did not follow"
    value = grip.get_attribute("aria-valuenow")
    page.mouse.up()
    expect(page).to_have_url(re.compile(rf"target={value}\b"))
    expect(headline(page)).to_contain_text(f"reach {value}")
    assert initial_headline != headline(page).inner_text()

    for key in ("Home", "PageUp", "ArrowUp"):
        grip.press(key)
    assert grip.get_attribute("aria-valuenow") != value
    value = grip.get_attribute("aria-valuenow")
    expect(page).to_have_url(re.compile(rf"target={value}\b"))
    expect(headline(page)).to_contain_text(str(value))
    words = headline(page).inner_text()
    page.get_by_role("radio", name="by seconds").or_(page.get_by_role("button", name="by seconds")).first.click()
    expect(page).to_have_url(re.compile(r"x=seconds"))
    expect(headline(page)).to_have_text(words)
    expect(readout_rows(page).first).to_contain_text(re.compile(r"\d\.\d\d s$"))
    for name in ("log x", "log y"):
        page.get_by_text(name, exact=True).click()
        expect(page).to_have_url(re.compile(f"{name.replace(' ', '_')}=true"))
    page.wait_for_function(
        "() => ['xaxis', 'yaxis'].every(a => document.querySelector('.js-plotly-plot').layout[a].type === 'log')"
    )
    wait_until_settled(page)
    box, plot = box_of(grip), box_of(page.locator(".frame-plot").first)
    assert plot["y"] < box["y"] + box["height"] / 2 < plot["y"] + plot["height"]
    assert grip.get_attribute("aria-valuenow") == value, "the server moved it"
    assert node.evaluate("node => node.mark") == "the same"

    other = visit("/compare?" + page.url.split("?")[1])
    expect(headline(other)).to_have_text(words)
    expect(readout_rows(other)).to_have_count(4)
    assert readout_rows(other).all_inner_texts() == readout_rows(page).all_inner_texts()


def test_the_hairline_reads_every_run_a_drag_zooms_and_the_figure_is_saved(visit: Any, tmp_path: Path) -> None:
    page = visit("/compare")
    expect(readout_rows(page)).to_have_count(4)
    target_readout = readout_rows(page).all_inner_texts()
    box = box_of(page.locator(".frame-plot").first)
    y = box["y"] + 0.6 * box["height"]
    page.mouse.move(box["x"] + 0.03 * box["width"], y)
    first_readout = readout_rows(page).all_inner_texts()
    assert first_readout != target_readout and all(re.search(r"\d\.\d{3}", words) for words in first_readout)
    expect(page.locator(".frame-hair").first).to_be_visible()
    page.mouse.move(box["x"] + 0.1 * box["width"], y)
    second_readout = readout_rows(page).all_inner_texts()
    assert second_readout != first_readout
    page.mouse.down()
    page.mouse.up()
    page.mouse.move(5, 5)
    assert readout_rows(page).all_inner_texts() == second_readout, "a click pins what the hairline shows"
    page.keyboard.press("Escape")
    assert readout_rows(page).all_inner_texts() == target_readout

    before = page.evaluate(RANGE)
    page.mouse.move(box["x"] + 200, y)
    page.mouse.down()
    page.mouse.move(box["x"] + 400, y, steps=5)
    page.mouse.up()
    page.wait_for_function(f"before => {RANGE}.join() !== before.join()", arg=before)
    zoomed = page.evaluate(RANGE)
    assert zoomed[1] - zoomed[0] < 0.7 * (before[1] - before[0])

    page.emulate_media(color_scheme="dark")
    wait_until_settled(page)
    files = save_figure(page, page.locator(".lineage-plot-frame").first, "comparison", tmp_path)
    ground = re.search(rb'<rect [^>]*fill="(rgb[^"]*)"', files["SVG"])
    assert ground and ground.group(1) == b"rgb(255, 255, 255)"
    assert b"rgb(236, 234, 228)" not in files["SVG"], "no text has the colour of the dark theme"
    assert b"Transformer" in files["SVG"]
    lines = files["CSV"].decode().splitlines()
    assert lines[0] == "figure,series,x,y"
    assert len({line.split(",")[1] for line in lines}) > 4


def test_the_line_at_the_pointer_keeps_its_colour_and_the_others_fade(visit: Any) -> None:
    page = visit("/compare")
    plot = page.locator(".js-plotly-plot").first
    expect(plot.locator(".trace").first).to_be_attached()
    x, y = plot.evaluate(
        """plot => {
            const { xaxis, yaxis } = plot._fullLayout, trace = plot._fullData.at(-1);
            const i = Math.floor(trace.x.length / 2);
            return [xaxis._offset + xaxis.d2p(trace.x[i]), yaxis._offset + yaxis.d2p(trace.y[i])];
        }"""
    )
    plot.hover(position={"x": x, "y": y})
    faded = plot.locator(".trace[style*='opacity: 0.15']")
    expect(faded).to_have_count(9)  # three lines of four, each with two edges of its band
    expect(plot.locator(".annotation[style*='opacity: 0.15']")).to_have_count(3)
    page.mouse.move(0, 0)
    expect(faded).to_have_count(0)


def test_a_pointer_may_leave_a_chart_between_an_update_and_its_drawing(visit: Any) -> None:
    page = visit("/compare")
    chart = page.locator(".frame-panel").first
    chart.locator(".js-plotly-plot").hover()
    faded = chart.locator(".trace[style*='opacity: 0.15']")
    before = str(chart.get_attribute("aria-label"))
    page.evaluate("window.requestAnimationFrame = () => 0")  # nothing is drawn any more
    page.get_by_role("button", name="Remove").first.dispatch_event("click")
    expect(chart).not_to_have_attribute("aria-label", before)
    page.mouse.move(0, 0)  # an error would fail the test at its end
    expect(faded).to_have_count(0)
