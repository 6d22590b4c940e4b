"""Texts at all temperatures: each equals that of `generate_ids`; numbers and statistics match their definitions."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from explorer.errors import InvalidSetting
from explorer.generation import temperature_grid, text_statistics
from explorer.generation.generate import TextGenerator, generate_ids, generate_with_logits
from explorer.generation.sampling import Sampling, choose, truncate_logits
from explorer.generation.temperature_grid import (
    TEMPERATURES,
    component_arrays,
    compute_temperature_grid,
    continue_path,
    sampling_inputs,
    trace_path,
)
from explorer.generation.text_statistics import (
    compute_statistics,
    compute_statistics_by_temperature,
    distinct_n,
    repetition,
)
from explorer.tokenization.text import train
from tests.generation.small import CONTEXT, VOCABULARY, model, texts

TOKENS = 12
SOME = (0.0, 0.05, 0.7, 1.0, 1.3, 2.0)
TRUNCATED = Sampling(top_k=6, top_p=0.9, min_p=0.02, seed=4)
TRANSFORMER = "transformer rotary layer pre"


def log_probabilities(lm: nn.Module, prompt: Tensor, text: list[int]) -> Tensor:
    """Return the log-probabilities (tokens, vocabulary) at temperature 1 before every token of a text."""
    generated = generate_with_logits(TextGenerator(lm, CONTEXT), prompt, len(text), Sampling(), path=torch.tensor(text))
    return torch.cat([logits for logits, _, _ in generated]).double().log_softmax(-1)


@pytest.mark.parametrize(("name", "padding"), [("ngram 4", None), ("gru", 10), (TRANSFORMER, None), (TRANSFORMER, 10)])
def test_each_row_is_the_text_of_its_temperature(name: str, padding: int | None) -> None:
    generator, prompt = TextGenerator(model(name), CONTEXT, padding), texts(1, 3)[0]
    sampling = TRUNCATED if padding else Sampling(4.5, seed=2)
    grid = compute_temperature_grid(generator, prompt, TOKENS, sampling, SOME)
    assert grid.ids.shape == (len(SOME), TOKENS)
    for temperature, row in zip(SOME, grid.ids.tolist(), strict=True):
        assert row == generate_ids(generator, prompt, TOKENS, replace(sampling, temperature=temperature))[0].tolist()
    assert len({tuple(row) for row in grid.ids.tolist()}) > 1


def test_the_default_grid_has_41_temperatures(monkeypatch: pytest.MonkeyPatch) -> None:
    generator, prompt = TextGenerator(model("gru"), CONTEXT), texts(1, 3)[0]
    complete = compute_temperature_grid(generator, prompt, TOKENS, TRUNCATED)
    assert complete.temperatures == TEMPERATURES
    assert [f"{t:g}" for t in (*TEMPERATURES[:4], TEMPERATURES[-1])] == ["0", "0.05", "0.1", "0.15", "2"]
    assert complete.ids.shape == complete.log_normalizer.shape == (41, TOKENS)
    assert complete.top_ids.shape == (41, TOKENS, VOCABULARY)
    monkeypatch.setattr(temperature_grid, "_LOGITS_AT_ONCE", 5 * 41 * VOCABULARY)
    parts = compute_temperature_grid(generator, prompt, TOKENS, TRUNCATED)
    for name in ("ids", "surprisal", "chosen_probability", "entropy", "log_normalizer", "top_ids", "top_surprisals"):
        np.testing.assert_allclose(getattr(parts, name), getattr(complete, name), atol=1e-6)
    assert parts.top_ids.dtype == parts.top_surprisals.dtype == np.uint16


def test_the_slider_reads_the_pieces_of_each_text() -> None:
    generator, letters = TextGenerator(model("gru"), CONTEXT), train("char", "abcdefghijk", 0)
    grid = compute_temperature_grid(generator, texts(1, 3)[0], TOKENS, TRUNCATED, SOME)
    arrays, shown = component_arrays(grid, letters, [0, 1])
    assert ["".join(shown[i] for i in row) for row in arrays["piece"]] == [letters.decode(row) for row in grid.ids]
    assert len(set(shown)) == len(shown) and arrays["piece"].dtype == np.uint16
    names = ("ids", "surprise", "chosen", "entropy", "spread", "top", "top_surprise")
    fields = (grid.ids, grid.surprisal, grid.chosen_probability, grid.entropy)
    for name, field in zip(names, (*fields, grid.log_normalizer, grid.top_ids, grid.top_surprisals), strict=True):
        assert arrays[name] is field


@pytest.mark.parametrize("sampling", [Sampling(), TRUNCATED], ids=["free", "cut"])
def test_the_numbers_of_a_choice(sampling: Sampling) -> None:
    lm, prompt = model(TRANSFORMER), texts(1, 3)[0]
    grid = compute_temperature_grid(TextGenerator(lm, CONTEXT), prompt, TOKENS, sampling, SOME)
    for row, t in enumerate(SOME):
        text = grid.ids[row].tolist()
        log_p = log_probabilities(lm, prompt, text)
        own = Sampling(t, sampling.top_k, sampling.top_p, sampling.min_p)
        for position, id in enumerate(text):
            allowed = truncate_logits(log_p[position].float(), own).double()
            p = (allowed / t).softmax(-1) if t else torch.nn.functional.one_hot(allowed.argmax(), VOCABULARY).double()
            assert grid.surprisal[row, position] == pytest.approx(-log_p[position, id].item(), abs=1e-4)
            assert grid.chosen_probability[row, position] == pytest.approx(p[id].item(), abs=1e-4)
            assert grid.entropy[row, position] == pytest.approx(torch.special.entr(p).sum().item(), abs=1e-3)
            spread = (log_p[position] / t).logsumexp(-1).item() if t else 0
            assert grid.log_normalizer[row, position] == pytest.approx(spread, abs=1e-3)
            ranked = log_p[position].sort(descending=True, stable=True)
            assert grid.top_ids[row, position].tolist() == ranked.indices.tolist()
            nats = grid.top_surprisals[row, position] / 2048
            np.testing.assert_allclose(nats, -ranked.values, atol=1e-3)
            if t:  # what a reader of the file computes: the distribution at this temperature, from the top alone
                share = np.exp(-nats / t - grid.log_normalizer[row, position])
                np.testing.assert_allclose(share.sum(), 1, atol=0.02)
    cold = grid.temperatures.index(0)
    assert (grid.chosen_probability[cold] == 1).all()
    assert (grid.entropy[cold] == 0).all()


def test_the_twenty_most_probable_tokens_are_kept_and_numbers_are_defined() -> None:
    logits = torch.zeros(1, 1, 50)
    logits[..., 7], logits[..., 40] = 3, -1e9
    fields = temperature_grid._grid_fields(logits, logits.clone(), torch.tensor([[40]]), torch.tensor([1.0]))
    top, fixed = fields[-2][0, 0].tolist(), fields[-1][0, 0].tolist()
    assert len(top) == 20 and top[0] == 7 and top[1:] == sorted(top[1:]) and fixed == sorted(fixed)
    assert fields[1].item() > 1e8
    logits = torch.tensor([[[0.0, -50.0]]])  # 50 nats are more than can be written
    fields = temperature_grid._grid_fields(logits, logits.clone(), torch.tensor([[0]]), torch.tensor([1.0]))
    assert fields[-1].tolist() == [[[0, 2**16 - 1]]]
    logits = torch.tensor([[[0.0, -math.inf, 0.0]]]).expand(3, 1, 3)
    temperatures = torch.tensor([0.0, 0.5, 2.0], dtype=torch.float64)
    allowed = truncate_logits(logits, Sampling(), temperatures[:, None])
    fields = temperature_grid._grid_fields(logits, allowed, torch.zeros(3, 1, dtype=torch.int64), temperatures)
    for part in fields[1:5]:
        assert part.isfinite().all()
    assert fields[3][:, 0].tolist() == pytest.approx([0, math.log(2), math.log(2)])


def test_a_token_can_be_sampled_again_at_every_temperature() -> None:
    """With the logits and the noise of a position a browser chooses the token that stands there."""
    generator, prompt = TextGenerator(model(TRANSFORMER), CONTEXT), texts(1, 3)[0]
    grid = compute_temperature_grid(generator, prompt, TOKENS, TRUNCATED, SOME)
    for position in (0, 1, TOKENS - 1):
        for row, t in enumerate(SOME):
            before = torch.tensor(grid.ids[row, :position].astype(np.int64))
            place = sampling_inputs(generator, prompt, before, TRUNCATED)
            own = replace(TRUNCATED, temperature=t)
            chosen = choose(torch.from_numpy(place.logits), torch.from_numpy(place.noise), own)
            assert chosen.item() == grid.ids[row, position]
            with torch.inference_mode():
                *_, (logits, _, _) = generate_with_logits(generator, prompt, position + 1, own)
            assert torch.equal(torch.from_numpy(place.logits), logits[0])  # to the last digit


@pytest.mark.parametrize("sampling", [TRUNCATED, Sampling(0.0)], ids=str)
def test_a_walk_describes_every_sampled_token(sampling: Sampling) -> None:
    lm, prompt = model(TRANSFORMER), texts(1, 3)[0]
    text = generate_ids(TextGenerator(lm, CONTEXT), prompt, TOKENS + 1, sampling)[0]
    walk = trace_path(TextGenerator(lm, CONTEXT), prompt, text[:-1], sampling, most=4)
    assert [step.id for step in walk.steps] == [step.sampled for step in walk.steps] == text[:-1].tolist()
    assert walk.next_choice.sampled == text[-1].item()
    log_p = log_probabilities(lm, prompt, text.tolist())
    allowed = truncate_logits(log_p.float(), sampling).double()
    p = (allowed / (sampling.temperature or 1)).softmax(-1)
    for position, place in enumerate([*walk.steps, walk.next_choice]):
        assert len(place.candidates) == 4
        assert place.sampled in [each.id for each in place.candidates]
        probabilities = [each.learned for each in place.candidates]
        assert probabilities == sorted(probabilities, reverse=True)
        assert place.candidates[0].id == log_p[position].argmax()
        for each in place.candidates:
            assert each.learned == pytest.approx(log_p[position, each.id].exp().item(), abs=1e-5)
            assert each.probability == pytest.approx(p[position, each.id].item(), abs=1e-5)
            assert each.cut == bool(allowed[position, each.id] == -math.inf)
    for position, step in enumerate(walk.steps):
        assert step.surprisal == pytest.approx(-log_p[position, step.id].item(), abs=1e-4)
    surprisals = [step.surprisal for step in walk.steps]
    assert walk.most_surprising == surprisals.index(max(surprisals))


def test_whatever_stands_at_a_step_is_among_its_candidates() -> None:
    generator, prompt, path = TextGenerator(model("gru"), CONTEXT), texts(1, 3)[0], texts(1, 9)[0]
    walk = trace_path(generator, prompt, path, Sampling(2.0, seed=3), most=2)
    for step, id in zip(walk.steps, path.tolist(), strict=True):
        assert step.id == id and {step.id, step.sampled} <= {each.id for each in step.candidates}
        assert len(step.candidates) == len({each.id for each in step.candidates}) == 2
    everything = trace_path(generator, prompt, path[:0], Sampling(), most=99)
    assert everything.steps == () and everything.most_surprising is None
    assert sorted(each.id for each in everything.next_choice.candidates) == list(range(VOCABULARY))
    assert sum(each.learned for each in everything.next_choice.candidates) == pytest.approx(1)
    assert len(trace_path(generator, prompt, path, Sampling()).next_choice.candidates) == 8
    for id in (-1, VOCABULARY):
        with pytest.raises(
            InvalidSetting, match=rf"has a token {id}, but this model knows tokens from 0 to 10\. Begin"
        ):
            trace_path(generator, prompt, torch.tensor([0, id]), Sampling())


def test_the_noise_continues_after_a_path_as_in_the_text() -> None:
    generator, prompt = TextGenerator(model(TRANSFORMER), CONTEXT), texts(1, 3)[0]
    text = generate_ids(generator, prompt, TOKENS, TRUNCATED)[0]
    for path in (0, 1, 7, TOKENS):
        after = continue_path(generator, prompt, text[:path], TOKENS - path, TRUNCATED)
        assert after.tolist() == text[path:].tolist()
    other = text[:4].clone()
    other[2] = (other[2] + 1) % VOCABULARY
    (first, second) = after = continue_path(generator, prompt, other, 2, TRUNCATED)
    assert first == trace_path(generator, prompt, other, TRUNCATED).next_choice.sampled
    assert second == trace_path(generator, prompt, torch.cat([other, after[:1]]), TRUNCATED).next_choice.sampled


def test_statistics_of_a_text_by_hand() -> None:
    alternating = [1, 2, 1, 2, 1]  # 12 21 12 21, 121 212 121
    for ids, n, share in (
        ([1, 1, 1, 1], 1, 1 / 4),
        (alternating, 2, 2 / 4),
        (alternating, 3, 2 / 3),
        (alternating, 5, 1),
    ):
        assert distinct_n(ids, n) == pytest.approx(share) and repetition(ids, n) == pytest.approx(1 - share)
    assert distinct_n([5, 15, 51, 5], 2) == 1, "tokens, not digits"
    assert repetition([*range(10)] * 2) == pytest.approx(3 / 13)  # 13 grams of eight; the last three stood there before
    assert repetition([7] * 100) == pytest.approx(92 / 93)
    assert math.isnan(distinct_n([1, 2, 3], 4)) and math.isnan(repetition([1] * 7)) and repetition([1] * 8) == 0
    statistics = compute_statistics(TextGenerator(model("gru")), texts(1, 3)[0], texts(1, 0)[0])
    assert all(map(math.isnan, (statistics.distinct4, statistics.repetition8, statistics.log_probability)))
    lm, prompt, text = model("gru"), texts(1, 3)[0], texts(1, 12)[0]
    with torch.no_grad():
        logits = lm(torch.cat([prompt, text])[None, :-1])[0, len(prompt) - 1 :]
    expected = logits.log_softmax(-1).gather(-1, text[:, None]).mean().item()
    assert compute_statistics(TextGenerator(lm), prompt, text).log_probability == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(("name", "padding"), [("ngram 4", None), ("gru", 10)])
def test_the_measures_at_each_temperature_are_those_of_its_texts(
    name: str, padding: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_statistics, "_ROWS", 7)  # two temperatures at once
    generator, prompt = TextGenerator(model(name), CONTEXT, padding), texts(1, 3)[0]
    cuts, temperatures = Sampling(4.0, top_p=0.95, seed=5), (0.0, 0.6, 1.0, 1.5, 2.0)
    statistics = compute_statistics_by_temperature(generator, prompt, 14, cuts, temperatures, 3)
    assert statistics.temperatures == temperatures
    for row, temperature in enumerate(statistics.temperatures):
        rows = generate_ids(generator, prompt, 14, Sampling(temperature, top_p=0.95, seed=5), 3)
        for sample, text in enumerate(rows):
            expected = compute_statistics(generator, prompt, text)
            assert statistics.distinct4[row, sample] == expected.distinct4 == distinct_n(text.tolist(), 4)
            assert statistics.repetition8[row, sample] == expected.repetition8 == repetition(text.tolist(), 8)
            assert statistics.log_probability[row, sample] == pytest.approx(expected.log_probability, abs=1e-4)


def test_the_chart_has_eleven_temperatures_and_eight_seeds() -> None:
    statistics = compute_statistics_by_temperature(TextGenerator(model("gru"), CONTEXT), texts(1, 3)[0], 20, Sampling())
    assert [f"{t:g}" for t in text_statistics.TEMPERATURES] == [
        "0",
        "0.2",
        "0.4",
        "0.6",
        "0.8",
        "1",
        "1.2",
        "1.4",
        "1.6",
        "1.8",
        "2",
    ]
    assert statistics.distinct4.shape == statistics.repetition8.shape == statistics.log_probability.shape == (11, 8)
    assert np.ptp(statistics.log_probability[0]) < 1e-5  # greedy decoding ignores the noise
    means = statistics.log_probability.mean(axis=1)
    assert means[0] > means[5] > means[10]
