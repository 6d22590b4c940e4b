"""A training in slices of time, so that several trainings can take turns or send what they did in few messages."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from explorer.errors import LineageError
from explorer.training import events as event_types


@dataclass(frozen=True)
class Slice:
    """What a training did in one slice of its time; time between two slices does not count."""

    events: tuple[tuple[event_types.Event, float], ...]  # each with the seconds of training up to it
    seconds: float  # of training up to the end of the slice


def in_slices(events: Iterable[event_types.Event], slice_seconds: float) -> Iterator[Slice]:
    """Yield the events of a training in slices that end with the first event after `slice_seconds`.

    Of the checkpoints of a slice that are no snapshots only the last one is yielded, because it replaces the others.
    An exception of the training follows the slice of the events before it.
    """
    iterator, seconds = iter(events), 0.0
    while True:
        done: list[tuple[event_types.Event, float]] = []
        problem: LineageError | None = None
        finished, advanced, start = False, False, time.perf_counter()
        while not advanced or time.perf_counter() - start < slice_seconds:
            try:
                event = next(iterator)
            except StopIteration:
                finished = True
                break
            except LineageError as error:
                problem = error
                break
            advanced = True
            if not isinstance(event, event_types.EvaluationPart):
                done.append((event, seconds + time.perf_counter() - start))
        seconds += time.perf_counter() - start
        if advanced or finished:
            yield Slice(_without_replaced_checkpoints(done), seconds)
        if problem:
            raise problem
        if finished:
            return


def _without_replaced_checkpoints(
    events: list[tuple[event_types.Event, float]],
) -> tuple[tuple[event_types.Event, float], ...]:
    replaceable = [
        id(event) for event, _ in events if isinstance(event, event_types.Checkpoint) and not event.is_snapshot
    ]
    return tuple(each for each in events if id(each[0]) not in replaceable[:-1])
