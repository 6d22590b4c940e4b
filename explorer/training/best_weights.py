"""The weights of the evaluation with the lowest validation loss, which a run with `keep = best` ends with."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from explorer.errors import InvalidSetting
from explorer.training.config import RunConfig

_LOSS, _WEIGHTS = "best.loss", "best.weights."  # names in the state of a checkpoint


class BestWeights:
    """Follows the validation loss of each seed, and keeps its best weights. Does nothing for `keep = last`."""

    def __init__(self, config: RunConfig, model: nn.Module) -> None:
        """model: the one that is evaluated; with a leading replica axis if there are several seeds."""
        weights = model.state_dict() if config.keep == "best" else {}
        # Views of the weights of the model.
        self._weights = {n: v.detach()[None] if config.replicas == 1 else v.detach() for n, v in weights.items()}
        self._best: dict[str, Tensor] = {}  # as in the state

    def update(self, answers: Mapping[str, Tensor]) -> None:
        """Take an evaluation of the present weights into account. Raises InvalidSetting without a validation loss."""
        if not self._weights:
            return
        if "val_loss_part" not in answers:
            raise InvalidSetting("keep = best needs the validation loss of a text. Take keep = last.")
        losses = answers["val_loss_part"].detach().cpu().view(-1)
        now = {_LOSS: losses} | {_WEIGHTS + name: value.cpu() for name, value in self._weights.items()}
        before = self._best or now | {_LOSS: torch.full_like(losses, torch.inf)}
        better = losses < before[_LOSS]
        self._best = {
            name: torch.where(better.view(-1, *[1] * (value.dim() - 1)), value, before[name])
            for name, value in now.items()
        }

    def load(self) -> bool:
        """Copy the best weights into the model; return whether they differ from those it had."""
        changed = [n for n, value in self._weights.items() if not torch.equal(value.cpu(), self._best[_WEIGHTS + n])]
        for name in changed:
            self._weights[name].copy_(self._best[_WEIGHTS + name])
        return bool(changed)

    def state(self) -> dict[str, Tensor]:
        """Return the state of a checkpoint; empty before the first evaluation."""
        return dict(self._best)

    def state_templates(self) -> tuple[dict[str, Tensor], ...]:
        """Return tensors with the names and shapes of `state`, which may be missing."""
        named = {_WEIGHTS + name: value for name, value in self._weights.items()}
        return ({_LOSS: torch.zeros(len(next(iter(named.values())))), **named},) if named else ()

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Continue from what `state` returned."""
        self._best = {name: value for name, value in state.items() if name.startswith("best.")}
