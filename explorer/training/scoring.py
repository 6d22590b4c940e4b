"""The loss of a language model over rows of tokens: of training batches and of held-out text."""

from __future__ import annotations

from collections.abc import Iterable

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from explorer.models.kneser_ney import Ngram
from explorer.models.language import State
from explorer.tasks.text.rows import Batch


def mean_surprisal(
    model: nn.Module, features: Float[Tensor, "*replicas batch time width"], batch: Batch
) -> Float[Tensor, "*replicas"]:
    """Return the mean of -log p(target) over the targets in the loss mask, in nats.

    For a single model, logits are computed at these positions only.
    """
    targets, mask = batch.targets, batch.mask
    if features.dim() == 3:
        if mask is not None:
            features, targets = features[mask], targets[mask]
        return F.cross_entropy(_logits(model, features), targets.flatten())
    surprisal = F.cross_entropy(_logits(model, features), targets.flatten(), reduction="none").view(targets.shape)
    if mask is None:
        return surprisal.mean(dim=(-2, -1))
    return (surprisal * mask).sum(dim=(-2, -1)) / mask.sum(dim=(-2, -1))


def _logits(model: nn.Module, features: Float[Tensor, "*batch width"]) -> Float[Tensor, "positions vocabulary"]:
    logits: Tensor = model.readout(features)  # type: ignore[operator]  # a LanguageModel
    return logits.flatten(0, -2)


def mean_loss(
    model: nn.Module, batches: Iterable[Batch], replicas: int = 1, carries: bool = False
) -> Float[Tensor, " replicas"]:
    """Return the mean surprisal over every target of all batches, in nats per token; every replica reads the same.

    `carries`: the state of a recurrent network is carried from batch to batch instead of reset.
    """
    loss = MeanLoss(model, replicas, carries)
    for batch in batches:
        loss.add(batch)
    return loss.value


class MeanLoss:
    """The mean surprisal over the targets of several batches; see `mean_loss`."""

    def __init__(self, model: nn.Module, replicas: int = 1, carries: bool = False) -> None:
        self.model, self.replicas, self.carries = model, replicas, carries
        self._total, self._count, self._state = torch.zeros(replicas, dtype=torch.float64), 0, State()

    @torch.inference_mode()
    def add(self, batch: Batch) -> None:
        """Add the targets of a batch."""
        model, replicas = self.model, self.replicas
        targets = batch.targets.numel() if batch.mask is None else int(batch.mask.sum())
        self._count += targets
        if isinstance(model, Ngram):
            surprisal = model.surprisal(batch.ids, batch.targets)
            self._total += surprisal.double().sum() if batch.mask is None else surprisal[batch.mask].double().sum()
            return
        stacked = stack_batches([batch] * replicas)
        features, after = model.features(stacked.ids, self._state)  # type: ignore[operator]  # a LanguageModel
        self._state = after if self.carries else ()
        self._total += mean_surprisal(model, features, stacked).cpu().double().view(replicas) * targets

    @property
    def value(self) -> Float[Tensor, " replicas"]:
        """The mean so far."""
        return self._total / max(self._count, 1)


def stack_batches(batches: list[Batch]) -> Batch:
    """Stack the batches of all replicas along a leading replica axis; a single one stays as it is."""
    if len(batches) == 1:
        return batches[0]
    ids, targets = torch.stack([b.ids for b in batches]), torch.stack([b.targets for b in batches])
    masks = [b.mask for b in batches if b.mask is not None]
    return Batch(ids, targets, torch.stack(masks) if masks else None)
