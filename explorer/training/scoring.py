"""The loss of a language model over rows of tokens: of each batch while it learns, and of everything held out."""

from __future__ import annotations

from collections.abc import Iterable

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from explorer.models.language import State
from explorer.models.ngram import Ngram
from explorer.tasks.windows import Batch


def mean_surprise(
    model: nn.Module, features: Float[Tensor, "*replicas batch time width"], batch: Batch
) -> Float[Tensor, "*replicas"]:
    """Mean over the targets that count of -log p(target), in nats. Logits are made only where they are needed."""
    targets, mask = batch.targets, batch.mask
    if features.dim() == 3:
        if mask is not None:
            features, targets = features[mask], targets[mask]
        return F.cross_entropy(_logits(model, features), targets.flatten())
    surprise = F.cross_entropy(_logits(model, features), targets.flatten(), reduction="none").view(targets.shape)
    if mask is None:
        return surprise.mean(dim=(-2, -1))
    return (surprise * mask).sum(dim=(-2, -1)) / mask.sum(dim=(-2, -1))


def _logits(model: nn.Module, features: Float[Tensor, "*batch width"]) -> Float[Tensor, "positions vocabulary"]:
    logits: Tensor = model.readout(features)  # type: ignore[operator]  # a LanguageModel
    return logits.flatten(0, -2)


@torch.inference_mode()
def loss_over(
    model: nn.Module, batches: Iterable[Batch], replicas: int = 1, carries: bool = False
) -> Float[Tensor, " replicas"]:
    """Mean surprise over every target of all batches, in nats a token; every replica reads the same.

    `carries`: a recurrent net reads on from batch to batch instead of starting cold with each.
    """
    total, count, state = torch.zeros(replicas, dtype=torch.float64), 0, State()
    for batch in batches:
        targets = batch.targets.numel() if batch.mask is None else int(batch.mask.sum())
        count += targets
        if isinstance(model, Ngram):
            surprise = model.surprise(batch.ids, batch.targets)
            total += surprise.double().sum() if batch.mask is None else surprise[batch.mask].double().sum()
            continue
        beside = side_by_side([batch] * replicas)
        features, after = model.features(beside.ids, state)  # type: ignore[operator]  # a LanguageModel
        state = after if carries else ()
        total += mean_surprise(model, features, beside).double().view(replicas) * targets
    return total / max(count, 1)


def side_by_side(batches: list[Batch]) -> Batch:
    """The batches of all replicas with a leading replica axis; a single one as it is."""
    if len(batches) == 1:
        return batches[0]
    ids, targets = torch.stack([b.ids for b in batches]), torch.stack([b.targets for b in batches])
    masks = [b.mask for b in batches if b.mask is not None]
    return Batch(ids, targets, torch.stack(masks) if masks else None)
