"""How high each page is, how many words its first screen has, and how many slides presentation mode makes of it.

    python -m benchmarks.page_sizes [--pages NAMES]

Heights are those of the page as it opens, with nothing unfolded, in windows of 1440 x 900 and 390 x 844. Words
of two or more letters count, numbers do not. Slides are those of presentation mode at 1280 x 720.
"""

from __future__ import annotations

from typing import Annotated

import typer
from playwright.sync_api import Browser

from benchmarks.load.browser_timing import launch_chromium, open_whole_page
from benchmarks.load.server_state import fresh_server
from explorer.catalogue import PAGES
from tests.browser.page_size import MAX_HEIGHTS, measure_page_size

WINDOWS = ((1440, 900), (390, 844))
WALL = (1280, 720)
TIMEOUT = 90_000  # ms


def measure(browser: Browser, url: str, address: str) -> tuple[list[int], list[int], int]:
    """Return the heights and the words in each of WINDOWS, and the number of slides."""
    heights, words = [], []
    for width, height in WINDOWS:
        page = browser.new_page(viewport={"width": width, "height": height})
        page.set_default_timeout(TIMEOUT)
        open_whole_page(page, f"{url}/{address}")
        size = measure_page_size(page)
        heights.append(size.height)
        words.append(size.words)
        page.close()
    page = browser.new_page(viewport={"width": WALL[0], "height": WALL[1]})
    open_whole_page(page, f"{url}/{address}?screen=projector")
    place = page.locator("nav .place b").first.inner_text()  # "1 / 7"
    page.close()
    return heights, words, int(place.split("/")[1])


def main(pages: Annotated[str, typer.Option(help="URL paths, with commas; empty for all")] = "") -> None:
    """Print a table of all pages."""
    addresses = pages.split(",") if pages else [row.address for row in PAGES]
    print(f"{'page':18} {'1440':>6} {'390':>6} {'words':>6} {'words':>6} {'slides':>6}")
    with fresh_server() as server, launch_chromium() as browser:
        for address in addresses:
            (wide, narrow), words, slides = measure(browser, server.url, address)
            mark = "" if wide <= MAX_HEIGHTS[1440] and narrow <= MAX_HEIGHTS[390] else "  too high"
            print(f"{address or 'home':18} {wide:6} {narrow:6} {words[0]:6} {words[1]:6} {slides:6}{mark}", flush=True)


if __name__ == "__main__":
    typer.run(main)
