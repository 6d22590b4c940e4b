"""Without its recurrent state, a model predicts from one character at a time."""

from __future__ import annotations

import pytest
import torch
from torch import Generator

from explorer.catalogue import models_of
from explorer.training.config import default_config, with_settings
from explorer.training.model_factory import build_model
from tests.models.stacks import assert_stack_equals_single_models

IDS = torch.randint(5, (3, 11), generator=Generator().manual_seed(3))


def build(model: str, recurrent: bool, seed: int = 0) -> torch.nn.Module:
    return build_model(
        with_settings(default_config("string", model), {"text": "abcde", "seed": seed, "recurrent": recurrent})
    )


@pytest.mark.parametrize("model", models_of("string"))
def test_without_the_recurrent_state_each_prediction_depends_on_one_character(model: str) -> None:
    without_state = build(model, recurrent=False)
    single_character_logits = torch.cat([without_state(IDS[:, i : i + 1]) for i in range(IDS.shape[1])], dim=1)
    torch.testing.assert_close(without_state(IDS), single_character_logits, atol=1e-6, rtol=1e-6)
    with_state = build(model, recurrent=True)  # has the same initial weights, and is equal for one character
    with_state.load_state_dict(without_state.state_dict())
    torch.testing.assert_close(with_state(IDS)[:, :1], single_character_logits[:, :1], atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(
        torch.cat([with_state(IDS[:, i : i + 1]) for i in range(11)], dim=1), single_character_logits
    )
    assert (with_state(IDS)[:, 1:] - single_character_logits[:, 1:]).abs().max() > 1e-3


@pytest.mark.parametrize("model", models_of("string"))
def test_a_replica_of_a_stack_equals_the_single_model(model: str) -> None:
    models = [build(model, False, seed) for seed in range(3)]
    assert_stack_equals_single_models(models, IDS.expand(3, *IDS.shape))
