"""Actions and locators that several browser tests share."""

from __future__ import annotations

import base64
import json
import re
from functools import partial
from pathlib import Path
from typing import Any

from playwright.sync_api import Frame, FrameLocator, Locator, Page, expect

from explorer.catalogue import PAGES
from tests import waiting

wait_until = partial(waiting.wait_until, interval=0.1)  # each call may ask the browser or the server
RETRIES = 3  # of a request whose idle connection the server has just closed
# Training that takes 40 seconds or more; each test uses its own seed.
LONG_TRAINING_URL = "/negation?models=lstm&replicas=8&lstm.epochs=2000&seed="  # longer than every test
# The script of the page has ended, every component and style sheet is there, nothing waits or fades, and what can be
# pressed has been in its place for 0.3 seconds.
SETTLED = """() => {
    const isIdle = document.querySelector("[data-testid=stApp]")?.dataset.testScriptState === "notRunning"
        && !document.querySelector("[data-testid=stSkeleton], .lineage.waiting, .lineage-section[aria-busy]")
        && !document.querySelector(".lineage-outdated, .lineage-fitting")
        && document.querySelector(".lineage-share-button")
        && [...document.querySelectorAll(".lineage:not([hidden])")].every((place) => place.childElementCount)
        && [...document.querySelectorAll(".frame-plot")].every((plot) => !plot.clientWidth || plot.childElementCount)
        && [...document.querySelectorAll("link[rel=stylesheet]")].every((link) => link.sheet)
        && !document.getAnimations().some((moving) => moving instanceof CSSTransition);
    const boxes = [...document.querySelectorAll("[data-testid=stElementContainer], .lineage :is(button, input, svg)")]
        .map((each) => Object.values(each.getBoundingClientRect().toJSON()).map(Math.round));
    const shape = isIdle && boxes.join();
    window.stillPolls = shape && shape === window.lastShape ? window.stillPolls + 1 : 0;
    window.lastShape = shape;
    if (window.stillPolls < 3) return false;
    delete window.lastShape;
    return true;
}"""
NEXT_FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
PROGRESS = re.compile(r"^\d+%, about \d.* left$")
STOPPED = "Stopped: the curves end where it was. Go on takes it up from there."


def playback_frame(page: Page) -> Locator:
    """Return the plot frame with the playback controls."""
    return page.locator(".lineage-plot-frame", has=page.locator(".frame-controls"))


def playback_epoch(page: Page) -> int:
    """Return the epoch that the playback shows."""
    return int(re.findall(r"\d+", page.locator(".frame-position").inner_text())[0])


def button(page: Page, name: str) -> Locator:
    """Return the first button of this name, after which it may say a time; several of one name do the same."""
    return page.get_by_role("button", name=re.compile(f"(^|\\s){re.escape(name)}(, about .*)?$")).first


def press_train(page: Page) -> None:
    """Press Train and wait until the progress is shown."""
    button(page, "Train").click()
    expect(page.locator(".frame-say")).to_have_text(PROGRESS)


def go_to_page(page: Page, name: str) -> None:
    """Open another page by the navigation menu."""
    wait_until_idle(page)  # a run of the page closes the menu
    section = next(row.section for row in PAGES if row.title == name)
    if section:
        page.get_by_test_id("stTopNavSection").filter(has_text=section).click()
    links = page.locator("[data-testid=stTopNavLink], [data-testid=stTopNavDropdownLink]")
    links.filter(has_text=re.compile(f"^{name}$")).click()


def choose_to_share(page: Page, entry: str) -> None:
    """Choose an entry of the menu Share."""
    page.get_by_role("button", name="Share").click()
    page.get_by_role("group", name="Share").get_by_role("button", name=entry).click()


def import_file(page: Page | FrameLocator, file: Path) -> None:
    """Choose a file in the open import form and press its button.

    The name of the file appears between the two and moves the button; a click that begins before would be lost.
    """
    page.locator("input[type=file]").set_input_files(file)
    expect(page.get_by_test_id("stFileChipName").filter(has_text=file.name)).to_be_visible()
    page.get_by_role("button", name="Import it").click()


def jobs_panel(page: Page) -> Locator:
    """Return the jobs panel."""
    return page.get_by_label("Trainings on this server")


def wait_until_idle(page: Page | FrameLocator) -> None:
    """Wait until the script run has ended and the code of every widget, which is loaded on first use, is there."""
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    expect(page.get_by_test_id("stSkeleton")).to_have_count(0)


def wait_until_settled(page: Page | Frame) -> None:
    """Wait until the page is idle, shows all its results, and nothing on it has moved for 0.3 seconds."""
    wait_until_idle(page)
    page.wait_for_function(SETTLED, polling=100)


def open_page(page: Page, url: str) -> Page:
    """Open a page of the app, and return it when it has settled: what moves while it is pressed loses the click."""
    page.goto(url)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    wait_until_settled(page)
    return page


def assert_fits(page: Page) -> None:
    """Wait until nothing on the page is wider than its screen: after a change of size, figures are drawn anew."""
    page.wait_for_function(
        "() => [document.documentElement, document.querySelector('[data-testid=stMain]')]"
        ".every(node => node.scrollWidth === node.clientWidth)"
    )


def placeholders(page: Page) -> Locator:
    """Return the placeholders of sections that wait for a result."""
    return page.locator(".lineage-section[aria-busy]")


def wait_for_url_params(page: Page, **params: str) -> None:
    """Wait until the URL has these parameters; an empty value means that the parameter is absent."""
    page.wait_for_function(
        "params => Object.entries(params).every(([name, text]) =>"
        " (new URLSearchParams(location.search).get(name) ?? '') === text)",
        arg=params,
    )
    wait_until_idle(page)


def jobs_of_seed(page: Page, seed: int) -> list[dict[str, Any]]:
    """Return the rows of the jobs panel for one seed."""
    answer = page.request.get(f"{origin(page)}/jobs", max_retries=RETRIES).json()
    return [job for job in answer["jobs"] if f"seed = {seed}" in job["detail"].split(", ")]


def post_job_command(page: Page, key: str, verb: str, **headers: str) -> Any:
    """Send the request of a button of the jobs panel, with this visitor's cookie."""
    return page.request.post(f"{origin(page)}/jobs/{key}/{verb}", headers=headers, max_retries=RETRIES)


def origin(page: Page) -> str:
    """Return the origin of a page's URL."""
    return "/".join(page.url.split("/", 3)[:3])


def save_figure(page: Page, frame: Locator, name: str, folder: Path, *kinds: str) -> dict[str, bytes]:
    """Save a figure in some formats, or in all of them, and return the files by format."""
    files = {}
    for kind in kinds or ("PNG", "SVG", "CSV"):
        frame.get_by_role("button", name="Save this figure").click()
        with page.expect_download() as download:
            frame.get_by_role("menuitem", name=kind, exact=True).click()
        assert download.value.suggested_filename == f"{name}.{kind.lower()}"
        download.value.save_as(folder / kind)
        files[kind] = (folder / kind).read_bytes()
    if not kinds:
        assert files["PNG"].startswith(b"\x89PNG") and len(files["PNG"]) > 10_000
        assert files["SVG"].startswith(b"<svg")
    return files


class WebSocketRecorder:
    """Record the messages that a page sends to its server from now on."""

    def __init__(self, page: Page) -> None:
        self.frames: list[bytes] = []
        listening = page.context.new_cdp_session(page)
        listening.on(
            "Network.webSocketFrameSent",
            lambda event: self.frames.append(base64.b64decode(event["response"]["payloadData"])),
        )
        listening.send("Network.enable")

    def events(self) -> list[tuple[str, Any]]:
        """Return the events of components in the order in which they were sent, without those of late sections."""
        decoder, events = json.JSONDecoder(), {}
        for frame in self.frames:
            for log in frame.split(b'"events":')[1:]:  # a component sends its last few events each time
                entries, _ = decoder.raw_decode(log.decode(errors="replace").lstrip())
                events |= {number: (name, value) for number, _, name, value in entries if name != "over"}
        return [events[number] for number in sorted(events)]
