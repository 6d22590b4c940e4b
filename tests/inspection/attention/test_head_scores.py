"""Scores of attention heads, and the loss or accuracy without each."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from explorer.errors import InvalidSetting
from explorer.inspection.attention import agreement_heads
from explorer.inspection.attention import head_scores as module
from explorer.inspection.attention.attend import attend
from explorer.inspection.attention.attention_model import attention_model
from explorer.inspection.attention.head_ablation import Ablation, interventions
from explorer.inspection.attention.head_scores import HeadScores, head_importance, head_importance_on, score_heads
from explorer.inspection.load_model import load_model
from explorer.models.taps import intervene
from explorer.run_store import store
from explorer.tasks.negation import Negation, NegationConfig
from explorer.tasks.sequence_labelling.agreement import (
    AgreementConfig,
    answer_position,
    build_rows,
    evaluation_clauses,
    is_correct,
)
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


def test_scores_by_hand() -> None:
    scores = scores_of_pattern([[1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]], REPEATED)
    # The previous token is also the one after the earlier equal token, and for two of four it is the first token.
    assert shares(scores) == {"previous": 1, "itself": 0.25, "first": 0.5, "same": 0, "after_same": 1}
    assert scores.entropy.item() == 0 and scores.spread.item() == 1
    assert scores.distances.tolist() == [0, 1, 2, 3] and scores.distance[0, 0].tolist() == [0.25, 1, 0, 0]
    scores = scores_of_pattern([[1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0]], REPEATED)
    assert shares(scores) == {"previous": 0, "itself": 0.5, "first": 0.5, "same": 1, "after_same": 0}
    assert scores.distance[0, 0].tolist() == [0.5, 0, 1, 0]
    scores = scores_of_pattern([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0.1, 0.7, 0.2, 0]], [1, 2, 3, 1])
    expected = {"previous": round(0.2 / 3, 4), "itself": 0.75, "first": 0.275, "same": 0.1, "after_same": 0.7}
    assert shares(scores) == expected
    two_equal = shares(scores_of_pattern([[1, 0], [0.3, 0.7]], [5, 5]))
    assert (two_equal["same"], two_equal["after_same"]) == (0.3, 0.7)
    # Without any valid query scores are NaN.
    scores = scores_of_pattern([[1, 0], [0.4, 0.6]], [1, 2])
    assert math.isnan(scores.same.item()) and math.isnan(scores.after_same.item())
    single = scores_of_pattern([[1]], [7])
    assert math.isnan(single.previous.item()) and single.distances.tolist() == [0]
    assert (single.itself.item(), single.first.item(), single.entropy.item()) == (1, 1, 0)
    hidden = score_heads(np.full((1, 2, 3, 3), NAN, dtype=np.float32), [1, 1, 1])
    assert all(np.isnan(getattr(hidden, name)).all() for name in (*ABLE, "entropy", "spread"))


def test_entropy_distances_without_a_mask_and_padding() -> None:
    even = scores_of_pattern((np.tril(np.ones((4, 4))) / np.arange(1, 5)[:, None]).tolist(), REPEATED)
    assert even.entropy.item() == pytest.approx(np.log([1, 2, 3, 4]).mean(), abs=1e-6)
    assert even.spread.item() == pytest.approx(24**0.25, abs=1e-5)
    scores = scores_of_pattern([[0, 0, 1], [0, 0.5, 0.5], [1, 0, 0]], [1, 2, 3], causal=False)
    assert scores.distances.tolist() == [-2, -1, 0, 1, 2]
    assert scores.distance[0, 0].tolist() == [1, 0.25, pytest.approx(0.5 / 3), 0, 1]
    assert scores.first.item() == pytest.approx(1 / 3)
    pattern = [[0.5, 0.5, NAN], [0.2, 0.8, NAN], [NAN, NAN, NAN]]
    scores, short = (scores_of_pattern([row[:n] for row in pattern[:n]], [1, 2, 9][:n], causal=False) for n in (3, 2))
    assert str(shares(scores)) == str(shares(short))
    assert scores.entropy.item() == short.entropy.item()
    assert scores.distance[0, 0, scores.distances == 1].item() == pytest.approx(0.2)
    assert math.isnan(scores.distance[0, 0, scores.distances == 2].item())


def test_rollout_by_hand() -> None:
    first = [[[1, NAN], [0.2, 0.8]], [[1, NAN], [0.6, 0.4]]]  # mean of the second row: 0.4, 0.6
    second = [[[1, NAN], [0.5, 0.5]], [[1, NAN], [0.5, 0.5]]]
    # A1 = (1, 0 / 0.2, 0.8), A2 = (1, 0 / 0.25, 0.75); A2 A1 = (1, 0 / 0.25 + 0.75 0.2, 0.75 0.8)
    rollout = module.attention_rollout(np.array([first, second]))
    np.testing.assert_allclose(rollout, [[1, NAN], [0.4, 0.6]], atol=1e-12)
    np.testing.assert_allclose(module.attention_rollout(np.array([first])), [[1, NAN], [0.2, 0.8]], atol=1e-12)
    decoded = module.attention_rollout(np.where(np.tril(np.ones((2, 1, 4, 4))), 1 / np.arange(1, 5)[:, None], NAN))
    np.testing.assert_array_equal(np.isnan(decoded), np.triu(np.ones((4, 4)), 1) > 0)
    np.testing.assert_allclose(np.nansum(decoded, axis=-1), 1)
    padded = np.full((1, 1, 3, 3), NAN)
    padded[0, 0, :2, :2] = 0.5
    expected = [[0.75, 0.25, NAN], [0.25, 0.75, NAN], [NAN, NAN, NAN]]
    np.testing.assert_allclose(module.attention_rollout(padded), expected)


TEXTS: dict[str, dict[str, object]] = {
    "blocks": {"corpus": "brackets", "size": 1_500, "context": 11, "positions": "rotary"},
    "prefixes": {
        **{"corpus": "repeats", "size": 1_500, "context": 40, "rows": "prefixes", "split": "sentences"},
        **{"tokenizer": "word", "vocabulary": 30, "positions": "learned"},
    },
}


def trained_run(text: dict[str, object]) -> Record:
    sizes = {"iterations": 1, "batch_size": 2, "width": 12, "heads": 3, "layers": 2, "hidden": 9}
    return record_run(with_settings(default_config("text", "transformer"), {"model.start": "usual", **sizes, **text}))


@pytest.mark.parametrize("text", TEXTS)
def test_head_importance_is_the_increase_of_the_loss(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    record = trained_run(TEXTS[text])
    importance = head_importance(record, 1, rows=5)
    model = load_model(record).single_replica(1)
    task = record.config.task_as(TextConfig)
    batches = list(text_data(task).held_out_batches(5 * task.context))
    assert importance.base_loss == pytest.approx(mean_surprisal(model, batches)[0], abs=1e-5)
    assert importance.targets == sum(b.targets.numel() if b.mask is None else int(b.mask.sum()) for b in batches)
    base = mean_surprisal(model, batches)[1]
    for head in np.ndindex((2, 3)):
        with intervene(model, interventions(model, Ablation(frozenset({head})))):
            loss, by_row, count = mean_surprisal(model, batches)
        assert importance.ablated_loss[head] == pytest.approx(loss, abs=1e-5)
        mean = (by_row - base).sum() / count.sum()
        spread = ((by_row - base - mean * count) ** 2).sum() * len(count) / (len(count) - 1)
        assert importance.error[head] == pytest.approx(spread**0.5 / count.sum(), rel=0.01, abs=1e-7)
    np.testing.assert_array_equal(importance.importance, importance.ablated_loss - importance.base_loss)
    assert importance.metric == "validation loss, nats a token"
    assert importance.available == text_data(task).held_out_targets
    monkeypatch.setattr(module, "_MAX_LOGITS", 2_000)  # in several batches
    again = head_importance(record, 1, rows=5)
    np.testing.assert_allclose(again.ablated_loss, importance.ablated_loss, atol=1e-6)
    np.testing.assert_allclose(again.error, importance.error, rtol=1e-3, atol=1e-8)


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


@pytest.mark.parametrize("name", ["single", "eos"])
def test_negation_is_evaluated_on_the_whole_grammar(name: str) -> None:
    run = store.find(f"negation-{name}-transformer")
    importance = head_importance(run, 2)
    task = Negation(run.config.task_as(NegationConfig))
    padded = [task.row_index(sentence, max(task.lengths)) for sentence in range(len(task.sentences))]
    rows = torch.tensor([task.rows[row].ids for row in padded])
    model = load_model(run).single_replica(2)

    def loss() -> float:
        logs = model(rows).log_softmax(-1).double()
        return -sum(s.probability * float(logs[i, s.label]) for i, s in enumerate(task.sentences))

    assert importance.base_loss == pytest.approx(loss(), abs=1e-6)
    assert (importance.targets, importance.metric) == (len(task.sentences), "loss over the grammar, nats a sentence")
    model.blocks[0].attention.output.weight[:] = 0  # it has one head
    assert importance.ablated_loss.item() == pytest.approx(loss(), abs=1e-5)
    assert importance.importance.item() > 0.3 and not importance.error.any()
    assert name == "eos" or abs(head_importance(run, 0, step=0).importance.item()) < 0.1  # before training


def test_single_rows_and_diverged_models_have_no_error() -> None:
    record = trained_run(TEXTS["blocks"])
    importance = head_importance(record, 0, rows=1)
    assert importance.targets == 11 and np.isfinite(importance.ablated_loss).all()
    assert np.isnan(importance.error).all()
    for undefined in (math.nan, math.inf):
        weights = {name: np.full_like(value, undefined) for name, value in record.weights().items()}
        importance = head_importance(replace(record, snapshots={record.curves.step: Snapshot(weights, None)}), 0)
        assert np.isnan(importance.importance).all() and np.isnan(importance.error).all()


def test_agreement_is_evaluated_on_misleading_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "evaluation_clauses", partial(evaluation_clauses, count=3))
    run = store.find("agreement-heads")
    importance = head_importance(run, 1)
    model, task = load_model(run).single_replica(1), run.config.task_as(AgreementConfig)
    pairs = [(c, "verb") for c in evaluation_clauses("misleading", 3)]
    pairs += [(c, "pronoun") for c in evaluation_clauses("confusing", 3)]
    rows = build_rows(task, [clause for clause, _ in pairs])
    at = torch.arange(6), torch.tensor([answer_position(*pair) for pair in pairs])

    def losses() -> torch.Tensor:
        return F.cross_entropy(model(rows.ids)[at], rows.targets[at], reduction="none").double()

    base = losses()
    model.blocks[1].attention.output.weight[:, -8:] = 0
    change = losses() - base
    assert (importance.targets, importance.sample) == (6, "misleading sentences")
    assert importance.base_loss == pytest.approx(float(base.mean()), abs=1e-6)
    assert importance.importance[1, -1] == pytest.approx(float(change.mean()), abs=1e-5)
    assert importance.error[1, -1] == pytest.approx(float(change.std() / 6**0.5), abs=1e-5)


def test_head_importance_on_a_text_is_the_increase_of_its_loss() -> None:
    model = attention_model(load_model(store.find("text-transformer")).single_replica(0))
    ids = tuple(range(20, 32))

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
    assert np.isnan(head_importance_on(model, ids[:2]).error).all()
    with pytest.raises(InvalidSetting, match="no attention"):
        head_importance(store.find("negation-single-gru"), 0)


@pytest.mark.parametrize(("target", "kind"), [("verb", "misleading"), ("pronoun", "confusing")])
def test_every_head_of_every_seed_is_measured(target: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agreement_heads.agreement, "evaluation_clauses", partial(evaluation_clauses, count=12))
    loaded, clauses = load_model(store.find("agreement-heads")), evaluation_clauses(kind, 12)
    task = loaded.config.task_as(AgreementConfig)
    heads = agreement_heads.measure_agreement_heads(loaded, target)
    assert heads.subject_attention.shape == heads.nearest_noun_attention.shape == (5, 2, 4)
    assert (heads.accuracy > 0.8).all(), "the included runs have learned the task"
    model, ids = loaded.single_replica(3), build_rows(task, clauses).ids
    first, last = [], []
    for row, clause in zip(ids.tolist(), clauses, strict=True):
        weights = attend(model, row).weights[:, :, answer_position(clause, target)]
        first.append(weights[..., clause.noun_positions[0]])
        last.append(weights[..., clause.noun_positions[-1]])
    np.testing.assert_allclose(heads.subject_attention[3], np.mean(first, axis=0), atol=1e-5)
    np.testing.assert_allclose(heads.nearest_noun_attention[3], np.mean(last, axis=0), atol=1e-5)
    for head in (None, (0, 1), (1, 2)):
        ablation = Ablation(frozenset({head} if head else ()))
        with torch.inference_mode(), intervene(model, interventions(model, ablation)):
            right = is_correct(task, model(ids)[None], clauses, target).float().mean()
        found = heads.ablated_accuracy[3][head] if head else heads.accuracy[3]
        assert found == pytest.approx(float(right))
