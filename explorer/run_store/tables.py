"""A run as pandas tables: its curves and its metrics. Needs no torch."""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from explorer.lazy_libraries import pd
from explorer.training.config import RunConfig
from explorer.training.record import Curves

BATCH_LOSS = "batch_loss"


def curves_table(curves: Curves, config: RunConfig) -> pd.DataFrame:
    """Return all measurements of a training, with the columns step, seed, metric and value.

    The metrics have a row for each evaluation and seed. The loss of each batch (`batch_loss`, in nats) and the other
    quantities that are measured at each step belong to the weights before that step, so the first one has step 0.
    """
    steps = curves.first + np.arange(len(curves.losses))
    courses: dict[str, tuple[ndarray, ndarray]] = {
        **{name: (curves.evaluated, values) for name, values in curves.metrics.items()},
        BATCH_LOSS: (steps, curves.losses),
        **{name: (steps, values) for name, values in curves.signals.items()},
    }
    seeds = np.array(config.seeds)
    parts = [
        pd.DataFrame(
            {
                "step": np.repeat(at, len(seeds)),
                "seed": np.tile(seeds, len(at)),
                "metric": name,
                "value": values.astype(float).ravel(),
            }
        )
        for name, (at, values) in courses.items()
    ]
    return pd.concat(parts, ignore_index=True)


def metrics_table(curves: Curves, config: RunConfig) -> pd.DataFrame:
    """Return the metrics with a row for each evaluation and seed, and a column for each metric.

    The other columns are step, epoch (where the task has epochs), tokens (read by one seed), seconds (of training, all
    seeds together) and seed.
    """
    moments, seeds = curves.evaluated - curves.first, np.array(config.seeds)
    when: dict[str, ndarray] = {"step": curves.evaluated}
    if config.steps_per_epoch:
        when["epoch"] = curves.evaluated / config.steps_per_epoch
    when |= {"tokens": curves.tokens[moments].astype(float), "seconds": curves.seconds[moments].astype(float)}
    return pd.DataFrame(
        {
            **{name: np.repeat(values, len(seeds)) for name, values in when.items()},
            "seed": np.tile(seeds, len(moments)),
            **{name: values.astype(float).ravel() for name, values in curves.metrics.items()},
        }
    )
