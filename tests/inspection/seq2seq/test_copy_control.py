from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from explorer.inspection.seq2seq import copy_control
from explorer.inspection.seq2seq.copy_control import LENGTH, SYMBOLS, _copy_batch, _loss, train_copy_models
from explorer.training.optimisers import ReplicaOptimizer


def test_targets_and_losses_of_both_copy_tasks() -> None:
    ids, target = _copy_batch(False, 4, "copying/own")
    assert torch.equal(ids, target) and ids.shape == (3, 4, LENGTH) and len({row[0, 0] for row in ids}) == 3
    ids, target = _copy_batch(True, 4, "copying/own")
    assert (ids[..., LENGTH] == SYMBOLS).all() and (target[..., :LENGTH] == -1).all() and (target[..., -1] == -1).all()
    assert torch.equal(target[..., LENGTH:-1], ids[..., :LENGTH])
    assert torch.equal(ids[..., LENGTH + 1 :], ids[..., :LENGTH])
    targets = torch.tensor([[[-1, 0, 1]], [[0, -1, -1]]])  # of two replicas; positions without a target do not count
    logits = torch.tensor([2.0, 0.0]).expand(2, 1, 3, 2)
    right, wrong = math.log(1 + math.exp(-2)), math.log(1 + math.exp(2))
    assert _loss(logits, targets).tolist() == pytest.approx([(right + wrong) / 2, right])


def test_only_the_copy_after_a_separator_needs_attention(monkeypatch: pytest.MonkeyPatch) -> None:
    small = {"SYMBOLS": 3, "LENGTH": 2, "STEPS": 12, "EVALUATION_STEPS": (0, 12), "SEQUENCES": 16, "TEST_SEQUENCES": 64}
    for name, value in small.items():
        monkeypatch.setattr(copy_control, name, value)
    steps = list[tuple[int, int]]()

    class Recording(ReplicaOptimizer):
        def step(self, step: int, steps_in_all: int, norm: Tensor | None = None) -> None:
            steps.append((step, steps_in_all))
            super().step(step, steps_in_all, norm)

    monkeypatch.setattr(copy_control, "ReplicaOptimizer", Recording)
    direct, separated = train_copy_models(False), train_copy_models(True)
    assert steps == 4 * [(step, 13) for step in range(1, 14)]
    assert direct.steps == (0, 12) and direct.by_attention[True].shape == (2, 3)
    for found in direct.by_attention.values():
        assert found[0].max() < 0.9 < found[1].min(), "it is learned, with and without attention"
    assert not np.array_equal(direct.by_attention[True], direct.by_attention[False])
    assert separated.by_attention[True][1].min() > 0.7, "it is learned with attention"
    assert separated.by_attention[False].max() < 0.5, "without attention it can only guess"
