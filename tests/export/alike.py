"""Short runs, and bit-for-bit comparisons of two trainings."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import numpy as np
from torch import Tensor

from explorer.training.config import RunConfig, default_config, with_settings
from explorer.training.events import Checkpoint, Evaluation, Event, Step
from explorer.training.record import Record
from explorer.training.recorder import Recorder
from explorer.training.train import train

# 32 steps, four per epoch, the last of 19 sentences; snapshots: 0, 1, 3, 10, 32; other checkpoints: 20, 30.
SHORT: dict[str, object] = {"epochs": 8, "train_size": 211, "test_size": 53, "snapshots": 5}
STEPS = (0, 1, 3, 10, 20, 30, 32)


def short_config(model: str = "rnn", **changes: object) -> RunConfig:
    return with_settings(default_config("negation", model), {**SHORT, **changes})


def to_bytes(tensors: dict[str, Tensor]) -> dict[str, bytes]:
    return {name: value.numpy().tobytes() for name, value in tensors.items()}


def comparable_events(events: Iterable[Event], after: int = -1) -> list[object]:
    """Return the events after a step in a form that compares bit for bit."""
    comparable: list[object] = []
    for event in events:
        match event:
            case Step(step, losses, tokens, _) if step > after:
                comparable.append(("step", step, losses.numpy().tobytes(), tokens))
            case Evaluation(step, answers) if step > after:
                comparable.append(("evaluation", step, to_bytes(dict(answers))))
            case Checkpoint(step, weights, optimiser, kept) if step > after:
                comparable.append(("checkpoint", step, to_bytes(weights), to_bytes(optimiser), kept))
    return comparable


@cache
def full_training(config: RunConfig) -> tuple[Event, ...]:
    """Return the events of an uninterrupted training."""
    return tuple(train(config))


def checkpoints(events: Iterable[Event]) -> dict[int, Checkpoint]:
    return {event.step: event for event in events if isinstance(event, Checkpoint)}


def interrupt_training(recorder: Recorder, events: Iterable[Event], step: int) -> Record:
    """Return the record of a training that is stopped right after a step's checkpoint."""
    for event in events:
        recorder.add(event)
        if isinstance(event, Checkpoint) and event.step >= step:
            break
    return recorder.record("stopped")


def assert_records_equal(one: Record, other: Record, from_disk: bool = False) -> None:
    """Assert that everything but the time is equal; on disk, metrics have 32 bits."""
    assert (one.config, one.parameters, one.state) == (other.config, other.parameters, other.state)
    for name in ("losses", "tokens", "evaluated"):
        np.testing.assert_array_equal(getattr(one.curves, name), getattr(other.curves, name), err_msg=name)
    assert one.curves.samples == other.curves.samples
    pairs = [(getattr(one.curves, part), getattr(other.curves, part)) for part in ("metrics", "answers", "signals")]
    assert all(mine.keys() == theirs.keys() for mine, theirs in pairs)
    for name, mine, theirs in [(name, values[name], others[name]) for values, others in pairs for name in values]:
        if from_disk:
            mine, theirs = mine.astype(np.float32), theirs.astype(np.float32)
        np.testing.assert_array_equal(mine, theirs, err_msg=name)
    assert len(one.curves.seconds) == len(other.curves.seconds) == len(one.curves.losses) + 1
    assert sorted(one.snapshots) == sorted(other.snapshots)
    for step, snapshot in one.snapshots.items():
        for mine, theirs in (
            (snapshot.weights, other.snapshots[step].weights),
            (snapshot.optimiser, other.snapshots[step].optimiser),
        ):
            assert mine is not None and theirs is not None and mine.keys() == theirs.keys()
            for name, value in mine.items():
                np.testing.assert_array_equal(value, theirs[name], err_msg=f"{step} {name}")
