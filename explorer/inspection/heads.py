"""What each attention head does, in numbers, and what it is worth."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Float64, Int
from numpy import ndarray
from torch import Tensor

from explorer.inspection.attention import Touch, anatomy, interventions, known, read_off
from explorer.inspection.opening import open_model
from explorer.models.taps import intervene
from explorer.models.transformer_decoder import TransformerDecoder, turns
from explorer.models.transformer_encoder import TransformerEncoder
from explorer.tasks.batches import row_ids, rows_beside
from explorer.tasks.negation import Negation, NegationConfig
from explorer.tasks.text import TextConfig
from explorer.tasks.windows import text_data
from explorer.training.config import RunConfig
from explorer.training.record import Record
from explorer.training.store import StoredRun

ROWS = 32  # of the context's length: as much text as a head is judged by
_MOST_ASKED = 4_096  # targets, however long the context is
_MOST_LOGITS = 2**24  # numbers that are in memory at once


@dataclass(frozen=True, eq=False)
class Habits:
    """What a head does with its attention: mean shares of it over the tokens that could look there.

    A token that cannot do something (the first one has none before it) is left out of that mean; NaN where no token
    can. Previous and first token: Clark et al. 2019, section 3; the last one is induction: Olsson et al. 2022.
    """

    previous: Float64[ndarray, "layers heads"]  # on the token before
    itself: Float64[ndarray, "layers heads"]
    first: Float64[ndarray, "layers heads"]  # on the first token
    same: Float64[ndarray, "layers heads"]  # on earlier tokens equal to the asking one
    after_same: Float64[ndarray, "layers heads"]  # on those that followed these
    entropy: Float64[ndarray, "layers heads"]  # nats, mean over the asking tokens
    spread: Float64[ndarray, "layers heads"]  # exp(entropy): as many tokens as it would be if all had the same share
    distances: Int[ndarray, " distances"]  # tokens back; negative: ahead
    distance: Float64[ndarray, "layers heads distances"]  # share at each distance


def habits(weights: Float[ndarray, "layers heads query key"], ids: Sequence[int]) -> Habits:
    """The habits of every head over one text. NaN is where nobody may look: it counts for nothing."""
    seen = ~np.isnan(weights).all(axis=(0, 1))
    shares = np.nan_to_num(weights.astype(np.float64))
    queries, keys = seen.shape
    asking, answering = np.arange(queries)[:, None], np.arange(keys)
    tokens = np.array(ids)
    same = (tokens[:, None] == tokens) & (answering < asking)
    after_same = np.pad(same, ((0, 0), (1, 0)))[:, :-1]
    entropy = _entropy(shares, seen)
    distances = np.arange(-(keys - 1) if np.triu(seen, 1).any() else 0, queries)
    profile = [_mean_share(shares, seen & (asking - answering == d)) for d in distances]
    return Habits(
        previous=_mean_share(shares, seen & (answering == asking - 1)),
        itself=_mean_share(shares, seen & (answering == asking)),
        first=_mean_share(shares, seen & (answering == 0)),
        same=_mean_share(shares, seen & same),
        after_same=_mean_share(shares, seen & after_same),
        entropy=entropy,
        spread=np.exp(entropy),
        distances=distances,
        distance=np.stack(profile, axis=-1),
    )


def _mean_share(
    shares: Float64[ndarray, "layers heads query key"], cells: Bool[ndarray, "query key"]
) -> Float64[ndarray, "layers heads"]:
    """The share of attention in these cells, mean over the queries that have any."""
    queries, keys = np.nonzero(cells)
    could = len(np.unique(queries))
    if not could:
        return np.full(shares.shape[:2], np.nan)
    mean: ndarray = shares[:, :, queries, keys].sum(axis=-1) / could
    return mean


def _entropy(
    shares: Float64[ndarray, "layers heads query key"], seen: Bool[ndarray, "query key"]
) -> Float64[ndarray, "layers heads"]:
    """-sum w log w of each query, mean over those that may look anywhere."""
    could = seen.any(axis=1).sum()
    if not could:
        return np.full(shares.shape[:2], np.nan)
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    mean: ndarray = np.abs((shares * logs).sum(axis=(-2, -1))) / could  # abs: no -0
    return mean


def rollout(weights: Float[ndarray, "layers heads query key"]) -> Float64[ndarray, "query key"]:
    """How much of each token reaches each place through all layers (Abnar & Zuidema 2020, eq. 1 and section 3).

        A_l = W_l / 2 + I / 2,   rollout = A_L ... A_2 A_1

    W_l is the mean over heads, the identity stands for the residual stream. Rows sum to 1. NaN where no path leads, and
    where padding asks. For the first layers alone give the first layers alone.
    """
    seen = ~np.isnan(weights).all(axis=(0, 1))
    itself = np.eye(len(seen))
    flow, paths = itself, itself
    for layer in np.nan_to_num(weights.astype(np.float64)).mean(axis=1):
        flow = (layer + itself) / 2 @ flow
        paths = np.minimum((seen + itself) @ paths, 1)
    return np.where((paths > 0) & seen.any(axis=1, keepdims=True), flow, np.nan)


@dataclass(frozen=True, eq=False)
class Worth:
    """What a model loses with one head switched off, head by head."""

    metric: str
    base: float  # with all heads
    loss: Float64[ndarray, "layers heads"]  # with this head off
    error: Float64[ndarray, "layers heads"]  # standard error of the difference: 0 if all was asked, NaN for one row
    asked: int  # targets

    @property
    def worth(self) -> Float64[ndarray, "layers heads"]:
        """By how much the loss rises without the head; negative: the model does better without it."""
        return self.loss - self.base


@dataclass(frozen=True)
class _Question:
    """Rows to be asked about, and how much the surprise at each target counts."""

    ids: Int[Tensor, "rows time"]
    targets: Int[Tensor, "rows answers"]
    counts: Float64[Tensor, "rows answers"]


@torch.inference_mode()
def worth(run: StoredRun | Record, replica: int, rows: int = ROWS, step: int | None = None) -> Worth:
    """The loss of one replica with each head off in turn (Michel et al. 2019, section 3.2).

    Text: nats a token over about so many rows of held-out text, spread evenly; the error is how the difference varies
    from row to row. Negation: nats a sentence over all the grammar says, by its probability. Raises LineageError: text
    that is not here, weights that do not fit, a model without attention.
    """
    model = known(open_model(run, step).alone(replica))
    of_text = isinstance(run.config.task, TextConfig)
    surprise, counts = [], []
    for question in _held_out(run.config, rows) if of_text else _grammar(run.config):
        surprise.append(_surprises(model, question))
        counts.append(question.counts.sum(dim=-1).numpy())
    total, count = np.concatenate(surprise, axis=-1), np.concatenate(counts)  # (all heads and each off, rows), (rows)
    with np.errstate(invalid="ignore"):  # a training that diverged: infinite losses have no difference
        losses = total.sum(axis=-1) / count.sum()
        base, off = losses[-1], losses[:-1]
        by_row = (total[:-1] - total[-1] - (off - base)[:, None] * count) / count.sum()
        error = _error(by_row) if of_text else 0 * off
    shape = len(model.blocks), -1
    metric = "validation loss, nats a token" if of_text else "loss over the grammar, nats a sentence"
    asked = round(count.sum()) if of_text else len(count)
    return Worth(metric, float(base), off.reshape(shape), error.reshape(shape), asked)


def _error(by_row: Float64[ndarray, "heads rows"]) -> Float64[ndarray, " heads"]:
    """The standard error of a mean, from how each row moves it; unknown where there is but one row."""
    rows = by_row.shape[-1]
    error: ndarray = np.sqrt((by_row**2).sum(axis=-1) * (rows / (rows - 1) if rows > 1 else np.nan))
    return error


def _held_out(config: RunConfig, rows: int) -> Iterator[_Question]:
    task = config.on(TextConfig)
    data = text_data(task)
    at_once = max(1, _MOST_LOGITS // (data.vocabulary * task.context))
    for batch in data.held_out(min(rows * task.context, _MOST_ASKED), at_once):
        counts = torch.ones(batch.targets.shape) if batch.mask is None else batch.mask
        yield _Question(batch.ids, batch.targets, counts.double())


def _grammar(config: RunConfig) -> Iterator[_Question]:
    """Every sentence as an evaluation asks it: beside the longest one."""
    task = Negation(config.on(NegationConfig))
    chances = torch.tensor([[sentence.probability] for sentence in task.sentences], dtype=torch.float64)
    yield _Question(row_ids(task)[rows_beside(task)[-1]], torch.tensor(task.labels)[:, None], chances)


def _surprises(
    model: TransformerDecoder | TransformerEncoder, question: _Question
) -> Float64[ndarray, "heads_and_none rows"]:
    """-log p of the targets of each row, in nats, summed as they count: with each head off, and last with none.

    What stands below a head's layer is the same as with all heads, and computed once.
    """
    x, blocks = _stages(model, question.ids)
    found = []
    for layer, block in enumerate(blocks):
        for head in range(anatomy(model).heads):
            with intervene(model, interventions(model, Touch(off=frozenset({(layer, head)})))):
                y = block(x)
            for later in blocks[layer + 1 :]:
                y = later(y)
            found.append(_surprise(read_off(model, y), question))
        x = block(x)
    return np.stack([*found, _surprise(read_off(model, x), question)])


def _stages(
    model: TransformerDecoder | TransformerEncoder, ids: Int[Tensor, "rows time"]
) -> tuple[Float[Tensor, "rows seen width"], list[Callable[[Tensor], Tensor]]]:
    """What enters the first block, and the blocks as functions of nothing else."""
    if isinstance(model, TransformerDecoder):
        config = model.config
        turn = turns(ids.shape[-1], config.width // config.heads) if config.positions == "rotary" else None
        return model.placed(model.embedding(ids)), [partial(block, turn=turn) for block in model.blocks]
    ids = ids[:, : model.window]
    time, mask = ids.shape[-1], (ids != model.padding)[:, None, None]
    x = model.embedding(ids) + model.position.weight.narrow(-2, 0, time)
    return x, [partial(block, mask=mask, asking=time) for block in model.blocks]


def _surprise(logits: Float[Tensor, "rows answers outcomes"], question: _Question) -> Float64[ndarray, " rows"]:
    each = F.cross_entropy(logits.flatten(0, -2), question.targets.flatten(), reduction="none")
    total: ndarray = (each.view(question.targets.shape) * question.counts).sum(dim=-1).numpy()
    return total
