"""Bengio's neural n-gram compared with a computation position by position, for both implementations."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
import torch
from torch import Generator, Tensor

from explorer.models.configs import FeedforwardTextConfig
from explorer.models.layers import learning, replica, stack
from explorer.models.neural_ngram import NeuralNgram
from explorer.models.taps import intervene, record, tap_names

VOCABULARY, WIDTH, HIDDEN, WINDOW, REPLICAS = 7, 5, 11, 3, 3
SHAPES = {"multiplied": (3, 9), "looked up": (13, 9)}  # few positions for each token, and many


def neural_ngram(seed: int = 1, batch_norm: bool = False, dropout: float = 0.0, window: int = WINDOW) -> NeuralNgram:
    config = FeedforwardTextConfig(width=WIDTH, hidden=HIDDEN, window=window, batch_norm=batch_norm, dropout=dropout)
    model = NeuralNgram(config, VOCABULARY, 9, Generator().manual_seed(seed))
    if model.norm is not None:  # its initial ones and zeros would hide a mistake
        for value in model.norm.state_dict().values():
            value.uniform_(0.5, 2, generator=Generator().manual_seed(seed))
    return model


def random_ids(*shape: int, seed: int = 7) -> Tensor:
    return torch.randint(VOCABULARY, shape, generator=Generator().manual_seed(seed))


def logits_at(model: NeuralNgram, row: Tensor, t: int) -> Tensor:
    """Compute the logits at position `t` from the tokens of its window, vector by vector."""
    x = torch.zeros(0)
    for position in range(t - model.window + 1, t + 1):
        x = torch.cat([x, model.embedding.weight[row[position]] if position >= 0 else torch.zeros(WIDTH)])
    return model.readout.weight @ torch.tanh(model.inner.weight @ x + model.inner.bias) + model.readout.bias


def assert_close(actual: list[Tensor], expected: list[Tensor]) -> None:
    for actual_value, expected_value in zip(actual, expected, strict=True):
        torch.testing.assert_close(actual_value, expected_value, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("window", [1, 2, 3, 20])
@pytest.mark.parametrize("path", SHAPES)
def test_every_position_equals_its_own_window(path: str, window: int) -> None:
    model, ids = neural_ngram(window=window), random_ids(*SHAPES[path])
    by_position = torch.stack([torch.stack([logits_at(model, row, t) for t in range(9)]) for row in ids])
    torch.testing.assert_close(model(ids), by_position, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("use_learning", [False, True], ids=["evaluation", "learning"])
@pytest.mark.parametrize("batch_norm", [False, True])
@pytest.mark.parametrize("path", SHAPES)
def test_a_replica_of_a_stack_equals_the_single_model(path: str, batch_norm: bool, use_learning: bool) -> None:
    """Compare logits, gradients, the running statistics of batch norm and dropout masks."""
    dropout = 0.5 if use_learning else 0.0
    models = [neural_ngram(seed, batch_norm, dropout) for seed in range(REPLICAS)]
    stacked_model, ids = stack(models), random_ids(REPLICAS, *SHAPES[path])
    weights = torch.linspace(-1, 1, ids.numel() * VOCABULARY).view(*ids.shape, VOCABULARY)
    with learning([Generator().manual_seed(seed) for seed in range(REPLICAS)]) if use_learning else nullcontext():
        logits = stacked_model(ids)
    gradients = torch.autograd.grad((logits * weights).sum(), list(stacked_model.parameters()))
    for r, model in enumerate(models):
        with learning([Generator().manual_seed(r)]) if use_learning else nullcontext():
            single_logits = model(ids[r])
        single_gradients = torch.autograd.grad((single_logits * weights[r]).sum(), list(model.parameters()))
        assert_close([logits[r], *(g[r] for g in gradients)], [single_logits, *single_gradients])
        assert_close([buffer[r] for buffer in stacked_model.buffers()], list(model.buffers()))
        assert_close([replica(stacked_model, r)(ids[r])], [model(ids[r])])


def test_batch_norm_is_applied_before_the_tanh() -> None:
    model, ids = neural_ngram(batch_norm=True), random_ids(3, 9)
    with record(model) as trace, learning([Generator()]):
        model(ids)
    units = trace["preactivation"].flatten(0, 1)
    torch.testing.assert_close(units.mean(0), model.norm.bias, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(units.std(0, correction=0), model.norm.weight, atol=1e-3, rtol=1e-3)
    assert model.inner.bias is None  # the norm would subtract a bias again


def test_dropout_is_active_only_during_learning() -> None:
    model, model_without_dropout, ids = neural_ngram(dropout=0.5), neural_ngram(), random_ids(3, 9)
    assert torch.equal(model(ids), model_without_dropout(ids))
    with learning([Generator().manual_seed(1)]):
        h, _ = model.features(ids)
    kept_units = h != 0
    assert 0.2 < kept_units.float().mean() < 0.8
    torch.testing.assert_close(h[kept_units], 2 * model_without_dropout.features(ids)[0][kept_units])


def test_tap_names_are_part_of_the_file_format() -> None:
    model, ids = neural_ngram(), random_ids(3, 9)
    assert sorted(tap_names(model).values()) == ["embedded", "hidden", "preactivation"]
    with record(model) as trace:
        h, state = model.features(ids)
    assert state == ()
    assert torch.equal(trace["embedded"], model.embedding.weight[ids])
    assert torch.equal(trace["hidden"], trace["preactivation"].tanh())
    torch.testing.assert_close(h, model.features(ids)[0])
    with intervene(model, {"hidden": torch.zeros(3, 9, HIDDEN)}):
        assert torch.equal(model(ids), model.readout.bias.expand(3, 9, -1))
