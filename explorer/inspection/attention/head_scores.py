"""Scores of attention heads (what each attends to) and head importance (the loss without each head)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeAlias

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int
from numpy import ndarray
from torch import Tensor

from explorer.errors import InvalidSetting
from explorer.inspection.attention.attend import check_attention
from explorer.inspection.attention.attention_model import AttentionModel, Ids, attention_model
from explorer.inspection.attention.head_ablation import measure_without_heads, single_heads
from explorer.inspection.load_model import load_model
from explorer.lazy_libraries import special
from explorer.models.structure import AttentionLayout
from explorer.run_store.store import StoredRun
from explorer.tasks.negation import Negation, NegationConfig, row_ids, row_lookup
from explorer.tasks.sentiment.config import SentimentConfig
from explorer.tasks.sequence_labelling.agreement import AgreementConfig, answer_position, build_rows, evaluation_clauses
from explorer.tasks.sequence_labelling.rows import position_losses
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.rows import text_data
from explorer.training.config import RunConfig
from explorer.training.record import Record

ROWS = 32  # of the context's length
_MAX_TARGETS = 4_096  # whatever the context length
_MAX_LOGITS = 2**24  # numbers in memory at once


@dataclass(frozen=True, eq=False)
class HeadScores:
    """Mean shares of each head's attention, over the queries for which the target exists.

    A query without such a target (the first token has no previous one) is left out of the mean; NaN where no query has
    one. Previous and first token: Clark et al. 2019, section 3; `after_same` is induction: Olsson et al. 2022.
    """

    previous: Float64[ndarray, "layers heads"]  # on the token before
    itself: Float64[ndarray, "layers heads"]
    first: Float64[ndarray, "layers heads"]  # on the first token
    same: Float64[ndarray, "layers heads"]  # on earlier tokens equal to the query token
    after_same: Float64[ndarray, "layers heads"]  # on the tokens that followed those
    entropy: Float64[ndarray, "layers heads"]  # nats, mean over the queries
    spread: Float64[ndarray, "layers heads"]  # exp(entropy): the effective number of tokens attended to
    distances: Int[ndarray, " distances"]  # tokens back; negative: ahead
    distance: Float64[ndarray, "layers heads distances"]  # share at each distance


def score_heads(weights: Float[ndarray, "layers heads query key"], ids: Sequence[int]) -> HeadScores:
    """Score every head over one text. Cells that are NaN (masked) are ignored."""
    visible = ~np.isnan(weights).all(axis=(0, 1))
    shares = np.nan_to_num(weights.astype(np.float64))
    queries, keys = visible.shape
    query, key = np.arange(queries)[:, None], np.arange(keys)
    tokens = np.array(ids)
    same = (tokens[:, None] == tokens) & (key < query)
    after_same = np.pad(same, ((0, 0), (1, 0)))[:, :-1]
    # The sum of -w log w, averaged over the queries that see any key; abs: no -0.
    entropy = np.abs(special.entr(shares).sum(axis=(-2, -1))) / (visible.any(axis=1).sum() or np.nan)
    distances = np.arange(-(keys - 1) if np.triu(visible, 1).any() else 0, queries)
    profile = [_mean_share(shares, visible & (query - key == d)) for d in distances]
    return HeadScores(
        previous=_mean_share(shares, visible & (key == query - 1)),
        itself=_mean_share(shares, visible & (key == query)),
        first=_mean_share(shares, visible & (key == 0)),
        same=_mean_share(shares, visible & same),
        after_same=_mean_share(shares, visible & after_same),
        entropy=entropy,
        spread=np.exp(entropy),
        distances=distances,
        distance=np.stack(profile, axis=-1),
    )


def _mean_share(
    shares: Float64[ndarray, "layers heads query key"], cells: Bool[ndarray, "query key"]
) -> Float64[ndarray, "layers heads"]:
    """Return the attention in these cells, averaged over the queries that have any."""
    queries, keys = np.nonzero(cells)
    return shares[:, :, queries, keys].sum(axis=-1) / (len(np.unique(queries)) or np.nan)


def attention_rollout(weights: Float[ndarray, "layers heads query key"]) -> Float64[ndarray, "query key"]:
    """Return how much of each token reaches each position through all layers (Abnar & Zuidema 2020, eq. 1).

        A_l = W_l / 2 + I / 2,   rollout = A_L ... A_2 A_1

    W_l is the mean over heads, the identity stands for the residual stream. Rows sum to 1. NaN where no path leads, and
    for padding queries. Pass the first layers only to stop there.
    """
    visible = ~np.isnan(weights).all(axis=(0, 1))
    identity = np.eye(len(visible))
    flow, paths = identity, identity
    for layer in np.nan_to_num(weights.astype(np.float64)).mean(axis=1):
        flow = (layer + identity) / 2 @ flow
        paths = np.minimum((visible + identity) @ paths, 1)
    return np.where((paths > 0) & visible.any(axis=1, keepdims=True), flow, np.nan)


Sample: TypeAlias = Literal["held-out text", "grammar", "misleading sentences", "this text"]


@dataclass(frozen=True, eq=False)
class HeadImportance:
    """The loss of a model with each head zeroed in turn."""

    metric: str
    base_loss: float  # of the unchanged model
    ablated_loss: Float64[ndarray, "layers heads"]  # with this head zeroed
    # Standard error of the difference: 0 over the whole grammar, NaN for a single row.
    error: Float64[ndarray, "layers heads"]
    targets: int  # how many were evaluated
    sample: Sample = "held-out text"  # what they are
    available: int = 0  # how many held-out targets there are

    @property
    def importance(self) -> Float64[ndarray, "layers heads"]:
        """The increase of the loss without the head; negative if the model is better without it."""
        return self.ablated_loss - self.base_loss


@dataclass(frozen=True)
class _EvaluationRows:
    """Rows to evaluate, and the weight of each target in the loss."""

    ids: Int[Tensor, "rows time"]
    targets: Int[Tensor, "rows answers"]
    weights: Float64[Tensor, "rows answers"]


@torch.inference_mode()
def head_importance(run: StoredRun | Record, replica: int, rows: int = ROWS, step: int | None = None) -> HeadImportance:
    """Measure the loss of one replica with each head zeroed in turn (Michel et al. 2019, section 3.2).

    Language model: nats per token over about `rows` evenly spread rows of held-out text; the error is the standard
    error over rows. Negation: nats per sentence over the whole grammar, weighted by probability. Agreement: nats per
    verb or pronoun, over sentences whose nearest noun requires another one than the subject. `step` is the
    snapshot, by default the last. Raises LineageError for a missing text, for English sentences, for weights that do
    not fit and for a model without attention.
    """
    check_attention(run.config)
    if isinstance(run.config.task, SentimentConfig):
        raise InvalidSetting("Head importance is not measured on English sentences. Choose a run of another task.")
    model = attention_model(load_model(run, step).single_replica(replica))
    if isinstance(run.config.task, AgreementConfig):
        return _agreement_importance(run.config, model)
    is_text = isinstance(run.config.task, TextConfig)
    batches = list(_held_out_rows(run.config, rows) if is_text else _grammar_rows(run.config))
    # (each head off and all heads, rows), and (rows)
    row_loss = np.concatenate([_losses_without_each(model, each.ids, partial(_surprisal, each)) for each in batches], 1)
    row_weight = np.concatenate([each.weights.sum(dim=-1).numpy() for each in batches])
    if not is_text:
        metric = "loss over the grammar, nats a sentence"
        return _importance(model.layout, row_loss, row_weight, metric, "grammar")
    found = _importance(model.layout, row_loss, row_weight, "validation loss, nats a token", "held-out text")
    return replace(found, available=text_data(run.config.task_as(TextConfig)).held_out_targets)


@torch.inference_mode()
def head_importance_on(model: AttentionModel, ids: Ids) -> HeadImportance:
    """Measure the loss on one text (nats per token) with each head zeroed. Raises InvalidSetting for one token."""
    if len(ids) < 2:
        raise InvalidSetting("The loss is measured on the tokens after the first. Write a text of two tokens or more.")
    given, targets = torch.tensor([tuple(ids[:-1])]), torch.tensor(tuple(ids[1:]))
    losses = _losses_without_each(model, given, lambda logits: position_losses(logits[0], targets))
    return _importance(model.layout, losses, np.ones(len(targets)), "loss on this text, nats per token", "this text")


def _agreement_importance(config: RunConfig, model: AttentionModel) -> HeadImportance:
    """Measure the heads on sentences of the agreement task whose nearest noun is misleading."""
    task = config.task_as(AgreementConfig)
    kinds = (("verb", "misleading"), ("pronoun", "confusing"))
    clauses = [(clause, target) for target, kind in kinds for clause in evaluation_clauses(kind)]
    rows = build_rows(task, [clause for clause, _ in clauses])
    row = torch.arange(len(clauses))
    position = torch.tensor([answer_position(clause, target) for clause, target in clauses])
    targets = rows.targets[row, position]
    losses = _losses_without_each(model, rows.ids, lambda logits: position_losses(logits[row, position], targets))
    return _importance(
        model.layout, losses, np.ones(len(targets)), "loss, nats per verb or pronoun", "misleading sentences"
    )


def _importance(
    layout: AttentionLayout,
    losses: Float64[ndarray, "heads_and_none rows"],
    weights: Float64[ndarray, " rows"],
    metric: str,
    sample: Sample,
) -> HeadImportance:
    """Return the losses of all rows together, whose targets have these weights, and the standard errors over rows."""
    rows, total = len(weights), weights.sum()
    with np.errstate(invalid="ignore"):  # a diverged training: infinite losses have no difference
        means = losses.sum(axis=-1) / total
        ablated, base = means[:-1], means[-1]
        influence = (losses[:-1] - losses[-1] - (ablated - base)[:, None] * weights) / total  # of each row on the mean
        variance = (influence**2).sum(axis=-1) * (rows / (rows - 1) if rows > 1 else np.nan)
        error = 0 * ablated if sample == "grammar" else np.sqrt(variance)  # the grammar is measured completely
    targets, shape = round(total) if sample == "held-out text" else rows, (layout.layers, layout.heads)
    return HeadImportance(metric, float(base), ablated.reshape(shape), error.reshape(shape), targets, sample)


def _held_out_rows(config: RunConfig, rows: int) -> Iterator[_EvaluationRows]:
    task = config.task_as(TextConfig)
    data = text_data(task)
    rows_per_batch = max(1, _MAX_LOGITS // (data.vocabulary * task.context))
    for batch in data.held_out_batches(min(rows * task.context, _MAX_TARGETS), rows_per_batch):
        weights = torch.ones(batch.targets.shape) if batch.mask is None else batch.mask
        yield _EvaluationRows(batch.ids, batch.targets, weights.double())


def _grammar_rows(config: RunConfig) -> Iterator[_EvaluationRows]:
    """Yield every sentence as the evaluation reads it: padded to the longest one."""
    task = Negation(config.task_as(NegationConfig))
    probabilities = torch.tensor([[sentence.probability] for sentence in task.sentences], dtype=torch.float64)
    yield _EvaluationRows(row_ids(task)[row_lookup(task)[-1]], torch.tensor(task.labels)[:, None], probabilities)


def _losses_without_each(
    model: AttentionModel, ids: Int[Tensor, "rows time"], measure: Callable[[Tensor], Float[Tensor, " losses"]]
) -> Float64[ndarray, "heads_and_none losses"]:
    """Return the losses that `measure` finds in the logits: with each head zeroed, and last with none."""
    groups = [*single_heads(model.layout), ()]
    return measure_without_heads(model, ids, groups, lambda states: measure(model.readout(states)))


def _surprisal(rows: _EvaluationRows, logits: Float[Tensor, "rows answers outcomes"]) -> Float64[Tensor, " rows"]:
    """Return the weighted sum of -log p (nats) of each row."""
    surprisals = position_losses(logits.view(*rows.targets.shape, -1), rows.targets)
    return (surprisals * rows.weights).sum(dim=-1)
