from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Generator

from explorer.models.bag_of_words import BagOfWords
from explorer.models.configs import BagOfWordsConfig
from explorer.models.taps import record

PADDING = 3


def bag(vocabulary: int = 4) -> BagOfWords:
    return BagOfWords(BagOfWordsConfig(), vocabulary, 2, PADDING, Generator().manual_seed(1))


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


@settings(deadline=None)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=11), st.data())
def test_the_order_of_words_does_not_matter(one: list[int], data: st.DataObject) -> None:
    model = bag(vocabulary=7)
    other = data.draw(st.permutations(one))
    assert torch.equal(model(torch.tensor([one])), model(torch.tensor([other])))
