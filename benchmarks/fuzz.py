"""Random gestures on every page: blank pages, exceptions, and differences between the screen and the URL.

    python -m benchmarks.fuzz [--gestures 420] [--pages NAMES] [--seed 0] [--minutes 10]

NAMES are paths of pages with commas between (`home` for the first one). The gestures of a page are divided into
episodes of 30 by visitors of their own, each with the next seed, half in a wide window and half on a phone; at the end
of an episode the URL is opened anew and compared. Every failure is printed with its seed and the last 15 gestures;
`--pages NAME --seed SEED --gestures 30` repeats an episode.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from playwright.sync_api import Browser

from benchmarks.load.browser_timing import launch_chromium
from explorer.catalogue import PAGES
from tests.browser.fuzzing import AFTER_BACK, Failure, Fuzzer
from tests.serving import running_server

EPISODE = 30  # gestures


def fuzz_page(
    browser: Browser, server: str, log: Path, page: str, seed: int, count: int, end: float, verbose: bool
) -> list[Failure]:
    """Fuzz one page until `count` gestures are done or the time is over; print its line and return the failures."""
    failures: list[Failure] = []
    done, start = 0, time.monotonic()
    while done < count and time.monotonic() < end:
        context = browser.new_context()
        fuzzer = Fuzzer(context, server, log, page, seed)
        fuzzer.episode(min(EPISODE, count - done))
        context.close()
        if verbose:
            print(*fuzzer.gestures, sep="\n")
        for failure in fuzzer.failures:
            print(failure, flush=True)
        failures += fuzzer.failures
        done, seed = done + EPISODE, seed + 1
    kinds = Counter(failure.kind for failure in failures)
    print(
        f"{page or 'home':18} {min(done, count):4} gestures {time.monotonic() - start:5.0f} s"
        f" {kinds['blank']:3} blank {kinds['exception']:3} exceptions {kinds['console']:3} browser errors"
        f" {kinds['difference']:3} differences {kinds[AFTER_BACK]:3} after Back",
        flush=True,
    )
    return failures


def main(
    gestures: Annotated[int, typer.Option(help="Gestures on each page.")] = 420,
    pages: Annotated[str, typer.Option(help="Paths of the pages, with commas between; all if empty.")] = "",
    seed: Annotated[int, typer.Option(help="Seed of the first episode of each page.")] = 0,
    minutes: Annotated[float, typer.Option(help="No episode of a page begins later.")] = 10,
    verbose: Annotated[bool, typer.Option(help="Print all gestures.")] = False,
) -> None:
    """Fuzz the pages; the exit code is 1 after a failure."""
    chosen = [name.replace("home", "") for name in pages.split(",")] if pages else [row.address for row in PAGES]
    failures: list[Failure] = []
    with tempfile.TemporaryDirectory() as folder, running_server(Path(folder)) as server, launch_chromium() as browser:
        for page in chosen:
            end = time.monotonic() + 60 * minutes
            failures += fuzz_page(browser, server, Path(folder) / "server.log", page, seed, gestures, end, verbose)
    raise typer.Exit(1 if failures else 0)


if __name__ == "__main__":
    typer.run(main)
