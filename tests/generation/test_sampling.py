"""Truncation worked by hand, and sampling against the distribution."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import pytest
import torch

from explorer.errors import InvalidSetting
from explorer.generation.sampling import Sampling, choose, gumbel_noise, noise_generator, sample_tokens, truncate_logits
from explorer.training.config import validate

LOGITS = torch.tensor([0.5, 2.0, -1.0, 1.0, 2.0])


def remaining_tokens(**rules: Any) -> list[int]:
    return [i for i, value in enumerate(truncate_logits(LOGITS, Sampling(**rules)).tolist()) if value > -math.inf]


def test_truncation_worked_by_hand() -> None:
    assert remaining_tokens() == [0, 1, 2, 3, 4]
    assert remaining_tokens(top_k=1) == [1]  # of two equal ones the first
    assert remaining_tokens(top_k=2) == [1, 4]
    assert remaining_tokens(top_k=3) == [1, 3, 4]
    assert remaining_tokens(top_k=99) == [0, 1, 2, 3, 4]
    # Probabilities .0910, .4078 twice, .1500 and .0203.
    weights = [math.exp(value) for value in LOGITS.tolist()]
    p = [weight / sum(weights) for weight in weights]
    assert remaining_tokens(top_p=0.0) == [1]
    assert remaining_tokens(top_p=p[1] - 1e-6) == [1]
    assert remaining_tokens(top_p=p[1] + 1e-6) == [1, 4]
    assert remaining_tokens(top_p=1 - p[2] - 1e-6) == [0, 1, 3, 4]
    assert remaining_tokens(top_p=1 - p[2] + 1e-6) == [0, 1, 2, 3, 4]
    assert remaining_tokens(min_p=1.0) == [1, 4]
    assert remaining_tokens(min_p=math.exp(-1) - 1e-6) == [1, 3, 4]
    assert remaining_tokens(min_p=math.exp(-1) + 1e-6) == [1, 4]
    # At twice the temperature differences count half.
    assert remaining_tokens(min_p=math.exp(-1) + 1e-6, temperature=2.0) == [0, 1, 3, 4]
    assert remaining_tokens(temperature=0.0) == [1]
    assert remaining_tokens(temperature=0.0, top_p=0.99, min_p=0.01) == [1]


def test_rules_apply_one_after_the_other_as_in_transformers() -> None:
    # Of the two tokens that top-k leaves, the first has half of the probability, not .4078.
    assert remaining_tokens(top_k=2, top_p=0.45) == [1]
    library = pytest.importorskip("transformers", reason="pip install -r requirements-models.txt")
    logits = torch.randn(300, 65, generator=noise_generator(5, 0)) * 2
    for top_k, top_p, min_p in ((5, 0.9, 0.02), (20, 0.7, 0.0), (3, 0.5, 0.5)):
        rules = [library.TopKLogitsWarper(top_k), library.TopPLogitsWarper(top_p), library.MinPLogitsWarper(min_p)]
        expected = library.LogitsProcessorList([library.TemperatureLogitsWarper(1.3), *rules])(None, logits.clone())
        found = truncate_logits(logits, Sampling(1.3, top_k, top_p, min_p))
        assert torch.equal(found > -math.inf, expected > -math.inf), (top_k, top_p, min_p)


@pytest.mark.parametrize("temperature", [0.0, 5e-324, 1e-30, 1e-3])
def test_a_tiny_temperature_takes_the_likeliest(temperature: float) -> None:
    logits = torch.tensor([0.5, -1.0, 2.0, 1.0, 0.0]).expand(500, -1)
    noise = gumbel_noise(noise_generator(0, 0), 500, 5)
    for cuts in ({}, {"top_p": 0.9}, {"min_p": 0.1}, {"top_k": 3}):
        assert choose(logits, noise, Sampling(temperature, **cuts)).tolist() == [2] * 500


@pytest.mark.parametrize(
    "rules",
    [{"temperature": 1.8}, {"top_k": 3}, {"top_p": 0.9, "temperature": 0.8}, {"min_p": 0.2}],
    ids=str,
)
def test_what_is_chosen_has_the_distribution_of_the_softmax(rules: dict[str, Any]) -> None:
    draws, sampling = 20_000, Sampling(**rules)
    chosen = choose(LOGITS.expand(draws, -1), gumbel_noise(noise_generator(11, 0), draws, 5), sampling)
    counts = torch.bincount(chosen, minlength=5).double()
    expected = (truncate_logits(LOGITS, sampling).double() / sampling.temperature).softmax(0) * draws
    possible = expected > 0
    assert counts[~possible].sum() == 0
    # Chi-square with at most 4 degrees of freedom; above 28 in one of 100,000 seeds.
    assert ((counts - expected)[possible].square() / expected[possible]).sum() < 28


def test_every_seed_and_sample_has_its_own_noise_which_never_changes() -> None:
    own = noise_generator(3, 1)
    parts = torch.cat([gumbel_noise(own, steps, 13) for steps in (1, 7, 2)])
    assert torch.equal(parts, gumbel_noise(noise_generator(3, 1), 10, 13))
    assert len({gumbel_noise(noise_generator(*each), 1, 1).item() for each in product(range(9), range(9))}) == 81
    stored = [1.6602879762649536, 1.8830890655517578, -1.7289396524429321]
    assert gumbel_noise(noise_generator(0, 0), 1, 3)[0].tolist() == pytest.approx(stored)
    noise = torch.tensor([[-math.inf, 0.0, -math.inf, 0.0, 0.0]])
    assert choose(LOGITS.expand(2, -1), noise, Sampling(), torch.tensor([0.0, 0.7])).tolist() == [1, 1]


ROWS = torch.tensor([0.0, 0.05, 0.7, 1.0, 1.35, 2.0], dtype=torch.float64)


@pytest.mark.parametrize(
    "cuts", [{}, {"top_k": 3}, {"top_p": 0.8}, {"min_p": 0.1}, {"top_k": 9, "top_p": 0.9, "min_p": 0.01}], ids=str
)
@pytest.mark.parametrize("vocabulary", [1, 65])
def test_each_row_has_a_temperature_of_its_own(cuts: dict[str, Any], vocabulary: int) -> None:
    """Every bit is as it would be if the row were alone: a text at one temperature is that of `generate_ids`."""
    logits = torch.randn(40, len(ROWS), vocabulary, generator=noise_generator(7, 0)) * 3
    logits[:, :, ::5] = logits[:, :, :1].clone()  # equally likely ones
    noise = gumbel_noise(noise_generator(7, 1), 40, vocabulary)
    of_all = Sampling(4.9, **cuts)  # whose temperature is that of no row
    truncated = truncate_logits(logits, of_all, ROWS.expand(40, -1))
    chosen = choose(logits, noise[:, None], of_all, ROWS.expand(40, -1))
    assert torch.equal(sample_tokens(truncated, noise[:, None], of_all, ROWS.expand(40, -1)), chosen)
    for row, temperature in enumerate(ROWS.tolist()):
        alone = Sampling(temperature, **cuts)
        assert torch.equal(truncated[:, row], truncate_logits(logits[:, row], alone))
        assert torch.equal(chosen[:, row], choose(logits[:, row], noise, alone))


@pytest.mark.parametrize(
    ("given_settings", "message"),
    [
        ({"temperature": "-0.1"}, "temperature = -0.1 is not possible. Give a number from 0 to 5."),
        ({"temperature": "warm"}, "temperature = warm is not possible. Give a number from 0 to 5."),
        ({"top_p": 1.5}, "top_p = 1.5 is not possible. Give a number from 0 to 1."),
        ({"min_p": "nan"}, "min_p = nan is not possible. Give a number from 0 to 1."),
        ({"top_k": 2.5}, "top_k = 2.5 is not possible. Give a whole number from 0 to 20,000."),
        ({"seed": -1}, "seed = -1 is not possible. Give a whole number from 0 to 2,147,483,647."),
        ({"top_q": 1}, "There is no setting “top_q”. Nearest: top_p, top_k."),
    ],
)
def test_settings_are_validated(given_settings: dict[str, object], message: str) -> None:
    assert validate(Sampling, {"temperature": "0.8", "top_k": "40"}) == Sampling(0.8, 40)
    with pytest.raises(InvalidSetting, match=r"possible|There is no") as caught:
        validate(Sampling, given_settings)
    assert str(caught.value) == message
