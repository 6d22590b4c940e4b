"""Which runs ship with the program, so that no page opens empty. Made by `python -m explorer pretrain`."""

from __future__ import annotations

from explorer.catalogue import MODELS
from explorer.training.config import RunConfig, changed, default

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
        for model in MODELS:
            run = changed(default("negation", model), {"replicas": SEEDS, **changes})
            runs[f"negation-{world}-{model}"] = run
            if model == "transformer":
                runs[f"negation-{world}-{model}-usual-start"] = changed(run, {"start": 1.0})
    return runs
