from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from explorer.inspection.language import bracket_accuracy as module
from explorer.inspection.language.bracket_accuracy import BracketAccuracy, measure_bracket_accuracy
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.rows import text_data
from explorer.training.config import RunConfig, default_config, with_settings
from tests.inspection.language.test_context import SIZES, build_and_fit


def run(model: str = "transformer", **changes: Any) -> RunConfig:
    text = {"corpus": "brackets", "size": 8_000, "context": 80}
    return with_settings(default_config("text", model), {**text, **SIZES[model], **changes})


class FunctionModel(nn.Module):
    """A language model given by a function from the characters before a position to the predicted next one."""

    def __init__(self, config: RunConfig, answer: Callable[[str], str]) -> None:
        super().__init__()
        self.tokens, self.answer = text_data(config.task_as(TextConfig)).tokenizer.tokens, answer
        self.readout = nn.Identity()

    def features(self, ids: Tensor) -> tuple[Tensor, tuple[()]]:
        logits = torch.zeros(*ids.shape, len(self.tokens))
        for row, window in zip(logits, ids.tolist(), strict=True):
            row[-1, self.tokens.index(self.answer("".join(self.tokens[id] for id in window)))] = 1
        return logits, ()


def answer_to(window: str, sight: int = 80) -> str:
    """Return the closing mark of the last open mark of a window; “)” if it is further away than `sight`."""
    still_open: list[int] = []
    for place in range(window.rindex("\n"), len(window)):
        if still_open and corpora.CLOSING_MARKS[window[still_open[-1]]] == window[place]:
            still_open.pop()
        elif window[place] in corpora.CLOSING_MARKS:
            still_open.append(place)
    return corpora.CLOSING_MARKS[window[still_open[-1]]] if len(window) - still_open[-1] <= sight else ")"


def held_out_closings(config: RunConfig) -> list[tuple[int, str, int]]:
    """Return position, mark and distance of each closing mark of the held-out text."""
    text = corpora.load_text(config.task_as(TextConfig))
    return [(at, text[at], d) for at, d in corpora.find_closing_marks(text) if at >= int(0.9 * len(text))]


def test_a_perfect_model_has_accuracy_one(monkeypatch: pytest.MonkeyPatch) -> None:
    config = run()
    accuracy = measure_bracket_accuracy(FunctionModel(config, answer_to), config)
    distances = [distance for _, _, distance in held_out_closings(config)]
    assert accuracy.is_complete and accuracy.counts.sum() == len(distances) > 50 and accuracy.diverged == 0
    assert accuracy.accuracy.tolist() == [[1.0] * len(accuracy.bin_ends)]
    assert accuracy.error.tolist() == [0.0] * len(accuracy.bin_ends) and accuracy.context == 80
    for low, high, count in zip([0, *accuracy.bin_ends], accuracy.bin_ends, accuracy.counts, strict=False):
        assert count == sum(low < distance <= high for distance in distances)
    monkeypatch.setattr(module, "MAX_TOKENS", 80 * 40)
    part = measure_bracket_accuracy(FunctionModel(config, answer_to), config)
    spread = sorted(distances[i * len(distances) // 40] for i in range(40))
    expected = [part.bin_ends[np.searchsorted(part.bin_ends, d)] for d in spread]
    assert np.repeat(part.bin_ends, part.counts).tolist() == expected and not part.is_complete


def test_the_accuracy_of_models_that_do_not_read_all_marks() -> None:
    config = run()
    marks = [mark for _, mark, _ in held_out_closings(config)]
    for mark in corpora.CLOSING_MARKS.values():
        accuracy = measure_bracket_accuracy(FunctionModel(config, lambda _, mark=mark: mark), config)  # type: ignore[misc]
        share, error = accuracy.accuracy_over(accuracy.bin_ends > 0)
        assert share == pytest.approx(marks.count(mark) / len(marks))
        assert error == pytest.approx(math.sqrt(share * (1 - share) / len(marks)))
        assert accuracy.baseline == max(marks.count(each) for each in marks) / len(marks)
        assert share == pytest.approx(accuracy.baseline) or mark != accuracy.baseline_mark
    accuracy = measure_bracket_accuracy(FunctionModel(config, lambda window: answer_to(window, 8)), config)
    near = accuracy.bin_ends <= 8
    assert (accuracy.mean[near] == 1).all() and near.sum() == 4 and accuracy.accuracy_over(~near)[0] < 0.9


def test_an_ngram_is_evaluated_on_the_held_out_closing_marks() -> None:
    config = run("ngram", context=24)
    stack, task = build_and_fit(config), config.task_as(TextConfig)
    text, tokenizer = corpora.load_text(task), text_data(task).tokenizer
    correct = []
    for place, mark, _ in held_out_closings(config):
        logits = stack(torch.from_numpy(tokenizer.encode(text[place - 24 : place])).long()[None])[0, -1]
        correct.append(mark == max(')]}"', key=lambda each: float(logits[tokenizer.tokens.index(each)])))
    accuracy = measure_bracket_accuracy(stack, config)
    assert accuracy.accuracy_over(accuracy.bin_ends > 0)[0] == pytest.approx(np.mean(correct), abs=0.011)


def test_stacked_seeds_are_evaluated_and_diverged_ones_excluded() -> None:
    config = run("gru", replicas=2)
    stack = build_and_fit(config)
    accuracy = measure_bracket_accuracy(stack, config)
    for seed in range(2):
        alone = replace(config, seed=seed, replicas=1)
        expected = measure_bracket_accuracy(build_and_fit(alone), alone).accuracy[0]
        assert accuracy.accuracy[seed] == pytest.approx(expected, abs=0.05)
    stack.get_parameter("readout.bias")[1] = math.nan
    one = measure_bracket_accuracy(stack, config)
    assert one.diverged == 1 and np.array_equal(one.accuracy, accuracy.accuracy[:1])
    stack.get_parameter("readout.bias")[:] = math.nan
    none = measure_bracket_accuracy(stack, config)
    assert none.diverged == 2 and none.accuracy.shape == (0, len(accuracy.bin_ends)) and np.isnan(none.mean).all()


def test_a_held_out_part_without_closing_marks_is_empty() -> None:
    configs = (run(size=1_000, held_out=0.01, corpus_seed=seed) for seed in range(400))
    config = next(each for each in configs if all(at < 990 for at, _, _ in held_out_closings(each)))
    accuracy = measure_bracket_accuracy(FunctionModel(config, answer_to), config)
    assert accuracy.counts.sum() == 0 and accuracy.accuracy.shape == (1, 0)
    assert math.isnan(accuracy.accuracy_over(accuracy.bin_ends > 0)[0])


def test_accuracy_over_bins_is_weighted_by_counts() -> None:
    accuracy = BracketAccuracy(np.array([2, 4]), np.array([30, 10]), np.array([[1.0, 0.5], [0.8, 0.3]]), 0.3, ")", 64)
    share, error = accuracy.accuracy_over(np.array([True, True]))
    assert share == pytest.approx((30 * 0.9 + 10 * 0.4) / 40)
    assert error == pytest.approx(math.sqrt(share * (1 - share) / 40))
    assert accuracy.error == pytest.approx([math.sqrt(0.9 * 0.1 / 30), math.sqrt(0.4 * 0.6 / 10)])
