"""The gradient of shared weights as a sum over steps."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from explorer.inspection.opening import OpenedModel
from explorer.inspection.unrolling import terms
from explorer.training.building import build
from explorer.training.recall_runs import CONTESTANTS

NETS = ["rnn-usual", "lstm-chrono", "gru-chrono"]


def opened(name: str, seeds: int) -> OpenedModel:
    config = CONTESTANTS[name].config(length=6, replicas=seeds)
    return OpenedModel(config, build(config).eval().requires_grad_(False), None)


@pytest.mark.parametrize("name", NETS)
def test_the_terms_add_up_to_the_gradient_that_autograd_finds(name: str) -> None:
    found = terms(opened(name, 2))
    assert found.sizes.shape == found.share.shape == (2, 6) and found.off < 1e-15
    np.testing.assert_allclose(found.share.sum(axis=1), 1.0, atol=1e-9)
    assert (found.whole > 0).all() and (found.sizes[:, 0] == 0).all(), "before the first step the state is zero"


@pytest.mark.parametrize("name", NETS)
def test_each_seed_has_the_terms_that_it_has_alone(name: str) -> None:
    together, alone = terms(opened(name, 2)), terms(opened(name, 1))
    np.testing.assert_allclose(together.sizes[:1], alone.sizes, rtol=1e-9)
    np.testing.assert_allclose(together.share[:1], alone.share, rtol=1e-6, atol=1e-12)


def test_the_model_that_is_shared_by_all_is_left_as_it_was() -> None:
    shared = opened("gru-chrono", 2)
    before = {name: value.clone() for name, value in shared.stack.state_dict().items()}
    terms(shared)
    assert isinstance(shared.stack, nn.Module)
    assert all(torch.equal(value, before[name]) for name, value in shared.stack.state_dict().items())
    assert not any(parameter.requires_grad for parameter in shared.stack.parameters())
