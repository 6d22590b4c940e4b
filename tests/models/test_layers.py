from __future__ import annotations

import pytest
import torch
from torch import Generator, nn

from explorer.models.layers import Embedding, LayerNorm, Linear, own, replica, stack


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
    }
    return [kinds[layer](seed) for seed in range(3)]


def varied(norm: LayerNorm, seed: int) -> LayerNorm:
    """A norm starts with ones and zeros, which hide a mistake."""
    norm.weight.data.uniform_(0.5, 2, generator=made(seed))
    norm.bias.data.uniform_(-1, 1, generator=made(seed + 100))
    return norm


LAYERS = ["linear", "linear without bias", "embedding", "norm"]


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
    ours = Embedding(101, 53, made(1), start=0.1)
    ids = torch.tensor([[3, 100], [0, 3], [7, 7]])
    assert torch.equal(ours(ids), nn.Embedding.from_pretrained(ours.weight.detach())(ids))
    assert ours.weight.std().item() == pytest.approx(0.1, rel=0.05)


def test_norm_equals_torch() -> None:
    ours, theirs = varied(LayerNorm(5), 3), nn.LayerNorm(5)
    theirs.load_state_dict(ours.state_dict())
    torch.testing.assert_close(ours(numbers(3, 5)), theirs(numbers(3, 5)))


def test_layers_draw_only_from_the_generator_they_are_given() -> None:
    before = torch.get_rng_state()
    for layer in LAYERS:
        models(layer)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("layer", ["linear", "linear without bias", "embedding"])
def test_a_layer_takes_one_number_however_large_it_is(layer: str) -> None:
    kinds = {
        "linear": lambda size, generator: Linear(size, 7, generator),
        "linear without bias": lambda size, generator: Linear(size, 7, generator, bias=False),
        "embedding": lambda size, generator: Embedding(13, size, generator),
    }
    after = made(1)
    own(after)
    for size in (1, 2, 64):
        generator = made(1)
        kinds[layer](size, generator)
        assert torch.equal(generator.get_state(), after.get_state())


def test_layers_of_one_generator_start_differently() -> None:
    generator = made(1)
    one, other = Linear(5, 7, generator), Linear(5, 7, generator)
    assert not torch.equal(one.weight, other.weight)
    assert not torch.equal(one.weight.flatten()[:7], one.bias)
