"""A state that is not fed back is no state: the model is asked about one character at a time."""

from __future__ import annotations

import pytest
import torch
from torch import Generator

from explorer.catalogue import models_of
from explorer.models.layers import replica, stack
from explorer.training.config import default_config, with_settings
from explorer.training.model_factory import build_model

IDS = torch.randint(5, (3, 11), generator=Generator().manual_seed(3))


def made(model: str, recurrent: bool, seed: int = 0) -> torch.nn.Module:
    return build_model(
        with_settings(default_config("string", model), {"text": "abcde", "seed": seed, "recurrent": recurrent})
    )


@pytest.mark.parametrize("model", models_of("string"))
def test_without_its_state_it_reads_one_character_at_a_time(model: str) -> None:
    cut = made(model, recurrent=False)
    alone = torch.cat([cut(IDS[:, i : i + 1]) for i in range(IDS.shape[1])], dim=1)
    torch.testing.assert_close(cut(IDS), alone, atol=1e-6, rtol=1e-6)
    kept = made(model, recurrent=True)  # which starts alike, and fed one character is the same
    kept.load_state_dict(cut.state_dict())
    torch.testing.assert_close(kept(IDS)[:, :1], alone[:, :1], atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(torch.cat([kept(IDS[:, i : i + 1]) for i in range(11)], dim=1), alone)
    assert (kept(IDS)[:, 1:] - alone[:, 1:]).abs().max() > 1e-3


@pytest.mark.parametrize("model", models_of("string"))
def test_both_start_from_the_same_weights(model: str) -> None:
    one, other = made(model, True).state_dict(), made(model, False).state_dict()
    assert all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("recurrent", [True, False])
@pytest.mark.parametrize("model", models_of("string"))
def test_a_replica_of_a_stack_answers_as_alone(model: str, recurrent: bool) -> None:
    models = [made(model, recurrent, seed) for seed in range(3)]
    together = stack(models)
    answers = together(IDS.expand(3, *IDS.shape))
    for r, one in enumerate(models):
        torch.testing.assert_close(answers[r], one(IDS), atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(replica(together, r)(IDS), one(IDS))


def test_text_in_pieces_is_text_at_once() -> None:
    kept = made("lstm", recurrent=True)
    whole, _ = kept.features(IDS)
    first, state = kept.features(IDS[:, :4])
    rest, _ = kept.features(IDS[:, 4:], state)
    torch.testing.assert_close(torch.cat([first, rest], dim=1), whole, atol=1e-6, rtol=1e-6)
    assert made("lstm", recurrent=False).features(IDS)[1] == ()
