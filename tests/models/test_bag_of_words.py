from __future__ import annotations

import torch
from torch import Generator

from explorer.models.bag_of_words import BagOfWords, BagOfWordsHidden
from explorer.models.configs import BagOfWordsConfig, BagOfWordsHiddenConfig

PADDING = 3


def bag(vocabulary: int = 4) -> BagOfWords:
    return BagOfWords(BagOfWordsConfig(), vocabulary, 2, PADDING, Generator().manual_seed(1))


def hidden_bag(vocabulary: int = 4, hidden: int = 2) -> BagOfWordsHidden:
    return BagOfWordsHidden(BagOfWordsHiddenConfig(hidden), vocabulary, 2, PADDING, Generator().manual_seed(1))


def test_logits_worked_by_hand() -> None:
    model = bag()
    model.readout.weight.data = torch.tensor([[1.0, 2.0, -3.0, 100.0], [0.5, 0.0, 7.0, 100.0]])
    model.readout.bias.data = torch.tensor([0.25, -0.5])
    ids = torch.tensor([[0, 2, 0, PADDING], [1, 1, 1, 2]])
    # 1 + 1 - 3 + 0.25,  0.5 + 0.5 + 7 - 0.5;   2 + 2 + 2 - 3 + 0.25,  7 - 0.5
    torch.testing.assert_close(model(ids), torch.tensor([[-0.75, 7.5], [3.25, 6.5]]))


def test_logits_with_a_hidden_layer_worked_by_hand() -> None:
    model = hidden_bag()
    model.inner.weight.data = torch.tensor([[0.5, 0.0, -0.25, 100.0], [0.0, 0.125, 0.0, 100.0]])
    model.inner.bias.data = torch.tensor([0.0, 0.125])
    model.readout.weight.data = torch.tensor([[1.0, 2.0], [0.0, -4.0]])
    model.readout.bias.data = torch.tensor([0.5, 0.0])
    # The hidden units are tanh(0.5 * 2 - 0.25) = tanh(0.75) and tanh(0.125 * 3 + 0.125) = tanh(0.5).
    logits = model(torch.tensor([[0, 2, 0, 1, 1, 1, PADDING]]))
    torch.testing.assert_close(logits, torch.tensor([[0.6351490 + 2 * 0.4621172 + 0.5, -4 * 0.4621172]]))
