from __future__ import annotations

import itertools
from collections import Counter

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Generator

from explorer.models.bag_of_bigrams import BagOfBigrams
from explorer.models.configs import BagOfBigramsConfig
from explorer.models.taps import record
from explorer.tasks.distinct_rows import row_ids
from explorer.tasks.negation import VOCABULARY, Negation, NegationConfig

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


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=9), min_size=1, max_size=4))
def test_the_counts_are_those_of_a_counter_over_neighbours(sentences: list[list[int]]) -> None:
    """Sentences without the padding token 6, padded to the longest; a stack has the same counts as its replicas."""
    model = bag(vocabulary=7, padding=6)
    longest = max(map(len, sentences))
    ids = torch.tensor([sentence + [6] * (longest - len(sentence)) for sentence in sentences])
    for rows in (ids, ids.expand(1, *ids.shape)):
        with record(model) as trace:
            model(rows)
        for sentence, counts in zip(sentences, trace["counts"].view(len(sentences), 7, 7), strict=True):
            expected = Counter(itertools.pairwise(sentence))
            assert {(int(u), int(v)): int(counts[u, v]) for u, v in counts.nonzero()} == expected


def test_padding_with_eos_is_counted_up_to_the_longest_sentence_of_the_batch() -> None:
    """The rows of one sentence differ in their number of pairs (<EOS>, <EOS>) only."""
    task = Negation(NegationConfig(max_nots=2, padding="eos"))
    end, padding = VOCABULARY.id(VOCABULARY.last), VOCABULARY.id(VOCABULARY.padding)
    model = bag(len(VOCABULARY.tokens), padding)
    with record(model) as trace:
        model(row_ids(task))
    counts = trace["counts"].view(len(task.rows), len(VOCABULARY.tokens), len(VOCABULARY.tokens))
    assert not counts[:, padding].any() and not counts[:, :, padding].any()
    for row, pairs in zip(task.rows, counts, strict=True):
        assert pairs.sum() == row.length - 1
        assert pairs[end, end] == row.length - task.lengths[row.sentence]
