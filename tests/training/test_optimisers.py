from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Generator, Tensor, nn

from explorer.models.configs import TransformerTextConfig
from explorer.models.layers import replica, stack
from explorer.models.transformer_decoder import TransformerDecoder
from explorer.training.config import Optimiser
from explorer.training.optimisers import SGD, Muon, ReplicaOptimizer, RMSProp, orthogonalize

METHODS = ("adam", "sgd", "rmsprop", "muon")


def made(seed: int = 1) -> TransformerDecoder:
    config = TransformerTextConfig(width=8, heads=2, layers=2, hidden=12, start="usual", biases=True)
    return TransformerDecoder(config, 11, 5, Generator().manual_seed(seed))


def settings(method: Any, **others: Any) -> Optimiser:
    usual: dict[str, Any] = {"learning_rate": 0.01, "weight_decay": 0.1, "momentum": 0.9, "beta2": 0.95}
    return Optimiser(method=method, **{**usual, **others})


def follow(model: nn.Module, optimizer: ReplicaOptimizer, first: int = 0, last: int = 5) -> None:
    """Some steps along the gradients of one task: the next id is the same one."""
    for step in range(first, last):
        shape = (optimizer.replicas, 3, 5) if optimizer.replicas > 1 else (3, 5)
        ids = torch.randint(11, shape[-2:], generator=Generator().manual_seed(step)).expand(shape)
        optimizer.zero_grad()
        surprise = -model(ids).log_softmax(dim=-1).gather(-1, ids[..., None])
        surprise.mean(dim=(-3, -2, -1)).backward(torch.ones(shape[:-2]))
        optimizer.step(step + 1, 10)


def weights(model: nn.Module) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def assert_close(one: dict[str, Tensor], other: dict[str, Tensor], tolerance: float = 0.0) -> None:
    for name, value in one.items():
        torch.testing.assert_close(value, other[name], atol=tolerance, rtol=tolerance, msg=name)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (lambda p: SGD(p, 0.1, 0.9), lambda p: torch.optim.SGD(p, 0.1, momentum=0.9)),
        (lambda p: SGD(p, 0.1), lambda p: torch.optim.SGD(p, 0.1)),
        (lambda p: RMSProp(p, 0.01, 0.9), lambda p: torch.optim.RMSprop(p, 0.01, alpha=0.9)),
    ],
    ids=["momentum", "sgd", "rmsprop"],
)
def test_steps_equal_those_of_torch(ours: Any, theirs: Any) -> None:
    one, other = nn.Linear(5, 3), nn.Linear(5, 3)
    other.load_state_dict(one.state_dict())
    mine, reference = ours(one.parameters()), theirs(other.parameters())
    for step in range(20):
        x = torch.randn(7, 5, generator=Generator().manual_seed(step))
        for model, optimiser in ((one, mine), (other, reference)):
            optimiser.zero_grad()
            model(x).square().mean().backward()
            optimiser.step()
    assert_close(weights(one), weights(other), 1e-6)


def test_weight_decay_equals_that_of_adamw() -> None:
    one, other = made(), made()
    optimizer = ReplicaOptimizer(one, settings("adam"), 1)
    reference = torch.optim.AdamW(other.parameters(), lr=0.01, betas=(0.9, 0.95), weight_decay=0.1)
    follow(one, optimizer)
    for step in range(5):
        ids = torch.randint(11, (3, 5), generator=Generator().manual_seed(step))
        reference.zero_grad()
        (-other(ids).log_softmax(dim=-1).gather(-1, ids[..., None])).mean().backward()
        reference.step()
    assert_close(weights(one), weights(other), 1e-5)


@pytest.mark.parametrize("shape", [(1, 4, 4), (3, 4, 16), (2, 16, 4)])
def test_orthogonalize_brings_every_singular_value_near_one(shape: tuple[int, ...]) -> None:
    g = torch.randn(shape, generator=Generator().manual_seed(1))
    values = torch.linalg.svdvals(orthogonalize(g))
    assert values.min() > 0.3
    assert values.max() < 1.4
    # It turns nothing: U and V stay, so the product with G^T is as good as symmetric and positive.
    product = orthogonalize(g) @ g.mT
    assert ((product - product.mT).norm() / product.norm()) < 0.1


def test_muon_separates_queries_keys_and_values_and_leaves_embedding_and_readout_to_adam() -> None:
    model = made()
    optimizer = ReplicaOptimizer(model, settings("muon"), 1)
    muon = optimizer._methods["muon."]
    assert isinstance(muon, Muon)
    inner = 8 * 24 + 8 * 8 + 2 * 8 * 12
    assert muon.weights.numel() == 2 * inner
    assert {shape: sum(len(part) for part in parts) for shape, parts in muon._by_shape.items()} == {
        (8, 8): 2 * (3 + 1),
        (12, 8): 2,
        (8, 12): 2,
    }
    before = weights(model)
    follow(model, optimizer, last=1)
    assert all(not torch.equal(before[name], value) for name, value in weights(model).items())


def test_parameters_that_muon_leaves_to_adam_have_their_own_weight_decay() -> None:
    plain, shrunk = made(), made()
    before = weights(plain)
    follow(plain, ReplicaOptimizer(plain, settings("muon"), 1), last=1)
    follow(shrunk, ReplicaOptimizer(shrunk, settings("muon", rest_decay=0.5), 1), last=1)
    for name, value in weights(plain).items():
        less = 0.0 if name.startswith("blocks") and value.dim() == 2 else 0.01 * 0.5
        assert_close({name: weights(shrunk)[name]}, {name: value - less * before[name]}, 1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_replicas_step_as_the_solo_model_does(method: str) -> None:
    solo = [made(seed) for seed in (1, 2, 3)]
    together = stack(solo)
    chosen = settings(method, clip=0.05)
    follow(together, ReplicaOptimizer(together, chosen, 3))
    for r, model in enumerate(solo):
        follow(model, ReplicaOptimizer(model, chosen, 1))
        assert_close(weights(replica(together, r)), weights(model), 2e-2 if method == "muon" else 1e-5)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("average", [0.0, 0.9])
def test_resuming_from_its_state_equals_an_uninterrupted_training(method: str, average: float) -> None:
    whole, part, rest = made(), made(), made(2)
    one = ReplicaOptimizer(whole, settings(method), 1, average)
    follow(whole, one)
    before, after = (
        ReplicaOptimizer(part, settings(method), 1, average),
        ReplicaOptimizer(rest, settings(method), 1, average),
    )
    follow(part, before, 0, 3)
    before.swap_averaged_weights()
    kept = weights(part)
    before.swap_averaged_weights()
    for name, value in rest.state_dict().items():
        value.copy_(kept[name])
    after.restore(before.state(), 3)
    follow(rest, after, 3, 5)
    assert_close(weights(rest), weights(whole))
    one.swap_averaged_weights()
    after.swap_averaged_weights()
    assert_close(weights(rest), weights(whole))


@pytest.mark.parametrize("replicas", [1, 2])
def test_a_long_gradient_is_clipped_to_the_set_norm(replicas: int) -> None:
    model = made() if replicas == 1 else stack([made(1), made(2)])
    optimizer = ReplicaOptimizer(
        model, settings("sgd", clip=0.01, momentum=0.0, weight_decay=0.0, learning_rate=1.0), replicas
    )
    before = weights(model)
    follow(model, optimizer, last=1)
    for r in range(replicas):
        moved = [weights(model)[name] - value for name, value in before.items()]
        moved = [value[r] for value in moved] if replicas > 1 else moved
        assert torch.stack([value.norm() for value in moved]).norm() == pytest.approx(0.01, rel=1e-3)


def test_a_short_gradient_is_not_clipped() -> None:
    one, other = made(), made()
    follow(one, ReplicaOptimizer(one, settings("adam", clip=1e6), 1))
    follow(other, ReplicaOptimizer(other, settings("adam"), 1))
    assert_close(weights(one), weights(other))


def test_the_mean_of_the_weights_is_swapped_in_and_out() -> None:
    model = made()
    optimizer = ReplicaOptimizer(model, settings("sgd", momentum=0.0, weight_decay=0.0), 1, 0.5)
    means = weights(model)
    for step in range(4):
        follow(model, optimizer, step, step + 1)
        keep = min(0.5, (step + 1) / (step + 10))
        means = {name: keep * mean + (1 - keep) * weights(model)[name] for name, mean in means.items()}
    now = weights(model)
    optimizer.swap_averaged_weights()
    assert_close(weights(model), means, 1e-6)
    optimizer.swap_averaged_weights()
    assert_close(weights(model), now)
