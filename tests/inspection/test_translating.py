from __future__ import annotations

import numpy as np
import pytest
import torch

from explorer.errors import DamagedRun
from explorer.generation.translating import WIDEST, beam_search, exposure, greedy
from explorer.inspection.translating import DROPPED, answers, exposed, translator, trees
from explorer.models.layers import stack
from explorer.tasks.digits import ReverseConfig
from explorer.tasks.pairs import fresh_digits
from explorer.tasks.translation import longest_answer
from tests.models.translators import translator as made

CONFIG = ReverseConfig(longest=5, symbols=7)  # the vocabularies of the small translators
SOURCE = (2, 0, 3, 3, 1)
LONGEST = longest_answer(CONFIG, len(SOURCE))
KINDS = ("vector", "additive", "sinusoidal")


@pytest.mark.parametrize("kind", KINDS)
def test_every_seed_answers_as_if_it_were_alone(kind: str) -> None:
    models = [made(kind, seed) for seed in range(3)]
    together = answers(stack(models), CONFIG, SOURCE)
    for model, answer in zip(models, together, strict=True):
        (alone,) = answers(model, CONFIG, SOURCE)
        assert answer.ids == alone.ids
        np.testing.assert_allclose(answer.probabilities, alone.probabilities, atol=1e-5)
        written = greedy(model, torch.tensor([SOURCE]), LONGEST)
        ids = written.ids[0].tolist()
        assert list(answer.ids) == (ids[: ids.index(model.eos) + 1] if model.eos in ids else ids)
        assert answer.log_probability == pytest.approx(float(written.score[0]), abs=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_the_trees_are_the_searches_without_what_was_dropped_far_behind(kind: str) -> None:
    model = made(kind, 2)
    found = trees(model, CONFIG, SOURCE)
    assert len(found.starts) == WIDEST + 1
    for width in range(1, WIDEST + 1):
        beams = beam_search(model, torch.tensor(SOURCE), width, LONGEST)
        nodes, logs = (part[found.starts[width - 1] : found.starts[width]] for part in (found.nodes, found.logs))
        steps, parents, tokens, kept, ended = nodes.T

        def ids(place: int, parents: np.ndarray = parents, tokens: np.ndarray = tokens) -> tuple[int, ...]:
            return () if place < 0 else (*ids(int(parents[place])), int(tokens[place]))

        assert [ids(place) for place in found.best[width - 1]] == [beams.sequence(place) for place in beams.best]
        assert int(kept.sum()) == sum(each.kept for each in beams.candidates)
        assert kept[parents[parents >= 0]].all()
        assert (ended == (tokens == model.eos)).all()
        for step in range(1, int(steps.max()) + 1):
            here = steps == step
            dropped = [each.score for each in beams.candidates if each.step == step and not each.kept]
            best = sorted(dropped, reverse=True)[:DROPPED]
            np.testing.assert_allclose(sorted(logs[here & (kept == 0), 1], reverse=True), best, atol=1e-5)
        before = np.where(parents >= 0, logs[parents, 1], 0)
        np.testing.assert_allclose(before + logs[:, 0], logs[:, 1], atol=1e-5)


def test_width_one_is_what_the_seed_answers() -> None:
    model = made("additive", 1)
    found, (answer,) = trees(model, CONFIG, SOURCE), answers(model, CONFIG, SOURCE)
    nodes = found.nodes[: found.starts[1]]
    assert tuple(nodes[nodes[:, 3] == 1, 2]) == answer.ids
    assert found.logs[found.best[0][0], 1] == pytest.approx(answer.log_probability, abs=1e-5)


def test_exposure_of_a_stack_is_that_of_each() -> None:
    models = [made("vector", seed) for seed in range(2)]
    found = exposed(stack(models), CONFIG, 4, 9)
    assert found.own_loss.shape == (2, 5)
    for i, model in enumerate(models):
        given, own = exposure(model, fresh_digits(CONFIG, [4], 9))
        np.testing.assert_allclose(found.given_accuracy[i], given.accuracy, atol=1e-5)
        np.testing.assert_allclose(found.own_accuracy[i], own.accuracy, atol=1e-5)
        np.testing.assert_allclose(found.given_loss[i], given.loss, atol=1e-5)
        np.testing.assert_allclose(found.own_loss[i], own.loss, atol=1e-5)
    assert exposed(models[0], CONFIG, 4, 9).own_loss.shape == (1, 5)
    np.testing.assert_allclose(found.given_loss[:, 0], found.own_loss[:, 0], atol=1e-6)  # nothing is written yet


def test_what_does_not_translate_is_refused() -> None:
    with pytest.raises(DamagedRun, match="no model that translates"):
        translator(torch.nn.Linear(1, 1))
