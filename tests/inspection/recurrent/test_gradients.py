"""Gradients of recurrent networks: of the inputs, by the spectral radius, and of the shared weights by step."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from explorer.experiments.recall import VARIANTS
from explorer.inspection.load_model import LoadedModel
from explorer.inspection.recurrent import input_gradients
from explorer.inspection.recurrent.input_gradients import (
    gradient_norms,
    gradient_norms_by_gain,
    input_gradient_norms,
    linear_reference,
    spectral_radii,
)
from explorer.inspection.recurrent.per_step_gradients import step_gradients
from explorer.models.taps import Tap
from explorer.tasks.recall import RecallConfig, evaluation_sequences
from explorer.training.config import default_config, with_settings
from explorer.training.model_factory import build_model


def build_untrained(model: str, **settings: object) -> LoadedModel:
    config = with_settings(default_config("recall", model), {"length": 7, "replicas": 2, **settings})
    return LoadedModel(config, build_model(config).requires_grad_(False), None)


def test_gradient_norms_equal_those_of_a_manually_unrolled_network() -> None:
    loaded = build_untrained("rnn")
    weights = {name: value.double() for name, value in loaded.stack.state_dict().items()}
    ids = evaluation_sequences(RecallConfig(7), 7, input_gradients.SEQUENCES)
    for replica, norms in enumerate(input_gradient_norms(loaded)):
        w = {name: value[replica] for name, value in weights.items()}
        expected = torch.zeros(7, dtype=torch.float64)
        for row in ids:
            x = [w["embedding.weight"][i].clone().requires_grad_() for i in row]
            h = torch.zeros(16, dtype=torch.float64)
            for each in x:
                new, old = w["cell.input.weight"] @ each, w["cell.recurrent.weight"] @ h
                h = torch.tanh(new + w["cell.input.bias"] + old + w["cell.recurrent.bias"])
            logits = w["readout.weight"] @ h + w["readout.bias"]
            slopes = torch.autograd.grad(F.cross_entropy(logits[None], row[:1]), x)
            expected += torch.stack([slope.norm() for slope in slopes])
        torch.testing.assert_close(torch.from_numpy(norms.copy()), expected / len(ids), rtol=1e-9, atol=0.0)


class Leaky(nn.Module):
    """h_t = a h_(t-1) + x_t, and h_T is the logits: dL/dx_t = a^(T-t) (p - y)."""

    def __init__(self, keeps: float) -> None:
        super().__init__()
        self.embedding = nn.Parameter(torch.eye(2))
        self.keeps, self.embedded = keeps, Tap()

    def forward(self, ids: Tensor) -> Tensor:
        h = torch.zeros(())
        for x in self.embedded(self.embedding[ids]).unbind(-2):
            h = self.keeps * h + x
        return h


@pytest.mark.parametrize("keeps", [0.1, 1.2])
def test_gradient_norms_of_a_linear_network_equal_the_closed_form(keeps: float) -> None:
    ids = torch.tensor([[0, 1, 1, 0], [1, 1, 0, 0]])
    (norms,) = gradient_norms(Leaky(keeps), ids, 1)
    inputs = torch.eye(2, dtype=torch.float64)[ids]
    h = torch.stack([keeps ** (3 - t) * inputs[:, t] for t in range(4)]).sum(dim=0)
    error = (h.softmax(dim=-1) - torch.eye(2, dtype=torch.float64)[ids[:, 0]]).norm(dim=-1).mean()
    expected = torch.tensor([keeps ** (3 - t) for t in range(4)], dtype=torch.float64) * error
    torch.testing.assert_close(norms, expected, rtol=1e-12, atol=0.0)
    (norms,) = gradient_norms(Leaky(0.1), torch.zeros(3, 120, dtype=torch.int64), 1)
    assert 0 < norms[0] < 1e-60, "tiny gradients do not underflow"


@pytest.mark.parametrize("model", ["lstm", "transformer"])
def test_norms_do_not_depend_on_replicas_or_chunks_and_leave_the_model_unchanged(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = build_untrained(model)
    before = {name: value.clone() for name, value in loaded.stack.state_dict().items()}
    norms = input_gradient_norms(loaded, 9)
    assert norms.shape == (2, 9) and (norms > 0).all()
    after = loaded.stack.state_dict()
    assert all(torch.equal(after[name], value) and value.dtype == torch.float32 for name, value in before.items())
    alone = input_gradient_norms(build_untrained(model, replicas=1), 9)
    np.testing.assert_allclose(alone[0], norms[0])
    monkeypatch.setattr(input_gradients, "_MAX_SYMBOLS", 21)
    np.testing.assert_allclose(input_gradient_norms(loaded, 9), norms, rtol=1e-12)


def test_gradients_follow_the_spectral_radius() -> None:
    assert spectral_radii(build_untrained("rnn", gain=1.7)).tolist() == pytest.approx([1.7, 1.7], rel=1e-5)
    assert spectral_radii(build_untrained("rnn", start="orthogonal")).tolist() == pytest.approx([1.0, 1.0], rel=1e-5)
    norms = gradient_norms_by_gain((0.5, 3.0), 12)
    assert norms.shape == (2, 8, 12)
    small, large = np.median(norms, axis=1)
    assert small[0] < 1e-3 * small[-1] and large[0] > small[0] * 1e3
    reference = linear_reference(np.full((2, 3, 4), 0.2), (0.5, 2.0))[:, 0]
    assert reference == pytest.approx(np.array([[0.025, 0.05, 0.1, 0.2], [1.6, 0.8, 0.4, 0.2]]))


@pytest.mark.parametrize("name", ["rnn-usual", "lstm-chrono", "gru-chrono"])
def test_the_terms_sum_to_autograds_gradient(name: str) -> None:
    configs = [VARIANTS[name].config(length=6, replicas=replicas) for replicas in (2, 1)]
    loaded, one = (LoadedModel(each, build_model(each).eval().requires_grad_(False), None) for each in configs)
    before = {key: value.clone() for key, value in loaded.stack.state_dict().items()}
    terms, alone = step_gradients(loaded), step_gradients(one)
    assert terms.norms.shape == terms.projection.shape == (2, 6) and terms.max_error < 1e-15
    np.testing.assert_allclose(terms.projection.sum(axis=1), 1.0, atol=1e-9)
    assert (terms.norms[:, 0] == 0).all(), "before the first step the state is zero"
    np.testing.assert_allclose(terms.norms[:1], alone.norms, rtol=1e-9)
    np.testing.assert_allclose(terms.projection[:1], alone.projection, rtol=1e-6, atol=1e-12)
    assert all(torch.equal(value, before[key]) for key, value in loaded.stack.state_dict().items())
    assert not any(parameter.requires_grad for parameter in loaded.stack.parameters())
