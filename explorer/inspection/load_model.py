"""Load the model of a run on disk or in memory: frozen, in evaluation mode, and therefore safe to share."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor, nn

from explorer.byte_cache import cached
from explorer.errors import DamagedRun
from explorer.run_store import store
from explorer.run_store.store import StoredRun
from explorer.training.config import RunConfig
from explorer.training.model_factory import build_model
from explorer.training.objective import objective_class
from explorer.training.record import Record


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """All replicas of a run as one stacked model, with the configuration of their training."""

    config: RunConfig
    stack: nn.Module
    vocabulary_size: int | None  # of a text or of own sentences; None for other tasks
    tokenizer: str = ""  # as JSON

    def single_replica(self, replica: int) -> nn.Module:
        """Return one replica as a separate model."""
        weights = {name: value[replica] for name, value in self.stack.state_dict().items()}
        state = weights if self.config.replicas > 1 else self.stack.state_dict()
        return _build_with_weights(self.config, state, self.vocabulary_size)


def load_model(run: StoredRun | Record, step: int | None = None) -> LoadedModel:
    """Return the model of a run after `step` steps, by default after its last. Raises DamagedRun."""
    weights = {name: torch.from_numpy(value) for name, value in run.weights(step).items()}
    if run.config.replicas == 1:
        weights = {name: value[0] for name, value in weights.items()}
    try:
        vocabulary = objective_class(run.config.task).parse_tokenizer(run.tokenizer)[1] if run.tokenizer else None
        stack = _build_with_weights(run.config, weights, vocabulary, stacked=True)
        return LoadedModel(run.config, stack, vocabulary, run.tokenizer)
    except RuntimeError as error:  # torch lists every missing or misshapen weight; one sentence is enough here
        raise DamagedRun(f"The weights of run {run.key} do not fit its configuration. Train it again.") from error


def shared_model(run: StoredRun | Record, step: int | None = None) -> LoadedModel:
    """Return the model of a run as `load_model` does, loaded once for all who ask: it must not be changed.

    A record in memory is loaded anew each time: the cache would outlive the visit to which a private text belongs. The
    runs whose weights are damaged are noted in `store.damaged`.
    """
    if isinstance(run, Record):
        return load_model(run, step)
    try:
        return _load_once(run, step)
    except DamagedRun:
        if step is None:
            store.damaged.add(run.cache_key)
        raise


@cached(key=lambda run, replica=0, step=None: (run.cache_key, replica, step))
def shared_replica(run: StoredRun, replica: int = 0, step: int | None = None) -> nn.Module:
    """Return the model of one seed of a stored run, loaded once: it must not be changed. Raises DamagedRun."""
    return load_model(run, step).single_replica(replica)


_load_once = cached(key=lambda run, step: (run.cache_key, step))(load_model)


def _build_with_weights(
    config: RunConfig, weights: dict[str, Tensor], vocabulary_size: int | None, stacked: bool = False
) -> nn.Module:
    model = build_model(config if stacked else replace(config, replicas=1), vocabulary_size)
    model.load_state_dict(weights)
    return model.eval().requires_grad_(False)


def to_array(value: Float[Tensor, "*shape"]) -> Float[ndarray, "*shape"]:
    """Return a read-only copy of a tensor as an array; cached arrays are shared by all visitors."""
    array: ndarray = value.detach().numpy().copy()
    array.flags.writeable = False
    return array
