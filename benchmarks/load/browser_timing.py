"""A page in Chromium, watched: its frames, what it says to the server, and how soon something is there."""

from __future__ import annotations

import itertools
import math
import shutil
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Locator, Page, Response, sync_playwright

from tests.browser.conftest import FLAGS
from tests.browser.steps import placeholders, wait_until_idle

CHROMIUM = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
SIZE = {"width": 1440, "height": 900}
FRAME, LATE = 16.7, 33.0  # ms between two frames: the median, and of a hundred frames the fifth slowest
RECORD = """(what) => {
  const times = [], seen = new Set(), shown = document.querySelector(what);
  const step = (now) => {
    times.push(now);
    seen.add(shown.textContent);
    if (!recording.over) requestAnimationFrame(step);
  };
  window.recording = { times, seen, over: false };
  requestAnimationFrame(step);
}"""
RECORDED = "() => { recording.over = true; return [recording.times, recording.seen.size]; }"
# Milliseconds from an event until what is looked for was there in one frame, and that frame is over.
AFTER = """() => {
  const look = (told) => requestAnimationFrame(() => (THERE ? requestAnimationFrame(told) : look(told)));
  window.taken = new Promise((done) => addEventListener("EVENT", (event) => {
    look(() => done(performance.now() - event.timeStamp));
  }, { capture: true, once: true }));
}"""


@dataclass(frozen=True)
class Timing:
    """What was measured, and what it must be at most (`least`: at least)."""

    what: str
    value: float
    unit: str = ""
    budget: float | None = None
    least: bool = False

    @property
    def holds(self) -> bool | None:
        """As it is printed: a screen of 60 Hz shows a frame every 16.67 ms."""
        if self.budget is None:
            return None
        return self.value >= self.budget if self.least else round(self.value, 1) <= self.budget

    def __str__(self) -> str:
        line = f"  {self.what:56} {self.value:9,.{2 if self.least else int(self.unit == 'ms')}f} {self.unit:17}"
        if self.budget is None:
            return line.rstrip()
        limit = f"at {'least' if self.least else 'most'} {self.budget:,g}"
        return f"{line} {limit:14} {'holds' if self.holds else 'DOES NOT HOLD'}"


class TimedPage:
    """A page of a visitor of its own, and all that it says to the server."""

    def __init__(self, browser: Browser, address: str, path: str) -> None:
        self.websocket_frames = 0  # websocket frames
        self.request_paths: list[str] = []  # paths of requests
        self.stream_paths: list[str] = []  # paths of streams of events
        self.array_responses: list[Response] = []
        self.page = browser.new_context(viewport=SIZE).new_page()  # type: ignore[arg-type]
        self.page.set_default_timeout(120_000)
        self.page.on("websocket", lambda socket: socket.on("framesent", lambda _: self.count_message("websocket")))
        self.page.on("request", lambda request: self.count_message(urlsplit(request.url).path))
        self.page.on("response", self.keep_response)
        self.page.on("pageerror", lambda error: print(f"  error in the browser: {error}"))
        self.metrics = self.page.context.new_cdp_session(self.page)
        self.metrics.send("Performance.enable", {"timeDomain": "threadTicks"})
        self.page.goto(address + path)
        self.wait_until_quiet()

    def count_message(self, what: str) -> None:
        """The panel of trainings asks every few seconds, whatever one does: that does not count."""
        self.websocket_frames += what == "websocket"
        self.request_paths += [what] * (what.startswith("/") and what != "/jobs")

    def keep_response(self, response: Response) -> None:
        """Keep the packed arrays and the addresses of streams."""
        path, kind = urlsplit(response.url).path, response.headers.get("content-type", "")
        if path.startswith("/results/"):
            self.array_responses += [response] * (kind == "application/octet-stream")
            self.stream_paths += [path] * kind.startswith("text/event-stream")

    def wait_until_quiet(self, seconds: float = 3) -> None:
        """Until the server is done and the page has said nothing for so long."""
        wait_until_idle(self.page)
        until, said = time.monotonic() + 180, -1
        while said != (said := self.websocket_frames + len(self.request_paths)):
            if time.monotonic() > until:
                raise TimeoutError("the page never stops asking the server")
            self.page.wait_for_timeout(1e3 * seconds)

    def cpu_seconds(self) -> tuple[float, float]:
        """Seconds of the processor for scripts, and for everything on the main thread, since the page began."""
        found = {each["name"]: each["value"] for each in self.metrics.send("Performance.getMetrics")["metrics"]}
        return found["ScriptDuration"], found["TaskDuration"]


def measure_frames(
    watched: TimedPage, what: str, shown: str, seconds: float, move: Callable[[float], None] | None, least: int = 1
) -> list[Timing]:
    """Frames while something is moved, `move` getting seconds; `shown` is the words that must change by it."""
    page = watched.page
    page.wait_for_timeout(300)
    sent, asked = watched.websocket_frames, len(watched.request_paths)
    before = watched.cpu_seconds()
    page.evaluate(RECORD, shown)
    start = time.perf_counter()
    while move and (passed := time.perf_counter() - start) < seconds:
        move(passed)
    if not move:
        page.wait_for_timeout(1e3 * seconds)
    times, seen = page.evaluate(RECORDED)
    work = [1e3 * (b - a) / len(times) for a, b in zip(before, watched.cpu_seconds(), strict=True)]
    page.wait_for_timeout(200)  # what was said meanwhile is heard
    if seen < least:
        raise RuntimeError(f"{what}: {shown} showed {seen} different texts, it should be {least} or more")
    frames = sorted(b - a for a, b in itertools.pairwise(times))
    budgets = (FRAME, LATE) if move else (None, None)
    figures = [
        Timing(f"{what}: frame time, median", statistics.median(frames), "ms", budgets[0]),
        Timing(f"{what}: frame time, p95", frames[int(0.95 * len(frames))], "ms", budgets[1]),
        Timing(f"{what}: scripts a frame", work[0], "ms"),
        Timing(f"{what}: all of the main thread a frame", work[1], "ms"),
    ]
    if move:
        figures.append(Timing(f"{what}: websocket frames sent", watched.websocket_frames - sent, budget=0))
        figures.append(Timing(f"{what}: requests", len(watched.request_paths) - asked, budget=0))
    return figures


def move_over(page: Page, place: Locator, down: bool = False, across: float | None = None) -> Callable[[float], None]:
    """Moves the mouse to and fro over a place, as far as it is on the screen; `across`: where in its other direction,
    None: to and fro there too."""
    place.evaluate("(it) => it.scrollIntoView({ block: 'center' })")
    page.wait_for_timeout(300)
    box = place.bounding_box()
    assert box
    top, bottom = max(box["y"] + 2, 70), min(box["y"] + box["height"] - 2, SIZE["height"] - 4)
    left, right = box["x"] + 2, box["x"] + box["width"] - 2

    def move(passed: float) -> None:
        first, second = (0.5 - 0.5 * math.cos(2 * math.pi * passed / period) for period in (4, 2.7))
        x, y = (second, first) if down else (first, second)
        if across is not None:
            x, y = (across, y) if down else (x, across)
        page.mouse.move(left + (right - left) * x, top + (bottom - top) * y)

    return move


def measure_drag(
    watched: TimedPage, what: str, slider: Locator, shown: str, seconds: float, least: int
) -> list[Timing]:
    """A slider that is dragged to and fro. When it is let go the page must hear of it: so the counting is proved."""
    move = move_over(watched.page, slider, across=0.5)
    move(0.5)
    watched.page.mouse.down()
    figures = measure_frames(watched, what, shown, seconds, move, least)
    move(1.3)  # where it has not been when it was taken
    sent = watched.websocket_frames
    watched.page.mouse.up()
    watched.wait_until_quiet(1)
    if watched.websocket_frames == sent:
        raise RuntimeError(f"{what}: the page was not told where the slider was let go")
    return figures


def milliseconds_until(page: Page, event: str, there: str, do: Callable[[], None]) -> float:
    """Milliseconds from the event that something done makes until `there`, an expression, is true on the screen."""
    page.evaluate(AFTER.replace("EVENT", event).replace("THERE", there))
    do()
    return float(page.evaluate("window.taken"))


def open_whole_page(page: Page, url: str) -> None:
    """Open a page and wait until all its sections are there."""
    page.goto(url)
    wait_until_idle(page)
    while placeholders(page).count():
        page.wait_for_timeout(500)
    page.wait_for_timeout(1_500)


@contextmanager
def launch_chromium() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if found is None:
        raise SystemExit("There is no Chromium on this machine: install Debian's `chromium-headless-shell`.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield browser
        browser.close()
