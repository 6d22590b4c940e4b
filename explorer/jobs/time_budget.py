"""Chooses the number of steps that fit into a time.

Wall-clock time never enters a run: the time of a step is measured first, then the number of steps is chosen, and only
then there is a configuration.
"""

from __future__ import annotations

import time

from explorer.errors import InvalidSetting
from explorer.training.config import RunConfig, setting_declaration, with_settings
from explorer.training.events import Evaluation, Step
from explorer.training.train import train

_WARMUP_STEPS, _TIMED_STEPS = 5, 10


def fit_to_seconds(config: RunConfig, seconds: float, min_evaluations: int = 0) -> RunConfig:
    """Return the configuration with as many steps as fit into about this time, evaluations and samples included.

    `min_evaluations`: if the run is evaluated at all, then at least so often, at shorter intervals if need be.

    The measurement takes about a second. Raises InvalidSetting if the task is counted in epochs.
    """
    if not config.iterations:
        raise InvalidSetting("A time can be given where training counts in steps; this task counts in epochs.")
    if config.model_name == "ngram":
        return config
    most = setting_declaration(config, "iterations").metadata["high"]
    evaluation_seconds, step_seconds = _measure(config)
    evaluation_share = evaluation_seconds / config.evaluate_every if config.evaluate_every else 0.0
    steps = seconds / (step_seconds + evaluation_share)
    every, evaluations = config.evaluate_every, min_evaluations if config.evaluate_every else 0
    if evaluations:
        steps = min(steps, (seconds - evaluations * evaluation_seconds) / step_seconds)
    steps = max(1, min(int(steps), most))
    digits = max(0, len(str(steps)) - 2)  # the measurement is good to about two digits
    steps = steps // 10**digits * 10**digits
    every = max(1, min(every, steps // evaluations)) if evaluations else every
    return with_settings(config, {"iterations": steps, "evaluate_every": every})


def _measure(config: RunConfig) -> tuple[float, float]:
    """Return the seconds of an evaluation and of a step."""
    trial = with_settings(config, {"iterations": 10_000, "snapshots": 2, "evaluate_every": 10_000, "stop_at": 0})
    start = since = time.perf_counter()
    evaluation_seconds = 0.0
    for event in train(trial):
        if isinstance(event, Evaluation):
            evaluation_seconds, since = time.perf_counter() - start, time.perf_counter()
        elif isinstance(event, Step):
            if event.step == _WARMUP_STEPS:
                since = time.perf_counter()
            elif event.step == _WARMUP_STEPS + _TIMED_STEPS:
                break
    return evaluation_seconds, (time.perf_counter() - since) / _TIMED_STEPS
