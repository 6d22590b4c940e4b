from __future__ import annotations

from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Generator, nn

from explorer.models.bag_of_words import BagOfWords, BagOfWordsHidden
from explorer.models.configs import BagOfWordsConfig, BagOfWordsHiddenConfig
from explorer.models.taps import record

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


def test_counts_exclude_padding() -> None:
    model = bag()
    with record(model) as trace:
        model(torch.tensor([[0, 2, 0, PADDING, PADDING]]))
    assert trace["counts"].tolist() == [[2, 0, 1, 0]]


def test_logits_with_a_hidden_layer_worked_by_hand() -> None:
    model = hidden_bag()
    model.inner.weight.data = torch.tensor([[0.5, 0.0, -0.25, 100.0], [0.0, 0.125, 0.0, 100.0]])
    model.inner.bias.data = torch.tensor([0.0, 0.125])
    model.readout.weight.data = torch.tensor([[1.0, 2.0], [0.0, -4.0]])
    model.readout.bias.data = torch.tensor([0.5, 0.0])
    # The hidden units are tanh(0.5 * 2 - 0.25) = tanh(0.75) and tanh(0.125 * 3 + 0.125) = tanh(0.5).
    logits = model(torch.tensor([[0, 2, 0, 1, 1, 1, PADDING]]))
    torch.testing.assert_close(logits, torch.tensor([[0.6351490 + 2 * 0.4621172 + 0.5, -4 * 0.4621172]]))


@pytest.mark.parametrize("hidden", [1, 8])
def test_the_hidden_layer_equals_layers_of_pytorch_on_counts_of_the_standard_library(hidden: int) -> None:
    model = hidden_bag(vocabulary=7, hidden=hidden)
    reference = nn.Sequential(nn.Linear(7, hidden), nn.Tanh(), nn.Linear(hidden, 2))
    own = {name.replace("inner", "0").replace("readout", "2"): value for name, value in model.state_dict().items()}
    reference.load_state_dict(own)
    sentences = [[0, 2, 2, 5, 1], [4, 6, 1], [PADDING]]
    longest = max(map(len, sentences))
    ids = torch.tensor([sentence + [PADDING] * (longest - len(sentence)) for sentence in sentences])
    counts = torch.zeros(len(sentences), 7)
    for row, sentence in enumerate(sentences):
        for token, count in Counter(sentence).items():
            counts[row, token] = count * (token != PADDING)
    torch.testing.assert_close(model(ids), reference(counts))


def test_a_hidden_layer_over_the_counts_computes_exclusive_or() -> None:
    """Two threshold units and a readout: no sum of word weights separates these four rows (Minsky & Papert 1969)."""
    model = hidden_bag()
    model.inner.weight.data = torch.tensor([[10.0, 10.0, 0.0, 0.0], [10.0, 10.0, 0.0, 0.0]])
    model.inner.bias.data = torch.tensor([-5.0, -15.0])  # at least one of the words 0 and 1, both of them
    model.readout.weight.data = torch.tensor([[0.0, 0.0], [1.0, -1.0]])
    model.readout.bias.data = torch.tensor([1.0, 0.0])
    rows = torch.tensor([[2, 2], [0, 2], [1, 2], [0, 1]])
    assert model(rows).argmax(dim=-1).tolist() == [0, 1, 1, 0]


@settings(deadline=None)
@pytest.mark.parametrize("build", [bag, hidden_bag])
@given(st.lists(st.integers(0, 6), min_size=1, max_size=11), st.data())
def test_the_order_of_words_does_not_matter(build: type, one: list[int], data: st.DataObject) -> None:
    model = build(vocabulary=7)
    other = data.draw(st.permutations(one))
    assert torch.equal(model(torch.tensor([one])), model(torch.tensor([other])))
