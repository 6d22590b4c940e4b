"""Skip-gram and CBOW against the formula of the paper, written in numpy, on the same pairs."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Generator

from explorer.models.configs import CbowConfig, SkipGramConfig
from explorer.models.word_vectors import Cbow, SkipGram, WordVectors, negative_sampling_loss
from explorer.tasks.word_vectors import Batch, WordData, WordVectorsConfig, draw_batch
from explorer.tasks.word_vectors_grammar import grammar_text
from tests.models.stacks import assert_stack_equals_single_models

WIDTH = 7
DATA = WordData(WordVectorsConfig(sentences=200, window=3, negatives=4), grammar_text(200, 0))


def small(kind: type[WordVectors], seed: int = 0) -> WordVectors:
    """Return a model with random vectors in both tables, because new output vectors are zero."""
    config = SkipGramConfig(WIDTH) if kind is SkipGram else CbowConfig(WIDTH)
    model = kind(config, len(DATA.words), Generator().manual_seed(seed))
    assert not model.readout.weight.any() and 0 < float(model.embedding.weight.detach().std()) < 1 / WIDTH
    with torch.no_grad():
        for i, table in enumerate((model.embedding, model.readout)):
            table.weight.normal_(0, 0.7, generator=Generator().manual_seed(10 * seed + i))
    return model


def reference(inputs: np.ndarray, outputs: np.ndarray, batch: Batch) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the loss of eq. 4 and its gradients for both tables, by loops over rows and words.

    d/dx of -log sigma(x) is sigma(x) - 1 for the true word, and of -log sigma(-x) it is sigma(x) for a noise word.
    """
    loss, of_inputs, of_outputs = 0.0, np.zeros_like(inputs), np.zeros_like(outputs)
    rows = len(batch.inputs)
    for read, there, words in zip(*(part.numpy() for part in batch), strict=True):
        used = read[there > 0]
        h = np.mean([inputs[id] for id in used], axis=0)
        of_h = np.zeros_like(h)
        for i, word in enumerate(words):
            sigma = 1 / (1 + np.exp(-outputs[word] @ h))
            loss -= np.log(sigma if i == 0 else 1 - sigma) / rows
            error = (sigma - (i == 0)) / rows
            of_h += error * outputs[word]
            of_outputs[word] += error * h
        for id in used:
            of_inputs[id] += of_h / len(used)
    return loss, of_inputs, of_outputs


@pytest.mark.parametrize("kind", [SkipGram, Cbow])
def test_loss_and_gradients_equal_the_formula_on_the_same_pairs(kind: type[WordVectors]) -> None:
    model = small(kind).double()
    batch = draw_batch(DATA, 0, "test", 40, kind.predicts_neighbours)
    assert kind is SkipGram or 0 < float(batch.present.mean()) < 1  # some neighbours are missing
    loss = negative_sampling_loss(model(*batch))
    loss.backward()  # type: ignore[no-untyped-call]
    tables = (model.embedding.weight, model.readout.weight)
    wanted, *gradients = reference(*(table.detach().numpy() for table in tables), batch)
    assert float(loss.detach()) == pytest.approx(wanted, rel=1e-6)
    for table, gradient in zip(tables, gradients, strict=True):
        assert table.grad is not None
        np.testing.assert_allclose(table.grad.numpy(), gradient, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("kind", [SkipGram, Cbow])
def test_a_replica_of_a_stack_equals_the_single_model(kind: type[WordVectors]) -> None:
    models = [small(kind, seed) for seed in range(3)]
    each = [draw_batch(DATA, seed, "test", 8, kind.predicts_neighbours) for seed in range(3)]
    assert_stack_equals_single_models(models, *(torch.stack(parts) for parts in zip(*each, strict=True)))


def test_a_case_by_hand() -> None:
    scores = torch.tensor([[0.0, 0.0, 0.0], [100.0, -100.0, -100.0]])
    assert float(negative_sampling_loss(scores[:1])) == pytest.approx(3 * np.log(2))  # as at the start of a training
    assert float(negative_sampling_loss(scores[1:])) < 1e-40
