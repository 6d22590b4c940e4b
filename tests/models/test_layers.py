from __future__ import annotations

import threading
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


def made(seed: int) -> Generator:
    return Generator().manual_seed(seed)


def numbers(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=made(11))


def models(layer: str) -> list[nn.Module]:
    kinds = {
        "linear": lambda seed: Linear(5, 7, made(seed)),
        "linear without bias": lambda seed: Linear(5, 7, made(seed), bias=False),
        "embedding": lambda seed: Embedding(13, 7, made(seed)),
        "norm": lambda seed: varied(LayerNorm(5), seed),
        "norm without bias": lambda seed: varied(LayerNorm(5, bias=False), seed),
        "rms norm": lambda seed: varied(RMSNorm(5), seed),
        "batch norm": lambda seed: varied(BatchNorm(5), seed),
    }
    return [kinds[layer](seed) for seed in range(3)]


Norm = TypeVar("Norm", LayerNorm, RMSNorm, BatchNorm)


def varied(norm: Norm, seed: int) -> Norm:
    """A norm starts with ones and zeros, which hide a mistake."""
    for name, value in norm.state_dict().items():
        low, high, more = (0.5, 2, 0) if name in ("weight", "variance") else (-1, 1, 100)
        value.uniform_(low, high, generator=made(seed + more))
    return norm


LAYERS = ["linear", "linear without bias", "embedding", "norm", "norm without bias", "rms norm", "batch norm"]


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("middle", [(), (2,), (2, 11)])
def test_replica_of_a_stack_answers_as_the_model_alone(layer: str, middle: tuple[int, ...]) -> None:
    alone = models(layer)
    x = torch.randint(13, (3, *middle, 17), generator=made(5)) if layer == "embedding" else numbers(3, *middle, 17, 5)
    together = stack(alone)(x)
    for r, model in enumerate(alone):
        torch.testing.assert_close(together[r], model(x[r]), atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("layer", LAYERS)
def test_replica_takes_one_model_out_of_a_stack_again(layer: str) -> None:
    alone = models(layer)
    for r, model in enumerate(alone):
        again = replica(stack(alone), r)
        for name, value in model.named_parameters():
            assert torch.equal(again.get_parameter(name), value)


def test_stack_leaves_its_models_alone() -> None:
    alone = models("linear")
    stack(alone).get_parameter("weight").data.zero_()
    assert alone[0].get_parameter("weight").abs().sum() > 0


def test_replica_shares_no_memory_with_the_stack() -> None:
    together = stack(models("linear"))
    replica(together, 1).get_parameter("weight").data.zero_()
    assert together.get_parameter("weight")[1].abs().sum() > 0


def test_gradients_of_one_replica_do_not_reach_another() -> None:
    together = stack(models("linear"))
    together(numbers(3, 17, 5))[1].sum().backward()
    gradient = together.get_parameter("weight").grad
    assert gradient is not None
    assert gradient[1].abs().sum() > 0
    assert not gradient[[0, 2]].any()


def test_linear_equals_torch() -> None:
    ours, theirs = Linear(5, 7, made(1)), nn.Linear(5, 7)
    theirs.load_state_dict(ours.state_dict())
    torch.testing.assert_close(ours(numbers(3, 5)), theirs(numbers(3, 5)))


def test_linear_starts_within_one_over_root_of_its_inputs() -> None:
    weight = Linear(25, 401, made(1)).weight
    assert 0.19 < weight.abs().max() <= 0.2
    assert Linear(25, 401, made(1), bound=0.01).weight.abs().max() <= 0.01


def test_embedding_equals_torch_and_starts_as_told() -> None:
    ours = Embedding(101, 53, made(1), std=0.1)
    ids = torch.tensor([[3, 100], [0, 3], [7, 7]])
    assert torch.equal(ours(ids), nn.Embedding.from_pretrained(ours.weight.detach())(ids))
    assert ours.weight.std().item() == pytest.approx(0.1, rel=0.05)


@pytest.mark.parametrize("bias", [True, False])
def test_norm_equals_torch(bias: bool) -> None:
    ours, theirs = varied(LayerNorm(5, bias), 3), nn.LayerNorm(5, bias=bias)
    theirs.load_state_dict(ours.state_dict())
    torch.testing.assert_close(ours(numbers(3, 5)), theirs(numbers(3, 5)))


def test_rms_norm_equals_torch() -> None:
    ours, theirs = varied(RMSNorm(5), 3), nn.RMSNorm(5, eps=1e-5)
    theirs.load_state_dict(ours.state_dict())
    torch.testing.assert_close(ours(numbers(3, 5)), theirs(numbers(3, 5)))


# ---- layers that know who learns


def batch_norms() -> tuple[BatchNorm, nn.BatchNorm1d]:
    ours, theirs = varied(BatchNorm(5), 3), nn.BatchNorm1d(5)
    names = {"weight": "weight", "bias": "bias", "mean": "running_mean", "variance": "running_var"}
    theirs.load_state_dict({names[name]: value for name, value in ours.state_dict().items()}, strict=False)
    return ours, theirs


def test_batch_norm_equals_torch_in_evaluation() -> None:
    ours, theirs = batch_norms()
    x, before = numbers(3, 17, 5), [buffer.clone() for buffer in ours.buffers()]
    torch.testing.assert_close(ours(x), theirs.eval()(x.flatten(0, 1)).view_as(x))
    assert all(torch.equal(one, other) for one, other in zip(before, ours.buffers(), strict=True))


def test_batch_norm_equals_torch_in_training() -> None:
    ours, theirs = batch_norms()
    variance = ours.variance.clone()
    mine, reference = (2 * numbers(3, 17, 5) + 1).requires_grad_(), (2 * numbers(3, 17, 5) + 1).requires_grad_()
    with learning([made(1)]):
        y = ours(mine)
    expected = theirs(reference.flatten(0, 1)).view_as(y)
    torch.testing.assert_close(y, expected)
    (y * numbers(3, 17, 5)).sum().backward()
    (expected * numbers(3, 17, 5)).sum().backward()
    for one, other in ((mine, reference), (ours.weight, theirs.weight), (ours.bias, theirs.bias)):
        torch.testing.assert_close(one.grad, other.grad, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(ours.mean, theirs.running_mean)
    biased = mine.flatten(0, 1).var(0, correction=0)  # torch averages the unbiased one: 51 / 50 of it
    torch.testing.assert_close(ours.variance, 0.9 * variance + 0.1 * biased)
    torch.testing.assert_close(theirs.running_var, 0.9 * variance + 0.1 * biased * 51 / 50)


def test_batch_norms_in_a_stack_learn_as_they_do_alone() -> None:
    alone = [varied(BatchNorm(5), seed) for seed in range(3)]
    together, x = stack(alone), numbers(3, 2, 17, 5)
    with learning([made(r) for r in range(3)]):
        y = together(x)
    for r, norm in enumerate(alone):
        with learning([made(r)]):
            torch.testing.assert_close(y[r], norm(x[r]), atol=1e-6, rtol=1e-6)
        for name, value in norm.state_dict().items():
            torch.testing.assert_close(together.state_dict()[name][r], value)


def test_dropout_leaves_out_its_share_and_makes_the_rest_larger() -> None:
    x = numbers(101, 1, 203)
    with learning([made(1)]):
        y = Dropout(0.3)(x)
    left = y != 0
    assert left.float().mean().item() == pytest.approx(0.7, abs=0.01)
    torch.testing.assert_close(y[left], x[left] / 0.7)


def test_dropout_has_one_mask_for_each_row_at_every_time() -> None:
    with learning([made(1)]):
        y = Dropout(0.5)(torch.ones(7, 11, 53))
    assert torch.equal(y, y[:, :1].expand(7, 11, 53))
    assert len(y[:, 0].unique(dim=0)) == 7


def test_dropout_draws_a_new_mask_each_time() -> None:
    with learning([made(1)]):
        assert not torch.equal(Dropout(0.5)(torch.ones(2, 3, 53)), Dropout(0.5)(torch.ones(2, 3, 53)))


def test_masks_of_a_stack_are_those_of_each_generator_alone() -> None:
    x, dropout = numbers(3, 7, 11, 53), Dropout(0.4)
    together, alone = [made(r) for r in range(3)], [made(r) for r in range(3)]
    for _ in range(2):
        with learning(together):
            y = dropout(x)
        for r, generator in enumerate(alone):
            with learning([generator]):
                assert torch.equal(y[r], dropout(x[r]))


def test_dropout_does_nothing_where_nobody_learns_or_nothing_is_left_out() -> None:
    x, generator = numbers(3, 7, 5), made(1)
    with learning([generator]):
        assert torch.equal(Dropout(0.0)(x), x)
        assert not torch.equal(Dropout(0.9)(x), x)
    assert torch.equal(Dropout(0.9)(x), x)


def test_learning_ends_after_an_exception_and_nests() -> None:
    x, dropout = torch.ones(2, 3, 53), Dropout(0.5)
    with pytest.raises(ZeroDivisionError), learning([made(1)]):
        raise ZeroDivisionError
    assert torch.equal(dropout(x), x)
    with learning([made(1)]):
        with learning([made(2)]):
            inner = dropout(x)
        outer = dropout(x)
    with learning([made(2)]):
        assert torch.equal(dropout(x), inner)
    with learning([made(1)]):
        assert torch.equal(dropout(x), outer)


def test_learning_is_invisible_to_another_thread() -> None:
    x, seen = torch.ones(2, 3, 53), []
    with learning([made(1)]):
        other = threading.Thread(target=lambda: seen.append(Dropout(0.5)(x)))
        other.start()
        other.join()
    assert torch.equal(seen[0], x)


def test_layers_draw_only_from_the_generator_they_are_given() -> None:
    before = torch.get_rng_state()
    for layer in LAYERS:
        models(layer)
    with learning([made(1)]):
        Dropout(0.5)(numbers(3, 7, 5))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("layer", ["linear", "linear without bias", "embedding"])
def test_a_layer_takes_one_number_however_large_it_is(layer: str) -> None:
    kinds = {
        "linear": lambda size, generator: Linear(size, 7, generator),
        "linear without bias": lambda size, generator: Linear(size, 7, generator, bias=False),
        "embedding": lambda size, generator: Embedding(13, size, generator),
    }
    after = made(1)
    child_generator(after)
    for size in (1, 2, 64):
        generator = made(1)
        kinds[layer](size, generator)
        assert torch.equal(generator.get_state(), after.get_state())


def test_layers_of_one_generator_start_differently() -> None:
    generator = made(1)
    one, other = Linear(5, 7, generator), Linear(5, 7, generator)
    assert not torch.equal(one.weight, other.weight)
    assert not torch.equal(one.weight.flatten()[:7], one.bias)
