"""Which runs ship with the program, so that no page opens empty. Made by `python -m explorer pretrain`."""

from __future__ import annotations

from dataclasses import replace

from explorer.catalogue import models_of
from explorer.training.config import RunConfig, changed, default
from explorer.training.record import Record

SEEDS = 8
WORLDS: dict[str, dict[str, object]] = {
    "single": {},
    "half": {"p_not": 0.5},
    "double": {"max_nots": 2},
    "held-out": {"held_out": "destroy"},
    "eos": {"padding": "eos"},
}


def recipes() -> dict[str, RunConfig]:
    """Every shipped run by its name: each model in each world, and the Transformer from its usual start."""
    runs: dict[str, RunConfig] = {}
    for world, changes in WORLDS.items():
        for model in models_of("negation"):
            run = changed(default("negation", model), {"replicas": SEEDS, **changes})
            runs[f"negation-{world}-{model}"] = run
            if model == "transformer":
                runs[f"negation-{world}-{model}-usual-start"] = changed(run, {"start": 1.0})
    return runs


def trimmed(name: str, record: Record) -> Record:
    """A run as it ships: weights for looking only, and through training only in the first world.

    To go on from a step of a shipped run one trains it anew, in seconds, to the same curve.
    """
    steps = record.snapshots if name.startswith("negation-single-") else [record.config.steps]
    return replace(record, snapshots={step: replace(record.snapshots[step], optimiser=None) for step in steps})
