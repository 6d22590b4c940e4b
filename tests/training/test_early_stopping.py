from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from explorer.training.config import RunConfig, default_config, with_settings
from explorer.training.early_stopping import EarlyStopping


def config(**changes: object) -> RunConfig:
    return with_settings(default_config("text", "gru"), changes)


def answers(part_loss: float, full_loss: float = math.nan) -> dict[str, Tensor]:
    return {"val_loss_part": torch.tensor([part_loss]), "val_loss": torch.tensor([full_loss])}


def test_without_its_settings_early_stopping_never_stops() -> None:
    early_stopping = EarlyStopping(config())
    for loss in (1.0, 2.0, 0.0, 3.0):
        assert not early_stopping.is_near_target(answers(loss))
        early_stopping.update(answers(loss, loss))
    assert not early_stopping.should_stop
    assert early_stopping.state() == {}


def test_a_target_must_be_reached_on_all_validation_data() -> None:
    early_stopping = EarlyStopping(config(stop_at=1.5))
    assert not early_stopping.is_near_target(answers(1.6))
    assert early_stopping.is_near_target(answers(1.51))  # the loss on a part may deviate a little in either direction
    assert not early_stopping.is_near_target(answers(1.4, 1.6))  # the loss on all validation data is known
    early_stopping.update(answers(1.4))
    assert not early_stopping.should_stop
    early_stopping.update(answers(1.4, 1.501))
    assert not early_stopping.should_stop
    early_stopping.update(answers(1.51, 1.5))
    assert early_stopping.should_stop


@pytest.mark.parametrize("interrupted_at", [None, 2, 4])
def test_patience_counts_evaluations_without_improvement(interrupted_at: int | None) -> None:
    early_stopping = EarlyStopping(config(patience=2))
    stops = []
    for step, loss in enumerate([3.0, 2.0, 2.5, 1.9, 1.95, 1.9]):
        if step == interrupted_at:  # an interrupted training continues as if it had not been interrupted
            state, early_stopping = early_stopping.state(), EarlyStopping(config(patience=2))
            early_stopping.restore(state)
        early_stopping.update(answers(loss))
        stops.append(early_stopping.should_stop)
        shapes = {name: value.shape for group in early_stopping.state_templates() for name, value in group.items()}
        assert {name: value.shape for name, value in early_stopping.state().items()}.items() <= shapes.items()
    assert stops == [False, False, False, False, False, True]
