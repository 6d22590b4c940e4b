"""The induction task: its rows, and the scores of heads on them."""

from __future__ import annotations

import hashlib

import pytest
import torch
from torch import nn

from explorer.models.taps import Tap
from explorer.tasks.sequence_labelling import induction_rows
from explorer.tasks.sequence_labelling.induction import InductionConfig

CONFIG = InductionConfig(symbols=7, shortest=3, longest=5)


def test_rows_are_deterministic_and_differ_between_seeds_steps_and_orders() -> None:
    rows = induction_rows.batch(CONFIG, 3, 1, 7, 4)
    text = "/".join(str(each.tolist()) for each in (rows.ids, rows.targets, rows.mask.long()))
    assert hashlib.sha256(text.encode()).hexdigest()[:8] == "52901d32"
    for other in ((4, 1, 7), (3, 2, 7), (3, 1, 8)):
        assert not torch.equal(induction_rows.batch(CONFIG, *other, 4).ids, rows.ids)


def test_a_row_is_distinct_symbols_twice_and_every_target_is_the_next_symbol() -> None:
    rows = induction_rows.batch(CONFIG, 0, 0, 0, 30)
    lengths = induction_rows.copy_lengths(CONFIG, rows.ids)[:, 0].tolist()
    assert sorted(set(lengths)) == [3, 4, 5] and all(9 <= lengths.count(n) <= 11 for n in (3, 4, 5))
    for ids, targets, mask, n in zip(
        rows.ids.tolist(), rows.targets.tolist(), rows.mask.tolist(), lengths, strict=True
    ):
        assert ids[:n] == ids[n : 2 * n] and len(set(ids[:n])) == n and set(ids[2 * n :]) <= {CONFIG.symbols}
        assert targets[: 2 * n - 1] == ids[1 : 2 * n]
        assert [t for t, in_loss in enumerate(mask) if in_loss] == [t for t in range(2 * n - 1) if t != n - 1]
    second = induction_rows.in_second_copy(CONFIG, rows)
    assert second.sum(dim=-1).tolist() == [n - 1 for n in lengths]


def test_copies_cannot_be_longer_than_there_are_symbols() -> None:
    with pytest.raises(ValueError, match="longest = 8 is more than symbols = 7"):
        InductionConfig(symbols=7, longest=8)
    with pytest.raises(ValueError, match="shortest = 6 is more than longest = 5"):
        InductionConfig(symbols=7, shortest=6, longest=5)


class PerfectHeads(nn.Module):
    """Head 0 attends to the token before, head 1 to the token after the earlier occurrence, which it predicts."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.Module()
        self.attention.weights = Tap()

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        position = torch.arange(ids.shape[-1])
        earlier = (ids[:, :, None] == ids[:, None]) & (position < position[:, None])
        after = nn.functional.pad(earlier, (1, 0))[..., :-1]
        before = (position == position[:, None] - 1).expand_as(after)
        weights = self.attention.weights(torch.stack([before, after], dim=1).float())
        one_hot = nn.functional.one_hot(ids, CONFIG.symbols + 1).float()[..., : CONFIG.symbols]
        return 50 * (weights[:, 1] @ one_hot)


def test_heads_that_do_what_the_scores_mean_score_one() -> None:
    model = nn.Module()
    model.blocks = nn.ModuleList([PerfectHeads()])
    model.forward = model.blocks[0].forward
    results = induction_rows.evaluate(CONFIG, model, 1, whole=False)
    assert {name: round(float(value[0]), 4) for name, value in results.items() if name != "first_copy_loss"} == {
        "accuracy": 1.0,
        "second_copy_loss": 0.0,
        "previous_score": 1.0,
        "induction_score": 1.0,
    }
    assert results.keys() == set(CONFIG.metrics)


def test_a_model_without_heads_has_scores_of_zero() -> None:
    model = nn.Embedding(CONFIG.symbols + 1, CONFIG.symbols)
    results = induction_rows.evaluate(CONFIG, model, 1, whole=False)
    assert float(results["previous_score"]) == float(results["induction_score"]) == 0
