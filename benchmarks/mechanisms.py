"""How soon each mechanism answers when a number in it is edited, and what travels while it is swept, in Chromium.

    python -m benchmarks.mechanisms [--only gates] [--times 9] [--seconds 4]

Asked is an answer within 200 ms, and not one word to the server while a hand sweeps. An edit takes from the event in
the browser to the end of the first frame in which the words of its answer are others. The server is started as it is
really served; server, browser and this script share one machine, and nothing is drawn by a graphics card.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from playwright.sync_api import Browser, Locator, Page, expect

from benchmarks.load.browser_timing import TimedPage, Timing, launch_chromium, measure_drag, milliseconds_until
from benchmarks.machine import describe_machine
from tests.browser.steps import placeholders
from tests.serving import running_server

MAX_MILLISECONDS = 200  # ms
WORDS = "[...document.querySelectorAll({})].map((place) => place.textContent).join('\\n')"
HEADINGS = "[data-testid=stMain] h3"
GATES, DEPTH, PLACES = ".lineage-gates-by-hand", ".lineage-residual-stacks", ".lineage-positions"
SOURCES = ("the dog and the day", "a night and a king", "the king and the day", "a day and the night")


@dataclass(frozen=True)
class Edit:
    """Something a visitor changes: `do` is told how often it was done before, `shown` finds the words that answer."""

    page: str
    what: str
    event: str  # what begins it in the browser
    shown: str
    do: Callable[[Page, int], None]


@dataclass(frozen=True)
class Sweep:
    """A slider that is dragged to and fro, and the words that follow it."""

    page: str
    what: str
    slider: Callable[[Page], Locator]
    shown: str
    least: int  # different words to be seen


def set_slider(place: str, name: str, *values: float) -> Callable[[Page, int], None]:
    """A slider is set to one value after the other, and let go."""
    return lambda page, i: slider(place, name)(page).fill(f"{values[i % len(values)]:g}")


def slider(place: str, name: str) -> Callable[[Page], Locator]:
    return lambda page: page.locator(place).get_by_role("slider", name=name).first


def type_text(name: str, *texts: str, ends: str = "Enter") -> Callable[[Page, int], None]:
    """Something else stands in a field, which is then left by a key."""

    def do(page: Page, i: int) -> None:
        field = page.get_by_label(name, exact=True).first
        field.fill(texts[i % len(texts)])
        field.press(ends)

    return do


def press_button(role: str, *names: str) -> Callable[[Page, int], None]:
    return lambda page, i: page.get_by_role(role, name=names[i % len(names)]).first.click()  # type: ignore[arg-type]


def select_option(name: str, *values: str) -> Callable[[Page, int], None]:
    def do(page: Page, i: int) -> None:
        page.get_by_label(name).select_option(values[i % len(values)])

    return do


def type_digit(page: Page, i: int) -> None:
    """Another digit in one cell of the keys."""
    cell = page.get_by_label("K, the keys: cat, 1")
    cell.focus()
    cell.select_text()
    page.keyboard.press("123456789"[i % 9])


def go_to_next_step(page: Page, i: int) -> None:
    """To the step after one of the first."""
    page.locator(".lineage-unrolled-rnn button.step").nth(i % 5).focus()
    page.keyboard.press("ArrowRight")


def press_arrow(page: Page, i: int) -> None:
    """To more heads and back."""
    slider(".lineage-multi-head", "Heads")(page).focus()
    page.keyboard.press("ArrowLeft" if i % 2 else "ArrowRight")


EDITS = (
    Edit("shapes", "another step", "keydown", ".lineage-unrolled-rnn [role=status]", go_to_next_step),
    Edit(
        "shapes", "another shape", "click", ".lineage-unrolled-rnn", press_button("radio", "one → many", "many → one")
    ),
    Edit(
        "gates",
        "a gate",
        "input",
        ".lineage-gates-by-hand h3",
        set_slider(GATES, "f, forget gate: the", 0.99, 0.5, 0.95),
    ),
    Edit("scaled-attention", "a cell of K", "keydown", ".lineage-dot-product", type_digit),
    Edit(
        "depth",
        "number of blocks",
        "input",
        ".lineage-residual-stacks .finding",
        set_slider(DEPTH, "Blocks", 5, 12, 20),
    ),
    Edit("depth", "number of heads", "keydown", ".lineage-multi-head .finding", press_arrow),
    Edit("depth", "a text", "keydown", ".lineage-multi-head", type_text("Text", *SOURCES)),
    Edit("positions", "the place", "input", PLACES, set_slider(PLACES, "place that", 3, 20, 31)),
    Edit("positions", "the base", "input", PLACES, set_slider(PLACES, "base", 2, 3, 5)),
    Edit("masks", "the padding", "change", ".lineage-masks", select_option("padding side", "left", "right")),
    Edit("masks", "a sentence", "keydown", ".lineage-masks", type_text("First sentence", *SOURCES)),
    Edit(
        "block", "another arrow", "click", ".lineage-block-diagram .panel", press_button("button", "Norm 1,", "Norm 2,")
    ),
    Edit("sentences", "the layer", "input", ".lineage-sense-map", set_slider(".lineage-sense-map", "Layer", 0, 1)),
    Edit("cost", "a size", "keydown", HEADINGS, type_text("Layers", "2", "3", "5")),
)
SWEEPS = (
    Sweep("gates", "a gate", slider(GATES, "f, forget gate: the"), ".lineage-gates-by-hand h3", 10),
    Sweep("scaled-attention", "the width", slider(".lineage-plot-frame", "width shown"), ".frame-said", 3),
    Sweep("depth", "the blocks", slider(DEPTH, "Blocks"), ".lineage-residual-stacks .finding", 10),
    Sweep("positions", "the place", slider(PLACES, "place that"), PLACES, 10),
    Sweep("sentences", "the layer", slider(".lineage-sense-map", "Layer"), ".lineage-sense-map output", 2),
)
PAGES = tuple(dict.fromkeys(each.page for each in EDITS))


def open_page(browser: Browser, address: str, page: str) -> TimedPage:
    """A page on which everything has been worked out."""
    watched = TimedPage(browser, address, f"/{page}")
    expect(placeholders(watched.page)).to_have_count(0, timeout=180_000)
    watched.wait_until_quiet(1)
    return watched


def time_edits(browser: Browser, address: str, edit: Edit, times: int) -> Iterator[Timing]:
    """Done again and again, each time when the page is quiet; the first, before all code is warm, counts, too."""
    watched = open_page(browser, address, edit.page)
    words = WORDS.format(json.dumps(edit.shown))
    taken = []
    for i in range(times):
        before = json.dumps(watched.page.evaluate(words))
        taken.append(
            milliseconds_until(watched.page, edit.event, f"{words} !== {before}", lambda i=i: edit.do(watched.page, i))
        )
        watched.wait_until_quiet(0.5)
    watched.page.context.close()
    yield Timing(f"{edit.what}: median", statistics.median(taken), "ms", MAX_MILLISECONDS)
    yield Timing(f"{edit.what}: worst of {times}", max(taken), "ms", MAX_MILLISECONDS)


def measure_sweep(browser: Browser, address: str, sweep: Sweep, seconds: float) -> Iterator[Timing]:
    """What is asked of a sweep: its frames, and that nothing travels."""
    watched = open_page(browser, address, sweep.page)
    every = measure_drag(watched, f"{sweep.what} swept", sweep.slider(watched.page), sweep.shown, seconds, sweep.least)
    watched.page.context.close()
    yield from (figure for figure in every if figure.budget is not None)


def main(
    only: Annotated[str, typer.Option(help=f"Only this page: {', '.join(PAGES)}.")] = "",
    times: Annotated[int, typer.Option(help="How often each edit is made.", min=1)] = 9,
    seconds: Annotated[float, typer.Option(help="Of each sweep.")] = 4,
) -> None:
    """Measure how soon the mechanisms answer."""
    if only and only not in PAGES:
        raise typer.BadParameter(f"There is no page “{only}”. There are {', '.join(PAGES)}.")
    print(describe_machine())
    with tempfile.TemporaryDirectory(prefix="lineage-mechanisms-") as home, running_server(Path(home)) as address:
        for name in (only,) if only else PAGES:
            print(f"\n{name}, load {os.getloadavg()[0]:.1f} before", flush=True)
            with launch_chromium() as browser:
                for figure in measure_page(browser, address, name, times, seconds):
                    print(figure, flush=True)


def measure_page(browser: Browser, address: str, name: str, times: int, seconds: float) -> Iterator[Timing]:
    for edit in EDITS:
        if edit.page == name:
            yield from time_edits(browser, address, edit, times)
    for sweep in SWEEPS:
        if sweep.page == name:
            yield from measure_sweep(browser, address, sweep, seconds)


if __name__ == "__main__":
    typer.run(main)
