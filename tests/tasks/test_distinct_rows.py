from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from explorer.models.configs import FeedforwardConfig
from explorer.models.feedforward import Feedforward
from explorer.tasks.negation import VOCABULARY, Negation, NegationConfig, batch_weights, row_ids, row_labels, row_lookup

EPOCHS, SIZE, BATCH = 3, 211, 64  # the last batch of an epoch has 19 sentences
CONFIGS = {
    "single": NegationConfig(train_size=SIZE),
    "double eos": NegationConfig(train_size=SIZE, padding="eos", max_nots=2, p_not=0.1),
    "held out": NegationConfig(train_size=SIZE, held_out="destroy", max_nots=3),
}


def order() -> Generator:
    return Generator().manual_seed(5)


def plain_batches(task: Negation) -> list[list[int]]:
    """The sentences of each batch, in the same shuffled order."""
    sample = task.sample("train", 2)
    epochs = torch.rand(EPOCHS, SIZE, generator=order()).argsort(dim=-1).tolist()
    return [[sample[i] for i in epoch[at : at + BATCH]] for epoch in epochs for at in range(0, SIZE, BATCH)]


def plain_ids(task: Negation, batch: list[int]) -> Tensor:
    """Return a batch as in the notebook: every sentence padded to the longest."""
    filling = "<EOS>" if task.config.padding == "eos" else "<PAD>"
    tokens = [["<BOS>", *task.sentences[s].words, "<EOS>"] for s in batch]
    longest = max(map(len, tokens))
    return torch.tensor([[VOCABULARY.id(t) for t in (row + [filling] * longest)[:longest]] for row in tokens])


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_loss_and_gradient_equal_those_of_the_plain_batch(config: NegationConfig) -> None:
    task = Negation(config)
    weights = batch_weights(task, torch.tensor(task.sample("train", 2)), EPOCHS, BATCH, order())
    model = Feedforward(FeedforwardConfig(width=3, hidden=5, window=8), 11, 2, 10, Generator().manual_seed(1))
    parameters = list(model.parameters())
    for share, batch in zip(weights, plain_batches(task), strict=True):
        labels = torch.tensor([task.labels[s] for s in batch])
        plain = F.cross_entropy(model(plain_ids(task, batch)), labels)
        short = (F.cross_entropy(model(row_ids(task)), row_labels(task), reduction="none") * share).sum()
        torch.testing.assert_close(short, plain, atol=1e-6, rtol=1e-5)
        torch.testing.assert_close(
            torch.autograd.grad(short, parameters), torch.autograd.grad(plain, parameters), atol=1e-6, rtol=1e-4
        )


def test_padding_of_worked_examples() -> None:
    task = Negation(NegationConfig(padding="eos", train_size=8))
    plain, negated = 0, 1  # human [not] consume nature

    def shares(*sample: int) -> dict[tuple[int, int], float]:
        """By sentence and the length it is filled up to."""
        (share,) = batch_weights(task, torch.tensor(sample), 1, 8, order())
        return {(row.sentence, row.length): s for row, s in zip(task.rows, share.tolist(), strict=True) if s}

    assert shares(*[plain] * 8) == {(plain, 5): 1.0}
    assert shares(*[plain] * 7, negated) == {(plain, 6): 0.875, (negated, 6): 0.125}
    task = Negation(NegationConfig(padding="eos"))
    beside = row_lookup(task)
    for longest in range(5, 7):
        for sentence, own in enumerate(task.lengths):
            row = task.rows[int(beside[longest, sentence])]
            assert (row.sentence, row.length) == (sentence, max(own, longest))
