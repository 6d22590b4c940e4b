from __future__ import annotations

import pytest
import torch

from explorer.inspection import copying
from explorer.inspection.copying import LENGTH, SYMBOLS, _pairs, copied


def test_the_plain_copy_wants_what_is_read_and_the_other_what_stood_before() -> None:
    ids, wanted = _pairs(False, 4, "copying/own")
    assert torch.equal(ids, wanted) and ids.shape == (3, 4, LENGTH)
    ids, wanted = _pairs(True, 4, "copying/own")
    assert (ids[..., LENGTH] == SYMBOLS).all() and (wanted[..., :LENGTH] == -1).all() and (wanted[..., -1] == -1).all()
    assert torch.equal(wanted[..., LENGTH:-1], ids[..., :LENGTH])
    assert torch.equal(ids[..., LENGTH + 1 :], ids[..., :LENGTH])


def test_only_the_copy_after_a_separator_needs_attention(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"SYMBOLS": 4, "LENGTH": 3, "STEPS": 60, "ASKED": (0, 60)}.items():
        monkeypatch.setattr(copying, name, value)
    plain, separated = copied(False), copied(True)
    assert plain.by_looking[True][-1].min() > 0.95 and plain.by_looking[False][-1].min() > 0.95
    assert separated.by_looking[True][-1].mean() > separated.by_looking[False][-1].mean() + 0.25
    assert separated.by_looking[False][-1].max() < 0.5, "without attention it can only guess"
