"""Curves during a training, and the records of interrupted, resumed, branched and diverged trainings."""

from __future__ import annotations

import time

import numpy as np
import pytest
import torch

from explorer.errors import Diverged
from explorer.training.config import branch_from, default_config, with_settings
from explorer.training.events import Event, Step
from explorer.training.record import Curves, Record
from explorer.training.recorder import Recorder, as_checkpoint, record_run
from explorer.training.slices import Slice
from explorer.training.train import train
from tests.export.alike import (
    assert_records_equal,
    interrupt_training,
    short_config,
)

CONFIG = with_settings(default_config("negation", "rnn"), {"epochs": 3, "train_size": 211, "replicas": 2})


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, in a list so that a test can set it."""
    clock_time = [100.0]
    monkeypatch.setattr(time, "perf_counter", lambda: clock_time[0])
    return clock_time


def assert_same_curves(actual: Curves, expected: Curves) -> None:
    assert actual.first == expected.first
    for name in ("losses", "tokens", "seconds", "evaluated"):
        np.testing.assert_array_equal(getattr(actual, name), getattr(expected, name), err_msg=name)
    for part in ("metrics", "answers", "signals"):
        actual_values, expected_values = getattr(actual, part), getattr(expected, part)
        assert actual_values.keys() == expected_values.keys()
        for name, values in actual_values.items():
            np.testing.assert_array_equal(values, expected_values[name], err_msg=name)


def test_curves_before_the_first_step_are_empty() -> None:
    recorder = Recorder(CONFIG)
    events = train(CONFIG)
    recorder.add(next(events))
    assert not recorder.has_evaluation
    assert recorder.curves().step == 0
    recorder.add(next(events))
    assert recorder.has_evaluation
    assert recorder.curves().losses.shape == (0, 2)
    assert recorder.curves().answers["sustain"].shape == (1, 2, 6)
    assert recorder.curves().tokens.tolist() == [0]


def test_the_time_of_each_step_of_a_slice_is_recorded() -> None:
    recorder = Recorder(CONFIG)
    step = torch.zeros(2)
    recorder.add_slice(Slice(((Step(1, step, 5.0), 1.0), (Step(2, step, 5.0), 2.5)), 3.0))
    assert recorder.seconds == 3
    recorder.add_slice(Slice(((Step(3, step, 7.0), 7.0),), 8.0))
    assert recorder.curves().seconds.tolist() == [0, 1, 2.5, 7]
    assert recorder.curves().tokens.tolist() == [0, 5, 10, 17]
    assert (recorder.seconds, recorder.record().seconds) == (8, 7)


def test_time_and_tokens_continue_from_the_earlier_record(clock: list[float]) -> None:
    config = short_config()
    recorder = Recorder(config)
    recorder.seconds = 5
    before = interrupt_training(recorder, train(config), 20)
    assert before.seconds == 5
    resumed = Recorder(config, before)
    assert (resumed.step, resumed.seconds, resumed.parameters) == (20, 5, before.parameters)
    rest = train(config, as_checkpoint(20, before.snapshots[20]))
    resumed.add_slice(Slice(tuple((event, 2.0) for event in rest), 2.0))
    assert resumed.record().seconds == 7
    assert resumed.curves().seconds.tolist() == [0, *[5] * 20, *[7] * 12]
    np.testing.assert_array_equal(resumed.curves().tokens, record_run(config).curves.tokens)


def test_the_record_of_a_stopped_training_ends_at_its_last_checkpoint() -> None:
    config = short_config(replicas=2)
    recorder = Recorder(config)
    for event in train(config):
        recorder.add(event)
        if recorder.step == 27:
            break
    record = recorder.record("stopped")
    assert (record.state, record.finished, record.curves.step) == ("stopped", False, 20)
    assert sorted(record.snapshots) == [0, 1, 3, 10, 20]
    assert record.curves.losses.shape == (20, 2)
    assert record.curves.tokens.shape == record.curves.seconds.shape == (21,)
    assert record.curves.evaluated.tolist() == [0, 1, 3, 4, 8, 10, 12, 16, 20]
    assert all(values.shape == (9, 2) for values in record.curves.metrics.values())
    assert recorder.curves().step == 27  # the curves on the page still show every step
    assert recorder.record("stopped").curves.step == 20


@pytest.mark.parametrize(("model", "replicas"), [("bag_of_words", 1), ("gru", 3)])
def test_a_training_in_three_parts_has_the_record_of_an_uninterrupted_one(model: str, replicas: int) -> None:
    config = short_config(model, replicas=replicas)
    first = interrupt_training(Recorder(config), train(config), 10)
    recorder = Recorder(config, first)
    second = interrupt_training(recorder, train(config, as_checkpoint(10, first.snapshots[10])), 20)
    assert second.curves.step == 20
    assert_records_equal(record_run(config, before=second), record_run(config))


def branch_of(parent: Record, step: int, **changes: object) -> tuple[Recorder, list[Event]]:
    config = branch_from(parent.config, step, changes)
    index = step - parent.curves.first
    origin = float(parent.curves.tokens[index]), float(parent.curves.seconds[index])
    return Recorder(config, origin=origin), list(train(config, as_checkpoint(step, parent.snapshots[step])))


@pytest.mark.parametrize("replicas", [1, 3])
def test_a_branch_continues_its_parents_tokens_and_seconds(replicas: int, clock: list[float]) -> None:
    parent = record_run(short_config(replicas=replicas), lambda _: clock.__setitem__(0, clock[0] + 1))
    recorder, events = branch_of(parent, 10)
    for event in events:
        recorder.add(event)
        recorder.seconds += 1
    child = recorder.record()
    assert (child.curves.first, child.curves.step) == (10, 32)
    np.testing.assert_array_equal(child.curves.losses, parent.curves.losses[10:])
    np.testing.assert_array_equal(child.curves.tokens, parent.curves.tokens[10:])
    assert child.curves.seconds[0] == parent.curves.seconds[10] > 0
    assert (np.diff(child.curves.seconds) > 0).all()
    assert child.seconds == child.curves.seconds[-1] - child.curves.seconds[0]
    assert child.curves.evaluated[0] == 10
    row = parent.curves.evaluated.tolist().index(10)
    for name, values in parent.curves.metrics.items():
        np.testing.assert_array_equal(child.curves.metrics[name][0], values[row])
        np.testing.assert_array_equal(child.curves.last(name), parent.curves.last(name))
    np.testing.assert_array_equal(child.curves.answers["sustain"][0], parent.curves.answers["sustain"][row])


@pytest.mark.parametrize("step", [11, 20])  # a snapshot, a checkpoint
def test_an_interrupted_branch_ends_as_an_uninterrupted_one(step: int) -> None:
    parent = record_run(short_config(replicas=2))
    recorder, events = branch_of(parent, 10, order=2)
    for event in events:
        recorder.add(event)
    interrupted_recorder, interrupted_events = branch_of(parent, 10, order=2)
    before = interrupt_training(interrupted_recorder, interrupted_events, step)
    assert before.curves.step == step
    assert_records_equal(record_run(before.config, before=before), recorder.record())


@pytest.mark.parametrize("batch_size", [64, 7])
def test_curves_before_a_divergence_are_kept(batch_size: int) -> None:
    config = short_config(replicas=2, batch_size=batch_size)
    healthy = interrupt_training(Recorder(config), train(config), 10)
    checkpoint = as_checkpoint(10, healthy.snapshots[10])
    checkpoint.weights["embedding.weight"][0] = torch.inf
    recorder = Recorder(config, healthy)
    with pytest.raises(Diverged) as raised:
        for event in train(config, checkpoint):
            recorder.add(event)
    assert recorder.step > 10
    record = recorder.record("diverged", str(raised.value))
    assert (record.state, record.problem) == ("diverged", str(raised.value))
    assert_same_curves(record.curves, healthy.curves)
    assert all(np.isfinite(v).all() for snapshot in record.snapshots.values() for v in snapshot.weights.values())


def test_axis_values_of_steps() -> None:
    seconds, evaluated = np.array([1.5, 2, 2, 4]), np.array([10, 13])
    curves = Curves(10, np.zeros((3, 2), np.float32), np.array([100.0, 110, 130, 160]), seconds, evaluated, {})
    steps = np.array([10, 12, 13])
    assert curves.axis_values("step", steps, 4).tolist() == [10, 12, 13]
    assert curves.axis_values("epoch", steps, 4).tolist() == [2.5, 3, 3.25]
    assert curves.axis_values("tokens", steps, 4).tolist() == [100, 130, 160]
    assert curves.axis_values("seconds", steps, 4).tolist() == [1.5, 2, 4]
    assert all(curves.axis_values(axis, steps, 4).dtype == float for axis in ("step", "epoch", "tokens", "seconds"))
