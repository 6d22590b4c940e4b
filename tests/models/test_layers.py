from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest
import torch
from torch import Generator, nn

from explorer.models.layers import (
    BatchNorm,
    Dropout,
    Embedding,
    LayerNorm,
    Linear,
    RMSNorm,
    child_generator,
    learning,
    replica,
    stack,
)


def seeded(seed: int) -> Generator:
    return Generator().manual_seed(seed)


def random_input(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=seeded(11))


def build_models(layer: str) -> list[nn.Module]:
    kinds = {
        "linear": lambda seed: Linear(5, 7, seeded(seed)),
        "linear without bias": lambda seed: Linear(5, 7, seeded(seed), bias=False),
        "embedding": lambda seed: Embedding(13, 7, seeded(seed)),
        "norm": lambda seed: randomize_norm(LayerNorm(5), seed),
        "norm without bias": lambda seed: randomize_norm(LayerNorm(5, bias=False), seed),
        "rms norm": lambda seed: randomize_norm(RMSNorm(5), seed),
        "batch norm": lambda seed: randomize_norm(BatchNorm(5), seed),
    }
    return [kinds[layer](seed) for seed in range(3)]


Norm = TypeVar("Norm", LayerNorm, RMSNorm, BatchNorm)


def randomize_norm(norm: Norm, seed: int) -> Norm:
    """Replace the initial ones and zeros of a norm, which would hide a mistake."""
    for name, value in norm.state_dict().items():
        low, high, seed_offset = (0.5, 2, 0) if name in ("weight", "variance") else (-1, 1, 100)
        value.uniform_(low, high, generator=seeded(seed + seed_offset))
    return norm


LAYERS = ["linear", "linear without bias", "embedding", "norm", "norm without bias", "rms norm", "batch norm"]


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("middle", [(), (2,), (2, 11)])
def test_a_replica_of_a_stack_equals_the_single_model(layer: str, middle: tuple[int, ...]) -> None:
    single_models = build_models(layer)
    ids = torch.randint(13, (3, *middle, 17), generator=seeded(5))
    x = ids if layer == "embedding" else random_input(3, *middle, 17, 5)
    stacked_model = stack(single_models)(x)
    for r, model in enumerate(single_models):
        torch.testing.assert_close(stacked_model[r], model(x[r]), atol=1e-6, rtol=1e-6)


def test_replica_shares_no_memory_with_the_stack() -> None:
    stacked_model = stack(build_models("linear"))
    replica(stacked_model, 1).get_parameter("weight").data.zero_()
    assert stacked_model.get_parameter("weight")[1].abs().sum() > 0


@pytest.mark.parametrize(
    ("layer", "reference"),
    [
        ("linear", nn.Linear(5, 7)),
        ("linear without bias", nn.Linear(5, 7, bias=False)),
        ("norm", nn.LayerNorm(5)),
        ("norm without bias", nn.LayerNorm(5, bias=False)),
        ("rms norm", nn.RMSNorm(5, eps=1e-5)),
    ],
)
def test_layers_equal_those_of_torch(layer: str, reference: nn.Module) -> None:
    own_layer = build_models(layer)[0]
    reference.load_state_dict(own_layer.state_dict())
    for scale in (1, 1e-3):  # a small input shows the constant under the root of a norm
        torch.testing.assert_close(own_layer(scale * random_input(3, 5)), reference(scale * random_input(3, 5)))


def test_the_gradient_of_a_norm_does_not_depend_on_the_number_of_threads() -> None:
    norm, x, gradients = LayerNorm(128), random_input(960, 128), []
    for threads in (3, 2, 1):
        torch.set_num_threads(threads)
        norm.zero_grad()
        (norm(x) * random_input(960, 128).cos()).mean(0).sum().backward()
        gradients.append(torch.cat([p.grad.clone() for p in norm.parameters() if p.grad is not None]))
    assert torch.equal(gradients[0], gradients[2]) and torch.equal(gradients[1], gradients[2])


def test_linear_is_initialized_within_one_over_the_root_of_its_inputs() -> None:
    weight = Linear(25, 401, seeded(1)).weight
    assert 0.19 < weight.abs().max() <= 0.2
    assert Linear(25, 401, seeded(1), bound=0.01).weight.abs().max() <= 0.01


def test_embedding_equals_torch_and_has_the_configured_initial_std() -> None:
    own_layer = Embedding(101, 53, seeded(1), std=0.1)
    ids = torch.tensor([[3, 100], [0, 3], [7, 7]])
    assert torch.equal(own_layer(ids), nn.Embedding.from_pretrained(own_layer.weight.detach())(ids))
    assert own_layer.weight.std().item() == pytest.approx(0.1, rel=0.05)


def batch_norms() -> tuple[BatchNorm, nn.BatchNorm1d]:
    own_layer, torch_layer = randomize_norm(BatchNorm(5), 3), nn.BatchNorm1d(5)
    names = {"weight": "weight", "bias": "bias", "mean": "running_mean", "variance": "running_var"}
    torch_layer.load_state_dict({names[name]: value for name, value in own_layer.state_dict().items()}, strict=False)
    return own_layer, torch_layer


def test_batch_norm_equals_torch_in_evaluation() -> None:
    own_layer, torch_layer = batch_norms()
    x, before = random_input(3, 17, 5), [buffer.clone() for buffer in own_layer.buffers()]
    torch.testing.assert_close(own_layer(x), torch_layer.eval()(x.flatten(0, 1)).view_as(x))
    assert all(torch.equal(one, other) for one, other in zip(before, own_layer.buffers(), strict=True))


def test_batch_norm_equals_torch_in_training() -> None:
    own_layer, torch_layer = batch_norms()
    variance = own_layer.variance.clone()
    own_input, torch_input = (
        (2 * random_input(3, 17, 5) + 1).requires_grad_(),
        (2 * random_input(3, 17, 5) + 1).requires_grad_(),
    )
    with learning([seeded(1)]):
        y = own_layer(own_input)
    expected = torch_layer(torch_input.flatten(0, 1)).view_as(y)
    torch.testing.assert_close(y, expected)
    (y * random_input(3, 17, 5)).sum().backward()
    (expected * random_input(3, 17, 5)).sum().backward()
    for one, other in (
        (own_input, torch_input),
        (own_layer.weight, torch_layer.weight),
        (own_layer.bias, torch_layer.bias),
    ):
        torch.testing.assert_close(one.grad, other.grad, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(own_layer.mean, torch_layer.running_mean)
    biased = own_input.flatten(0, 1).var(0, correction=0)  # torch averages the unbiased variance: 51 / 50 of this
    torch.testing.assert_close(own_layer.variance, 0.9 * variance + 0.1 * biased)
    torch.testing.assert_close(torch_layer.running_var, 0.9 * variance + 0.1 * biased * 51 / 50)


def test_batch_norms_in_a_stack_train_as_single_ones_do() -> None:
    single_models = [randomize_norm(BatchNorm(5), seed) for seed in range(3)]
    stacked_model, x = stack(single_models), random_input(3, 2, 17, 5)
    with learning([seeded(r) for r in range(3)]):
        y = stacked_model(x)
    for r, norm in enumerate(single_models):
        with learning([seeded(r)]):
            torch.testing.assert_close(y[r], norm(x[r]), atol=1e-6, rtol=1e-6)
        for name, value in norm.state_dict().items():
            torch.testing.assert_close(stacked_model.state_dict()[name][r], value)


def test_dropout_zeroes_its_share_of_each_row_at_all_time_steps_and_scales_the_rest() -> None:
    x = random_input(101, 2, 203)
    with learning([seeded(1)]):
        y = Dropout(0.3)(x)
        assert torch.equal(Dropout(0.0)(x), x)
    kept_units = y != 0
    assert kept_units.float().mean().item() == pytest.approx(0.7, abs=0.01)
    torch.testing.assert_close(y[kept_units], x[kept_units] / 0.7)
    assert torch.equal(kept_units[:, 0], kept_units[:, 1]) and len(kept_units[:, 0].unique(dim=0)) == 101
    assert torch.equal(Dropout(0.3)(x), x)


def test_dropout_masks_of_a_stack_equal_those_of_single_models() -> None:
    x, dropout = random_input(3, 7, 11, 53), Dropout(0.4)
    stacked_model, single_models = [seeded(r) for r in range(3)], [seeded(r) for r in range(3)]
    for _ in range(2):
        with learning(stacked_model):
            y = dropout(x)
        for r, generator in enumerate(single_models):
            with learning([generator]):
                assert torch.equal(y[r], dropout(x[r]))


def test_learning_contexts_nest_and_end_after_an_exception() -> None:
    x, dropout = torch.ones(2, 3, 53), Dropout(0.5)
    with pytest.raises(ZeroDivisionError), learning([seeded(1)]):
        raise ZeroDivisionError
    assert torch.equal(dropout(x), x)
    with learning([seeded(1)]):
        with learning([seeded(2)]):
            inner = dropout(x)
        outer = dropout(x)
    with learning([seeded(2)]):
        assert torch.equal(dropout(x), inner)
    with learning([seeded(1)]):
        assert torch.equal(dropout(x), outer)


def test_learning_is_invisible_to_another_thread() -> None:
    x = torch.ones(2, 3, 53)
    with learning([seeded(1)]), ThreadPoolExecutor(1) as thread:
        assert torch.equal(thread.submit(Dropout(0.5), x).result(), x)


def test_a_layer_of_any_size_draws_one_number_from_the_generator() -> None:
    after = seeded(1)
    assert child_generator(after).initial_seed() == 3081012064131973355
    for size in (1, 2, 64):
        for kind, shape in ((Linear, (size, 7)), (Embedding, (13, size))):
            generator = seeded(1)
            kind(*shape, generator)
            assert torch.equal(generator.get_state(), after.get_state())
