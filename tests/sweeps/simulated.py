"""Runs whose curves are computed, so that a test decides how good each trial is and when it gets on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy import ndarray

from explorer.sweeps.controller import ABSENT, Plan, RunStatus, Submission, next_actions
from explorer.sweeps.space import Sweep
from explorer.training.config import RunConfig, key
from explorer.training.record import Curves

Values = Callable[[RunConfig, int], ndarray]  # the metric of a run after a step, one value for each seed


def curves_up_to(sweep: Sweep, config: RunConfig, step: int, values: Values) -> Curves:
    """Return the curves of a run that has taken so many steps."""
    evaluated = np.array([at for at in config.snapshot_steps if at <= step])
    metric = np.array([values(config, int(at)) for at in evaluated])
    nothing = np.zeros((step, config.replicas), np.float32)
    return Curves(0, nothing, np.zeros(step + 1), np.zeros(step + 1), evaluated, {sweep.metric: metric})


class SimulatedRuns:
    """The runs of a sweep. `submit` begins them, and `train` takes one of them to a step."""

    def __init__(self, sweep: Sweep, values: Values, diverging: Mapping[str, int] | None = None) -> None:
        self.sweep, self.values, self.diverging = sweep, values, diverging or {}
        self.status: dict[str, RunStatus] = {}
        self.wanted: dict[str, Submission] = {}  # what runs or waits
        self.steps_taken = 0

    def find(self, config: RunConfig) -> RunStatus:
        return self.status.get(key(config), ABSENT)

    def plan(self) -> Plan:
        return next_actions(self.sweep, self.find)

    def submit(self, plan: Plan) -> None:
        for submission in plan.submit:
            name = key(submission.config)
            assert name not in self.wanted, "a run that waits or trains was submitted again"
            self.wanted[name] = submission
            self.status[name] = replace(self.find(submission.config), state="waiting")

    def train(self, name: str, step: int) -> None:
        """Train a submitted run up to this step, its end, or where it is to stop."""
        config, until = self.wanted[name].config, self.wanted[name].until or self.wanted[name].config.steps
        step = min(step, until)
        at = self.diverging.get(name, config.steps + 1)
        state = "diverged" if step >= at else "running" if step < until else "stopped" if until < config.steps else ""
        step = min(step, at - 1)
        self.steps_taken += step - self.find(config).step
        self.status[name] = RunStatus(
            state or "finished", step, curves=curves_up_to(self.sweep, config, step, self.values)
        )
        if state != "running":
            del self.wanted[name]

    def carry_out(self, choose: Callable[[list[str]], tuple[str, int]]) -> Plan:
        """Carry the sweep out; `choose` says which run trains next, and to which step."""
        while not (plan := self.plan()).finished:
            self.submit(plan)
            self.train(*choose(sorted(self.wanted)))
        return plan
