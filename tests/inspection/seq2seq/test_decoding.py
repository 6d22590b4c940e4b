from __future__ import annotations

import numpy as np
import pytest
import torch

from explorer.errors import DamagedRun
from explorer.generation.seq2seq_decoding import MAX_BEAM_WIDTH, beam_search, exposure_bias_curves, greedy_decode
from explorer.inspection.seq2seq import decoding
from explorer.models.layers import stack
from explorer.tasks.seq2seq.batches import evaluation_digits
from explorer.tasks.seq2seq.config import max_answer_length
from explorer.tasks.seq2seq.digits import ReverseConfig
from tests.models.translators import translator as build_translator

CONFIG = ReverseConfig(longest=5, symbols=7)  # the vocabularies of the small translators
SOURCE = (2, 0, 3, 3, 1)
LONGEST = max_answer_length(CONFIG, len(SOURCE))
KINDS = ("vector", "sinusoidal")


@pytest.mark.parametrize("kind", KINDS)
def test_greedy_translations_of_a_stack_equal_those_of_each_replica(kind: str) -> None:
    models = [build_translator(kind, seed) for seed in range(3)]
    together = decoding.greedy_translations(stack(models), CONFIG, SOURCE)
    for model, answer in zip(models, together, strict=True):
        (alone,) = decoding.greedy_translations(model, CONFIG, SOURCE)
        assert answer.ids == alone.ids
        np.testing.assert_allclose(answer.probabilities, alone.probabilities, atol=1e-5)
        translation = greedy_decode(model, torch.tensor([SOURCE]), LONGEST)
        ids = translation.ids[0].tolist()
        assert list(answer.ids) == (ids[: ids.index(model.eos) + 1] if model.eos in ids else ids)
        assert answer.log_probability == pytest.approx(float(translation.score[0]), abs=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_beam_trees_contain_kept_candidates_and_the_best_dropped_ones(kind: str) -> None:
    model = build_translator(kind, 2)
    trees = decoding.beam_trees(model, CONFIG, SOURCE)
    assert len(trees.starts) == MAX_BEAM_WIDTH + 1
    (answer,) = decoding.greedy_translations(model, CONFIG, SOURCE)
    nodes = trees.nodes[: trees.starts[1]]
    assert tuple(nodes[nodes[:, 3] == 1, 2]) == answer.ids
    assert trees.logs[trees.best[0][0], 1] == pytest.approx(answer.log_probability, abs=1e-5)
    for width in (1, 2, 5, MAX_BEAM_WIDTH):
        beams = beam_search(model, torch.tensor(SOURCE), width, LONGEST)
        nodes, logs = (part[trees.starts[width - 1] : trees.starts[width]] for part in (trees.nodes, trees.logs))
        steps, parents, tokens, is_kept, is_finished = nodes.T

        def ids(place: int, parents: np.ndarray = parents, tokens: np.ndarray = tokens) -> tuple[int, ...]:
            return () if place < 0 else (*ids(int(parents[place])), int(tokens[place]))

        assert [ids(place) for place in trees.best[width - 1]] == [beams.sequence(place) for place in beams.best]
        assert int(is_kept.sum()) == sum(each.kept for each in beams.candidates)
        assert is_kept[parents[parents >= 0]].all()
        assert (is_finished == (tokens == model.eos)).all()
        for step in range(1, int(steps.max()) + 1):
            at_step = steps == step
            dropped = [each.score for each in beams.candidates if each.step == step and not each.kept]
            best = sorted(dropped, reverse=True)[: decoding.DROPPED_PER_STEP]
            np.testing.assert_allclose(sorted(logs[at_step & (is_kept == 0), 1], reverse=True), best, atol=1e-5)
        before = np.where(parents >= 0, logs[parents, 1], 0)
        np.testing.assert_allclose(before + logs[:, 0], logs[:, 1], atol=1e-5)


def test_exposure_bias_of_a_stack_equals_that_of_each_replica() -> None:
    models = [build_translator("vector", seed) for seed in range(2)]
    bias = decoding.exposure_bias(stack(models), CONFIG, 4, 9)
    assert bias.free_running_loss.shape == (2, 5)
    for i, model in enumerate(models):
        teacher_forced, free_running = exposure_bias_curves(model, evaluation_digits(CONFIG, [4], 9))
        for name, curve in (("teacher_forced", teacher_forced), ("free_running", free_running)):
            np.testing.assert_allclose(getattr(bias, f"{name}_accuracy")[i], curve.accuracy, atol=1e-5)
            np.testing.assert_allclose(getattr(bias, f"{name}_loss")[i], curve.loss, atol=1e-5)
    assert decoding.exposure_bias(models[0], CONFIG, 4, 9).free_running_loss.shape == (1, 5)
    with pytest.raises(DamagedRun, match="no model that translates"):
        decoding.require_translator(torch.nn.Linear(1, 1))
