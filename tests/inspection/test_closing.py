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
from explorer.inspection import closing as module
from explorer.inspection.closing import Closings, closing
from explorer.tasks import corpora
from explorer.tasks.text import TextConfig
from explorer.tasks.windows import text_data
from explorer.training.config import RunConfig, changed, default
from tests.inspection.test_reach import SIZES, ready

BRACKETS: dict[str, object] = {"corpus": "brackets", "size": 20_000, "context": 80}


def run(model: str = "transformer", **changes: Any) -> RunConfig:
    return changed(default("text", model), {**BRACKETS, **SIZES[model], **changes})


class Says(nn.Module):
    """A language model that a test writes: from the characters before a place to the one that it expects there."""

    def __init__(self, config: RunConfig, answer: Callable[[str], str]) -> None:
        super().__init__()
        self.tokens = text_data(config.on(TextConfig)).tokenizer.tokens
        self.answer = answer
        self.readout = nn.Identity()

    def features(self, ids: Tensor) -> tuple[Tensor, tuple[()]]:
        logits = torch.zeros(*ids.shape, len(self.tokens))
        for row, window in zip(logits, ids.tolist(), strict=True):
            row[-1, self.tokens.index(self.answer("".join(self.tokens[id] for id in window)))] = 1
        return logits, ()


def last_open(seen: str) -> tuple[str, int]:
    """What closes the mark that is open at the end of a window, and how far back that is; its line began within it."""
    still_open: list[int] = []
    for place in range(seen.rindex("\n"), len(seen)):
        if still_open and corpora.MARKS[seen[still_open[-1]]] == seen[place]:
            still_open.pop()
        elif seen[place] in corpora.MARKS:
            still_open.append(place)
    return corpora.MARKS[seen[still_open[-1]]], len(seen) - still_open[-1]


def knows(seen: str) -> str:
    return last_open(seen)[0]


def held_out_closings(config: RunConfig) -> list[tuple[str, int]]:
    """Every mark that closes in the held-out end, and how far back it was opened; counted from the front."""
    text = corpora.text_of(config.on(TextConfig))
    found, still_open = [], []
    for place, char in enumerate(text):
        if still_open and corpora.MARKS[text[still_open[-1]]] == char:
            found.append((place, char, place - still_open.pop()))
        elif char in corpora.MARKS:
            still_open.append(place)
    return [(char, distance) for place, char, distance in found if place >= int(0.9 * len(text))]


def test_who_knows_everything_is_always_right() -> None:
    config = run()
    found = closing(Says(config, knows), config)
    asked = held_out_closings(config)
    assert found.whole and found.asked.sum() == len(asked) > 50
    assert found.right.tolist() == [[1.0] * len(found.last)]
    assert found.error.tolist() == [0.0] * len(found.last)
    edges = [0, *found.last]
    for low, high, count in zip(edges, found.last, found.asked, strict=False):
        assert count == sum(low < distance <= high for _, distance in asked)


def test_who_always_says_the_same_gets_its_share() -> None:
    config = run()
    marks = [mark for mark, _ in held_out_closings(config)]
    for mark in corpora.MARKS.values():
        found = closing(Says(config, lambda _, mark=mark: mark), config)  # type: ignore[misc]
        share, error = found.over(found.last > 0)
        assert share == pytest.approx(marks.count(mark) / len(marks))
        assert error == pytest.approx(math.sqrt(share * (1 - share) / len(marks)))
        assert share <= found.usual + 1e-9
        assert share == pytest.approx(found.usual) or mark != found.usual_mark


def test_who_sees_eight_characters_knows_what_was_opened_among_them() -> None:
    config = run()

    def short_sighted(seen: str) -> str:
        mark, distance = last_open(seen)
        return mark if distance <= 8 else ")"

    found = closing(Says(config, short_sighted), config)
    near = found.last <= 8
    assert (found.mean[near] == 1).all() and near.sum() == 4
    assert (found.mean[~near] < 0.9).all()


@pytest.mark.parametrize("model", models_of("text"))
def test_every_model_is_asked_in_the_same_way(model: str) -> None:
    config = run(model, context=24)
    made = ready(config)
    text = corpora.text_of(config.on(TextConfig))
    tokenizer = text_data(config.on(TextConfig)).tokenizer
    right: dict[bool, list[bool]] = {True: [], False: []}
    for place, distance in corpora.closings(text):
        if place >= 18_000:
            logits = made(torch.from_numpy(tokenizer.encode(text[place - 24 : place])).long()[None])[0, -1]
            answer = max(')]}"', key=lambda mark: float(logits[tokenizer.tokens.index(mark)]))
            right[distance <= 8].append(answer == text[place])
    found = closing(made, config)
    near, far = (found.over(part)[0] for part in (found.last <= 8, found.last > 8))
    assert near == pytest.approx(np.mean(right[True]), abs=0.011)  # a tie within rounding may fall the other way
    assert far == pytest.approx(np.mean(right[False]), abs=0.011)
    assert found.context == 24


def test_seeds_are_asked_side_by_side_and_those_that_diverged_left_out() -> None:
    config = run("gru", replicas=3)
    made = ready(config)
    found = closing(made, config)
    assert found.right.shape == (3, len(found.last))
    assert found.mean == pytest.approx(found.right.mean(axis=0))
    for seed in range(3):
        alone = replace(config, seed=seed, replicas=1)
        assert found.right[seed] == pytest.approx(closing(ready(alone), alone).right[0], abs=0.05)
    assert not np.array_equal(found.right[0], found.right[1])
    made.get_parameter("readout.bias")[2] = math.nan
    two = closing(made, config)
    assert two.diverged == 1 and np.array_equal(two.right, found.right[:2])
    made.get_parameter("readout.bias")[:] = math.nan
    none = closing(made, config)
    assert none.diverged == 3 and none.right.shape == (0, len(found.last)) and np.isnan(none.mean).all()


def test_of_many_places_an_evenly_spread_part_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    config = run()
    whole = closing(Says(config, knows), config)
    monkeypatch.setattr(module, "MOST_READ", 80 * 40)
    part = closing(Says(config, knows), config)
    assert (whole.whole, part.whole) == (True, False)
    asked = held_out_closings(config)
    distances = sorted(asked[i * len(asked) // 40][1] for i in range(40))
    assert np.repeat(part.last, part.asked).tolist() == [part.last[np.searchsorted(part.last, d)] for d in distances]
    assert part.asked.sum() == 40 and part.mean.tolist() == [1.0] * len(part.last)


def test_an_end_in_which_nothing_closes_is_empty() -> None:
    seeds = (seed for seed in range(400) if not ends_with_a_mark(seed))
    config = run(size=1_000, held_out=0.01, corpus_seed=next(seeds))
    found = closing(Says(config, knows), config)
    assert found.asked.sum() == 0 and found.right.shape == (1, 0)
    assert math.isnan(found.over(found.last > 0)[0])


def ends_with_a_mark(seed: int) -> bool:
    return any(place >= 990 for place, _ in corpora.closings(corpora.brackets(1_000, seed)))


def test_a_share_over_bins_is_weighted_by_what_was_asked() -> None:
    found = Closings(np.array([2, 4]), np.array([30, 10]), np.array([[1.0, 0.5], [0.8, 0.3]]), 0.3, ")", 64)
    share, error = found.over(np.array([True, True]))
    assert share == pytest.approx((30 * 0.9 + 10 * 0.4) / 40)
    assert error == pytest.approx(math.sqrt(share * (1 - share) / 40))
    assert found.error == pytest.approx([math.sqrt(0.9 * 0.1 / 30), math.sqrt(0.4 * 0.6 / 10)])
