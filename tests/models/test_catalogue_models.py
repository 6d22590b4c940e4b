"""Properties of every model in the catalogue."""

from __future__ import annotations

import pytest
import torch
from torch import Generator, Tensor, nn

from explorer.catalogue import models_of
from explorer.models.layers import replica, stack
from explorer.models.taps import record, tap_names
from explorer.training.config import default_config, with_settings
from explorer.training.model_factory import build_model

MODELS = models_of("negation")

ORDER_FREE = ("bag_of_words", "bag_of_words_hidden")  # models whose logits do not depend on the order of the words
VOCABULARY, CLASSES, PADDING, REPLICAS, BATCH, TIME = 11, 2, 10, 3, 5, 7
SMALL: dict[str, dict[str, object]] = {  # a model that is not named here is tested with its default sizes
    "bag_of_words_hidden": {"hidden": 13},
    "feedforward": {"width": 3, "hidden": 13, "window": 11},
    "rnn": {"width": 3, "hidden": 13},
    "lstm": {"width": 3, "hidden": 13},
    "gru": {"width": 3, "hidden": 13},
    "transformer": {"width": 15, "heads": 3, "layers": 2, "hidden": 13, "window": 11, "start": 1.0},
}


def build_single(name: str, seed: int = 1) -> nn.Module:
    return build_model(with_settings(default_config("negation", name), {"seed": seed, **SMALL.get(name, {})}))


def padded_ids(*shape: int) -> Tensor:
    """Return random sentences of different lengths, padded at the end."""
    ids = torch.randint(PADDING, (*shape, TIME), generator=Generator().manual_seed(7))
    lengths = torch.randint(1, TIME + 1, shape, generator=Generator().manual_seed(8))
    return ids.masked_fill(torch.arange(TIME) >= lengths[..., None], PADDING)


def logits_and_gradients(model: nn.Module, ids: Tensor) -> list[Tensor]:
    logits = model(ids)
    weights = torch.linspace(-1, 1, logits.numel()).view(logits.shape)
    return [logits, *torch.autograd.grad((logits * weights).sum(), list(model.parameters()))]


@pytest.mark.parametrize("stacked", [False, True], ids=["solo", "stacked"])
@pytest.mark.parametrize("name", MODELS)
def test_recording_gives_the_same_logits_and_gradients(name: str, stacked: bool) -> None:
    model = stack([build_single(name, seed) for seed in range(REPLICAS)]) if stacked else build_single(name)
    ids = padded_ids(REPLICAS, BATCH) if stacked else padded_ids(BATCH)
    fused = logits_and_gradients(model, ids)
    with record(model) as trace:
        watched = logits_and_gradients(model, ids)
    assert len(trace) > 0
    for one, other in zip(fused, watched, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_a_replica_of_a_stack_equals_the_single_model(name: str) -> None:
    models = [build_single(name, seed) for seed in range(REPLICAS)]
    stacked_model = stack(models)
    ids = padded_ids(REPLICAS, BATCH)
    answers = stacked_model(ids)
    for r, model in enumerate(models):
        torch.testing.assert_close(answers[r], model(ids[r]), atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(replica(stacked_model, r)(ids[r]), model(ids[r]))


@pytest.mark.parametrize("name", MODELS)
def test_padding_does_not_change_the_logits(name: str) -> None:
    model = build_single(name)
    short = torch.tensor([[0, 2, 5, 3, 1]])
    for more in (1, 3, 6):
        padded = torch.nn.functional.pad(short, (0, more), value=PADDING)
        torch.testing.assert_close(model(padded), model(short), atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_word_order_has_an_effect_except_on_order_free_models(name: str) -> None:
    model = build_single(name)
    same = torch.allclose(model(torch.tensor([[0, 2, 5, 3, 1]])), model(torch.tensor([[0, 5, 2, 3, 1]])), atol=1e-4)
    assert not same or name in ORDER_FREE, (
        f"{name} gives two orders of the same words the same logits. If this is intended, add {name} to ORDER_FREE in "
        "tests/models/test_catalogue_models.py; otherwise the model has a mistake."
    )
    assert same or name not in ORDER_FREE, f"The order of the words has an effect on {name}: remove it from ORDER_FREE."


@pytest.mark.parametrize("name", MODELS)
def test_sentences_of_a_batch_are_independent(name: str) -> None:
    model = build_single(name)
    ids = padded_ids(BATCH)
    torch.testing.assert_close(model(ids)[2:3], model(ids[2:3]), atol=1e-6, rtol=1e-6)


ATTENTION = ["keys", "mixed", "queries", "scores", "values", "weights"]
TAPS = {  # the names of a newer model stand in its own test
    "bag_of_words": ["counts"],
    "bag_of_words_hidden": ["counts", "hidden"],
    "bag_of_bigrams": ["counts"],
    "feedforward": ["embedded", "hidden"],
    "rnn": ["cell.state", "embedded"],
    "lstm": [
        *(f"cell.{t}" for t in ("candidate", "forget_gate", "input_gate", "memory", "output_gate", "state")),
        "embedded",
    ],
    "gru": ["cell.candidate", "cell.reset_gate", "cell.state", "cell.update_gate", "embedded"],
    "transformer": [
        *(f"blocks.{i}.{tap}" for i in range(2) for tap in [*(f"attention.{part}" for part in ATTENTION), "output"]),
        "embedded",
    ],
}


@pytest.mark.parametrize("name", TAPS)
def test_tap_names_are_part_of_the_file_format(name: str) -> None:
    model = build_single(name)
    assert sorted(tap_names(model).values()) == TAPS[name]
    with record(model) as trace:
        model(padded_ids(BATCH))
    assert sorted(trace) == TAPS[name]


@pytest.mark.parametrize("name", MODELS)
def test_initialization_follows_from_the_seed_and_ignores_the_global_generator(name: str) -> None:
    before = torch.get_rng_state()
    model, same_seed, other_seed = build_single(name), build_single(name), build_single(name, seed=2)
    assert torch.equal(torch.get_rng_state(), before)
    ids = padded_ids(BATCH)
    assert torch.equal(model(ids), same_seed(ids))
    assert not torch.equal(model(ids), other_seed(ids))


# ---- initial weights that two models of one seed have in common


def initial_weights(name: str, **changes: object) -> dict[str, Tensor]:
    return build_model(with_settings(default_config("negation", name), {**SMALL.get(name, {}), **changes})).state_dict()


def equal_parameters(one: dict[str, Tensor], other: dict[str, Tensor]) -> set[str]:
    """Return the names of the parameters with equal initial values."""
    return {name for name in one.keys() & other.keys() if torch.equal(one[name], other[name])}


@pytest.mark.parametrize("replicas", [1, 3])
@pytest.mark.parametrize("name", [name for name in TAPS if not name.startswith("bag_of")])
def test_layers_of_equal_shape_are_initialized_equally_when_another_width_changes(name: str, replicas: int) -> None:
    one, other = initial_weights(name, replicas=replicas), initial_weights(name, replicas=replicas, hidden=7)
    same_shape = {parameter for parameter in one if one[parameter].shape == other[parameter].shape}
    assert "embedding.weight" in same_shape
    assert same_shape < one.keys()
    exceptions = {"readout.bias"} if name != "transformer" else {f"blocks.{i}.contract.bias" for i in range(2)}
    assert (
        same_shape - equal_parameters(one, other) == exceptions
    )  # their bound is 1 / sqrt(fan-in), which depends on the width


def test_layers_after_a_wider_embedding_are_initialized_equally() -> None:
    one, other = initial_weights("rnn", width=3), initial_weights("rnn", width=5)
    assert equal_parameters(one, other) == {
        f"{layer}.{part}" for layer in ("cell.recurrent", "readout") for part in ("weight", "bias")
    }


@pytest.mark.parametrize(("one", "other"), [("rnn", "lstm"), ("rnn", "gru"), ("lstm", "gru")])
def test_recurrent_networks_of_one_seed_have_the_same_initial_embedding_and_readout(one: str, other: str) -> None:
    outside = {"embedding.weight", "readout.weight", "readout.bias"}
    assert outside <= equal_parameters(initial_weights(one), initial_weights(other))
    assert not outside & equal_parameters(initial_weights(one), initial_weights(other, seed=1))


def test_a_second_block_does_not_change_the_initialization_of_the_first() -> None:
    one, two = initial_weights("transformer", layers=1), initial_weights("transformer", layers=2)
    assert equal_parameters(one, two) == one.keys()
    second = {name for name in two if name.startswith("blocks.1.")}
    assert two.keys() - one.keys() == second
    random_names = {name for name in second if "norm" not in name}
    assert all(not torch.equal(two[name], two[name.replace("blocks.1.", "blocks.0.")]) for name in random_names)
