"""Progress on standard error: one line that changes on a terminal, otherwise a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from explorer.number_format import format_duration

if TYPE_CHECKING:
    from explorer.training.config import RunConfig
    from explorer.training.events import Step

_UPDATE_SECONDS = 0.1  # converting losses to numbers takes time
_CLEAR_LINE = "\r\x1b[K"


class ProgressLines:
    """Prints sentences, each only if it is new and the last one is some time ago.

    wait: seconds to the first line where there is no terminal; the time between two lines doubles
    most: its limit
    """

    def __init__(self, wait: float = 10.0, most: float = 300.0) -> None:
        self._terminal = is_terminal()
        self._wait, self._most = (0.2, 0.2) if self._terminal else (wait, most)
        self._due = time.monotonic() + (0 if self._terminal else wait)
        self._last = ""

    def show(self, describe: Callable[[], str]) -> None:
        """Print what a function returns, if it is time."""
        now = time.monotonic()
        if now < self._due or (line := describe()) == self._last:
            return
        start, end = (_CLEAR_LINE, "") if self._terminal else ("", "\n")
        print(f"{start}{line}", end=end, file=sys.stderr, flush=True)
        self._last, self._wait = line, min(2 * self._wait, self._most)
        self._due = now + self._wait

    def clear(self) -> None:
        """Remove the line from a terminal."""
        if self._terminal:
            print(_CLEAR_LINE, end="", file=sys.stderr, flush=True)


def is_terminal() -> bool:
    """Return whether standard error goes to a terminal."""
    return bool(sys.stderr and sys.stderr.isatty())


@contextmanager
def show_progress(config: RunConfig, first: int) -> Iterator[Callable[[Step], None]]:
    """Give a function to call with every step of a training that begins after step `first`."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    if not is_terminal():
        lines, start = ProgressLines(), time.monotonic()

        def describe(event: Step) -> str:
            left = (time.monotonic() - start) / (event.step - first) * (config.steps - event.step)
            loss = f"loss {float(event.losses.mean()):.3f}"
            return f"step {event.step:,} of {config.steps:,}, {loss}, about {format_duration(left)} left"

        yield lambda event: lines.show(lambda: describe(event))
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TextColumn("loss {task.fields[loss]}"),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True, expand=True) as bar:
        shown, last = bar.add_task(config.title, total=config.steps, completed=first, loss="-"), 0.0

        def advance(event: Step) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last > _UPDATE_SECONDS or event.step == config.steps:
                last = now
                bar.update(shown, completed=event.step, loss=f"{float(event.losses.mean()):.3f}")

        yield advance
