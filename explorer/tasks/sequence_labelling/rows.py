"""Rows with a label at every position, and the evaluation of models on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from explorer.array_types import Bool, Float, Int
from explorer.lazy_libraries import torch


class Rows(NamedTuple):
    """Token ids, the target label at every position, and the loss mask (True: in the loss)."""

    ids: Int[torch.Tensor, "*replicas batch time"]
    targets: Int[torch.Tensor, "*replicas batch time"]
    mask: Bool[torch.Tensor, "*replicas batch time"]


def unmasked_rows(ids: Int[torch.Tensor, "batch time"], targets: Int[torch.Tensor, "batch time"]) -> Rows:
    """Return rows whose every position is in the loss."""
    return Rows(ids, targets, torch.ones_like(ids, dtype=torch.bool))


def spread_lengths(shortest: int, longest: int, size: int, rng: torch.Generator) -> list[int]:
    """Return all lengths about equally often, in ascending order: systematic sampling with one random number."""
    share = (torch.arange(size) + torch.rand((), generator=rng)) / size
    return (shortest + (share * (longest - shortest + 1)).long()).clamp_max(longest).tolist()


def pad_rows(rows: Iterable[Sequence[int]], fill: int) -> Int[torch.Tensor, "rows longest"]:
    """Return rows of numbers as one tensor; shorter rows are padded at the end."""
    rows = list(rows)
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[fill] * (longest - len(row))] for row in rows])


def position_losses(
    logits: Float[torch.Tensor, "*batch labels"], targets: Int[torch.Tensor, "*targets"]
) -> Float[torch.Tensor, "*batch"]:
    """Return the cross-entropy of each target in nats; targets without a replica axis are those of every replica."""
    wanted = targets.expand(logits.shape[:-1]).flatten()
    losses = torch.nn.functional.cross_entropy(logits.flatten(0, -2).float(), wanted, reduction="none")
    return losses.view(logits.shape[:-1])


def logits_per_replica(
    model: torch.nn.Module, ids: Int[torch.Tensor, "batch time"], replicas: int
) -> Float[torch.Tensor, "replicas batch time labels"]:
    """Return the logits of every replica for the same rows; a single replica also has a replica axis."""
    logits: torch.Tensor = model(ids.expand(replicas, *ids.shape) if replicas > 1 else ids)
    return logits.view(replicas, *ids.shape, -1)


def score(
    model: torch.nn.Module, rows: Rows, replicas: int
) -> tuple[Bool[torch.Tensor, "replicas batch time"], Float[torch.Tensor, "replicas batch time"]]:
    """Return whether each prediction is correct and its loss in nats, at all positions, also masked ones."""
    logits = logits_per_replica(model, rows.ids, replicas)
    return logits.argmax(dim=-1) == rows.targets, position_losses(logits, rows.targets)


def masked_mean(
    values: Float[torch.Tensor, "replicas batch time"], mask: Bool[torch.Tensor, "batch time"]
) -> Float[torch.Tensor, " replicas"]:
    """Return the mean over the positions in the mask."""
    return (values * mask).sum(dim=(-2, -1)) / mask.sum()


def prefix_losses(model: torch.nn.Module, rows: Rows, replicas: int) -> dict[str, Float[torch.Tensor, "replicas ..."]]:
    """Return the losses of next-symbol rows by position, for whole rows and for prefixes.

    A whole row is read at once, as in training. A prefix ends at the predicting position, as in generation. Both losses
    are equal for causal models; a lower loss of whole rows shows that the model sees later symbols.
    """
    _, full_rows = score(model, rows, replicas)
    prefixes = []
    for length in range(1, rows.ids.shape[-1] + 1):
        last = logits_per_replica(model, rows.ids[:, :length], replicas)[..., -1, :]
        prefixes.append(position_losses(last, rows.targets[:, length - 1]).mean(dim=-1))
    by_position, prefix_by_position = full_rows.mean(dim=-2), torch.stack(prefixes, dim=-1)
    return {
        "loss": by_position.mean(dim=-1),
        "prefix_loss": prefix_by_position.mean(dim=-1),
        "by_place": by_position,
        "prefix_by_place": prefix_by_position,
    }
