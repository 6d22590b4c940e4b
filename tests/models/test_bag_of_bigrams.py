from __future__ import annotations

import torch
from torch import Generator

from explorer.models.bag_of_bigrams import BagOfBigrams
from explorer.models.configs import BagOfBigramsConfig
from explorer.models.layers import stack

PADDING = 3


def bag(vocabulary: int = 4, padding: int = PADDING) -> BagOfBigrams:
    return BagOfBigrams(BagOfBigramsConfig(), vocabulary, 2, padding, Generator().manual_seed(1))


def test_logits_worked_by_hand() -> None:
    model = bag()
    weight = torch.full((2, 4, 4), 100.0)
    weight[:, 0, 2] = torch.tensor([1.0, -2.0])  # 2 directly after 0
    weight[:, 2, 0] = torch.tensor([0.5, 4.0])
    weight[:, 1, 1] = torch.tensor([3.0, 0.25])
    model.readout.weight.data = weight.flatten(1)
    model.readout.bias.data = torch.tensor([0.25, -0.5])
    ids = torch.tensor([[0, 2, 0, 2, PADDING], [1, 1, 1, PADDING, PADDING]])
    # (0, 2) twice and (2, 0) once;  (1, 1) twice
    torch.testing.assert_close(model(ids), torch.tensor([[2.75, -0.5], [6.25, 0.0]]))


def test_a_single_token_has_no_bigram() -> None:
    model = bag()
    for ids in (torch.tensor([[2]]), torch.tensor([[2, PADDING]])):
        torch.testing.assert_close(model(ids), model.readout.bias[None])


def test_with_many_words_the_weights_of_pairs_are_looked_up() -> None:
    models = [BagOfBigrams(BagOfBigramsConfig(), 40, 2, PADDING, Generator().manual_seed(seed)) for seed in range(2)]
    ids = torch.tensor([[0, 2, 0, 2, PADDING], [1, 1, 39, 1, 1]])
    pairs = [[(0, 2), (2, 0), (0, 2)], [(1, 1), (1, 39), (39, 1), (1, 1)]]
    together = stack(models)(ids.expand(2, *ids.shape))
    for model, logits in zip(models, together, strict=True):
        weight = model.readout.weight.view(2, 40, 40)
        expected = torch.stack([sum(weight[:, u, v] for u, v in row) + model.readout.bias for row in pairs])
        torch.testing.assert_close(model(ids), expected)
        torch.testing.assert_close(logits, expected)
