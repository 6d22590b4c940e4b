"""Rows of the induction task as tensors, the losses of a model on their two copies, and the scores of its heads.

A previous-token head attends to the token before. An induction head attends, from a token of the second copy, to the
token after its earlier occurrence (Elhage et al. 2021; Olsson et al. 2022).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor, nn

from explorer.models.taps import Trace, record
from explorer.seeds import generator
from explorer.tasks.sequence_labelling.induction import InductionConfig
from explorer.tasks.sequence_labelling.rows import Rows, masked_mean, score

FINAL_ROWS, INTERIM_ROWS = 512, 128  # in the last and in earlier evaluations


def batch(config: InductionConfig, seed: int, order: int, step: int, size: int) -> Rows:
    """Return the training batch of one replica and step: new symbols, all lengths about equally often.

    `order` is the seed of the batches, `step` is counted from 0, `size` is the number of rows.
    """
    rng = generator(seed, f"induction/{order}/{step}")
    return draw_rows(config, _spread_lengths(config, size, rng), rng)


def evaluation_rows(config: InductionConfig, count: int, seed: int = 0) -> Rows:
    """Return rows of all lengths, drawn independently of training and equal for all models."""
    rng = generator(seed, "induction/asked")
    return draw_rows(config, _spread_lengths(config, count, rng), rng)


def draw_rows(config: InductionConfig, lengths: Sequence[int], rng: Generator) -> Rows:
    """Return rows whose first copies have these lengths.

    Every position with a next symbol has a target; the position of the first copy's last symbol is not in the loss,
    because where the second copy begins cannot be known.
    """
    longest, n = max(lengths), torch.tensor(lengths)[:, None]
    symbols = torch.rand(len(lengths), config.symbols, generator=rng).argsort(dim=-1)[:, :longest]
    position = torch.arange(2 * longest)
    ids = symbols.gather(1, (position % n).clamp_max(longest - 1))
    ids = ids.masked_fill(position >= 2 * n, config.symbols)
    targets = symbols.gather(1, ((position + 1) % n).clamp_max(longest - 1))
    return Rows(ids, targets, (position < 2 * n - 1) & (position != n - 1))


def _spread_lengths(config: InductionConfig, size: int, rng: Generator) -> list[int]:
    """Return the length of each row's first copy by systematic sampling with one random number."""
    share = (torch.arange(size) + torch.rand((), generator=rng)) / size
    lengths = config.shortest + (share * (config.longest - config.shortest + 1)).long()
    return lengths.clamp_max(config.longest).tolist()


def in_second_copy(config: InductionConfig, rows: Rows) -> Bool[Tensor, "batch time"]:
    """Return whether a position predicts a symbol of the second copy that the first copy determines."""
    return rows.mask & (torch.arange(rows.ids.shape[-1]) >= copy_lengths(config, rows.ids))


def copy_lengths(config: InductionConfig, ids: Int[Tensor, "batch time"]) -> Int[Tensor, "batch 1"]:
    """Return the length of each row's first copy."""
    return (ids != config.symbols).sum(dim=-1, keepdim=True) // 2


def head_scores(
    config: InductionConfig, trace: Trace, rows: Rows, replicas: int
) -> tuple[Float[Tensor, "replicas layers heads"], Float[Tensor, "replicas layers heads"]]:
    """Return the previous-token score and the induction score of every head.

    The first is its mean attention to the token before, over all tokens but the first. The second is its mean attention
    to the token after the earlier occurrence, over the tokens of the second copy. Both are 0 for models without heads.
    """
    names = [name for name in trace if name.endswith(".attention.weights")]
    if not names:
        return torch.zeros(replicas, 1, 1), torch.zeros(replicas, 1, 1)
    weights = torch.stack([trace[name] for name in names], dim=-4)
    weights = weights.view(replicas, len(rows.ids), len(names), *weights.shape[-3:])
    position, length = torch.arange(rows.ids.shape[-1]), copy_lengths(config, rows.ids)
    has_previous = (position > 0) & (position < 2 * length)
    return (
        _mean_attention(weights, (position - 1).expand_as(has_previous), has_previous),
        _mean_attention(weights, position - length + 1, in_second_copy(config, rows)),
    )


def _mean_attention(
    weights: Float[Tensor, "replicas batch layers heads query key"],
    keys: Int[Tensor, "batch query"],
    mask: Bool[Tensor, "batch query"],
) -> Float[Tensor, "replicas layers heads"]:
    """Return the mean attention from each query in the mask to its key."""
    row, query = mask.nonzero(as_tuple=True)
    mean: Tensor = weights[:, row, :, :, query, keys[row, query]].mean(dim=0)
    return mean


def evaluate(config: InductionConfig, model: nn.Module, replicas: int, whole: bool) -> dict[str, Tensor]:
    """Return accuracy and loss on the second copy, the loss on the first, and the highest scores of any head."""
    rows = evaluation_rows(config, FINAL_ROWS if whole else INTERIM_ROWS)
    with record(model) as trace:
        correct, losses = score(model, rows, replicas)
    second = in_second_copy(config, rows)
    previous, induction = (scores.amax(dim=(-2, -1)) for scores in head_scores(config, trace, rows, replicas))
    return {
        "accuracy": masked_mean(correct.float(), second),
        "second_copy_loss": masked_mean(losses, second),
        "first_copy_loss": masked_mean(losses, rows.mask & ~second),
        "previous_score": previous,
        "induction_score": induction,
    }
