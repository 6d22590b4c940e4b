"""Repetition and likelihood of texts, against counting by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from explorer.generation import text_statistics
from explorer.generation.generate import TextGenerator, generate_ids
from explorer.generation.sampling import Sampling
from explorer.generation.text_statistics import (
    TEMPERATURES,
    compute_statistics,
    compute_statistics_by_temperature,
    distinct_n,
    repetition,
)
from tests.generation.small import CONTEXT, model, texts


@pytest.mark.parametrize(
    ("ids", "n", "share"),
    [
        ([1, 2, 3, 4], 1, 1),
        ([1, 1, 1, 1], 1, 1 / 4),
        ([1, 2, 1, 2, 1], 2, 2 / 4),  # 12 21 12 21
        ([1, 2, 1, 2, 1], 3, 2 / 3),  # 121 212 121
        ([1, 2, 1, 2, 1], 5, 1),
        ([5, 15, 51, 5], 2, 1),  # tokens, not digits
    ],
)
def test_distinct_counted_by_hand(ids: list[int], n: int, share: float) -> None:
    assert distinct_n(ids, n) == pytest.approx(share)
    assert repetition(ids, n) == pytest.approx(1 - share)


def test_repetition_is_the_share_of_what_stood_there_before() -> None:
    once = list(range(10))
    assert repetition(once) == 0
    assert repetition(once * 2) == pytest.approx(3 / 13)  # 13 grams of eight; the last three stood at the beginning
    assert repetition([7] * 100) == pytest.approx(92 / 93)


@pytest.mark.parametrize(("name", "padding"), [("ngram 4", None), ("gru", 10)])
def test_the_measures_at_each_temperature_are_those_of_its_texts(
    name: str, padding: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_statistics, "_ROWS", 7)  # two temperatures at once
    generator, prompt, cuts = (
        TextGenerator(model(name), CONTEXT, padding),
        texts(1, 3)[0],
        Sampling(4.0, top_p=0.95, seed=5),
    )
    statistics = compute_statistics_by_temperature(generator, prompt, 14, cuts, (0.0, 0.6, 1.0, 1.5, 2.0), 3)
    assert statistics.temperatures == (0.0, 0.6, 1.0, 1.5, 2.0)
    for row, temperature in enumerate(statistics.temperatures):
        rows = generate_ids(generator, prompt, 14, Sampling(temperature, top_p=0.95, seed=5), 3)
        for sample, text in enumerate(rows):
            expected = compute_statistics(generator, prompt, text)
            assert statistics.distinct4[row, sample] == expected.distinct4 == distinct_n(text.tolist(), 4)
            assert statistics.repetition8[row, sample] == expected.repetition8 == repetition(text.tolist(), 8)
            assert statistics.log_probability[row, sample] == pytest.approx(expected.log_probability, abs=1e-4)


def test_the_chart_has_eleven_temperatures_and_eight_seeds() -> None:
    statistics = compute_statistics_by_temperature(TextGenerator(model("gru"), CONTEXT), texts(1, 3)[0], 20, Sampling())
    assert [f"{t:g}" for t in TEMPERATURES] == ["0", "0.2", "0.4", "0.6", "0.8", "1", "1.2", "1.4", "1.6", "1.8", "2"]
    assert statistics.distinct4.shape == statistics.repetition8.shape == statistics.log_probability.shape == (11, 8)
    assert np.ptp(statistics.log_probability[0]) < 1e-5  # greedy decoding ignores the noise
    means = statistics.log_probability.mean(axis=1)
    assert means[0] > means[5] > means[10]


def test_the_probability_of_a_text_is_what_the_model_learned() -> None:
    lm, prompt, text = model("gru"), texts(1, 3)[0], texts(1, 12)[0]
    with torch.no_grad():
        logits = lm(torch.cat([prompt, text])[None, :-1])[0, len(prompt) - 1 :]
    expected = logits.log_softmax(-1).gather(-1, text[:, None]).mean().item()
    assert compute_statistics(TextGenerator(lm), prompt, text).log_probability == pytest.approx(expected, abs=1e-5)


def test_texts_shorter_than_their_grams_have_no_statistics() -> None:
    assert math.isnan(distinct_n([1, 2, 3], 4)) and math.isnan(repetition([1] * 7)) and repetition([1] * 8) == 0
    statistics = compute_statistics(TextGenerator(model("gru")), texts(1, 3)[0], texts(1, 0)[0])
    assert all(map(math.isnan, (statistics.distinct4, statistics.repetition8, statistics.log_probability)))
