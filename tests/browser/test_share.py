"""The menu Share: a link and code to copy, pictures and an animation of the figure, the projector and the class."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.steps import assert_fits, choose_to_share, wait_until_settled

MAX_BYTES = 2_000_000  # of an animation
# How many different pictures a video shows, and how long it is (s), which is known when it is read to its end.
READ_VIDEO = """async (bytes) => {
    const video = document.createElement("video");
    video.src = URL.createObjectURL(new Blob([new Uint8Array(bytes)], { type: "video/webm" }));
    const next = (event) => new Promise((done) => video.addEventListener(event, done, { once: true }));
    const canvas = document.createElement("canvas"), seen = new Set();
    await next("loadeddata");
    [canvas.width, canvas.height] = [video.videoWidth, video.videoHeight];
    video.currentTime = 1e6;
    await next("seeked");
    const seconds = video.currentTime;
    for (const at of [0, 1, 2, 3, 4, 5]) {
        video.currentTime = at;
        await next("seeked");
        canvas.getContext("2d").drawImage(video, 0, 0);
        seen.add(canvas.toDataURL("image/png"));
    }
    return { seconds, pictures: seen.size, width: canvas.width };
}"""


def test_the_menu_copies_links_and_code_by_the_keyboard_and_closes_on_escape(visit: Any) -> None:
    page = visit("/scaled-attention", 390, 844)
    button, menu = page.get_by_role("button", name="Share"), page.get_by_role("group", name="Share")
    button.focus()
    page.keyboard.press("Enter")
    expect(menu).to_be_visible()
    assert_fits(page)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(menu.get_by_role("textbox")).to_have_value(page.url)
    menu.get_by_role("button", name="Embed code").click()
    code = menu.get_by_role("textbox").input_value()
    assert code.startswith(f'<iframe src="{page.url}" title="How do two vectors')
    box = menu.bounding_box()
    assert box and box["x"] >= 0 and box["x"] + box["width"] <= 390
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(button).to_be_focused()


@pytest.mark.parametrize("path", ["/memory", "/tokens"])  # with a playback, and without
def test_the_figure_is_saved_as_a_picture_and_as_an_animation(visit: Any, tmp_path: Path, path: str) -> None:
    page = visit(path)
    for entry, start in (("Picture (PNG)", b"\x89PNG"), ("Picture (SVG)", b"<svg"), ("Animation", b"\x1aE\xdf\xa3")):
        with page.expect_download() as download:
            choose_to_share(page, entry)
        download.value.save_as(tmp_path / "file")
        content = (tmp_path / "file").read_bytes()
        assert content.startswith(start) and len(content) > 5_000
        page.keyboard.press("Escape")
    video = page.context.new_page().evaluate(READ_VIDEO, list(content))  # whose policy allows videos
    assert len(content) < MAX_BYTES and video["pictures"] >= 4 and 3 < video["seconds"] < 12, video


def test_a_browser_that_cannot_record_says_so(visit: Any) -> None:
    page = visit("/memory")
    page.evaluate("() => { delete window.MediaRecorder; }")
    choose_to_share(page, "Animation")
    expect(page.get_by_text("This browser cannot record an animation.")).to_be_visible()


def test_a_page_is_given_to_a_class_and_the_lessons_are_not(visit: Any) -> None:
    page = visit("/scaled-attention?divided=0")
    choose_to_share(page, "Give to a class")
    expect(page.get_by_role("heading", name="For your class")).to_be_visible()
    wait_until_settled(page)
    page.get_by_role("button", name="Share").click()
    expect(page.get_by_role("button", name="Projector")).to_be_visible()
    expect(page.get_by_role("button", name="Give to a class")).to_be_hidden()
