"""Bengio's neural n-gram compared with a computation position by position, for both implementations."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
import torch
from torch import Generator, Tensor, nn

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


def logits_and_gradients(model: nn.Module, ids: Tensor) -> list[Tensor]:
    logits = model(ids)
    weights = torch.linspace(-1, 1, logits.numel()).view(logits.shape)
    return [logits, *torch.autograd.grad((logits * weights).sum(), list(model.parameters()))]


def assert_close(actual: list[Tensor], expected: list[Tensor]) -> None:
    for actual_value, expected_value in zip(actual, expected, strict=True):
        torch.testing.assert_close(actual_value, expected_value, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("window", [1, 2, 3, 20])
@pytest.mark.parametrize("path", SHAPES)
def test_every_position_equals_its_own_window(path: str, window: int) -> None:
    model, ids = neural_ngram(window=window), random_ids(*SHAPES[path])
    by_position = torch.stack([torch.stack([logits_at(model, row, t) for t in range(9)]) for row in ids])
    torch.testing.assert_close(model(ids), by_position, atol=1e-5, rtol=1e-5)


def test_both_implementations_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    for name, method in (("multiplied", NeuralNgram._window_product), ("looked up", NeuralNgram._table_lookup)):

        def record_call(model: NeuralNgram, ids: Tensor, name: str = name, method: object = method) -> Tensor:
            calls.append(name)
            return method(model, ids)

        monkeypatch.setattr(NeuralNgram, method.__name__, record_call)
    for path in SHAPES:
        neural_ngram()(random_ids(*SHAPES[path]))
        stack([neural_ngram(), neural_ngram(2)])(random_ids(2, *SHAPES[path]))
        assert calls == [path] * 2
        calls.clear()


@pytest.mark.parametrize("batch_norm", [False, True])
@pytest.mark.parametrize("stacked", [False, True], ids=["solo", "stacked"])
@pytest.mark.parametrize("path", SHAPES)
def test_recording_gives_the_same_logits_and_gradients(path: str, stacked: bool, batch_norm: bool) -> None:
    models = [neural_ngram(seed, batch_norm) for seed in range(REPLICAS)]
    model, ids = (
        (stack(models), random_ids(REPLICAS, *SHAPES[path])) if stacked else (models[0], random_ids(*SHAPES[path]))
    )
    unrecorded = logits_and_gradients(model, ids)
    with record(model):
        recorded = logits_and_gradients(model, ids)
    assert_close(recorded, unrecorded)


@pytest.mark.parametrize("path", SHAPES)
def test_a_later_token_changes_no_earlier_logit(path: str) -> None:
    model, ids = neural_ngram(), random_ids(*SHAPES[path])
    for t in range(1, 9):
        other = ids.clone()
        other[:, t:] = (other[:, t:] + 1) % VOCABULARY
        assert torch.equal(model(other)[:, :t], model(ids)[:, :t])
        assert not torch.allclose(model(other)[:, t], model(ids)[:, t], atol=1e-3)


@pytest.mark.parametrize("path", SHAPES)
def test_tokens_beyond_the_window_are_ignored(path: str) -> None:
    model, ids = neural_ngram(), random_ids(*SHAPES[path])
    other = ids.clone()
    other[:, 2] = (other[:, 2] + 1) % VOCABULARY
    changed = (model(other) - model(ids)).abs().amax((0, 2)) > 1e-4
    assert changed.nonzero().flatten().tolist() == [2, 3, 4]


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
    assert torch.equal(trace["hidden"], h)
    with intervene(model, {"hidden": torch.zeros(3, 9, HIDDEN)}):
        assert torch.equal(model(ids), model.readout.bias.expand(3, 9, -1))


def test_initialization_follows_from_the_seed_and_ignores_the_global_generator() -> None:
    before = torch.get_rng_state()
    model, same_seed, other_seed = neural_ngram(), neural_ngram(), neural_ngram(seed=2)
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(value, same_seed.state_dict()[name]) for name, value in model.state_dict().items())
    assert not any(torch.equal(value, other_seed.state_dict()[name]) for name, value in model.state_dict().items())


def test_batch_norm_does_not_change_the_initialization_of_other_layers() -> None:
    parameters, parameters_with_norm = neural_ngram().state_dict(), neural_ngram(batch_norm=True).state_dict()
    assert parameters.keys() - parameters_with_norm.keys() == {"inner.bias"}
    assert all(
        torch.equal(parameters[name], parameters_with_norm[name])
        for name in parameters.keys() & parameters_with_norm.keys()
    )
