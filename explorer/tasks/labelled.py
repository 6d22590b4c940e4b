"""Rows with a label at every place, as tensors: what training draws, and how a model is asked about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn


@dataclass(frozen=True, eq=False)
class Rows:
    """Ids, what is to be said at every place, and which places count."""

    ids: Int[Tensor, "*replicas batch time"]
    wanted: Int[Tensor, "*replicas batch time"]
    counted: Bool[Tensor, "*replicas batch time"]


def everywhere(ids: Int[Tensor, "batch time"], wanted: Int[Tensor, "batch time"]) -> Rows:
    """Rows whose every place counts."""
    return Rows(ids, wanted, torch.ones_like(ids, dtype=torch.bool))


def beside(parts: Sequence[Rows], padding: int) -> Rows:
    """The batches of several replicas on an axis of their own, filled up with padding; the batch of one as it is."""
    if len(parts) == 1:
        return parts[0]
    ids = stacked([part.ids for part in parts], padding)
    wanted, counted = ([getattr(part, name) for part in parts] for name in ("wanted", "counted"))
    return Rows(ids, stacked(wanted, 0), stacked(counted, 0))


def stacked(parts: Sequence[Tensor], fill: int) -> Tensor:
    """Tensors one above the other, each filled up at its end to the longest."""
    longest = max(part.shape[-1] for part in parts)
    return torch.stack([F.pad(part, (0, longest - part.shape[-1]), value=fill) for part in parts])


def losses(
    logits: Float[Tensor, "*batch time labels"], wanted: Int[Tensor, "*batch time"]
) -> Float[Tensor, "*batch time"]:
    """The loss at every place, in nats."""
    return F.cross_entropy(logits.flatten(0, -2), wanted.flatten(), reduction="none").view(wanted.shape)


def asked(
    model: nn.Module, ids: Int[Tensor, "batch time"], replicas: int
) -> Float[Tensor, "replicas batch time labels"]:
    """What each replica answers to the same rows; the axis of replicas is there even for one."""
    logits: Tensor = model(ids.expand(replicas, *ids.shape) if replicas > 1 else ids)
    return logits.view(replicas, *ids.shape, -1)


def marked(
    model: nn.Module, rows: Rows, replicas: int
) -> tuple[Bool[Tensor, "replicas batch time"], Float[Tensor, "replicas batch time"]]:
    """Where each replica says what is wanted, and the loss at every place; both also where nothing counts."""
    logits = asked(model, rows.ids, replicas)
    return logits.argmax(dim=-1) == rows.wanted, losses(logits, rows.wanted.expand(replicas, *rows.wanted.shape))


def mean_over(
    values: Float[Tensor, "replicas batch time"], counted: Bool[Tensor, "batch time"]
) -> Float[Tensor, " replicas"]:
    """The mean over the places that count."""
    return (values * counted).sum(dim=(-2, -1)) / counted.sum()


def leaks(model: nn.Module, rows: Rows, replicas: int) -> dict[str, Float[Tensor, "replicas ..."]]:
    """The loss at rows whose every place wants what comes next: read at once, as in training, and as in generation,
    where everything is asked of its prefix alone and the last place answers. Of a model that looks back only, they
    are the same."""
    at_once = losses(asked(model, rows.ids, replicas), rows.wanted.expand(replicas, *rows.wanted.shape))
    by_place, of_prefix = at_once.mean(dim=-2), _of_prefixes(model, rows, replicas)
    return {
        "loss": by_place.mean(dim=-1),
        "prefix_loss": of_prefix.mean(dim=-1),
        "by_place": by_place,
        "prefix_by_place": of_prefix,
    }


def _of_prefixes(model: nn.Module, rows: Rows, replicas: int) -> Float[Tensor, "replicas time"]:
    found = []
    for length in range(1, rows.ids.shape[-1] + 1):
        last = asked(model, rows.ids[:, :length], replicas)[..., -1:, :]
        wanted = rows.wanted[:, length - 1 : length]
        found.append(losses(last, wanted.expand(replicas, *wanted.shape)).mean(dim=-2))
    return torch.cat(found, dim=-1)
