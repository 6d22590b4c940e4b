from __future__ import annotations

import hashlib
from itertools import product

import pytest
import torch

from explorer.tasks.recall import (
    MAX_EVALUATED_LENGTH,
    RecallConfig,
    batch,
    evaluation_lengths,
    evaluation_sequences,
    fixed_sequences,
    orderless_accuracy,
)


def test_sequences_are_deterministic_and_differ() -> None:
    task, few = RecallConfig(length=12, symbols=5), RecallConfig(length=12, sequences=9)
    sequences = [batch(task, 3, 1, 7, 4), evaluation_sequences(task, 20, 6)]
    sequences += [fixed_sequences(few, 2), batch(few, 2, 0, 5, 4)]
    assert [tuple(each.shape) for each in sequences] == [(4, 12), (6, 20), (9, 12), (4, 12)]
    values = "/".join(str(each.tolist()) for each in sequences)
    assert hashlib.sha256(values.encode()).hexdigest()[:16] == "65c16d7b0ca8c14f"
    task = RecallConfig(length=30)
    one = batch(task, 0, 0, 0, 8)
    for other in ((1, 0, 0), (0, 1, 0), (0, 0, 1)):
        assert not torch.equal(one, batch(task, *other, 8))
    assert not torch.equal(one, evaluation_sequences(task, 30, 8))
    task = RecallConfig(length=10, sequences=6)
    own = fixed_sequences(task, 4)
    rows = {tuple(row) for row in own.tolist()}
    assert all({tuple(row) for row in batch(task, 4, 0, step, 3).tolist()} <= rows for step in range(5))
    assert torch.equal(batch(task, 4, 0, 0, 6), own) and torch.equal(batch(task, 4, 0, 9, 64), own)
    assert not torch.equal(fixed_sequences(task, 5), own)


def test_evaluated_lengths_and_the_best_answer_without_order() -> None:
    for length in (1, 2, 10, 50, 200, 1_000):
        lengths = evaluation_lengths(length)
        assert list(lengths) == sorted(set(lengths)) and lengths[0] == 1 and MAX_EVALUATED_LENGTH in lengths
        assert {length, length + 1, length + 2} <= set(lengths)
        assert length == 1 or length - 1 in lengths
    for length in (1, 2, 5, 8):
        right = [max(sum(row), length - sum(row)) / length for row in product((0, 1), repeat=length)]
        assert orderless_accuracy(length) == pytest.approx(sum(right) / 2**length)
    assert orderless_accuracy(37) == pytest.approx(0.566, abs=5e-4)
    assert orderless_accuracy(50) == pytest.approx(0.556, abs=5e-4)
