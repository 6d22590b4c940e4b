"""How long a visitor waits for the first picture of each page, and for the whole page, in Chromium.

    python -m benchmarks.first_view [--pages NAMES] [--repeat 3] [--no-cold] [--minutes 7]

Seconds count from the start of the navigation, for a visitor with an empty browser cache and a window of 1440 x 900.

Cold: a server is started for each page; its first visitor opens that page as soon as the health route answers, while
the warm-up still imports torch. Warm: the page has been opened once before on this server, which has nothing to do when
the next visitor comes. With --no-cold all pages share one server. A server has an empty LINEAGE_HOME; the arrays of
tokens in LINEAGE_CACHE stay as they are.

First picture: inside the window, a component shows a drawing (a figure of plotly with its traces, another svg with
shapes, a canvas that is not blank) or a row of a table or list that holds text. The panels that every page has do not
count, and nothing counts inside an element that waits (aria-busy, "waiting", "outdated"). The page of lessons has no
component: there it is the button of the first lesson.

Complete: no script of the page runs, no element waits, no placeholder ("The model is reading …") is there, and every
component has its content; the page must stay so for a second, which is not counted. Only the first of the warm visits
waits for that. A page is left after a minute, and its time is then printed as >60.

The pages share --minutes: a page that has used its share gets fewer warm visits ("visits"), but at least one; when all
minutes are over, no page is opened any more, and what was not measured is printed as –.

Server and browser share the machine: with other work on it the times are longer. "load" is its load average then.
"""

from __future__ import annotations

import math
import os
import statistics
import time
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer
from playwright.sync_api import Browser
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from benchmarks.load.browser_timing import SIZE, launch_chromium
from benchmarks.load.server_state import fresh_server
from benchmarks.machine import describe_machine
from explorer.catalogue import PAGES
from tests.serving import Server

BOUND = 60.0  # seconds after which a page is left
COLUMNS = ("picture", "worst", "complete", "picture", "complete")
WARM_BUDGET, COLD_BUDGET = 2.0, 4.0  # seconds until the first picture
# Runs in the page from the start of the navigation, and writes seconds into window.firstView.
WATCH = """(() => {
  const WAITING = "[aria-busy=true], .waiting, [class*=lineage-waiting], [class*=lineage-outdated]";
  const COMMON = [".lineage-address", ".lineage-jobs-panel", "[class*=lineage-presentation]"];
  const COMPONENT = `[data-testid=stMain] .lineage:not(${COMMON})`;
  const TRACES = ".main-svg :is(.plot, .overplot) :is(path, image, text)"; // of plotly; axes are elsewhere
  const SHAPES = "svg:not(.main-svg, .icon) :is(path, rect, circle, line, polyline, polygon, text, image)";
  const ROWS = "tbody tr, .rows > *, ol.chips > *";
  const FIRST_LESSON = "[data-testid=stMain] [data-testid=stButton] button";
  const SETTLED = 1000, EVERY = 50; // ms
  const result = (window.firstView = { picture: null, shown: "", complete: null });
  const sample = Object.assign(document.createElement("canvas"), { width: 32, height: 32 });
  const pen = sample.getContext("2d", { willReadFrequently: true });

  const isInWindow = (element) => {
    const { top, bottom, left, right, width, height } = element.getBoundingClientRect();
    return width + height > 0 && top < innerHeight && bottom > 0 && left < innerWidth && right > 0;
  };
  const isVisible = (element) =>
    isInWindow(element) &&
    element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) &&
    !element.closest(WAITING);
  const isPainted = (canvas) => {
    if (!canvas.width || !canvas.height) return false;
    pen.clearRect(0, 0, 32, 32);
    pen.drawImage(canvas, 0, 0, 32, 32);
    return pen.getImageData(0, 0, 32, 32).data.some(Boolean);
  };
  const isPlaceholder = (text) => /\\w ?…$/.test(text.trim());
  const holdsText = (row) => Boolean(row.textContent.trim()) && !isPlaceholder(row.textContent);
  const isLarge = (element) => element.clientWidth >= 40 && element.clientHeight >= 20; // no icon
  const isPicture = (component) => {
    const some = (selector, test) =>
      [...component.querySelectorAll(selector)].some((one) => isVisible(one) && test(one));
    return (
      some(TRACES, () => true) ||
      some(SHAPES, (shape) => isLarge(shape.closest("svg"))) ||
      some("canvas", (canvas) => isLarge(canvas) && isPainted(canvas)) ||
      some(ROWS, holdsText)
    );
  };
  const firstPicture = () => {
    if (location.pathname === "/lessons") return [...document.querySelectorAll(FIRST_LESSON)].find(isVisible);
    const found = [...document.querySelectorAll(COMPONENT)].find((one) => isInWindow(one) && isPicture(one));
    return found && ([...found.querySelectorAll(".lineage")].find(isPicture) ?? found); // a section holds components
  };
  const isComplete = () =>
    result.picture !== null &&
    document.querySelector("[data-testid=stApp]")?.dataset.testScriptState === "notRunning" &&
    !document.querySelector(`[data-testid=stSkeleton], :is([data-testid=stMain], .lineage):is(${WAITING})`) &&
    !document.querySelector(`[data-testid=stMain] :is(${WAITING})`) &&
    [...document.querySelectorAll("[data-testid=stMarkdown]")].every((one) => !isPlaceholder(one.textContent)) &&
    [...document.querySelectorAll(COMPONENT)].every((one) => one.childElementCount) &&
    [...document.querySelectorAll(".frame-plot")].every((one) => !one.clientWidth || one.childElementCount);

  let since = null; // the moment from which the page has been complete
  const look = () => {
    const now = performance.now();
    if (result.picture === null) {
      const found = firstPicture();
      if (found) {
        result.picture = now / 1000;
        result.shown = found.className.match(/\\blineage-([a-z-]+)/)?.[1] ?? "button";
      }
    }
    if (!isComplete()) since = null;
    else if ((since ??= now) + SETTLED <= now) {
      result.complete = since / 1000;
      return;
    }
    setTimeout(() => requestAnimationFrame(look), EVERY);
  };
  look();
})()"""


@dataclass
class PageTimes:
    """Seconds until the first picture and until everything is there, one entry for each measurement."""

    pictures: list[float] = field(default_factory=list)
    complete: list[float] = field(default_factory=list)
    shown: str = ""  # the component with the first picture


def wait_until_idle(server: Server) -> None:
    """Wait until the server uses less than a tenth of a core, for at most 20 seconds."""
    assert server.process
    stat = Path(f"/proc/{server.process.pid}/stat")

    def cpu_seconds() -> float:
        fields = stat.read_text("utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    deadline = time.monotonic() + 20
    used = cpu_seconds()
    while time.monotonic() < deadline:
        time.sleep(0.3)
        before, used = used, cpu_seconds()
        if used - before < 0.03:
            return


def visit_page(browser: Browser, server: Server, address: str, times: PageTimes, until_complete: bool) -> None:
    """Open a page for a visitor with an empty cache, add what it takes to `times`, and close it.

    until_complete: wait until the page is complete, not only for its first picture.
    """
    context = browser.new_context(viewport=SIZE)  # type: ignore[arg-type]
    page = context.new_page()
    page.add_init_script(WATCH)
    page.goto(f"{server.url}/{address}", wait_until="commit")
    awaited = "complete" if until_complete else "picture"
    with suppress(PlaywrightTimeout):
        page.wait_for_function(f"() => window.firstView?.{awaited}", timeout=1e3 * BOUND)
    found = page.evaluate("window.firstView")
    context.close()
    times.pictures.append(math.inf if found["picture"] is None else found["picture"])
    if until_complete:
        times.complete.append(math.inf if found["complete"] is None else found["complete"])
    times.shown = found["shown"] or times.shown


def measure_page(
    browser: Browser, server: Server, address: str, repeat: int, share: float, end: float
) -> tuple[PageTimes, PageTimes]:
    """Return the times of the first visit of a page on a server, and those of `repeat` later ones.

    share, end: times (time.monotonic) after which no second warm visit begins, and none at all.
    """
    first, later = PageTimes(), PageTimes()
    visit_page(browser, server, address, first, until_complete=True)
    for number in range(repeat):
        wait_until_idle(server)
        if time.monotonic() < (share if number else end):
            visit_page(browser, server, address, later, until_complete=number == 0)
    return first, later


def format_seconds(seconds: Sequence[float]) -> str:
    """Return the median in seconds: “–” if nothing was measured."""
    return f"{statistics.median(seconds):.1f}".replace("inf", f">{BOUND:.0f}") if seconds else "–"


def format_cells(name: str, cells: Sequence[str]) -> str:
    """Return the beginning of a line: a name and a cell for each of COLUMNS."""
    return f"{name:18}" + "".join(f"{cell:>10}" for cell in cells)


def format_row(address: str, cold: PageTimes, warm: PageTimes) -> str:
    """Return the line of one page."""
    worst = [max(warm.pictures)] if warm.pictures else []
    columns = (warm.pictures, worst, warm.complete, cold.pictures, cold.complete)
    cells = format_cells(address or "home", [format_seconds(column) for column in columns])
    return f"{cells}{len(warm.pictures):8}{os.getloadavg()[0]:6.1f}  {warm.shown or cold.shown}"


def format_count(what: str, budget: float, times: Sequence[PageTimes]) -> str:
    """Return how many of the measured pages show their first picture, at the median, within a number of seconds."""
    medians = [statistics.median(each.pictures) for each in times if each.pictures]
    within = sum(seconds <= budget for seconds in medians)
    return f"{what}: {within} of {len(medians)} pages show their first picture within {budget:g} s"


def main(
    pages: Annotated[str, typer.Option(help="URL paths with commas between, “home” for the first; default: all.")] = "",
    repeat: Annotated[int, typer.Option(help="Warm visits of each page.", min=0, max=20)] = 3,
    cold: Annotated[bool, typer.Option(help="Start a server for each page and measure its first visit.")] = True,
    minutes: Annotated[float, typer.Option(help="Time that the pages share.", max=60)] = 7,
) -> None:
    """Measure the first view of every page."""
    known = {row.address or "home": row.address for row in PAGES}
    names = pages.split(",") if pages else list(known)
    if unknown := [name for name in names if name not in known]:
        raise typer.BadParameter(f"no page {', '.join(unknown)}; there are {', '.join(known)}")
    end = time.monotonic() + 60 * minutes
    print(describe_machine(), end="\n\n")
    print(format_cells("seconds", ["warm", "warm", "warm", "cold", "cold"]))
    print(format_cells("page", COLUMNS) + "  visits  load  first picture")
    cold_times, warm_times = [], []
    with launch_chromium() as browser, nullcontext() if cold else fresh_server() as shared:
        for index, name in enumerate(names):
            first, later = PageTimes(), PageTimes()
            if (now := time.monotonic()) < end:
                share = now + (end - now) / (len(names) - index)
                with nullcontext(shared) if shared else fresh_server() as server:
                    first, later = measure_page(browser, server, known[name], repeat, share, end)
            cold_times.append(first if cold else PageTimes())
            warm_times.append(later)
            print(format_row(known[name], cold_times[-1], later), flush=True)
    print()
    if repeat:
        print(format_count("warm", WARM_BUDGET, warm_times))
    if cold:
        print(format_count("cold", COLD_BUDGET, cold_times))
    print(f"load {os.getloadavg()[0]:.1f} after")


if __name__ == "__main__":
    typer.run(main)
