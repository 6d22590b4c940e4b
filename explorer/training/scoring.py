"""The loss of a language model over rows of tokens: of training batches and of held-out text."""

from __future__ import annotations

from collections.abc import Iterable

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from explorer.models.kneser_ney import Ngram
from explorer.models.language import State
from explorer.tasks.replicas import stack_replicas
from explorer.tasks.sequence_labelling.rows import position_losses
from explorer.tasks.text.rows import Batch


def mean_surprisal(
    model: nn.Module, features: Float[Tensor, "*replicas batch time width"], batch: Batch
) -> Float[Tensor, "*replicas"]:
    """Return the mean of -log p(target) in the loss mask (nats); one model computes no other logits."""
    targets, mask = batch.targets, batch.mask
    if features.dim() == 3:
        if mask is not None:
            features, targets = features[mask], targets[mask]
        return F.cross_entropy(model.readout(features).flatten(0, -2).float(), targets.flatten())  # type: ignore[operator]
    surprisal = position_losses(model.readout(features), targets)  # type: ignore[operator]  # a LanguageModel
    if mask is None:
        return surprisal.mean(dim=(-2, -1))
    return (surprisal * mask).sum(dim=(-2, -1)) / mask.sum(dim=(-2, -1))


def mean_loss(
    model: nn.Module, batches: Iterable[Batch], replicas: int = 1, carries: bool = False
) -> Float[Tensor, " replicas"]:
    """Return the mean over all batches (nats per token), read by every replica; `carries`: with its state."""
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
        self._count += batch.target_count
        if isinstance(model, Ngram):
            surprisal = model.surprisal(batch.ids, batch.targets)
            self._total += surprisal.double().sum() if batch.mask is None else surprisal[batch.mask].double().sum()
            return
        stacked = stack_replicas([batch] * replicas)
        features, after = model.features(stacked.ids, self._state)  # type: ignore[operator]  # a LanguageModel
        self._state = after if self.carries else ()
        self._total += mean_surprisal(model, features, stacked).cpu().double().view(replicas) * batch.target_count

    @property
    def value(self) -> Float[Tensor, " replicas"]:
        """The mean so far."""
        return self._total / max(self._count, 1)
