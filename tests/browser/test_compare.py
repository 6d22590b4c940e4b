"""The Compare page in a browser: the target, the hairline, the axes, and runs that still train."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.steps import (
    LONG_TRAINING_URL,
    STOPPED,
    jobs_of_seed,
    post_job_command,
    press_train,
    save_figure,
    wait_until,
    wait_until_idle,
)

pytestmark = pytest.mark.slow

COUNT_FRAMES = """() => {
    window.frames_sent = 0;
    const { send } = WebSocket.prototype;
    WebSocket.prototype.send = function (...words) { window.frames_sent += 1; return send.apply(this, words); };
}"""


def wait_for_figure(page: Page, runs: int = 4) -> Page:
    """Wait until the figure is drawn and the page is idle; return the page."""
    expect(page.locator(".js-plotly-plot .main-svg").first).to_be_attached()
    expect(readout_rows(page)).to_have_count(runs)
    # Not the entry of the contents with the same text.
    expect(page.locator("summary", has_text="Which settings differ between these runs?")).to_be_attached()
    wait_until_idle(page)
    return page


def readout_rows(page: Page) -> Locator:
    return page.locator(".frame-readout li:visible")


def headline(page: Page) -> Locator:
    return page.get_by_role("heading", level=3).first


def center(element: Locator) -> tuple[float, float]:
    box = element.bounding_box()
    assert box
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_dragging_the_target_updates_the_readout_and_releasing_it_updates_the_page(visit: Any) -> None:
    page = wait_for_figure(visit("/compare"))
    initial_headline = headline(page).inner_text()
    grip = page.get_by_role("slider", name="target")
    page.evaluate(COUNT_FRAMES)
    x, y = center(grip)
    page.mouse.move(x, y)
    page.mouse.down()
    readouts = [readout_rows(page).all_inner_texts()]
    for offset in (40, 80, 120):
        page.mouse.move(x, y + offset, steps=4)
        readouts.append(readout_rows(page).all_inner_texts())
    assert page.evaluate("window.frames_sent") == 0, "the server was asked during the drag"
    assert len({str(words) for words in readouts}) == 4, "the list below did not follow"
    value = grip.get_attribute("aria-valuenow")
    page.mouse.up()
    expect(page).to_have_url(re.compile(rf"target={value}\b"))
    expect(headline(page)).to_contain_text(f"reach {value}")
    assert initial_headline != headline(page).inner_text()
    assert page.evaluate("window.frames_sent") >= 1

    grip.press("Home")
    grip.press("PageUp")
    grip.press("ArrowUp")
    assert grip.get_attribute("aria-valuenow") != value
    value = grip.get_attribute("aria-valuenow")
    expect(page).to_have_url(re.compile(rf"target={value}\b"))
    expect(headline(page)).to_contain_text(value or "?")
    wait_until_idle(page)
    assert grip.get_attribute("aria-valuenow") == value, "the server moved it"

    other = wait_for_figure(visit(page.url.split("/", 3)[3].join(["/", ""])))
    expect(headline(other)).to_have_text(headline(page).inner_text())
    assert readout_rows(other).all_inner_texts() == readout_rows(page).all_inner_texts()


def test_the_hairline_reads_every_run_and_a_click_pins_it(visit: Any) -> None:
    page = wait_for_figure(visit("/compare"))
    target_readout = readout_rows(page).all_inner_texts()
    box = page.locator(".frame-plot").first.bounding_box()
    assert box
    page.mouse.move(box["x"] + 0.03 * box["width"], box["y"] + 0.6 * box["height"])
    first_readout = readout_rows(page).all_inner_texts()
    assert first_readout != target_readout and all(re.search(r"\d\.\d{3}", words) for words in first_readout)
    expect(page.locator(".frame-hair").first).to_be_visible()
    page.mouse.move(box["x"] + 0.1 * box["width"], box["y"] + 0.6 * box["height"])
    second_readout = readout_rows(page).all_inner_texts()
    assert second_readout != first_readout
    page.mouse.down()
    page.mouse.up()
    page.mouse.move(5, 5)
    assert readout_rows(page).all_inner_texts() == second_readout, "a click pins what the hairline shows"
    page.keyboard.press("Escape")
    assert readout_rows(page).all_inner_texts() == target_readout


def test_changing_the_axes_keeps_the_other_settings(visit: Any) -> None:
    page = wait_for_figure(visit("/compare?target=0.8"))
    node = page.locator(".js-plotly-plot").first
    node.evaluate("node => { node.mark = 'the same'; }")
    words = headline(page).inner_text()
    assert "reach 0.8" in words
    page.get_by_role("radio", name="by seconds").or_(page.get_by_role("button", name="by seconds")).first.click()
    expect(page).to_have_url(re.compile(r"x=seconds"))
    expect(page).to_have_url(re.compile(r"target=0\.8"))
    expect(headline(page)).to_have_text(words)
    expect(readout_rows(page).first).to_contain_text(re.compile(r"\d\.\d\d s$"))
    for name in ("log x", "log y"):
        page.get_by_text(name, exact=True).click()
        expect(page).to_have_url(re.compile(f"{name.replace(' ', '_')}=true"))
    page.wait_for_function(
        "() => ['xaxis', 'yaxis'].every(a => document.querySelector('.js-plotly-plot').layout[a].type === 'log')"
    )
    wait_until_idle(page)
    grip, plot = center(page.get_by_role("slider", name="target")), page.locator(".frame-plot").first.bounding_box()
    assert plot and plot["y"] < grip[1] < plot["y"] + plot["height"]
    assert node.evaluate("node => node.mark") == "the same"
    other = wait_for_figure(visit("/compare?" + page.url.split("?")[1]))
    expect(headline(other)).to_have_text(words)
    assert readout_rows(other).all_inner_texts() == readout_rows(page).all_inner_texts()


def test_the_figure_is_saved_as_image_and_table(visit: Any, tmp_path: Path) -> None:
    page = wait_for_figure(visit("/compare"))
    frame = page.locator(".lineage-plot-frame").first
    files = save_figure(page, frame, "comparison", tmp_path)
    assert b"Transformer" in files["SVG"] and b"target 0.95" in files["SVG"]
    lines = files["CSV"].decode().splitlines()
    assert lines[0] == "figure,series,x,y"
    assert len({line.split(",")[1] for line in lines}) > 4


def test_the_curve_of_a_training_run_grows_and_stays_when_it_stops(visit: Any, seed: int) -> None:
    page = visit(f"{LONG_TRAINING_URL}{seed}")
    press_train(page)
    job = jobs_of_seed(page, seed)[0]
    curve = wait_for_figure(visit(f"/compare?runs={job['key']}", same_visitor=page), 1)
    node = curve.locator(".js-plotly-plot").first
    node.evaluate("node => { node.mark = 'the same'; }")
    last = "Math.max(...document.querySelector('.js-plotly-plot').data.flatMap(trace => trace.x))"
    initial_headline = curve.evaluate(last)
    wait_until(lambda: curve.evaluate(last) > initial_headline + 300)  # a stopped run ends at its last checkpoint
    assert post_job_command(page, job["key"], "stop", **{"X-Lineage": "1"}).status == 204
    expect(page.get_by_text(STOPPED)).to_be_visible()
    curve.evaluate(COUNT_FRAMES)
    wait_until(
        lambda: (
            curve.evaluate("window.frames_sent = 0")
            or curve.wait_for_timeout(1500)
            or not curve.evaluate("window.frames_sent")
        )
    )
    assert initial_headline < curve.evaluate(last) <= jobs_of_seed(page, seed)[0]["step"]
    assert node.evaluate("node => node.mark") == "the same", "the figure was drawn again"
