"""Carries sweeps out: submits the runs that `controller.py` names to the job service, until there are none.

`carry_out` does so in this thread, for a terminal or a notebook. `SweepDriver` is a thread of the process that trains
what visitors submit, for all running sweeps of the database that no terminal carries out.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable

from explorer import cores
from explorer.environment import environment
from explorer.errors import InvalidSetting, LineageError, NotAllowed, StoreError
from explorer.jobs import limits
from explorer.jobs.cost import expected_seconds
from explorer.jobs.scheduler import make_scheduler
from explorer.jobs.service import JobService, service
from explorer.periodic_thread import PeriodicThread
from explorer.run_store import store
from explorer.sweeps import stored
from explorer.sweeps.controller import ABSENT, Plan, RunStatus, next_actions, survivors, sweep_runs
from explorer.sweeps.space import Sweep, trials
from explorer.sweeps.stored import StoredSweep
from explorer.training.config import RunConfig, key

log = logging.getLogger(__name__)
_POLL_SECONDS = 0.1  # between two looks at the runs of a sweep in a terminal
_DRIVER_SECONDS = 0.5  # likewise in the server
_LONG = 10.0  # seconds of training from which several processes are sooner ready than this one
_MOST_REPEATS = 2  # times that a run is submitted again after what trained it has crashed twice (`jobs/job.py`)


def check_limits(sweep: Sweep) -> Sweep:
    """Return the sweep itself if this machine trains each of its runs. Raises InvalidSetting, which names the trial."""
    for trial in trials(sweep):
        try:
            limits.check(trial.config)
        except InvalidSetting as error:
            raise InvalidSetting(f"Trial {trial.number} ({trial.label}) is too large. {error}") from error
    limits.check(sweep.confirmation(trials(sweep)[0]))
    return sweep


def estimated_seconds(sweep: Sweep) -> float:
    """Return about how many seconds the runs of a sweep train in total, one after another.

    Which trials go on is not known, so each counts with the mean cost of all.
    """
    every = trials(sweep)
    mean = sum(expected_seconds(trial.config) for trial in every) / len(every)
    share, count, before = 0.0, len(every), 0.0
    for rung, step in enumerate(sweep.rungs):
        reached = step / sweep.base.steps
        share += count * (reached - before)
        count, before = survivors(sweep, rung), reached
    share += count * (1 - before)
    confirmation = sweep.finalists * expected_seconds(sweep.confirmation(every[0]))
    return share * mean + confirmation


def run_status(
    config: RunConfig, service: JobService, visitor: str = "", repeats: Counter[str] | None = None
) -> RunStatus:
    """Return what is known of a run: the finished stored run, or else its job, or else the stored run of a stopped one.

    visitor: on whose behalf it is looked for; imported runs of others do not count
    repeats: see `advance`; a run that crashed and may be submitted again has no problem
    """
    run = store.find_by_config(config, unfinished=True, visitor=visitor)
    job = None if run and run.card.finished else service.find(key(config), visitor)
    if job:
        view = job.view()
        if run is None or view.curves is not None or not view.done:
            is_repeated = repeats is not None and job.waits_after_crashes and repeats[job.key] < _MOST_REPEATS
            problem = "" if is_repeated else view.problem
            return RunStatus(view.state, view.step, view.seconds, view.parameters, view.curves, problem)
    if run is None:
        return ABSENT
    card = run.card
    state = "stopped" if card.state == "running" else card.state
    return RunStatus(state, card.step, card.seconds, card.parameters, run.curves, card.problem)


def look_at(sweep: Sweep, service: JobService, visitor: str = "") -> Plan:
    """Return where a sweep stands."""
    return next_actions(sweep, lambda config: run_status(config, service, visitor))


def advance(sweep: Sweep, service: JobService, owner: str = "", repeats: Counter[str] | None = None) -> Plan:
    """Submit the next runs of a sweep, as many as the service should have at a time, and return where it stands.

    repeats: how often each run, by its key, was submitted again after crashes; it is updated. A visitor decides whether
        their training goes on after crashes. Nobody looks at each run of a sweep, so the sweep goes on by itself, a few
        times: a run may need more memory than there is.

    Raises LineageError if a run cannot be trained here, for example because a limit was lowered.
    """
    repeats = Counter() if repeats is None else repeats
    plan = next_actions(sweep, lambda config: run_status(config, service, owner, repeats))
    under_way = sum(status.run.state in ("waiting", "running") for status in (*plan.trials, *plan.finalists))
    most = max(1, min(2 * environment().jobs_at_once, environment().most_jobs // 2)) if plan.submit else 0
    for submission in plan.submit[: max(most - under_way, 0)]:
        previous = service.find(key(submission.config), owner)
        crashed = previous is not None and previous.waits_after_crashes
        try:
            job = service.submit(submission.config, owner, submission.until)
            repeats[job.key] += crashed
        except (NotAllowed, StoreError) as error:  # too many trainings wait, or the disk is full: later
            log.info("sweep %s waits: %s", sweep.key, error)
            break
    return plan


def stop_runs(sweep: Sweep, service: JobService, owner: str = "") -> list[str]:
    """Stop the waiting and running trainings of a sweep that its owner started, and return their keys."""
    stopped = []
    for run in sweep_runs(sweep, look_at(sweep, service, owner)):
        job = service.find(run, owner)
        if job and not job.view().done and job.starter == owner:
            service.stop(run, owner)
            stopped.append(run)
    return stopped


def default_executor(sweep: Sweep) -> str:
    """Return where a sweep of a terminal trains if nothing says it: a long one in several processes, to use all cores.

    A process has to import everything first, which takes a few seconds.
    """
    possible = sys.platform == "linux" and cores.physical_cores() > 1 and environment().device == "cpu"
    chosen = possible and "LINEAGE_EXECUTOR" not in os.environ and estimated_seconds(sweep) > _LONG
    return "processes" if chosen else ""


def carry_out(sweep: Sweep, executor: str = "", on_progress: Callable[[Plan], None] = lambda plan: None) -> Plan:
    """Carry a sweep out in this thread, with a job service of its own, and return where it stands at its end.

    executor: where trainings run, as LINEAGE_EXECUTOR names it; by default as the environment says, see
        `default_executor`
    on_progress: called several times a second

    An interruption (KeyboardInterrupt) stops its trainings, stores what there is of them, and is raised again; another
    call continues. Raises NotAllowed if another process carries it out, and LineageError if a run cannot be trained.
    """
    folder = environment().home / "sweeps" / sweep.key  # not that of the server, which would restore these jobs
    service = JobService(lambda jobs: make_scheduler(jobs, executor or default_executor(sweep)), folder)
    repeats = Counter[str]()
    with contextlib.ExitStack() as held:
        if service.trains_here and not held.enter_context(stored.hold(sweep.key)):
            raise NotAllowed(
                f"Sweep {sweep.key} is being carried out by another process of this machine, such as the server. Wait "
                "until it is finished, or stop it there."
            )
        stored.start(check_limits(sweep), "")
        try:
            while True:
                plan = advance(sweep, service, repeats=repeats) if service.trains_here else look_at(sweep, service)
                on_progress(plan)
                if plan.finished:
                    return plan
                if stored.find(sweep.key).state == "stopped":
                    raise NotAllowed(f"Sweep {sweep.key} was stopped.")
                time.sleep(_POLL_SECONDS)
        finally:
            if service.trains_here:
                stopped = stop_runs(sweep, service)
                while any((job := service.find(run)) and not job.view().done for run in stopped):
                    time.sleep(_POLL_SECONDS)
            if look_at(sweep, service).finished:
                stored.finish(sweep.key)
            else:
                stored.stop(sweep.key, operator=True)
            service.close()
            shutil.rmtree(folder, ignore_errors=True)


class SweepDriver:
    """A thread that carries out all running sweeps of the database, except those that another process holds."""

    def __init__(self, service: JobService) -> None:
        self._service = service
        self._thread = PeriodicThread("sweeps", self.turn, self._pause, "the sweeps wait")
        # The sweeps of the last turn, each with what releases it:
        self._carried: dict[str, tuple[StoredSweep, contextlib.ExitStack]] = {}
        self._repeats = Counter[str]()  # how often runs were submitted again after crashes

    def start(self) -> None:
        """Begin to carry sweeps out, if this process trains; another one looks for them every second."""
        if self._service.trains_here:
            self._thread.start()

    def wake(self) -> None:
        """Look for sweeps at once, because one was started or stopped; start the thread if it does not run."""
        self.start()
        self._thread.wake()

    def close(self) -> None:
        """Stop driving; the sweeps stay as they are. Call it before the service is closed."""
        self._thread.stop()
        for sweep_key in list(self._carried):
            self._release(sweep_key)

    def _hold(self, sweep_key: str) -> bool:
        """Return whether no other process carries a sweep out; then none does before it is released."""
        if sweep_key not in self._carried:
            with contextlib.ExitStack() as stack:
                if not stack.enter_context(stored.hold(sweep_key)):
                    return False
                self._carried[sweep_key] = stored.find(sweep_key), stack.pop_all()
        return True

    def _release(self, sweep_key: str) -> None:
        self._carried.pop(sweep_key)[1].close()

    def turn(self) -> None:
        """Advance every running sweep that this process may carry out, and stop the runs of those that were stopped."""
        running = stored.running()
        for sweep_key, (sweep, _) in list(self._carried.items()):
            if sweep_key not in running:
                if stored.find(sweep_key).state == "stopped":
                    stop_runs(sweep.sweep, self._service, sweep.owner)
                self._release(sweep_key)  # after the last step that may fail, which is then tried again
        for sweep_key in running:
            try:
                if not self._hold(sweep_key):
                    continue
                sweep, _ = self._carried[sweep_key]
                if advance(sweep.sweep, self._service, sweep.owner, self._repeats).finished:
                    stored.finish(sweep_key)
                    self._release(sweep_key)
            except StoreError:
                raise
            except LineageError as error:
                log.warning("sweep %s is stopped: %s", sweep_key, error)
                stored.stop(sweep_key, operator=True, problem=str(error))

    def _pause(self) -> float:
        return _DRIVER_SECONDS if self._carried else 2 * _DRIVER_SECONDS


sweep_driver = SweepDriver(service)
