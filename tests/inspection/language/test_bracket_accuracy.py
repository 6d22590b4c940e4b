from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from explorer.catalogue import models_of
from explorer.inspection.language import bracket_accuracy as module
from explorer.inspection.language.bracket_accuracy import BracketAccuracy, measure_bracket_accuracy
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.rows import text_data
from explorer.training.config import RunConfig, default_config, with_settings
from tests.inspection.language.test_context_use import SIZES, build_and_fit

BRACKETS: dict[str, object] = {"corpus": "brackets", "size": 20_000, "context": 80}


def run(model: str = "transformer", **changes: Any) -> RunConfig:
    return with_settings(default_config("text", model), {**BRACKETS, **SIZES[model], **changes})


class FunctionModel(nn.Module):
    """A language model given by a function from the characters before a position to the predicted next one."""

    def __init__(self, config: RunConfig, answer: Callable[[str], str]) -> None:
        super().__init__()
        self.tokens = text_data(config.task_as(TextConfig)).tokenizer.tokens
        self.answer = answer
        self.readout = nn.Identity()

    def features(self, ids: Tensor) -> tuple[Tensor, tuple[()]]:
        logits = torch.zeros(*ids.shape, len(self.tokens))
        for row, window in zip(logits, ids.tolist(), strict=True):
            row[-1, self.tokens.index(self.answer("".join(self.tokens[id] for id in window)))] = 1
        return logits, ()


def last_open(window: str) -> tuple[str, int]:
    """Return the closing mark of the last open mark in a window and its distance; the line starts in the window."""
    still_open: list[int] = []
    for place in range(window.rindex("\n"), len(window)):
        if still_open and corpora.CLOSING_MARKS[window[still_open[-1]]] == window[place]:
            still_open.pop()
        elif window[place] in corpora.CLOSING_MARKS:
            still_open.append(place)
    return corpora.CLOSING_MARKS[window[still_open[-1]]], len(window) - still_open[-1]


def correct_mark(window: str) -> str:
    return last_open(window)[0]


def held_out_closings(config: RunConfig) -> list[tuple[str, int]]:
    """Return each closing mark of the held-out text and the distance to its opening mark, reading forwards."""
    text = corpora.load_text(config.task_as(TextConfig))
    closings, still_open = [], []
    for place, char in enumerate(text):
        if still_open and corpora.CLOSING_MARKS[text[still_open[-1]]] == char:
            closings.append((place, char, place - still_open.pop()))
        elif char in corpora.CLOSING_MARKS:
            still_open.append(place)
    return [(char, distance) for place, char, distance in closings if place >= int(0.9 * len(text))]


def test_a_perfect_model_has_accuracy_one() -> None:
    config = run()
    accuracy = measure_bracket_accuracy(FunctionModel(config, correct_mark), config)
    closings = held_out_closings(config)
    assert accuracy.is_complete and accuracy.counts.sum() == len(closings) > 50
    assert accuracy.accuracy.tolist() == [[1.0] * len(accuracy.bin_ends)]
    assert accuracy.error.tolist() == [0.0] * len(accuracy.bin_ends)
    edges = [0, *accuracy.bin_ends]
    for low, high, count in zip(edges, accuracy.bin_ends, accuracy.counts, strict=False):
        assert count == sum(low < distance <= high for _, distance in closings)


def test_a_constant_prediction_gets_its_share() -> None:
    config = run()
    marks = [mark for mark, _ in held_out_closings(config)]
    for mark in corpora.CLOSING_MARKS.values():
        accuracy = measure_bracket_accuracy(FunctionModel(config, lambda _, mark=mark: mark), config)  # type: ignore[misc]
        share, error = accuracy.accuracy_over(accuracy.bin_ends > 0)
        assert share == pytest.approx(marks.count(mark) / len(marks))
        assert error == pytest.approx(math.sqrt(share * (1 - share) / len(marks)))
        assert share <= accuracy.baseline + 1e-9
        assert share == pytest.approx(accuracy.baseline) or mark != accuracy.baseline_mark


def test_a_model_that_sees_eight_characters_is_right_at_short_distances() -> None:
    config = run()

    def short_sighted(window: str) -> str:
        mark, distance = last_open(window)
        return mark if distance <= 8 else ")"

    accuracy = measure_bracket_accuracy(FunctionModel(config, short_sighted), config)
    near = accuracy.bin_ends <= 8
    assert (accuracy.mean[near] == 1).all() and near.sum() == 4
    assert (accuracy.mean[~near] < 0.9).all()


@pytest.mark.parametrize("model", models_of("text"))
def test_every_architecture_is_evaluated_on_the_same_positions(model: str) -> None:
    config = run(model, context=24)
    stack = build_and_fit(config)
    text = corpora.load_text(config.task_as(TextConfig))
    tokenizer = text_data(config.task_as(TextConfig)).tokenizer
    correct: dict[bool, list[bool]] = {True: [], False: []}
    for place, distance in corpora.find_closing_marks(text):
        if place >= 18_000:
            logits = stack(torch.from_numpy(tokenizer.encode(text[place - 24 : place])).long()[None])[0, -1]
            answer = max(')]}"', key=lambda mark: float(logits[tokenizer.tokens.index(mark)]))
            correct[distance <= 8].append(answer == text[place])
    accuracy = measure_bracket_accuracy(stack, config)
    near, far = (accuracy.accuracy_over(part)[0] for part in (accuracy.bin_ends <= 8, accuracy.bin_ends > 8))
    assert near == pytest.approx(np.mean(correct[True]), abs=0.011)  # a tie within rounding may fall the other way
    assert far == pytest.approx(np.mean(correct[False]), abs=0.011)
    assert accuracy.context == 24


def test_stacked_seeds_are_evaluated_and_diverged_ones_excluded() -> None:
    config = run("gru", replicas=3)
    stack = build_and_fit(config)
    accuracy = measure_bracket_accuracy(stack, config)
    assert accuracy.accuracy.shape == (3, len(accuracy.bin_ends))
    assert accuracy.mean == pytest.approx(accuracy.accuracy.mean(axis=0))
    for seed in range(3):
        alone = replace(config, seed=seed, replicas=1)
        assert accuracy.accuracy[seed] == pytest.approx(
            measure_bracket_accuracy(build_and_fit(alone), alone).accuracy[0], abs=0.05
        )
    assert not np.array_equal(accuracy.accuracy[0], accuracy.accuracy[1])
    stack.get_parameter("readout.bias")[2] = math.nan
    two = measure_bracket_accuracy(stack, config)
    assert two.diverged == 1 and np.array_equal(two.accuracy, accuracy.accuracy[:2])
    stack.get_parameter("readout.bias")[:] = math.nan
    none = measure_bracket_accuracy(stack, config)
    assert none.diverged == 3 and none.accuracy.shape == (0, len(accuracy.bin_ends)) and np.isnan(none.mean).all()


def test_many_positions_are_subsampled_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    config = run()
    complete = measure_bracket_accuracy(FunctionModel(config, correct_mark), config)
    monkeypatch.setattr(module, "MAX_TOKENS", 80 * 40)
    part = measure_bracket_accuracy(FunctionModel(config, correct_mark), config)
    assert (complete.is_complete, part.is_complete) == (True, False)
    closings = held_out_closings(config)
    distances = sorted(closings[i * len(closings) // 40][1] for i in range(40))
    assert np.repeat(part.bin_ends, part.counts).tolist() == [
        part.bin_ends[np.searchsorted(part.bin_ends, d)] for d in distances
    ]
    assert part.counts.sum() == 40 and part.mean.tolist() == [1.0] * len(part.bin_ends)


def test_a_held_out_part_without_closing_marks_is_empty() -> None:
    seeds = (seed for seed in range(400) if not ends_with_a_mark(seed))
    config = run(size=1_000, held_out=0.01, corpus_seed=next(seeds))
    accuracy = measure_bracket_accuracy(FunctionModel(config, correct_mark), config)
    assert accuracy.counts.sum() == 0 and accuracy.accuracy.shape == (1, 0)
    assert math.isnan(accuracy.accuracy_over(accuracy.bin_ends > 0)[0])


def ends_with_a_mark(seed: int) -> bool:
    return any(place >= 990 for place, _ in corpora.find_closing_marks(corpora.brackets_text(1_000, seed)))


def test_accuracy_over_bins_is_weighted_by_counts() -> None:
    accuracy = BracketAccuracy(np.array([2, 4]), np.array([30, 10]), np.array([[1.0, 0.5], [0.8, 0.3]]), 0.3, ")", 64)
    share, error = accuracy.accuracy_over(np.array([True, True]))
    assert share == pytest.approx((30 * 0.9 + 10 * 0.4) / 40)
    assert error == pytest.approx(math.sqrt(share * (1 - share) / 40))
    assert accuracy.error == pytest.approx([math.sqrt(0.9 * 0.1 / 30), math.sqrt(0.4 * 0.6 / 10)])
