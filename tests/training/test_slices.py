from __future__ import annotations

import time

import pytest
import torch

from explorer.errors import Diverged
from explorer.training.events import Checkpoint, EvaluationPart, Step
from explorer.training.slices import in_slices


def test_slices_end_with_the_first_event_after_their_time_and_keep_the_last_checkpoint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [100.0]
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])
    steps = [Step(number, torch.zeros(1), 1.0) for number in range(6)]
    first, second, snapshot, last = (Checkpoint(number, {}, {}, is_snapshot=number == 2) for number in range(4))

    def events():  # type: ignore[no-untyped-def]
        for event in (steps[1], EvaluationPart(), first, second, snapshot, steps[2], steps[3], last):
            clock[0] += 1
            yield event
        raise Diverged("The loss is infinite.")

    slices, received = in_slices(events(), 5.0), []
    with pytest.raises(Diverged):
        for part in slices:
            received.append(part)
            clock[0] += 50  # time between two slices does not count
    assert [part.seconds for part in received] == [5, 8]
    assert received[0].events == ((steps[1], 1.0), (second, 4.0), (snapshot, 5.0))
    assert received[1].events == ((steps[2], 6.0), (steps[3], 7.0), (last, 8.0))
    assert [part.events for part in in_slices(iter(steps[4:5]), 5.0)] == [((steps[4], 0.0),)]
    assert [part.events for part in in_slices(iter(steps[4:]), 0.0)] == [
        ((steps[4], 0.0),),
        ((steps[5], 0.0),),
        (),
    ]
