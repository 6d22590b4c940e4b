"""What follows the validation loss of a run: early stopping, and the weights with the lowest loss (`keep = best`).

A run stops at a target loss (`stop_at`), or after evaluations without improvement (`patience`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from explorer.errors import InvalidSetting
from explorer.training.config import RunConfig

_TOLERANCE = 0.025  # nats by which the loss over a part of the validation data may differ from that over all of it
_LOSS, _WEIGHTS = "best.loss", "best.weights."  # names in the state of a checkpoint


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
