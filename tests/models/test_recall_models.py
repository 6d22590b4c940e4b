"""Models of the recall task: the initialization of their gates, and which order they can distinguish."""

from __future__ import annotations

from typing import cast

import pytest
import torch
from torch import Tensor

from explorer.experiments.recall import VARIANTS
from explorer.models.recurrence import RecurrentClassifier
from explorer.tasks.recall import RecallConfig, evaluation_sequences
from explorer.training.model_factory import build_model
from tests.models.stacks import assert_stack_equals_single_models

LENGTH = 50
GATED = ("lstm", "gru")


def build_variant(name: str, **changes: object) -> torch.nn.Module:
    return build_model(VARIANTS[name].config(**{"replicas": 1, **changes}))


def biases(name: str) -> tuple[Tensor, Tensor]:
    """Return the recurrent and the input biases of a model's cell, one row per gate."""
    cell = cast(RecurrentClassifier, build_variant(name)).cell
    both = cell.recurrent.bias, cell.input.bias  # type: ignore[attr-defined]
    gates = len(both[0]) // 16
    return both[0].view(gates, 16), both[1].view(gates, 16)


@pytest.mark.parametrize("model", GATED)
def test_chrono_initialization_covers_all_lengths_up_to_the_trained_one(model: str) -> None:
    recurrent_bias, input_bias = biases(f"{model}-chrono")
    forget_bias = (recurrent_bias + input_bias)[1]  # the forget gate of the LSTM, the update gate of the GRU
    steps = forget_bias.exp() + 1  # how many steps a gate of sigmoid(b) keeps about 1/e of what it holds
    assert (steps >= 2).all() and (steps <= LENGTH).all() and steps.max() > LENGTH / 3
    if model == "lstm":
        torch.testing.assert_close((recurrent_bias + input_bias)[0], -forget_bias)
    default_biases = biases(f"{model}-usual")
    others = [gate for gate in range(len(recurrent_bias)) if gate not in ((0, 1) if model == "lstm" else (1,))]
    for gate in others:  # nothing else changed
        torch.testing.assert_close((recurrent_bias + input_bias)[gate], (default_biases[0] + default_biases[1])[gate])


@pytest.mark.parametrize("model", GATED)
@pytest.mark.parametrize("bias", [1, 3])
def test_the_forget_gate_bias_is_initialized_as_configured(model: str, bias: int) -> None:
    recurrent_bias, input_bias = biases(f"{model}-forget-{bias}")
    assert (recurrent_bias + input_bias)[1].tolist() == [bias] * 16
    assert (recurrent_bias + input_bias)[0].tolist() != [bias] * 16


@pytest.mark.parametrize("gain", [0.5, 1.0, 2.5])
def test_the_gain_is_the_spectral_radius(gain: float) -> None:
    cell = cast(RecurrentClassifier, build_variant("rnn-usual", gain=gain)).cell
    radius = torch.linalg.eigvals(cell.recurrent.weight.detach()).abs().max()
    torch.testing.assert_close(radius, torch.tensor(gain), atol=1e-5, rtol=0)


@pytest.mark.parametrize("name", VARIANTS)
def test_a_stack_equals_its_single_models(name: str) -> None:
    models = [build_variant(name, seed=seed) for seed in range(3)]
    ids = evaluation_sequences(RecallConfig(), 17, 5)
    assert_stack_equals_single_models(models, ids.expand(3, *ids.shape))


@pytest.mark.parametrize("model", ["rnn", *GATED])
def test_one_forward_pass_gives_the_logits_of_every_prefix(model: str) -> None:
    net = cast(RecurrentClassifier, build_variant(f"{model}-usual"))
    ids = evaluation_sequences(RecallConfig(), 9, 4)
    prefix_logits = net.prefix_logits(ids)
    for length in range(1, 10):
        torch.testing.assert_close(prefix_logits[:, length - 1], net(ids[:, :length]), atol=1e-6, rtol=1e-5)


def test_without_positions_the_order_is_ignored() -> None:
    ids = evaluation_sequences(RecallConfig(symbols=5), 12, 6)
    reversed_ids = ids.flip(-1)
    for name in ("transformer-learned", "transformer-sinusoidal", "transformer-none"):
        model = build_variant(name, symbols=5)
        same = torch.allclose(model(ids), model(reversed_ids), atol=1e-5)
        assert same == (name == "transformer-none"), name
