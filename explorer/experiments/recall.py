"""The model variants on recall: every architecture with every initialization; sweeps over lengths and learning rates.

Needs no torch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from explorer.catalogue import MODELS
from explorer.experiments.model_variant import ModelVariant
from explorer.training.config import RunConfig

SEEDS = 8
_STEPS = {"recall": 400}  # of all variants
SOLVED = 0.95  # accuracy on new sequences from which a seed counts as having solved the task
SWEEP_LENGTHS = (10, 25, 50, 100, 200)  # of the sweep
LEARNING_RATES = (1e-3, 3e-3, 1e-2, 3e-2)


# Of each initialization: title, words in the middle of a sentence, label, and dash.
_INITIALIZATIONS = {
    "usual": ("standard initialization", "with standard initialization", "standard", "6px,4px"),
    "orthogonal": ("orthogonal initialization", "with orthogonal initialization", "orthogonal", "10px,3px,2px,3px"),
    "forget-1": ("gate bias 1", "with gate bias 1", "bias 1", "2px,4px"),
    "forget-3": ("gate bias 3", "with gate bias 3", "bias 3", "12px,3px"),
    "chrono": ("open gates", "with open gates", "open", "solid"),
}
_POSITIONS = {
    "learned": ("learned positions", "with learned positions", "learned", "solid"),
    "sinusoidal": ("sinusoidal positions", "with sinusoidal positions", "sinusoidal", "12px,3px"),
    "none": ("no positions", "without positions", "none", "6px,4px"),
}


def _variants_of(model: str, setting: str, texts: Mapping[str, tuple[str, str, str, str]]) -> Iterator[ModelVariant]:
    for value, (title, words, label, dash) in texts.items():
        full_title = f"{MODELS[model].title}, {title}"
        name = f"{model}-{value}"
        yield ModelVariant(name, full_title, words, label, dash, {setting: value}, model, "recall", SEEDS, _STEPS)


VARIANTS = {
    each.name: each
    for each in (
        *_variants_of("rnn", "start", {start: _INITIALIZATIONS[start] for start in ("usual", "orthogonal")}),
        *_variants_of("lstm", "start", _INITIALIZATIONS),
        *_variants_of("gru", "start", _INITIALIZATIONS),
        *_variants_of("transformer", "positions", _POSITIONS),
    )
}


def variant_of(config: RunConfig) -> ModelVariant:
    """Return the variant of a run on recall, by its architecture and its initialization."""
    candidates = (each for each in VARIANTS.values() if each.model == config.model_name)
    return next(
        each
        for each in candidates
        if all(getattr(config.model, name) == value for name, value in each.settings.items())
    )


# Compared by default: each architecture with its standard initialization, and the variants that change the outcome.
DEFAULT_VARIANTS = (
    "rnn-usual",
    "lstm-usual",
    "lstm-chrono",
    "gru-usual",
    "gru-chrono",
    "transformer-learned",
    "transformer-none",
)

# ---- the sweeps: which variants solve the task at which length

LEARNING_RATE_VARIANTS = (
    "rnn-usual",
    "rnn-orthogonal",
)  # at every learning rate, because their accuracy depends on it and on the seed


def length_sweep(names: Iterable[str], **shared: Any) -> dict[tuple[str, int], RunConfig]:
    """Return each variant at every length of the sweep, with shared settings. Raises InvalidSetting."""
    return {
        (name, length): VARIANTS[name].config(**{**shared, "length": length})
        for name in names
        for length in SWEEP_LENGTHS
    }


def learning_rate_sweep(names: Iterable[str], **shared: object) -> dict[tuple[str, float, int], RunConfig]:
    """Return each variant at every learning rate and length of the sweep, in 1,000 steps. Raises InvalidSetting."""
    names, shared = tuple(names), {"iterations": 1_000, **shared}
    return {
        (name, rate, length): config
        for rate in LEARNING_RATES
        for (name, length), config in length_sweep(names, **{**shared, "learning_rate": rate}).items()
    }


# ---- the protocol of the notebook

NOTEBOOK_MODELS = ("rnn", "lstm")
NOTEBOOK_STEPS = 30  # after which the notebook stops and evaluates


def notebook_configs() -> dict[str, RunConfig]:
    """Return runs on 256 sequences, all in every batch, without clipping: as in the notebook, but ten times as long."""
    protocol: dict[str, Any] = {
        "sequences": 256,
        "batch_size": 256,
        "clip": 0.0,
        "iterations": 300,
        "learning_rate": 0.01,
        "evaluate_every": 10,
    }
    return {model: VARIANTS[f"{model}-usual"].config(**protocol) for model in NOTEBOOK_MODELS}


def shipped_configs() -> dict[str, RunConfig]:
    """Return every shipped run by name."""
    runs = {f"recall-{length}-{name}": config for (name, length), config in length_sweep(VARIANTS).items()}
    for (name, rate, length), config in learning_rate_sweep(LEARNING_RATE_VARIANTS).items():
        if config not in runs.values():
            runs[f"recall-{length}-{name}-{rate:g}"] = config
    return runs | {f"recall-trap-{model}": config for model, config in notebook_configs().items()}
