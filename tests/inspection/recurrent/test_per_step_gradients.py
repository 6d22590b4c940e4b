"""The gradient of shared weights as a sum over steps."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from explorer.experiments.recall import VARIANTS
from explorer.inspection.load_model import LoadedModel
from explorer.inspection.recurrent.per_step_gradients import step_gradients
from explorer.training.model_factory import build_model

NETS = ["rnn-usual", "lstm-chrono", "gru-chrono"]


def load(name: str, seeds: int) -> LoadedModel:
    config = VARIANTS[name].config(length=6, replicas=seeds)
    return LoadedModel(config, build_model(config).eval().requires_grad_(False), None)


@pytest.mark.parametrize("name", NETS)
def test_the_terms_sum_to_autograds_gradient(name: str) -> None:
    terms = step_gradients(load(name, 2))
    assert terms.norms.shape == terms.projection.shape == (2, 6) and terms.max_error < 1e-15
    np.testing.assert_allclose(terms.projection.sum(axis=1), 1.0, atol=1e-9)
    assert (terms.total_norm > 0).all() and (terms.norms[:, 0] == 0).all(), "before the first step the state is zero"


@pytest.mark.parametrize("name", NETS)
def test_replicas_do_not_influence_each_other(name: str) -> None:
    together, alone = step_gradients(load(name, 2)), step_gradients(load(name, 1))
    np.testing.assert_allclose(together.norms[:1], alone.norms, rtol=1e-9)
    np.testing.assert_allclose(together.projection[:1], alone.projection, rtol=1e-6, atol=1e-12)


def test_the_shared_model_is_unchanged() -> None:
    shared = load("gru-chrono", 2)
    before = {name: value.clone() for name, value in shared.stack.state_dict().items()}
    step_gradients(shared)
    assert isinstance(shared.stack, nn.Module)
    assert all(torch.equal(value, before[name]) for name, value in shared.stack.state_dict().items())
    assert not any(parameter.requires_grad for parameter in shared.stack.parameters())
