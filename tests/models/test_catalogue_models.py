"""Properties of every model in the catalogue."""

from __future__ import annotations

import pytest
import torch
from syrupy.assertion import SnapshotAssertion
from torch import Generator, Tensor, nn

from explorer.catalogue import models_of
from explorer.models.taps import record, tap_names
from explorer.training.config import default_config, with_settings
from explorer.training.model_factory import build_model
from tests.models.stacks import assert_recording_changes_nothing, assert_stack_equals_single_models

MODELS = models_of("negation")

ORDER_FREE = ("bag_of_words", "bag_of_words_hidden")  # models whose logits do not depend on the order of the words
PADDING, REPLICAS, BATCH, TIME = 10, 3, 5, 7
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


@pytest.mark.parametrize("name", MODELS)
def test_recording_a_stack_gives_the_same_logits_and_gradients(name: str) -> None:
    assert_recording_changes_nothing(
        [build_single(name, seed) for seed in range(REPLICAS)], padded_ids(REPLICAS, BATCH)
    )


@pytest.mark.parametrize("name", MODELS)
def test_a_replica_of_a_stack_equals_the_single_model(name: str) -> None:
    models = [build_single(name, seed) for seed in range(REPLICAS)]
    assert_stack_equals_single_models(models, padded_ids(REPLICAS, BATCH))


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
    assert same == (name in ORDER_FREE), "A model on which the order of the words has no effect must be in ORDER_FREE."


@pytest.mark.parametrize("name", MODELS)
def test_tap_names_are_part_of_the_file_format(name: str, snapshot: SnapshotAssertion) -> None:
    model = build_single(name)
    with record(model) as trace:
        model(padded_ids(BATCH))
    assert snapshot == sorted(trace)
    assert sorted(tap_names(model).values()) == sorted(trace)
