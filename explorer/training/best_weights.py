"""The weights of the evaluation with the lowest validation loss, which a run with `keep = best` ends with."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from explorer.errors import InvalidSetting
from explorer.training.config import RunConfig


class BestWeights:
    """Follows the validation loss of each seed, and keeps its best weights. Does nothing for `keep = last`.

    model: the model whose weights are evaluated; all seeds in one, with a leading replica axis if there are several
    """

    def __init__(self, config: RunConfig, model: nn.Module) -> None:
        self.wanted, self._model, self._alone = config.keep == "best", model, config.replicas == 1
        self._losses: Tensor | None = None
        self._kept: dict[str, Tensor] = {}

    def update(self, answers: Mapping[str, Tensor]) -> None:
        """Take an evaluation of the present weights into account. Raises InvalidSetting without a validation loss."""
        if not self.wanted:
            return
        if "val_loss_part" not in answers:
            raise InvalidSetting("keep = best needs a validation loss, which only runs on text have. Take keep = last.")
        losses, weights = answers["val_loss_part"].detach().cpu().view(-1), self._weights()
        if self._losses is None:
            self._losses, self._kept = losses.clone(), {name: value.clone() for name, value in weights.items()}
            return
        better = losses < self._losses
        self._losses = torch.where(better, losses, self._losses)
        for name, value in weights.items():
            chosen = better.to(value.device).view(-1, *[1] * (value.dim() - 1))
            self._kept[name] = torch.where(chosen, value, self._kept[name].to(value.device))

    def load(self) -> bool:
        """Copy the best weights into the model; return whether they differ from those it had."""
        changed = False
        for name, value in self._weights().items() if self._kept else ():
            changed |= not torch.equal(value, self._kept[name].to(value.device))
            value.copy_(self._kept[name])
        return changed

    def state(self) -> dict[str, Tensor]:
        """Return the state of a checkpoint."""
        if self._losses is None:
            return {}
        return {"best.loss": self._losses.clone()} | {f"best.{name}": value for name, value in self._kept.items()}

    def state_templates(self) -> tuple[dict[str, Tensor], ...]:
        """Return tensors with the names and shapes of `state`, which may be missing."""
        if not self.wanted:
            return ()
        weights = self._weights()
        losses = torch.zeros(len(next(iter(weights.values()))))
        return ({"best.loss": losses} | {f"best.{name}": value for name, value in weights.items()},)

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Continue from what `state` returned."""
        if self.wanted and "best.loss" in state:
            self._losses = state["best.loss"].clone()
            self._kept = {name: state[f"best.{name}"].clone() for name in self._weights()}

    def _weights(self) -> dict[str, Tensor]:
        """Return the weights of the model with a replica axis, as views."""
        return {name: v.detach()[None] if self._alone else v.detach() for name, v in self._model.state_dict().items()}
