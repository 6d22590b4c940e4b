"""The induction task: random symbols, and then the same symbols again; the model predicts the next one.

No symbol occurs twice in the first copy, so frequencies do not tell how the second copy continues. The length of a row
varies, so its position tells it only in part (`position_loss`). A model that finds the earlier occurrence of the
current symbol and predicts the symbol after it makes no mistake there (Elhage et al. 2021, A mathematical framework for
Transformer circuits; Olsson et al. 2022, In-context learning and induction heads).

A previous-token head attends to the token before. An induction head attends, from a token of the second copy, to the
token after its earlier occurrence (Elhage et al. 2021; Olsson et al. 2022).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from explorer.array_types import Bool, Float, Int
from explorer.lazy_libraries import torch
from explorer.models import taps
from explorer.models.settings import setting
from explorer.seeds import generator
from explorer.tasks.sequence_labelling.config import PAD, LabellingConfig
from explorer.tasks.sequence_labelling.rows import Rows, masked_mean, score, spread_lengths

VERSION = 1
LETTERS = "abcdefghijklmnopqrstuvwxyz"
ROLES = ("previous", "previous_control", "induction", "induction_control")  # of heads, see `find_roles`


@dataclass(frozen=True)
class InductionConfig(LabellingConfig):
    """The number of different symbols, and the lengths of the first copy."""

    symbols: int = setting(24, "Different symbols; none occurs twice in a copy.", 3, 26, label="Different symbols")
    shortest: int = setting(6, "Symbols of the shortest copy.", 3, 26, label="Shortest copy")
    longest: int = setting(12, "Symbols of the longest copy.", 3, 26, label="Longest copy")

    metrics = ("accuracy", "second_copy_loss", "first_copy_loss", "previous_score", "induction_score")

    def __post_init__(self) -> None:
        if self.shortest > self.longest:
            raise ValueError(f"shortest = {self.shortest} is more than longest = {self.longest}")
        if self.longest > self.symbols:
            raise ValueError(f"longest = {self.longest} is more than symbols = {self.symbols}")

    @property
    def vocabulary(self) -> tuple[str, ...]:
        return (*LETTERS[: self.symbols], PAD)

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(LETTERS[: self.symbols])

    @property
    def max_length(self) -> int:
        return 2 * self.longest

    @property
    def position_loss(self) -> float:
        """The lowest mean loss on the second copy of a prediction from the symbols so far and the position alone.

        At a position, every length of the first copy that is possible there is equally likely, and each has another
        next symbol.
        """
        lengths = range(self.shortest, self.longest + 1)
        possible = [
            sum(n <= position <= 2 * n - 2 for n in lengths) for n0 in lengths for position in range(n0, 2 * n0 - 1)
        ]
        return sum(map(math.log, possible)) / len(possible)

    @property
    def known_symbols_loss(self) -> float:
        """The mean loss on the second copy of a uniform prediction over the symbols that the row has."""
        lengths = range(self.shortest, self.longest + 1)
        return sum((n - 1) * math.log(n) for n in lengths) / sum(n - 1 for n in lengths)


FINAL_ROWS, INTERIM_ROWS = 512, 128  # in the last and in earlier evaluations


def batch(config: InductionConfig, seed: int, order: int, step: int, size: int) -> Rows:
    """Return the training batch of one replica and step: new symbols, all lengths about equally often."""
    return _draw_rows(config, size, generator(seed, f"induction/{order}/{step}"))


def evaluation_rows(config: InductionConfig, count: int, seed: int = 0) -> Rows:
    """Return rows of all lengths, drawn independently of training and equal for all models."""
    return _draw_rows(config, count, generator(seed, "induction/asked"))


def _draw_rows(config: InductionConfig, size: int, rng: torch.Generator) -> Rows:
    return draw_rows(config, spread_lengths(config.shortest, config.longest, size, rng), rng)


def draw_rows(config: InductionConfig, lengths: Sequence[int], rng: torch.Generator) -> Rows:
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


def in_second_copy(config: InductionConfig, rows: Rows) -> Bool[torch.Tensor, "batch time"]:
    """Return whether a position predicts a symbol of the second copy that the first copy determines."""
    return rows.mask & (torch.arange(rows.ids.shape[-1]) >= copy_lengths(config, rows.ids))


def copy_lengths(config: InductionConfig, ids: Int[torch.Tensor, "batch time"]) -> Int[torch.Tensor, "batch 1"]:
    """Return the length of each row's first copy."""
    return (ids != config.symbols).sum(dim=-1, keepdim=True) // 2


def head_scores(
    config: InductionConfig, trace: taps.Trace, rows: Rows, replicas: int
) -> tuple[Float[torch.Tensor, "replicas layers heads"], Float[torch.Tensor, "replicas layers heads"]]:
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
    weights: Float[torch.Tensor, "replicas batch layers heads query key"],
    keys: Int[torch.Tensor, "batch query"],
    mask: Bool[torch.Tensor, "batch query"],
) -> Float[torch.Tensor, "replicas layers heads"]:
    """Return the mean attention from each query in the mask to its key."""
    row, query = mask.nonzero(as_tuple=True)
    return weights[:, row, :, :, query, keys[row, query]].mean(dim=0)


def evaluate(config: InductionConfig, model: torch.nn.Module, replicas: int, whole: bool) -> dict[str, torch.Tensor]:
    """Return accuracy and loss on the second copy, the loss on the first, and the highest scores of any head."""
    rows = evaluation_rows(config, FINAL_ROWS if whole else INTERIM_ROWS)
    with taps.record(model) as trace:
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
