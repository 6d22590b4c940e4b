"""Rows with a label at every position, and the evaluation of models on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from explorer.array_types import Bool, Float, Int
from explorer.lazy_libraries import torch


@dataclass(frozen=True, eq=False)
class Rows:
    """Token ids, the target label at every position, and the loss mask (True: in the loss)."""

    ids: Int[torch.Tensor, "*replicas batch time"]
    targets: Int[torch.Tensor, "*replicas batch time"]
    mask: Bool[torch.Tensor, "*replicas batch time"]


def unmasked_rows(ids: Int[torch.Tensor, "batch time"], targets: Int[torch.Tensor, "batch time"]) -> Rows:
    """Return rows whose every position is in the loss."""
    return Rows(ids, targets, torch.ones_like(ids, dtype=torch.bool))


def stack_replicas(parts: Sequence[Rows], padding: int) -> Rows:
    """Return the batches of several replicas stacked on a first axis and padded; a single batch stays unchanged."""
    if len(parts) == 1:
        return parts[0]
    ids = pad_and_stack([part.ids for part in parts], padding)
    targets, masks = ([getattr(part, name) for part in parts] for name in ("targets", "mask"))
    return Rows(ids, pad_and_stack(targets, 0), pad_and_stack(masks, 0))


def pad_rows(rows: Iterable[Sequence[int]], fill: int) -> Int[torch.Tensor, "rows longest"]:
    """Return rows of numbers as one tensor; shorter rows are padded at the end."""
    rows = list(rows)
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[fill] * (longest - len(row))] for row in rows])


def pad_and_stack(parts: Sequence[torch.Tensor], fill: int) -> torch.Tensor:
    """Return tensors stacked on a new first axis, each padded on its last axis to the longest."""
    longest = max(part.shape[-1] for part in parts)
    return torch.stack([torch.nn.functional.pad(part, (0, longest - part.shape[-1]), value=fill) for part in parts])


def position_losses(
    logits: Float[torch.Tensor, "*batch time labels"], targets: Int[torch.Tensor, "*batch time"]
) -> Float[torch.Tensor, "*batch time"]:
    """Return the cross-entropy at every position, in nats."""
    return torch.nn.functional.cross_entropy(logits.flatten(0, -2), targets.flatten(), reduction="none").view(
        targets.shape
    )


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
    return logits.argmax(dim=-1) == rows.targets, position_losses(
        logits, rows.targets.expand(replicas, *rows.targets.shape)
    )


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
    full_rows = position_losses(
        logits_per_replica(model, rows.ids, replicas), rows.targets.expand(replicas, *rows.targets.shape)
    )
    by_position, prefix_by_position = full_rows.mean(dim=-2), _prefix_losses_by_position(model, rows, replicas)
    return {
        "loss": by_position.mean(dim=-1),
        "prefix_loss": prefix_by_position.mean(dim=-1),
        "by_place": by_position,
        "prefix_by_place": prefix_by_position,
    }


def _prefix_losses_by_position(
    model: torch.nn.Module, rows: Rows, replicas: int
) -> Float[torch.Tensor, "replicas time"]:
    means = []
    for length in range(1, rows.ids.shape[-1] + 1):
        last = logits_per_replica(model, rows.ids[:, :length], replicas)[..., -1:, :]
        targets = rows.targets[:, length - 1 : length]
        means.append(position_losses(last, targets.expand(replicas, *targets.shape)).mean(dim=-2))
    return torch.cat(means, dim=-1)
