from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from explorer.training.config import RunConfig, changed, default
from explorer.training.ending import Ending


def config(**changes: object) -> RunConfig:
    return changed(default("text", "gru"), changes)


def answers(part: float, whole: float = math.nan) -> dict[str, Tensor]:
    return {"val_loss_part": torch.tensor([part]), "val_loss": torch.tensor([whole])}


def test_nothing_ends_a_training_that_is_not_asked_to() -> None:
    ending = Ending(config())
    for loss in (1.0, 2.0, 0.0, 3.0):
        assert not ending.near(answers(loss))
        ending.look(answers(loss, loss))
    assert not ending.reached
    assert ending.state() == {}


def test_a_target_is_reached_over_everything_and_not_over_a_part() -> None:
    ending = Ending(config(stop_at=1.5))
    assert not ending.near(answers(1.6))
    assert ending.near(answers(1.51))  # a part may be off by a little, either way
    assert not ending.near(answers(1.4, 1.6))  # everything was asked already
    ending.look(answers(1.4))
    assert not ending.reached
    ending.look(answers(1.4, 1.501))
    assert not ending.reached
    ending.look(answers(1.51, 1.5))
    assert ending.reached


@pytest.mark.parametrize("broken", [None, 2, 4])
def test_patience_ends_after_so_many_evaluations_without_a_better_one(broken: int | None) -> None:
    ending = Ending(config(patience=2))
    ended = []
    for step, loss in enumerate([3.0, 2.0, 2.5, 1.9, 1.95, 1.9]):
        if step == broken:  # a training that was broken off goes on as if it had not been
            state, ending = ending.state(), Ending(config(patience=2))
            ending.restore(state)
        ending.look(answers(loss))
        ended.append(ending.reached)
    assert ended == [False, False, False, False, False, True]
