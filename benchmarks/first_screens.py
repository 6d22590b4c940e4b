"""What the first screen of each page holds, and how many gestures lead to eight surprising results.

    python -m benchmarks.first_screens [--pages NAMES] [--only-moments]

The first table counts words and controls of the first screen (1440 x 900 and 390 x 844) as
`tests/browser/page_size.py` defines them, gives the height of the page as it opens, and the number of slides of
presentation mode at 1280 x 720.
The second opens the page of each moment, makes its gestures as a visitor would, and looks for the result inside the
window.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

import typer
from playwright.sync_api import Browser, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from benchmarks.load.browser_timing import launch_chromium, open_whole_page
from benchmarks.load.server_state import fresh_server
from explorer.catalogue import PAGES
from tests.browser.page_size import MAX_CONTROLS, MAX_WORDS, PageSize, measure_page_size

WINDOWS = ((1440, 900), (390, 844))
WALL = (1280, 720)
TIMEOUT = 90_000  # ms


def measure(browser: Browser, url: str, address: str) -> tuple[PageSize, PageSize, int]:
    """Return the sizes in each of WINDOWS, and the number of slides."""
    sizes = []
    for width, height in WINDOWS:
        page = browser.new_page(viewport={"width": width, "height": height})
        page.set_default_timeout(TIMEOUT)
        open_whole_page(page, f"{url}/{address}")
        sizes.append(measure_page_size(page))
        page.close()
    page = browser.new_page(viewport={"width": WALL[0], "height": WALL[1]})
    open_whole_page(page, f"{url}/{address}?screen=projector")
    place = page.locator("nav .place b").first
    expect(place).to_have_text(re.compile(r"/ \d+$"), timeout=TIMEOUT)  # "1 / 7"; "1 / …" while the page computes
    slides = int(place.inner_text().split("/")[1])
    page.close()
    return sizes[0], sizes[1], slides


def print_sizes(browser: Browser, url: str, addresses: list[str]) -> None:
    """Print the table of the pages and its sums."""
    print(
        f"{'page':18} {'words':>6} {'controls':>9} {'height':>7}   {'words':>6} {'controls':>9} {'height':>7}", end=""
    )
    print(f" {'slides':>7}   (1440 x 900, then 390 x 844)")
    wides = []
    for address in addresses:
        wide, narrow, slides = measure(browser, url, address)
        wides.append(wide)
        cells = "   ".join(f"{size.words:6} {size.controls:9} {size.height:7}" for size in (wide, narrow))
        print(
            f"{address or 'home':18} {cells} {slides:7}   {'; '.join(wide.problems() + narrow.problems())}", flush=True
        )
    within = sum(size.words <= MAX_WORDS and size.controls <= MAX_CONTROLS for size in wides)
    words, controls = sum(size.words for size in wides), sum(size.controls for size in wides)
    print(f"{'all':18} {words:6,} {controls:9,}", end="   ")
    print(f"{within} of {len(wides)} pages have at most {MAX_WORDS} words and {MAX_CONTROLS} controls")


@dataclass(frozen=True)
class Moment:
    """A surprising result: the page that shows it, the gestures that lead there, and what is then in the window.

    gestures: CSS selectors (as playwright reads them) of what is pressed, in order
    shown: a selector of an element that must then be inside the window
    """

    name: str
    address: str
    gestures: tuple[str, ...]
    shown: str


MOMENTS = (
    Moment(
        "Without layer 1 “himself” becomes “herself”",
        "attention",
        ('role=switch[name="layer 1"]',),
        ":text('predicts “herself”')",
    ),
    Moment("Juliet is a neighbour of Romeo", "word-vectors", (), ":text('juliet')"),
    Moment("Without a mask a model repeats one letter", "masks", (), ":text-matches('king ?g{8}')"),
    Moment(
        "Heads form during a training",
        "attention",
        (".st-key-gaze-training button", "role=button[name='Play the training']"),
        ".training output:text('step ')",
    ),
    Moment(
        "Noise turns into words", "", (".st-key-home-train button",), "p:text-matches('writes at step [1-9][0-9]? of')"
    ),
    Moment(
        "The senses of “bank” part, layer by layer", "sentences", ("role=slider[name='Layer']",), ":text('layer 1')"
    ),
    Moment("Curves of five networks cross", "text", ("button:has-text('Toy')",), ".st-key-page-section-text-race svg"),
    Moment(
        "All eight seeds miss “not destroy”, which they never read",
        "negation",
        ("button:has-text('Six words')", "button:has-text('“not destroy” held out')"),
        ":text('wrong in 8 of 8 seeds')",
    ),
)


def reach(browser: Browser, url: str, moment: Moment) -> str:
    """Return “reached”, or what was missing, after making the gestures of a moment."""
    page = browser.new_page(viewport={"width": WINDOWS[0][0], "height": WINDOWS[0][1]})
    page.set_default_timeout(TIMEOUT)
    open_whole_page(page, f"{url}/{moment.address}")
    try:
        for gesture in moment.gestures:
            page.locator(gesture).first.click(timeout=10_000)
        expect(page.locator(moment.shown).first).to_be_in_viewport(timeout=30_000)
        return "reached"
    except (PlaywrightTimeout, AssertionError) as error:
        return f"NOT REACHED: {str(error).splitlines()[0]}"
    finally:
        page.close()


def main(
    pages: Annotated[str, typer.Option(help="URL paths, with commas; empty for all")] = "",
    only_moments: Annotated[bool, typer.Option(help="Leave out the table of pages")] = False,
) -> None:
    """Print the table of pages and that of the moments."""
    with fresh_server() as server, launch_chromium() as browser:
        if not only_moments:
            addresses = pages.split(",") if pages else [row.address for row in PAGES]
            print_sizes(browser, server.url, ["" if address == "home" else address for address in addresses])
        for moment in MOMENTS:
            place = f"{moment.address or 'home'}, {len(moment.gestures)} gestures"
            print(f"{moment.name}: {place}: {reach(browser, server.url, moment)}", flush=True)


if __name__ == "__main__":
    typer.run(main)
