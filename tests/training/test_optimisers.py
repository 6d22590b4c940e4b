from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Generator, Tensor, nn

from explorer.models.configs import TransformerTextConfig
from explorer.models.layers import replica, stack
from explorer.models.transformer_decoder import TransformerDecoder
from explorer.training.config import Optimiser
from explorer.training.optimisers import SGD, ReplicaOptimizer, RMSProp, orthogonalize, orthogonalize_in_bfloat16

METHODS = ("adam", "sgd", "rmsprop", "muon")


def build_model(seed: int = 1) -> TransformerDecoder:
    config = TransformerTextConfig(width=8, heads=2, layers=2, hidden=12, start="usual", biases=True)
    return TransformerDecoder(config, 11, 5, Generator().manual_seed(seed))


def settings(method: Any, **others: Any) -> Optimiser:
    defaults: dict[str, Any] = {"learning_rate": 0.01, "weight_decay": 0.1, "momentum": 0.9, "beta2": 0.95}
    return Optimiser(method=method, **{**defaults, **others})


def train_steps(model: nn.Module, optimizer: ReplicaOptimizer, first: int = 0, last: int = 5) -> None:
    """Take a few optimizer steps on one task: to predict, at each position, the id at that position."""
    for step in range(first, last):
        shape = (optimizer.replicas, 3, 5) if optimizer.replicas > 1 else (3, 5)
        ids = torch.randint(11, shape[-2:], generator=Generator().manual_seed(step)).expand(shape)
        optimizer.zero_grad()
        losses = -model(ids).log_softmax(dim=-1).gather(-1, ids[..., None])
        losses.mean(dim=(-3, -2, -1)).backward(torch.ones(shape[:-2]))
        optimizer.step(step + 1, 10)


def weights(model: nn.Module) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def assert_close(actual: dict[str, Tensor], expected: dict[str, Tensor], tolerance: float = 0.0) -> None:
    for name, value in actual.items():
        torch.testing.assert_close(value, expected[name], atol=tolerance, rtol=tolerance, msg=name)


@pytest.mark.parametrize(
    ("build_own", "build_reference"),
    [
        (lambda p: SGD(p, 0.1, 0.9), lambda p: torch.optim.SGD(p, 0.1, momentum=0.9)),
        (lambda p: SGD(p, 0.1), lambda p: torch.optim.SGD(p, 0.1)),
        (lambda p: RMSProp(p, 0.01, 0.9), lambda p: torch.optim.RMSprop(p, 0.01, alpha=0.9)),
    ],
    ids=["momentum", "sgd", "rmsprop"],
)
def test_steps_equal_those_of_torch(build_own: Any, build_reference: Any) -> None:
    own_model, reference_model = nn.Linear(5, 3), nn.Linear(5, 3)
    reference_model.load_state_dict(own_model.state_dict())
    own_optimiser, reference = build_own(own_model.parameters()), build_reference(reference_model.parameters())
    for step in range(20):
        x = torch.randn(7, 5, generator=Generator().manual_seed(step))
        for model, optimiser in ((own_model, own_optimiser), (reference_model, reference)):
            optimiser.zero_grad()
            model(x).square().mean().backward()
            optimiser.step()
    assert_close(weights(own_model), weights(reference_model), 1e-6)


def test_weight_decay_equals_that_of_adamw() -> None:
    own_model, reference_model = build_model(), build_model()
    optimizer = ReplicaOptimizer(own_model, settings("adam"), 1)
    reference = torch.optim.AdamW(reference_model.parameters(), lr=0.01, betas=(0.9, 0.95), weight_decay=0.1)
    train_steps(own_model, optimizer)
    for step in range(5):
        ids = torch.randint(11, (3, 5), generator=Generator().manual_seed(step))
        reference.zero_grad()
        (-reference_model(ids).log_softmax(dim=-1).gather(-1, ids[..., None])).mean().backward()
        reference.step()
    assert_close(weights(own_model), weights(reference_model), 1e-5)


@pytest.mark.parametrize("shape", [(1, 4, 4), (3, 4, 16), (2, 16, 4), (20, 64, 64)])
def test_orthogonalize_brings_singular_values_near_one_except_the_smallest(shape: tuple[int, ...]) -> None:
    g = torch.randn(shape, generator=Generator().manual_seed(1))
    before = torch.linalg.svdvals(g)
    large = before > 0.003 * g.norm(dim=(1, 2))[:, None]
    for orthogonal, tolerance in ((orthogonalize, 0.0), (orthogonalize_in_bfloat16, 0.02)):
        after = torch.linalg.svdvals(orthogonal(g))
        assert after[large].min() > 0.68 - tolerance and after.max() < 1.21 + tolerance
    # U and V stay the same, so the product with G^T is nearly symmetric and positive.
    product = orthogonalize(g) @ g.mT
    assert ((product - product.mT).norm() / product.norm()) < 0.1


def test_muon_orthogonalizes_queries_keys_and_values_apart_and_leaves_embedding_and_readout_to_adam() -> None:
    model = build_model()
    config = settings("muon", matrix_rate=0.05)
    optimizer, adam = ReplicaOptimizer(model, config, 1), ReplicaOptimizer(build_model(), settings("adam"), 1)
    expected, direction = weights(model), {name: torch.zeros_like(value) for name, value in model.named_parameters()}
    for step in range(2):
        train_steps(model, optimizer, step, step + 1)
        for name, parameter in model.named_parameters():
            if name.startswith("blocks") and parameter.dim() == 2:
                direction[name] = 0.9 * direction[name] + 0.1 * parameter.grad
                update = 0.1 * parameter.grad + 0.9 * direction[name]
                parts = update.chunk(3) if "project" in name else [update]
                update = torch.cat([orthogonalize(p[None])[0] * max(1, len(p) / p.shape[1]) ** 0.5 for p in parts])
                expected[name] = expected[name] * (1 - 0.05 * 0.1) - 0.05 * update
                torch.testing.assert_close(parameter.detach(), expected[name], atol=1e-4, rtol=1e-3)
    assert {name for name in optimizer.state() if name.startswith("muon.")} == {"muon.direction"}
    assert optimizer.state()["muon.direction"].numel() == 2 * (8 * 24 + 8 * 8 + 2 * 8 * 12)
    assert optimizer.state()["mean"].numel() + 2 * (8 * 24 + 8 * 8 + 2 * 8 * 12) == adam.state()["mean"].numel()


def test_parameters_that_muon_leaves_to_adam_have_their_own_weight_decay() -> None:
    default_model, decayed_model = build_model(), build_model()
    initial_weights = weights(default_model)
    train_steps(default_model, ReplicaOptimizer(default_model, settings("muon"), 1), last=1)
    train_steps(decayed_model, ReplicaOptimizer(decayed_model, settings("muon", rest_decay=0.5), 1), last=1)
    for name, value in weights(default_model).items():
        decrease = 0.0 if name.startswith("blocks") and value.dim() == 2 else 0.01 * 0.5
        assert_close({name: weights(decayed_model)[name]}, {name: value - decrease * initial_weights[name]}, 1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_replicas_step_as_the_solo_model_does(method: str) -> None:
    solo = [build_model(seed) for seed in (1, 2, 3)]
    stacked_model = stack(solo)
    config = settings(method, clip=0.05)
    train_steps(stacked_model, ReplicaOptimizer(stacked_model, config, 3))
    for r, model in enumerate(solo):
        train_steps(model, ReplicaOptimizer(model, config, 1))
        assert_close(weights(replica(stacked_model, r)), weights(model), 2e-2 if method == "muon" else 1e-5)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("average", [0.9])
def test_resuming_from_its_state_equals_an_uninterrupted_training(method: str, average: float) -> None:
    uninterrupted, interrupted, resumed = build_model(), build_model(), build_model(2)
    uninterrupted_optimizer = ReplicaOptimizer(uninterrupted, settings(method), 1, average)
    train_steps(uninterrupted, uninterrupted_optimizer)
    interrupted_optimizer, resumed_optimizer = (
        ReplicaOptimizer(interrupted, settings(method), 1, average),
        ReplicaOptimizer(resumed, settings(method), 1, average),
    )
    train_steps(interrupted, interrupted_optimizer, 0, 3)
    interrupted_optimizer.swap_averaged_weights()
    checkpoint_weights = weights(interrupted)
    interrupted_optimizer.swap_averaged_weights()
    for name, value in resumed.state_dict().items():
        value.copy_(checkpoint_weights[name])
    resumed_optimizer.restore(interrupted_optimizer.state(), 3)
    train_steps(resumed, resumed_optimizer, 3, 5)
    assert_close(weights(resumed), weights(uninterrupted))
    uninterrupted_optimizer.swap_averaged_weights()
    resumed_optimizer.swap_averaged_weights()
    assert_close(weights(resumed), weights(uninterrupted))


@pytest.mark.parametrize("replicas", [1, 2])
def test_a_long_gradient_is_clipped_to_the_set_norm(replicas: int) -> None:
    model = build_model() if replicas == 1 else stack([build_model(1), build_model(2)])
    optimizer = ReplicaOptimizer(
        model, settings("sgd", clip=0.01, momentum=0.0, weight_decay=0.0, learning_rate=1.0), replicas
    )
    before = weights(model)
    train_steps(model, optimizer, last=1)
    for r in range(replicas):
        changes = [weights(model)[name] - value for name, value in before.items()]
        changes = [value[r] for value in changes] if replicas > 1 else changes
        assert torch.stack([value.norm() for value in changes]).norm() == pytest.approx(0.01, rel=1e-3)


def test_the_mean_of_the_weights_is_swapped_in_and_out() -> None:
    model = build_model()
    optimizer = ReplicaOptimizer(model, settings("sgd", momentum=0.0, weight_decay=0.0), 1, 0.5)
    means = weights(model)
    for step in range(4):
        train_steps(model, optimizer, step, step + 1)
        keep = min(0.5, (step + 1) / (step + 10))
        means = {name: keep * mean + (1 - keep) * weights(model)[name] for name, mean in means.items()}
    current_weights = weights(model)
    optimizer.swap_averaged_weights()
    assert_close(weights(model), means, 1e-6)
    optimizer.swap_averaged_weights()
    assert_close(weights(model), current_weights)


def test_the_norm_of_a_large_gradient_does_not_depend_on_the_number_of_threads() -> None:
    model = nn.Linear(400, 300)
    optimizer = ReplicaOptimizer(model, settings("adam"), 1)
    model(torch.randn(7, 400, generator=Generator().manual_seed(1))).square().mean().backward()
    norms = set()
    for threads in (3, 2, 1):
        torch.set_num_threads(threads)
        norms.add(optimizer.gradient_norm().item())
    assert len(norms) == 1
