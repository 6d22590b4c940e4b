"""The position-rule task."""

from __future__ import annotations

import torch
from torch import nn

from explorer.tasks.sequence_labelling import position_rule_rows
from explorer.tasks.sequence_labelling.position_rule import PositionRuleConfig


def test_labels_are_digits_plus_position_modulo_period() -> None:
    ids = torch.tensor([[3, 3, 9, 9, 0, 0]])
    assert position_rule_rows.target_labels(PositionRuleConfig(period=2), ids).tolist() == [[3, 4, 9, 0, 0, 1]]
    assert position_rule_rows.target_labels(PositionRuleConfig(period=3), ids).tolist() == [[3, 4, 1, 9, 1, 2]]


def test_rows_differ_between_steps_and_are_unmasked() -> None:
    config = PositionRuleConfig(length=5, period=5)
    one, other = (position_rule_rows.batch(config, 0, 0, step, 4) for step in (0, 1))
    assert one.ids.shape == (4, 5) and one.mask.all() and not torch.equal(one.ids, other.ids)
    assert torch.equal(one.targets, position_rule_rows.target_labels(config, one.ids))


class CountingModel(nn.Module):
    """Applies the rule correctly up to a position, wrongly after it."""

    def __init__(self, config: PositionRuleConfig, places: int) -> None:
        super().__init__()
        self.config, self.max_length = config, places

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        right = position_rule_rows.target_labels(self.config, ids)
        known = torch.arange(ids.shape[-1]) < self.max_length
        return 9.0 * nn.functional.one_hot(torch.where(known, right, (right + 5) % 10), 10)


def test_evaluation_covers_trained_and_later_positions() -> None:
    config = PositionRuleConfig(length=6)
    found = position_rule_rows.evaluate(config, CountingModel(config, 9), 1, whole=True)
    assert found["accuracy"].tolist() == [1.0]
    assert found["by_place"].tolist() == [[1.0] * 9 + [0.0] * (config.max_length - 9)]
    on_the_way = position_rule_rows.evaluate(config, CountingModel(config, 3), 1, whole=False)
    assert on_the_way["accuracy"].tolist() == [0.5] and on_the_way["by_place"].isnan().all()
