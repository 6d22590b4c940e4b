from __future__ import annotations

import pytest
import torch

from explorer.inspection.seq2seq import copy_control
from explorer.inspection.seq2seq.copy_control import LENGTH, SYMBOLS, _copy_batch, train_copy_models


def test_targets_of_both_copy_tasks() -> None:
    ids, target = _copy_batch(False, 4, "copying/own")
    assert torch.equal(ids, target) and ids.shape == (3, 4, LENGTH)
    ids, target = _copy_batch(True, 4, "copying/own")
    assert (ids[..., LENGTH] == SYMBOLS).all() and (target[..., :LENGTH] == -1).all() and (target[..., -1] == -1).all()
    assert torch.equal(target[..., LENGTH:-1], ids[..., :LENGTH])
    assert torch.equal(ids[..., LENGTH + 1 :], ids[..., :LENGTH])


@pytest.mark.slow
def test_only_the_copy_after_a_separator_needs_attention(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"SYMBOLS": 4, "LENGTH": 3, "STEPS": 60, "EVALUATION_STEPS": (0, 60)}.items():
        monkeypatch.setattr(copy_control, name, value)
    direct, separated = train_copy_models(False), train_copy_models(True)
    assert direct.by_attention[True][-1].min() > 0.95 and direct.by_attention[False][-1].min() > 0.95
    assert separated.by_attention[True][-1].mean() > separated.by_attention[False][-1].mean() + 0.25
    assert separated.by_attention[False][-1].max() < 0.5, "without attention it can only guess"
