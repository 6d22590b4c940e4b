"""From a run that is kept, on disk or in memory, back to its model: frozen, in evaluation mode, safe to share."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor, nn

from explorer.errors import DamagedRun
from explorer.training.building import build
from explorer.training.config import RunConfig
from explorer.training.record import Record
from explorer.training.store import StoredRun


@dataclass(frozen=True, eq=False)
class OpenedModel:
    """All replicas of a run as one stack, and the configuration they were trained with."""

    config: RunConfig
    stack: nn.Module
    vocabulary: int | None  # tokens it knows, where its text decided that

    def alone(self, replica: int) -> nn.Module:
        """One replica as a model of its own."""
        weights = {name: value[replica] for name, value in self.stack.state_dict().items()}
        alone = weights if self.config.replicas > 1 else self.stack.state_dict()
        return _filled(self.config, alone, self.vocabulary)


def open_model(run: StoredRun | Record, step: int | None = None) -> OpenedModel:
    """The model of a run after so many steps, or at its end. Raises DamagedRun."""
    weights = {name: torch.from_numpy(value) for name, value in run.weights(step).items()}
    if run.config.replicas == 1:
        weights = {name: value[0] for name, value in weights.items()}
    try:
        vocabulary = _vocabulary(run) if run.tokenizer else None
        return OpenedModel(run.config, _filled(run.config, weights, vocabulary, stacked=True), vocabulary)
    except RuntimeError as error:  # torch lists every missing or misshapen weight; a visitor needs one sentence
        raise DamagedRun(f"The weights of run {run.key} do not fit its configuration. Train it again.") from error


def _vocabulary(run: StoredRun | Record) -> int:
    from explorer.tokenization.text import from_json  # runs of other tasks need no tokenizer

    return len(from_json(run.tokenizer).tokens)


def _filled(config: RunConfig, weights: dict[str, Tensor], vocabulary: int | None, stacked: bool = False) -> nn.Module:
    model = build(config if stacked else replace(config, replicas=1), vocabulary)
    model.load_state_dict(weights)
    return model.eval().requires_grad_(False)


def to_array(value: Float[Tensor, "*shape"]) -> Float[ndarray, "*shape"]:
    """A read-only array: what caches hand out is shared by all visitors."""
    array: ndarray = value.detach().numpy().copy()
    array.flags.writeable = False
    return array
