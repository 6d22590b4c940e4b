from __future__ import annotations

import torch
from torch import Generator

from explorer.models.configs import FeedforwardConfig
from explorer.models.feedforward import Feedforward
from explorer.models.taps import record

PADDING = 10


def feedforward(window: int) -> Feedforward:
    return Feedforward(FeedforwardConfig(width=3, hidden=7, window=window), 11, 2, PADDING, Generator().manual_seed(1))


def test_tokens_beyond_the_window_are_ignored() -> None:
    model = feedforward(window=5)
    one, other = torch.tensor([[0, 2, 5, 3, 1, 7, 7]]), torch.tensor([[0, 2, 5, 3, 1, 4, 9]])
    assert torch.equal(model(one), model(other))
    other[0, 4] = 6
    assert not torch.equal(model(one), model(other))


def test_a_short_sentence_is_padded_to_the_window() -> None:
    model = feedforward(window=5)
    with record(model) as trace:
        model(torch.tensor([[0, 2]]))
    assert torch.equal(trace["embedded"][0, 2:], model.embedding.weight[PADDING].expand(3, 3))


def test_logits_worked_by_hand() -> None:
    model = feedforward(window=2)
    for parameter in model.parameters():
        parameter.data.zero_()
    model.embedding.weight.data[4] = torch.tensor([0.1, 0.2, 0.3])
    model.inner.weight.data[0, 4] = 2.0  # the second component of the second position
    model.inner.bias.data[0] = 0.1
    model.readout.weight.data[1, 0] = 3.0
    logits = model(torch.tensor([[7, 4]]))
    torch.testing.assert_close(logits, torch.tensor([[0.0, 1.3863515]]))  # 3 tanh(2 * 0.2 + 0.1)
