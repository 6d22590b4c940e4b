"""What a sweep does next: a pure function from the sweep and its runs so far, so any process can continue a sweep.

Hopeless trials are given up by synchronous successive halving (Jamieson and Talwalkar 2016, "Non-stochastic Best Arm
Identification and Hyperparameter Optimization"; the asynchronous form is by Li et al. 2020). With the factor 3, all
trials train for a ninth of their steps; the best third of them goes on to a third of the steps; the best third of these
goes on to the end. The steps at which trials are compared are the rungs (`Sweep.rungs`), each the snapshot nearest to
its share of the steps. The number of rungs follows from the number of trials, but none lies before 1/27 of the steps:
`python -m benchmarks.sweeps` measures from which step on the best trials can be told.

The rungs are synchronous: a rung is decided when all its trials have reached it, from the mean of the metric over the
seeds at exactly that step. Therefore the table, the trials that are given up and the winner depend neither on the order
in which runs end nor on interruptions, only on the curves. (The asynchronous variant of the paper keeps more machines
busy, but who is promoted depends on who is fast.) A trial stops at its rung and waits; the stored run may go on for a
few steps beyond it, which are not compared.

The best trials of the last rung, the finalists, are trained again with new seeds. Only these seeds decide whether one
is better (`results.py`): the seeds of the search made the finalists look good, so they would flatter them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.jobs.job import JobState
from explorer.sweeps.space import Sweep, Trial, trials
from explorer.tasks.text import bits_per_byte
from explorer.tasks.text.config import TextConfig
from explorer.training.config import RunConfig, key
from explorer.training.record import Curves

# "given up": stopped at a rung, because others were better; "failed": nothing is known of its result
TrialState: TypeAlias = Literal["waiting", "running", "given up", "finished", "diverged", "failed"]


@dataclass(frozen=True)
class RunStatus:
    """What is known of one run: that of its job, or that of the stored run."""

    state: JobState | Literal["absent"] = "absent"
    step: int = 0
    seconds: float = 0.0
    parameters: int = 0
    curves: Curves | None = None
    problem: str = ""


ABSENT = RunStatus()


@dataclass(frozen=True)
class Submission:
    """A run to train: up to a snapshot at the step `until`, or to its end (0)."""

    config: RunConfig
    until: int


@dataclass(frozen=True)
class TrialStatus:
    """Where a trial stands, and the values by which it was last compared.

    step: at which the values were measured; 0 without any
    values: of the metric, one for each seed; empty if nothing is known yet. A diverged trial has infinitely bad ones.
    """

    trial: Trial
    state: TrialState
    step: int
    values: Float[ndarray, " seeds"]
    run: RunStatus

    @property
    def mean(self) -> float:
        """The mean over the seeds; NaN without values."""
        return float(self.values.mean()) if len(self.values) else math.nan


@dataclass(frozen=True)
class Plan:
    """What to do next, and what is known.

    submit: runs to submit now, the most urgent first; runs that wait or train already are not among them
    trials: in the order of the search
    finalists: the same trials with the values of the confirmation; empty before it begins
    finished: whether the sweep is over
    """

    submit: tuple[Submission, ...]
    trials: tuple[TrialStatus, ...]
    finalists: tuple[TrialStatus, ...]
    finished: bool


def next_actions(sweep: Sweep, find_run: Callable[[RunConfig], RunStatus]) -> Plan:
    """Return what to do next. `find_run` returns the status of a run, and is called once for each run of the sweep."""
    every = trials(sweep)
    runs = {trial.number: find_run(trial.config) for trial in every}
    competing, statuses = list(every), dict[int, TrialStatus]()

    def list_statuses() -> tuple[TrialStatus, ...]:
        return tuple(statuses[trial.number] for trial in every)

    for rung, until in enumerate((*sweep.rungs, 0)):
        found = {trial.number: _status_at(sweep, trial, runs[trial.number], until) for trial in competing}
        statuses |= found
        pending = [trial for trial in competing if found[trial.number].state in ("waiting", "running")]
        if pending:
            submit = tuple(Submission(t.config, until) for t in pending if not _is_submitted(runs[t.number]))
            return Plan(submit, list_statuses(), (), False)
        if until:
            kept = best_trials(sweep, list(found.values()), survivors(sweep, rung))
            for trial in competing:
                if trial not in kept and found[trial.number].state == "finished":
                    statuses[trial.number] = replace(found[trial.number], state="given up")
            competing = [trial for trial in competing if trial in kept]
    finalists = best_trials(sweep, [statuses[trial.number] for trial in competing], sweep.finalists)
    if len(finalists) < 2:
        return Plan((), list_statuses(), (), True)
    confirmed = [replace(trial, config=sweep.confirmation(trial)) for trial in finalists]
    confirmations = [_status_at(sweep, trial, find_run(trial.config), 0) for trial in confirmed]
    pending_runs = [c for c in confirmations if c.state in ("waiting", "running")]
    submit = tuple(Submission(c.trial.config, 0) for c in pending_runs if not _is_submitted(c.run))
    return Plan(submit, list_statuses(), tuple(confirmations), not pending_runs)


def survivors(sweep: Sweep, rung: int) -> int:
    """Return how many trials go on after a rung (counted from 0)."""
    left: int = math.ceil(len(trials(sweep)) / sweep.halving ** (rung + 1))
    return max(left, sweep.finalists, 1)


def best_trials(sweep: Sweep, statuses: Sequence[TrialStatus], count: int) -> list[Trial]:
    """Return the trials with the best means, the best first; of equal ones, the first in the order of the search.

    Diverged and failed trials are never among them.
    """
    sign = 1 if sweep.lower_is_better else -1
    usable = [status for status in statuses if status.state == "finished" and math.isfinite(status.mean)]
    ranked = sorted(usable, key=lambda status: (sign * status.mean, status.trial.number))
    return [status.trial for status in ranked[:count]]


def values_at(curves: Curves, config: RunConfig, metric: str, step: int) -> Float[ndarray, " seeds"] | None:
    """Return a metric after a step, one value for each seed; None if it was not evaluated there.

    On a text, `val_loss` and the bits per byte are measured only at the end; before, they are those of a part of the
    held-out text.
    """
    at = np.flatnonzero(curves.evaluated == step)
    if not len(at):
        return None
    for name in (metric, f"{metric}_part"):
        if name in curves.metrics:
            values: ndarray = curves.metrics[name][at[0]].astype(float)
            if np.isfinite(values).all():
                return values
    if metric == "bits_per_byte" and (losses := values_at(curves, config, "val_loss", step)) is not None:
        return bits_per_byte.held_out_text(config.task_as(TextConfig)).bits_per_byte(losses)
    return None


def sweep_runs(sweep: Sweep, plan: Plan) -> tuple[str, ...]:
    """Return the keys of all runs of a sweep that there may be: those of the trials, then those of the confirmation."""
    confirmed = [key(sweep.confirmation(status.trial)) for status in plan.finalists]
    return (*(status.trial.key for status in plan.trials), *confirmed)


def _status_at(sweep: Sweep, trial: Trial, run: RunStatus, until: int) -> TrialStatus:
    """Return the status of a trial that trains up to a rung, or (0) to its end; "finished": it has got there."""
    last = int(run.curves.evaluated[-1]) if run.curves is not None and len(run.curves.evaluated) else 0

    def find_values(step: int) -> ndarray | None:
        return None if run.curves is None else values_at(run.curves, trial.config, sweep.metric, step)

    # A run that ended early by itself has its values at its last evaluation.
    for step in (until or trial.config.steps, *([last] if run.state == "finished" else [])):
        values = find_values(step)
        if values is not None and (until or run.state == "finished"):
            return TrialStatus(trial, "finished", step, values, run)
    if run.state in ("diverged", "finished"):  # finished without a finite value
        worst = np.full(trial.config.replicas, math.inf if sweep.lower_is_better else -math.inf)
        return TrialStatus(trial, "diverged", run.step, worst, run)
    if run.state == "failed" or (run.state == "stopped" and run.problem):  # what stopped it would stop it again
        return TrialStatus(trial, "failed", 0, np.zeros(0), run)
    known = find_values(last)
    at, known = (0, np.zeros(0)) if known is None else (last, known)
    return TrialStatus(trial, "running" if run.state == "running" else "waiting", at, known, run)


def _is_submitted(run: RunStatus) -> bool:
    return run.state in ("waiting", "running")
