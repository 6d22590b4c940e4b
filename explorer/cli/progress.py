"""The progress of a training on standard error: one line that changes on a terminal, otherwise a line now and then."""

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
_FIRST_LINE_SECONDS, _MOST_LINE_SECONDS = 10.0, 300.0  # between two lines, which become rarer


@contextmanager
def show_progress(config: RunConfig, first: int) -> Iterator[Callable[[Step], None]]:
    """Give a function to call with every step of a training that begins after step `first`."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    if not (sys.stderr and sys.stderr.isatty()):
        yield _Lines(config, first).add
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


class _Lines:
    """Prints a line after ten seconds, and further ones with growing distances."""

    def __init__(self, config: RunConfig, first: int) -> None:
        self._steps, self._first = config.steps, first
        self._start = time.monotonic()
        self._wait = _FIRST_LINE_SECONDS
        self._next = self._start + self._wait

    def add(self, event: Step) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._wait = min(2 * self._wait, _MOST_LINE_SECONDS)
        self._next = now + self._wait
        left = (now - self._start) / (event.step - self._first) * (self._steps - event.step)
        print(
            f"step {event.step:,} of {self._steps:,}, loss {float(event.losses.mean()):.3f}, "
            f"about {format_duration(left)} left",
            file=sys.stderr,
            flush=True,
        )
