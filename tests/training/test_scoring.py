from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from explorer.tasks.text.rows import Batch
from explorer.training.scoring import mean_loss, mean_surprisal


class Table(nn.Module):
    """A model whose logits are a row of a table; its state counts the batches that it has read."""

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.tensor([[1.0, 3.0], [4.0, 1.0]]).log()
        self.states: list[tuple[Tensor, ...]] = []

    def features(self, ids: Tensor, state: tuple[Tensor, ...] = ()) -> tuple[Tensor, tuple[Tensor, ...]]:
        self.states.append(state)
        return self.table[ids], (*state, torch.zeros(1))

    def readout(self, features: Tensor) -> Tensor:
        return features


# The probabilities of the targets are 3/4 and 1/5, then 4/5 and 1/4.
IDS, TARGETS = torch.tensor([[0, 1], [1, 0]]), torch.tensor([[1, 1], [0, 0]])
MASK = torch.tensor([[True, False], [True, True]])


@pytest.mark.parametrize(
    ("mask", "expected"),
    [(None, -math.log(3 / 4 / 5 * 4 / 5 / 4) / 4), (MASK, -math.log(3 / 4 * 4 / 5 / 4) / 3)],
    ids=["all", "masked"],
)
def test_the_mean_surprisal_of_single_and_stacked_models(mask: Tensor | None, expected: float) -> None:
    model, batch = Table(), Batch(IDS, TARGETS, mask)
    assert mean_surprisal(model, model.features(IDS)[0], batch).item() == pytest.approx(expected)
    stacked = Batch(*(None if part is None else torch.stack([part, part]) for part in batch))
    together = mean_surprisal(model, model.features(stacked.ids)[0], stacked)
    assert together.tolist() == pytest.approx([expected] * 2)


def test_the_mean_over_batches_weights_every_target_equally_and_may_carry_the_state() -> None:
    batches = [Batch(IDS, TARGETS, MASK), Batch(IDS[:1], TARGETS[:1], None)]
    expected = -math.log(3 / 4 * 4 / 5 / 4 * 3 / 4 / 5) / 5
    model = Table()
    assert mean_loss(model, batches, 2).tolist() == pytest.approx([expected] * 2)
    mean_loss(model, batches, carries=True)
    assert [len(state) for state in model.states] == [0, 0, 0, 1]
    assert mean_loss(model, []).tolist() == [0.0]
