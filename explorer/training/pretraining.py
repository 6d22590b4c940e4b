"""Which runs ship with the program, so that no page opens empty. Made by `python -m explorer pretrain`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy import ndarray

from explorer.catalogue import models_of
from explorer.training import experiments, exploding_runs, labelling_runs, recall_runs, shapes_runs, translation_runs
from explorer.training.config import RunConfig, changed, default
from explorer.training.presets import preset
from explorer.training.record import Record, Weights

SEEDS = 8
WORLDS: dict[str, dict[str, object]] = {
    "single": {},
    "half": {"p_not": 0.5},
    "double": {"max_nots": 2},
    "held-out": {"held_out": "destroy"},
    "eos": {"padding": "eos"},
}
# Characters of Tiny Shakespeare at about equal parameters. Recurrent nets carry their state, which helps them. All
# write a few lines at each evaluation.
_SEEN: dict[str, object] = {"replicas": 3, "sample": 200}
TEXT: dict[str, dict[str, object]] = {
    "ngram": {"sample": 200},
    "feedforward": _SEEN,
    "rnn": _SEEN | {"batches": "contiguous"},
    "lstm": _SEEN | {"batches": "contiguous"},
    "gru": _SEEN | {"batches": "contiguous"},
    "transformer": _SEEN,
}
# Runs that the memory lab scrubs through.
SCRUBBED = tuple(f"recall-50-{name}" for name in recall_runs.USUAL)
# Twenty looks through one training, for the pages that scrub.
THROUGH_TRAINING: dict[str, object] = {"iterations": 1_000, "snapshots": 22, "sample": 200}


def recipes() -> dict[str, RunConfig]:
    """Every shipped run by its name: each model in each world, and the Transformer from its usual start."""
    runs: dict[str, RunConfig] = {}
    for world, changes in WORLDS.items():
        for model in models_of("negation"):
            run = changed(default("negation", model), {"replicas": SEEDS, **changes})
            runs[f"negation-{world}-{model}"] = run
            if model == "transformer":
                runs[f"negation-{world}-{model}-usual-start"] = changed(run, {"start": 1.0})
    for model in models_of("text"):
        runs[f"text-{model}"] = changed(default("text", model), TEXT[model])
    runs |= experiments.recipes() | recall_runs.recipes() | exploding_runs.recipes() | translation_runs.recipes()
    runs |= labelling_runs.recipes() | shapes_runs.recipes()
    runs["text-best"] = preset("characters-transformer").config()
    runs["text-assignment"] = preset("assignment").config()
    runs["text-through-training"] = changed(default("text", "transformer"), THROUGH_TRAINING)
    return runs


def tags(name: str) -> tuple[str, ...]:
    """By which a shipped run is found among the others: those of an experiment belong together."""
    found = [each.name for each in experiments.EXPERIMENTS.values() if name.startswith(f"text-{each.name}-")]
    if name.startswith("recall-"):
        about = next((each for each in ("trap", "exploding") if each in name), "sweep")
        found = [] if name in SCRUBBED else [about]
    return ("experiment", *found) if found else ()


def trimmed(name: str, record: Record) -> Record:
    """A run as it ships: weights for looking only, and through training only where a page scrubs: in the first
    world; of one language model and of the usual race on recall, in half precision except at the end.

    To go on from a step of a shipped run one trains it anew, in seconds, to the same curve.
    """
    last = record.curves.step
    halved = name == "text-through-training" or name in SCRUBBED
    steps = record.snapshots if halved or name.startswith("negation-single-") else [last]
    kept = {step: replace(record.snapshots[step], optimiser=None) for step in steps}
    if halved:
        kept |= {step: Weights(_half(kept[step].weights), None) for step in kept if step != last}
    return replace(record, snapshots=kept)


def _half(weights: Mapping[str, ndarray]) -> dict[str, ndarray]:
    return {name: value.astype(np.float16) for name, value in weights.items()}
