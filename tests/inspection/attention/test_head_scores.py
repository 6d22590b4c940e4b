from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from explorer.errors import InvalidSetting
from explorer.inspection.attention import head_scores as module
from explorer.inspection.attention.attend import Ablation, attend
from explorer.inspection.attention.attention_model import attention_model
from explorer.inspection.attention.head_scores import (
    HeadScores,
    attention_rollout,
    head_importance,
    head_importance_on,
    score_heads,
)
from explorer.inspection.load_model import load_model
from explorer.run_store import store
from explorer.tasks.negation import VOCABULARY, Negation, NegationConfig
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.rows import text_data
from explorer.training.config import default_config, with_settings
from explorer.training.record import Record, Snapshot
from explorer.training.recorder import record_run

ABLE = ("previous", "itself", "first", "same", "after_same")
NAN = np.nan


def scores_of_pattern(pattern: list[list[float]], ids: list[int], causal: bool = True) -> HeadScores:
    """Return the scores of one head with this attention pattern."""
    weights = np.array(pattern, dtype=np.float32)[None, None]
    if causal:
        weights[..., *np.triu_indices(len(ids), 1)] = NAN
    return score_heads(weights, ids)


def shares(scores: HeadScores) -> dict[str, float]:
    return {name: round(float(getattr(scores, name)[0, 0]), 4) for name in ABLE}


# a b a b: the third token can attend to the first "a" and the token after it, the fourth to the first "b" and the next.
REPEATED = [1, 2, 1, 2]


def test_scores_of_a_previous_token_head() -> None:
    scores = scores_of_pattern([[1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]], REPEATED)
    # The previous token is also the one after the earlier equal token, and for two of four it is the first token.
    assert shares(scores) == {"previous": 1, "itself": 0.25, "first": 0.5, "same": 0, "after_same": 1}
    assert scores.entropy.item() == 0 and scores.spread.item() == 1
    assert scores.distances.tolist() == [0, 1, 2, 3]
    assert scores.distance[0, 0].tolist() == [0.25, 1, 0, 0]


def test_scores_of_a_same_token_head() -> None:
    scores = scores_of_pattern([[1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0]], REPEATED)
    assert shares(scores) == {"previous": 0, "itself": 0.5, "first": 0.5, "same": 1, "after_same": 0}
    assert scores.distance[0, 0].tolist() == [0.5, 0, 1, 0]


def test_induction_is_distinguished_from_previous_token_attention() -> None:
    ids = [1, 2, 3, 1]
    scores = scores_of_pattern([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0.1, 0.7, 0.2, 0]], ids)
    assert shares(scores)["after_same"] == 0.7
    assert shares(scores)["same"] == 0.1
    assert shares(scores)["previous"] == round(0.2 / 3, 4)


def test_two_equal_tokens_in_a_row_count_as_induction() -> None:
    scores = scores_of_pattern([[1, 0], [0.3, 0.7]], [5, 5])
    assert (shares(scores)["same"], shares(scores)["after_same"]) == (0.3, 0.7)


def test_scores_without_any_valid_query_are_nan() -> None:
    scores = scores_of_pattern([[1, 0], [0.4, 0.6]], [1, 2])
    assert math.isnan(scores.same.item()) and math.isnan(scores.after_same.item())
    single = scores_of_pattern([[1]], [7])
    assert math.isnan(single.previous.item())
    assert (single.itself.item(), single.first.item(), single.entropy.item()) == (1, 1, 0)
    assert single.distances.tolist() == [0]


def test_entropy_is_a_mean_over_queries_and_spread_its_exponential() -> None:
    even = scores_of_pattern((np.tril(np.ones((4, 4))) / np.arange(1, 5)[:, None]).tolist(), REPEATED)
    assert even.entropy.item() == pytest.approx(np.log([1, 2, 3, 4]).mean(), abs=1e-6)
    assert even.spread.item() == pytest.approx(24**0.25, abs=1e-5)


def test_without_a_mask_distances_include_later_tokens() -> None:
    scores = scores_of_pattern([[0, 0, 1], [0, 0.5, 0.5], [1, 0, 0]], [1, 2, 3], causal=False)
    assert scores.distances.tolist() == [-2, -1, 0, 1, 2]
    assert scores.distance[0, 0].tolist() == [1, 0.25, pytest.approx(0.5 / 3), 0, 1]
    assert scores.first.item() == pytest.approx(1 / 3)


def test_padding_is_ignored() -> None:
    pattern = [[0.5, 0.5, NAN], [0.2, 0.8, NAN], [NAN, NAN, NAN]]
    scores, short = (scores_of_pattern([row[:n] for row in pattern[:n]], [1, 2, 9][:n], causal=False) for n in (3, 2))
    assert str(shares(scores)) == str(shares(short))
    assert scores.entropy.item() == short.entropy.item()
    assert scores.distance[0, 0, scores.distances == 1].item() == pytest.approx(0.2)
    assert math.isnan(scores.distance[0, 0, scores.distances == 2].item())


def test_heads_are_scored_separately() -> None:
    weights = np.zeros((2, 3, 4, 4), dtype=np.float32)
    weights[:] = np.eye(4)
    weights[1, 2] = np.eye(4, k=-1)
    weights[1, 2, 0, 0] = 1
    weights[..., *np.triu_indices(4, 1)] = NAN
    scores = score_heads(weights, REPEATED)
    assert scores.previous.tolist() == [[0, 0, 0], [0, 0, 1]]
    assert scores.itself.tolist() == [[1, 1, 1], [1, 1, 0.25]]


def test_non_finite_weights_are_ignored() -> None:
    scores = score_heads(np.full((1, 2, 3, 3), NAN, dtype=np.float32), [1, 1, 1])
    assert all(np.isnan(getattr(scores, name)).all() for name in (*ABLE, "entropy", "spread"))


# ---- attention rollout


def test_rollout_by_hand() -> None:
    first = [[[1, NAN], [0.2, 0.8]], [[1, NAN], [0.6, 0.4]]]  # mean of the second row: 0.4, 0.6
    second = [[[1, NAN], [0.5, 0.5]], [[1, NAN], [0.5, 0.5]]]
    # A1 = (1, 0 / 0.2, 0.8), A2 = (1, 0 / 0.25, 0.75); A2 A1 = (1, 0 / 0.25 + 0.75 0.2, 0.75 0.8)
    rollout = attention_rollout(np.array([first, second]))
    np.testing.assert_allclose(rollout, [[1, NAN], [0.4, 0.6]], atol=1e-12)
    np.testing.assert_allclose(attention_rollout(np.array([first])), [[1, NAN], [0.2, 0.8]], atol=1e-12)


def test_rollout_multiplies_later_layers_from_the_left() -> None:
    back, itself = np.eye(3, k=-1), np.eye(3)
    back[0, 0] = 1
    mix = np.full((3, 3), 1 / 3)
    rollout = attention_rollout(np.stack([back, mix])[:, None])
    np.testing.assert_allclose(rollout, (mix + itself) / 2 @ ((back + itself) / 2), atol=1e-12)


def test_rollout_rows_sum_to_one_and_are_nan_without_a_path() -> None:
    model = load_model(store.find("text-transformer")).single_replica(0)
    rollout = attention_rollout(attend(model, range(20)).weights)
    np.testing.assert_allclose(np.nansum(rollout, axis=-1), 1, atol=1e-5)
    np.testing.assert_array_equal(np.isnan(rollout), np.triu(np.ones((20, 20)), 1) > 0)
    ids = (*VOCABULARY.encode(("human", "preserve", "nature")), VOCABULARY.id("<PAD>"))
    rollout = attention_rollout(
        attend(load_model(store.find("negation-double-transformer")).single_replica(0), ids).weights
    )
    np.testing.assert_allclose(rollout[:-1, :-1].sum(axis=-1), 1, atol=1e-5)
    assert np.isnan(rollout[-1]).all() and np.isnan(rollout[:, -1]).all()


# ---- head importance

TEXTS: dict[str, dict[str, object]] = {
    "blocks": {"corpus": "brackets", "size": 3_000, "context": 11, "positions": "rotary"},
    "lines": {"corpus": "repeats", "size": 3_000, "context": 40, "rows": "sentences", "split": "pairs"},
    "prefixes": {
        **{"corpus": "repeats", "size": 3_000, "context": 40, "rows": "prefixes", "split": "sentences"},
        **{"tokenizer": "word", "vocabulary": 30, "positions": "learned"},
    },
}


def trained_run(text: dict[str, object]) -> Record:
    small: dict[str, Any] = {"iterations": 12, "batch_size": 8, "width": 12, "heads": 3, "layers": 2, "hidden": 9}
    return record_run(
        with_settings(default_config("text", "transformer"), {**small, "replicas": 2, "sample": 0, **text})
    )


def zeroed(record: Record, replica: int, layer: int, head: int, each: int) -> Record:
    """Return the run with the columns of one head in the output weights at zero."""
    weights = {name: value.copy() for name, value in record.weights().items()}
    weights[f"blocks.{layer}.attention.output.weight"][replica, :, head * each : (head + 1) * each] = 0
    return replace(record, snapshots={record.curves.step: Snapshot(weights, None)})


@pytest.mark.parametrize("text", TEXTS)
def test_head_importance_is_the_increase_of_the_loss_without_the_head(text: str) -> None:
    record = trained_run(TEXTS[text])
    importance = head_importance(record, 1, rows=5)
    model = load_model(record).single_replica(1)
    task = record.config.task_as(TextConfig)
    batches = list(text_data(task).held_out_batches(5 * task.context))
    shape = (2, 3)
    assert importance.ablated_loss.shape == importance.error.shape == shape
    assert importance.base_loss == pytest.approx(mean_surprisal(model, batches)[0], abs=1e-5)
    assert importance.targets == sum(b.targets.numel() if b.mask is None else int(b.mask.sum()) for b in batches)
    for layer, head in np.ndindex(shape):
        other = load_model(zeroed(record, 1, layer, head, 4)).single_replica(1)
        loss, by_row, count = mean_surprisal(other, batches)
        assert importance.ablated_loss[layer, head] == pytest.approx(loss, abs=1e-5)
        difference = by_row - mean_surprisal(model, batches)[1]
        mean = difference.sum() / count.sum()
        spread = ((difference - mean * count) ** 2).sum() * len(count) / (len(count) - 1)
        assert importance.error[layer, head] == pytest.approx(spread**0.5 / count.sum(), rel=0.01, abs=1e-7)
    np.testing.assert_array_equal(importance.importance, importance.ablated_loss - importance.base_loss)
    assert np.abs(importance.importance).max() > 1e-5
    assert importance.metric == "validation loss, nats a token"


def mean_surprisal(model: torch.nn.Module, batches: list[Any]) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the mean surprisal over the targets in the loss, and for each row its sum and their number."""
    total, counts = [], []
    for batch in batches:
        each = F.cross_entropy(model(batch.ids).mT, batch.targets, reduction="none").double()
        mask = torch.ones_like(each) if batch.mask is None else batch.mask.double()
        total.append((each * mask).sum(-1).numpy())
        counts.append(mask.sum(-1).numpy())
    by_row, count = np.concatenate(total), np.concatenate(counts)
    return float(by_row.sum() / count.sum()), by_row, count


def test_head_importance_does_not_depend_on_the_batch_size(monkeypatch: pytest.MonkeyPatch) -> None:
    record = trained_run(TEXTS["blocks"])
    at_once = head_importance(record, 0, rows=7)
    monkeypatch.setattr(module, "_MAX_LOGITS", 2_000)
    one_by_one = head_importance(record, 0, rows=7)
    np.testing.assert_allclose(one_by_one.ablated_loss, at_once.ablated_loss, atol=1e-6)
    np.testing.assert_allclose(one_by_one.error, at_once.error, rtol=1e-3, atol=1e-8)


@pytest.mark.parametrize("name", ["single", "double", "eos"])
def test_negation_is_evaluated_on_the_whole_grammar(name: str) -> None:
    run = store.find(f"negation-{name}-transformer")
    importance = head_importance(run, 2)
    task = Negation(run.config.task_as(NegationConfig))
    longest = max(task.lengths)
    rows = torch.tensor([task.rows[task.row_index(s, longest)].ids for s in range(len(task.sentences))])
    model = load_model(run).single_replica(2)
    logs = model(rows).log_softmax(-1).double()
    base = -sum(s.probability * float(logs[i, s.label]) for i, s in enumerate(task.sentences))
    assert importance.base_loss == pytest.approx(base, abs=1e-6)
    assert not importance.error.any()
    assert (importance.targets, importance.metric) == (len(task.sentences), "loss over the grammar, nats a sentence")
    model.blocks[0].attention.output.weight[:] = 0  # it has one head
    off = model(rows).log_softmax(-1).double()
    assert importance.ablated_loss.item() == pytest.approx(
        -sum(s.probability * float(off[i, s.label]) for i, s in enumerate(task.sentences)), abs=1e-5
    )
    assert importance.importance.item() > 0.3  # without it no token attends to another


def test_head_importance_is_small_before_training() -> None:
    run = store.find("negation-single-transformer")
    assert abs(head_importance(run, 0, step=0).importance.item()) < 0.1 < head_importance(run, 0).importance.item()


def test_the_error_of_a_single_row_is_nan() -> None:
    importance = head_importance(trained_run(TEXTS["blocks"]), 0, rows=1)
    assert importance.targets == 11 and np.isfinite(importance.ablated_loss).all()
    assert np.isnan(importance.error).all()


@pytest.mark.parametrize("undefined", [math.nan, math.inf])
def test_head_importance_of_a_diverged_model_is_nan(undefined: float) -> None:
    record = trained_run(TEXTS["blocks"])
    weights = {name: np.full_like(value, undefined) for name, value in record.weights().items()}
    importance = head_importance(replace(record, snapshots={record.curves.step: Snapshot(weights, None)}), 0)
    assert np.isnan(importance.importance).all() and np.isnan(importance.error).all()


def test_a_run_without_attention_heads_is_rejected() -> None:
    with pytest.raises(InvalidSetting, match="no attention"):
        head_importance(store.find("negation-single-gru"), 0)


def test_head_importance_on_a_text_is_the_increase_of_its_loss() -> None:
    model = attention_model(load_model(store.find("text-transformer")).single_replica(0))
    ids = tuple(range(20, 45))

    def losses(ablation: Ablation) -> np.ndarray:
        return -attend(model, ids, ablation).log_probabilities[np.arange(len(ids) - 1), ids[1:]]

    measured, base = head_importance_on(model, ids), losses(Ablation())
    assert (measured.sample, measured.targets) == ("this text", len(ids) - 1)
    np.testing.assert_allclose(measured.base_loss, base.mean(), atol=1e-5)
    for head in ((0, 0), (1, 3)):
        changes = losses(Ablation(frozenset({head}))) - base
        np.testing.assert_allclose(measured.importance[head], changes.mean(), atol=1e-5)
        np.testing.assert_allclose(measured.error[head], changes.std(ddof=1) / math.sqrt(len(changes)), atol=1e-5)
    with pytest.raises(InvalidSetting, match="two tokens or more"):
        head_importance_on(model, ids[:1])
