"""Estimates of how long a training takes, before it starts, from the measured times of the shipped runs."""

from __future__ import annotations

from explorer.catalogue import task_row
from explorer.errors import LineageError
from explorer.run_store import store
from explorer.tasks.recall import RecallConfig
from explorer.tasks.text.config import TextConfig
from explorer.training.config import RunConfig, default_config

_MULTIPLICATIONS_PER_SECOND = 2e10  # of one thread, in matrices of our sizes

# Shipped runs from which the time of a labelling task is estimated, if that is not the encoder of two blocks.
_REFERENCE_RUNS = {
    "noise": "noise-causal",
    "tale": "tale-causal",
    "echo": "echo-learned",
    "place": "place-turns-rnn",
    "agreement": "agreement-heads",
}


def estimate_seconds(config: RunConfig) -> float:
    """Estimate how many seconds the training takes if no other runs; 0 if no shipped run can tell."""
    task = task_row(config.task).name
    estimates = {"text": _text_step, "recall": _recall_step, "negation": _negation_step}
    estimates |= dict.fromkeys(("reverse", "copy", "dates"), _translation_step)
    estimates |= dict.fromkeys(("noise", "tale", "echo", "gloss", "gist", "place", "agreement"), _labelling_step)
    try:
        return estimates[task](config) * (config.steps - config.first_step) if task in estimates else 0.0
    except LineageError:
        return 0.0


# Each of these returns the seconds of one step. The shares (0.2 + 0.8 ...) split the time of the shipped run into what
# every call costs and what grows with the size.


def _text_step(config: RunConfig) -> float:
    """Mostly multiplications: every parameter is used for every token."""
    shipped = store.find(f"text-{config.model_name}")
    work = _multiplications(config, _parameters(config))
    growth = work / max(_multiplications(shipped.config, shipped.card.parameters), 1)
    return _shipped_step(shipped) * (0.2 + 0.8 * growth)


def _recall_step(config: RunConfig) -> float:
    """Mostly calls, as many as there are symbols; more rows make each a little slower. Needs no torch."""
    reference = "learned" if config.model_name == "transformer" else "usual"  # positions, or initialization
    shipped = store.find(f"recall-50-{config.model_name}-{reference}")
    length_ratio = config.task_as(RecallConfig).length / shipped.config.task_as(RecallConfig).length
    return _shipped_step(shipped) * length_ratio * (0.3 + 0.7 * _row_ratio(config, shipped))


def _translation_step(config: RunConfig) -> float:
    """Mostly calls, as many as there are tokens; more rows and more parameters make each slower."""
    task = task_row(config.task).name
    reference = "additive" if getattr(config.model, "attention", "") == "additive" else "vector"
    shipped = store.find(f"{task}-{'transformer' if config.model_name.startswith('transformer') else reference}")
    length_ratio = getattr(config.task, "longest", 1) / getattr(shipped.config.task, "longest", 1)
    size_ratio = _row_ratio(config, shipped) * _parameter_ratio(config, shipped)
    return _shipped_step(shipped) * length_ratio * (0.3 + 0.7 * size_ratio)


def _labelling_step(config: RunConfig) -> float:
    """About half calls, half multiplications, which grow with the rows and the parameters."""
    task = task_row(config.task).name
    shipped = store.find(_REFERENCE_RUNS.get(task, f"{task}-two"))
    size_ratio = _row_ratio(config, shipped) * _parameter_ratio(config, shipped)
    return _shipped_step(shipped) * (0.5 + 0.5 * size_ratio)


def _negation_step(config: RunConfig) -> float:
    """Mostly calls, so fewer seeds save little; wide layers add the time of their multiplications."""
    shipped = store.find(f"negation-single-{config.model_name}")
    released = default_config("negation", config.model_name)
    step = shipped.card.seconds / shipped.config.steps * (0.6 + 0.4 * config.replicas / shipped.config.replicas)
    more = _parameters(config) - _parameters(released) if config.model != released.model else 0
    multiplications = 6 * max(more, 0) * 6 * config.replicas  # forward and backward, for each of some six sentences
    layers = getattr(config.model, "layers", 1) / getattr(released.model, "layers", 1)
    return step * layers + multiplications / _MULTIPLICATIONS_PER_SECOND


def _parameters(config: RunConfig) -> int:
    from explorer.training.model_factory import count_parameters  # only here: it needs torch

    return count_parameters(config)


def _multiplications(config: RunConfig, parameters: int) -> float:
    return 1.0 * config.batch_size * config.task_as(TextConfig).context * config.replicas * parameters


def _shipped_step(shipped: store.StoredRun) -> float:
    return shipped.card.seconds / shipped.card.step


def _row_ratio(config: RunConfig, shipped: store.StoredRun) -> float:
    return config.batch_size * config.replicas / (shipped.config.batch_size * shipped.config.replicas)


def _parameter_ratio(config: RunConfig, shipped: store.StoredRun) -> float:
    return _parameters(config) / max(shipped.card.parameters, 1)
