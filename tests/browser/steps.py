"""What several of these tests do and look at."""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, expect

# Forty seconds and more of training, of which a test sees a part; each seed belongs to one test.
LONG = "/negation?models=rnn&rnn.epochs=2000&seed="
PROGRESS = re.compile(r"^\d+%, about \d.* left,")
STOPPED = "Stopped: the curves end where it was. Go on takes it up from there, to the same end."


def race(page: Page) -> Locator:
    """The frame that has the playback."""
    return page.locator(".lineage-frame", has=page.locator(".frame-controls"))


def position(page: Page) -> int:
    """The epoch that the playback shows."""
    return int(re.findall(r"\d+", page.locator(".frame-position").inner_text())[0])


def button(page: Page, name: str) -> Locator:
    """A button of the page; where there are two of one name they do the same."""
    return page.get_by_role("button", name=name, exact=True).first


def train(page: Page) -> None:
    """Press Train, and wait until it does."""
    button(page, "Train").click()
    expect(page.locator(".frame-say")).to_have_text(PROGRESS)


def go(page: Page, name: str) -> None:
    """To another page, by the menu."""
    page.get_by_test_id("stTopNavLink").filter(has_text=name).click()


def corner(page: Page) -> Locator:
    """The panel of the trainings."""
    return page.get_by_label("Trainings on this server")


def calm(page: Page) -> None:
    """Until the server has said all it has to say, and every widget's code is there.

    Streamlit loads the code of each kind of widget as it meets it; a widget that comes late moves the page, and
    a click whose two halves fall on different things is none.
    """
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    expect(page.get_by_test_id("stSkeleton")).to_have_count(0)


def meanwhile(page: Page) -> Locator:
    """What stands where something is still being worked out."""
    return page.get_by_test_id("stMarkdown").filter(has_text=re.compile(r"\w …$"))


def holds(page: Page, **wanted: str) -> None:
    """The address holds these parts; an empty one is none."""
    page.wait_for_function(
        "wanted => Object.entries(wanted).every(([name, text]) =>"
        " (new URLSearchParams(location.search).get(name) ?? '') === text)",
        arg=wanted,
    )
    calm(page)


def jobs(page: Page, seed: int) -> list[dict[str, Any]]:
    """What the server tells this visitor of the trainings of one seed."""
    answer = page.request.get(f"{origin(page)}/jobs").json()
    return [job for job in answer["jobs"] if f"seed = {seed}" in job["detail"].split(", ")]


def until(what: Callable[[], Any], seconds: float = 90) -> Any:
    """Ask until the answer is yes."""
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, "it never came"
        time.sleep(0.1)
    return found


def wish(page: Page, key: str, verb: str, **headers: str) -> Any:
    """What the panel's buttons ask of the server, with this visitor's cookie."""
    return page.request.post(f"{origin(page)}/jobs/{key}/{verb}", headers=headers)


def origin(page: Page) -> str:
    """The server of a page."""
    return "/".join(page.url.split("/", 3)[:3])


def saved(page: Page, frame: Locator, name: str, folder: Path) -> dict[str, bytes]:
    """The files that a figure is saved as, by their kind."""
    files = {}
    for kind in ("PNG", "SVG", "CSV"):
        frame.get_by_role("button", name="Save this figure").click()
        with page.expect_download() as download:
            frame.get_by_role("menuitem", name=kind).click()
        assert download.value.suggested_filename == f"{name}.{kind.lower()}"
        download.value.save_as(folder / kind)
        files[kind] = (folder / kind).read_bytes()
    assert files["PNG"].startswith(b"\x89PNG") and len(files["PNG"]) > 10_000
    assert files["SVG"].startswith(b"<svg")
    return files


class Wire:
    """What a page tells its server from now on."""

    def __init__(self, page: Page) -> None:
        self.page, self.frames = page, list[bytes]()
        listening = page.context.new_cdp_session(page)
        listening.on(
            "Network.webSocketFrameSent",
            lambda event: self.frames.append(base64.b64decode(event["response"]["payloadData"])),
        )
        listening.send("Network.enable")

    def said(self) -> list[tuple[str, Any]]:
        """What its instruments told, in this order."""
        told = [event for frame in self.frames for event in re.findall(rb'\[\{"event":.*?\}\]', frame)]
        every = [(each["event"], each["value"]) for text in told for each in json.loads(text)]
        return [one for one in every if one[0] != "stands"]  # that the picture is there, after each gesture

    def quiet(self) -> int:
        """Until the page looks for nothing any more; how often it has spoken by then."""
        waiting = meanwhile(self.page)
        for _ in range(90):
            before = len(self.frames)
            self.page.wait_for_timeout(1000)
            if len(self.frames) == before and not waiting.count():  # a busy browser may look again late
                calm(self.page)
                return before
        raise AssertionError("it goes on asking")
