"""Induction heads: a model whose weights are set by hand so that its scores, losses and predictions are known."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
import torch

from explorer.errors import InvalidSetting
from explorer.inspection.attention.attend import attend
from explorer.inspection.attention.head_ablation import Ablation
from explorer.inspection.load_model import LoadedModel
from explorer.inspection.transformer import induction
from explorer.inspection.transformer.induction import InductionScores, find_roles, head_losses, loss_without, read_row
from explorer.models.transformer_tagger import TransformerTagger
from explorer.tasks.sequence_labelling.induction import in_second_copy
from explorer.training.config import RunConfig, default_config, with_settings
from explorer.training.model_factory import build_model

SYMBOLS, LONGEST = 5, 5
TOKENS, PLACES = SYMBOLS + 1, 2 * LONGEST
SHARP = 200.0


def run_config(**settings: object) -> RunConfig:
    task = {"symbols": SYMBOLS, "shortest": 3, "longest": LONGEST, "replicas": 1}
    model = {"causal": True, "feedforward": False, "norm": "none", "norm_place": "pre", "positions": "learned"}
    return with_settings(default_config("induction", "transformer"), {**task, **model, **settings})


def part(start: int, size: int) -> slice:
    return slice(start, start + size)


# The residual stream: the token, its position, the token before, the token that is copied.
TOKEN, PLACE = part(0, TOKENS), part(TOKENS, PLACES)
BEFORE, COPIED = part(TOKENS + PLACES, TOKENS), part(2 * TOKENS + PLACES, TOKENS)
WIDTH = 3 * TOKENS + PLACES


def perfect_model() -> LoadedModel:
    """Return a model of two heads: the first copies the token before, the second finds it and copies what followed."""
    config = run_config(**{"model.width": WIDTH, "model.heads": 1, "layers": 2})
    model = build_model(config)
    assert isinstance(model, TransformerTagger) and model.position is not None
    for parameter in model.parameters():
        parameter.data.zero_()
    model.embedding.weight.data[:, TOKEN] = torch.eye(TOKENS)
    model.position.weight.data[:, PLACE] = torch.eye(PLACES)
    first, second = (block.attention for block in model.blocks)
    query, key, value = (first.project.weight.data[part(i * WIDTH, WIDTH)] for i in range(3))
    query[PLACE, PLACE] = SHARP * torch.eye(PLACES).roll(-1, 0)  # asks for the position before
    query[PLACE.stop - 1, PLACE.start] = 0  # the first token has none
    key[PLACE, PLACE] = torch.eye(PLACES)
    value[BEFORE, TOKEN] = torch.eye(TOKENS)
    query, key, value = (second.project.weight.data[part(i * WIDTH, WIDTH)] for i in range(3))
    query[TOKEN, TOKEN] = SHARP * torch.eye(TOKENS)
    key[TOKEN, BEFORE] = torch.eye(TOKENS)
    key[TOKEN, PLACE.start] = -2  # the first token, which attended to itself, is no key
    value[COPIED, TOKEN] = torch.eye(TOKENS)
    for attention in (first, second):
        attention.output.weight.data[:] = torch.eye(WIDTH)
    model.readout.weight.data[:, COPIED] = SHARP * torch.eye(TOKENS)[:SYMBOLS]
    return LoadedModel(config, model.eval().requires_grad_(False), None)


PREVIOUS, INDUCTION = (0, 0), (1, 0)


def test_scores_of_perfect_heads_and_losses_without_them() -> None:
    scores = induction.measure_scores(perfect_model())
    assert scores.previous[0, :, 0] == pytest.approx([1, scores.previous[0, 1, 0]], abs=1e-4)
    assert scores.previous[0, 1, 0] < 0.4 and scores.induction[0, 0, 0] < 0.01
    assert scores.induction[0, 1, 0] == pytest.approx(1, abs=1e-4)
    assert scores.second_copy_loss == pytest.approx([0], abs=1e-4) and scores.first_copy_loss[0] > 1
    assert find_roles(scores) == ({"previous": PREVIOUS, "induction": INDUCTION},)
    model = perfect_model()
    losses = head_losses(model, "zero")
    assert losses.shape == (1, 2, 1)
    assert losses[0, 1, 0] == pytest.approx(math.log(SYMBOLS), rel=1e-5)
    assert losses[0, 0, 0] > math.log(2), "it finds no earlier occurrence"
    assert loss_without(model, [[PREVIOUS, INDUCTION]], "zero") == pytest.approx([math.log(SYMBOLS)], rel=1e-5)
    assert loss_without(model, [[]], "zero") == pytest.approx([0], abs=1e-4)


def test_the_mean_of_a_head_replaces_its_output_at_every_position() -> None:
    model = perfect_model()
    model.stack.readout.weight[:, COPIED] /= 10  # so that no symbol is ruled out
    task, rows = induction._rows(model)
    visible = rows.ids != task.symbols
    outputs = [attend(model.stack, ids[seen].tolist()) for ids, seen in zip(rows.ids, visible, strict=True)]
    one_hot = [np.eye(SYMBOLS)[ids[seen].numpy()] for ids, seen in zip(rows.ids, visible, strict=True)]
    copied = [np.nan_to_num(each.weights[1, 0]) @ tokens for each, tokens in zip(outputs, one_hot, strict=True)]
    logits = SHARP / 10 * np.concatenate(copied).mean(axis=0)
    surprisals = np.log(np.exp(logits).sum()) - logits
    second = in_second_copy(task, rows)
    expected = surprisals[rows.targets[second].numpy()].mean()
    assert loss_without(model, [[INDUCTION]], "mean") == pytest.approx([expected], rel=1e-5)


def test_ablating_a_head_of_each_seed_equals_output_weights_of_zero() -> None:
    config = run_config(**{"model.width": 12, "model.heads": 3, "layers": 2, "replicas": 3, "positions": "rotary"})
    loaded = LoadedModel(config, build_model(config).eval().requires_grad_(False), None)
    heads = [[(0, 2)], [(1, 0), (0, 1)], []]
    other = copy.deepcopy(loaded.stack)
    for replica, pairs in enumerate(heads):
        for layer, head in pairs:
            other.blocks[layer].attention.output.weight[replica, :, part(4 * head, 4)] = 0
    ablated = LoadedModel(config, other, None)
    found = loss_without(loaded, heads, "zero")
    assert found == pytest.approx(induction.measure_scores(ablated).second_copy_loss, rel=1e-5)
    assert found[2] == induction.measure_scores(loaded).second_copy_loss[2] and found[0] != found[2]
    read, expected = read_row(loaded, "abcabc", heads), read_row(ablated, "abcabc")
    assert read.next_probability == pytest.approx(expected.next_probability, rel=1e-5)
    weights = attend(loaded.single_replica(1), (0, 1, 2, 0, 1), Ablation(frozenset(heads[1]))).weights
    assert weights == pytest.approx(attend(ablated.single_replica(1), (0, 1, 2, 0, 1)).weights, nan_ok=True, rel=1e-4)


def test_roles_are_those_of_the_highest_and_lowest_scores() -> None:
    previous = np.array([[[0.1, 0.7, 0.2], [0.9, 0.1, 0.1]], [[0.4, 0.1, 0.2], [0.3, 0.2, 0.1]]])
    found = np.array([[[0.9, 0.1, 0.1], [0.2, 0.5, 0.3]], [[0.1, 0.1, 0.1], [0.1, 0.2, 0.6]]])
    scores = InductionScores(previous, found, np.zeros(2), np.zeros(2))
    assert find_roles(scores) == (
        {"previous": (0, 1), "previous_control": (0, 0), "induction": (1, 1), "induction_control": (1, 0)},
        {"previous": (0, 0), "previous_control": (0, 1), "induction": (1, 2), "induction_control": (1, 0)},
    )
    assert find_roles(InductionScores(previous[:, :1], found[:, :1], np.zeros(2), np.zeros(2))) == ({}, {})


def test_a_typed_row_is_continued_from_its_first_copy() -> None:
    model = perfect_model()
    read = read_row(model, "A b d a b e")
    assert read.symbols == "abdabe" and read.repeated == (False, False, False, True, False)
    assert read.predicted[3:] == ("b", "d") and read.next_probability.shape == (1, 5)
    assert read.next_probability[0, 3:] == pytest.approx([1, 0], abs=1e-4)
    without = read_row(model, "abdabe", [[INDUCTION]])
    assert without.next_probability == pytest.approx(np.full((1, 5), 1 / SYMBOLS), rel=1e-5)
    problems = {"a": "at least two", "": "empty", "abz": "not a symbol of this task", "a" * 11: "11 tokens"}
    for bad, words in problems.items():
        with pytest.raises(InvalidSetting, match=words):
            read_row(model, bad)
