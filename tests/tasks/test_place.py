"""Rules that depend on the place."""

from __future__ import annotations

import torch
from torch import nn

from explorer.tasks import place_rows
from explorer.tasks.place import PlaceConfig


def test_the_answer_is_the_digit_and_how_far_the_rule_has_come() -> None:
    ids = torch.tensor([[3, 3, 9, 9, 0, 0]])
    assert place_rows.wanted_of(PlaceConfig(period=2), ids).tolist() == [[3, 4, 9, 0, 0, 1]]
    assert place_rows.wanted_of(PlaceConfig(period=3), ids).tolist() == [[3, 4, 1, 9, 1, 2]]


def test_rows_are_fresh_at_every_step_and_all_their_places_count() -> None:
    config = PlaceConfig(length=5, period=5)
    one, other = (place_rows.batch(config, 0, 0, step, 4) for step in (0, 1))
    assert one.ids.shape == (4, 5) and one.counted.all() and not torch.equal(one.ids, other.ids)
    assert torch.equal(one.wanted, place_rows.wanted_of(config, one.ids))


class Counting(nn.Module):
    """Knows the rule for so many places, and then forgets to count."""

    def __init__(self, config: PlaceConfig, places: int) -> None:
        super().__init__()
        self.config, self.places = config, places

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        right = place_rows.wanted_of(self.config, ids)
        known = torch.arange(ids.shape[-1]) < self.places
        return 9.0 * nn.functional.one_hot(torch.where(known, right, (right + 5) % 10), 10)


def test_a_model_is_asked_in_the_trained_places_and_beyond_them() -> None:
    config = PlaceConfig(length=6)
    found = place_rows.examine(config, Counting(config, 9), 1, whole=True)
    assert found["accuracy"].tolist() == [1.0]
    assert found["by_place"].tolist() == [[1.0] * 9 + [0.0] * (config.places - 9)]
    on_the_way = place_rows.examine(config, Counting(config, 3), 1, whole=False)
    assert on_the_way["accuracy"].tolist() == [0.5] and on_the_way["by_place"].isnan().all()
