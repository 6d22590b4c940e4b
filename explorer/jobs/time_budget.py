"""Chooses the number of steps that fit into a time.

Wall-clock time never enters a run: the number of steps follows from the estimate of the time (`cost.py`), and only then
there is a configuration.
"""

from __future__ import annotations

from explorer.errors import InvalidSetting
from explorer.jobs.cost import estimate_cost
from explorer.jobs.limits import largest_value
from explorer.training.config import RunConfig, setting_declaration, with_settings


def fit_to_seconds(config: RunConfig, seconds: float, min_evaluations: int = 0) -> RunConfig:
    """Return the configuration with as many steps as fit into about this time, evaluations included.

    min_evaluations: if the run is evaluated at all, then at least so often, at shorter intervals if need be.

    Raises InvalidSetting if the task is counted in epochs.
    """
    if not config.iterations:
        raise InvalidSetting("A time can be given where training counts in steps; this task counts in epochs.")
    if config.model_name == "ngram":
        return config

    def with_steps(steps: int) -> RunConfig:
        every = config.evaluate_every
        every = max(1, min(every, steps // min_evaluations)) if every and min_evaluations else every
        return with_settings(config, {"iterations": steps, "evaluate_every": every})

    most = setting_declaration(config, "iterations").metadata["high"]
    steps = largest_value(most + 1, lambda steps: estimate_cost(with_steps(steps)).seconds <= seconds) or 1
    digits = max(0, len(str(steps)) - 2)  # the estimate is good to about two digits
    return with_steps(steps // 10**digits * 10**digits)
