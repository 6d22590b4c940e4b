"""When a training ends before its last step: low enough, or no better for too long."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from explorer.training.config import RunConfig

_NEAR = 0.025  # nats by which a loss over a part may differ from that over everything: then all of it is asked


class Ending:
    """Follows the validation loss of a run, mean over its seeds."""

    def __init__(self, config: RunConfig) -> None:
        self.stop_at, self.patience = config.stop_at, config.patience
        self.reached = False
        self._best, self._worse = math.inf, 0  # evaluations since the best one

    def near(self, answers: Mapping[str, Tensor]) -> bool:
        """Whether it is worth asking about everything: a part says that the target may be reached."""
        if not self.stop_at or "val_loss_part" not in answers or not _mean(answers, "val_loss").isnan():
            return False
        return bool(_mean(answers, "val_loss_part") <= self.stop_at + _NEAR)

    def look(self, answers: Mapping[str, Tensor]) -> None:
        """Take an evaluation in."""
        if self.stop_at and "val_loss" in answers:
            self.reached = bool(_mean(answers, "val_loss") <= self.stop_at)
        if self.patience and "val_loss_part" in answers:
            loss = float(_mean(answers, "val_loss_part"))
            self._best, self._worse = (loss, 0) if loss < self._best else (self._best, self._worse + 1)
            self.reached |= self._worse >= self.patience

    def state(self) -> dict[str, Tensor]:
        """What a training that goes on has to know."""
        state = {}
        if self.patience and math.isfinite(self._best):
            state["ending"] = torch.tensor([self._best, float(self._worse)])[None]
        if self.reached:
            state["ended"] = torch.ones(1, 1)
        return state

    def possible(self) -> tuple[dict[str, Tensor], ...]:
        """What `state` may give, in shape: each of these, or not."""
        counted = ({"ending": torch.zeros(1, 2)},) if self.patience else ()
        return (*counted, {"ended": torch.ones(1, 1)}) if self.patience or self.stop_at else ()

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go on from what `state` gave; what ended there has ended."""
        self.reached = "ended" in state
        if "ending" in state:
            best, worse = state["ending"][0].tolist()
            self._best, self._worse = best, int(worse)


def _mean(answers: Mapping[str, Tensor], name: str) -> Tensor:
    return answers[name].mean()
