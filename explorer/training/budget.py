"""As many steps as fit into a time. Wall-clock time never enters a run: a step is measured first, then the number of
steps is chosen, and only then is there a configuration."""

from __future__ import annotations

import time

from explorer.errors import InvalidSetting
from explorer.training.config import RunConfig, changed
from explorer.training.events import Evaluation, Step
from explorer.training.train import train

_WARM, _TIMED = 5, 10  # steps


def within(config: RunConfig, seconds: float, looks: int = 0) -> RunConfig:
    """The same training with as many steps as about so many seconds allow, evaluations and what is written included;
    with `looks` there are at least so many evaluations, if any, closer together where need be.

    Takes a second or so itself. Raises InvalidSetting where the task counts in epochs.
    """
    if not config.iterations:
        raise InvalidSetting("A time can be given where training counts in steps; this task counts in epochs.")
    if config.model_name == "ngram":
        return config
    trial = changed(config, {"iterations": 10_000, "snapshots": 2, "evaluate_every": 10_000, "stop_at": 0})
    started = asked = time.perf_counter()
    evaluation = 0.0
    for event in train(trial):
        if isinstance(event, Evaluation):
            evaluation, asked = time.perf_counter() - started, time.perf_counter()
        elif isinstance(event, Step):
            if event.step == _WARM:
                asked = time.perf_counter()
            elif event.step == _WARM + _TIMED:
                break
    step = (time.perf_counter() - asked) / _TIMED
    share = evaluation / config.evaluate_every if config.evaluate_every else 0.0
    steps = seconds / (step + share)
    every, looks = config.evaluate_every, looks if config.evaluate_every else 0
    if looks:
        steps = min(steps, (seconds - looks * evaluation) / step)
    steps = max(1, int(steps))
    digits = max(0, len(str(steps)) - 2)  # two digits are as good as the measurement
    steps = steps // 10**digits * 10**digits
    every = max(1, min(every, steps // looks)) if looks else every
    return changed(config, {"iterations": steps, "evaluate_every": every})
