"""Early stopping: at a target loss (`stop_at`), or after evaluations without improvement (`patience`)."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from explorer.training.config import RunConfig

_TOLERANCE = 0.025  # nats by which the loss over a part of the validation data may differ from that over all of it


class EarlyStopping:
    """Follows the validation loss of a run, as the mean over its seeds."""

    def __init__(self, config: RunConfig) -> None:
        self.stop_at, self.patience = config.stop_at, config.patience
        self.should_stop = False
        self._best, self._without_improvement = math.inf, 0

    def is_near_target(self, answers: Mapping[str, Tensor]) -> bool:
        """Whether the loss over a part says that the target may be reached, so that all of it should be evaluated."""
        if not self.stop_at or "val_loss_part" not in answers or not _mean(answers, "val_loss").isnan():
            return False
        return bool(_mean(answers, "val_loss_part") <= self.stop_at + _TOLERANCE)

    def update(self, answers: Mapping[str, Tensor]) -> None:
        """Take an evaluation into account."""
        if self.stop_at and "val_loss" in answers:
            self.should_stop = bool(_mean(answers, "val_loss") <= self.stop_at)
        if self.patience and "val_loss_part" in answers:
            loss = float(_mean(answers, "val_loss_part"))
            if loss < self._best:
                self._best, self._without_improvement = loss, 0
            else:
                self._without_improvement += 1
            self.should_stop |= self._without_improvement >= self.patience

    def state(self) -> dict[str, Tensor]:
        """Return the state of a checkpoint."""
        state = {}
        if self.patience and math.isfinite(self._best):
            state["ending"] = torch.tensor([self._best, float(self._without_improvement)])[None]
        if self.should_stop:
            state["ended"] = torch.ones(1, 1)
        return state

    def state_templates(self) -> tuple[dict[str, Tensor], ...]:
        """Return tensors with the names and shapes that `state` may contain; each of these groups may be missing."""
        patience = ({"ending": torch.zeros(1, 2)},) if self.patience else ()
        return (*patience, {"ended": torch.ones(1, 1)}) if self.patience or self.stop_at else ()

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Continue from what `state` returned; a run that had ended stays ended."""
        self.should_stop = "ended" in state
        if "ending" in state:
            best, without_improvement = state["ending"][0].tolist()
            self._best, self._without_improvement = best, int(without_improvement)


def _mean(answers: Mapping[str, Tensor], name: str) -> Tensor:
    return answers[name].mean()
