"""Curves while a training goes on."""

from __future__ import annotations

import numpy as np

from explorer.training.config import changed, default
from explorer.training.recorder import Recorder
from explorer.training.train import train

CONFIG = changed(default("negation", "rnn"), {"epochs": 3, "train_size": 211, "replicas": 2})


def test_a_training_that_was_stopped_keeps_what_it_had() -> None:
    recorder = Recorder(CONFIG)
    for event in train(CONFIG):
        recorder.add(event)
        if recorder.step == 7:
            break
    record = recorder.record()
    assert not record.finished
    assert record.curves.losses.shape == (7, 2)
    assert record.curves.epochs.tolist() == [0, 1]
    assert not record.snapshots


def test_curves_before_the_first_step_are_empty() -> None:
    recorder = Recorder(CONFIG)
    events = train(CONFIG)
    recorder.add(next(events))
    assert not recorder.evaluated
    recorder.add(next(events))
    assert recorder.evaluated
    assert recorder.curves().losses.shape == (0, 2)
    assert recorder.curves().sustain.shape == (1, 2, 6)


def test_what_was_handed_out_is_never_changed() -> None:
    recorder = Recorder(CONFIG)
    events = train(CONFIG)
    for _ in range(9):
        recorder.add(next(events))
    early = recorder.curves()
    kept = early.losses.copy(), early.sustain.copy()
    for event in events:
        recorder.add(event)
    np.testing.assert_array_equal(early.losses, kept[0])
    np.testing.assert_array_equal(early.sustain, kept[1])
    np.testing.assert_array_equal(recorder.curves().losses[: len(early.losses)], early.losses)
