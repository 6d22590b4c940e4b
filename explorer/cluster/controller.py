"""The job service of a Ray cluster: an actor that all servers find, with the queue, the sweeps and the trainings."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from cachetools import LRUCache

from explorer.cluster.connection import actor_options, last_line, placement, take_over
from explorer.cluster.training import Report, Request, Training
from explorer.environment import environment
from explorer.errors import LineageError
from explorer.jobs.executor import InProcessExecutor
from explorer.jobs.job import Job, JobView, read_job_file
from explorer.jobs.remembered_jobs import RememberedJobs
from explorer.jobs.scheduler import LocalScheduler
from explorer.jobs.service import JobService
from explorer.lazy_libraries import ray
from explorer.run_store import storage
from explorer.sweeps.driver import SweepDriver
from explorer.training.config import parse_config, to_json

log = logging.getLogger(__name__)
# Visitors are at the servers: a training of the cluster is not paused because they have left. Ray divides the memory.
_SETTINGS = {"LINEAGE_GRACE_SECONDS": "1e12", "LINEAGE_JOBS_MEMORY": str(2**50)}
_POLL_SECONDS = 0.3  # between two reports of one training
_PATIENCE_SECONDS = 30.0  # without an answer of a training before its view says that it waits
_LOOK_SECONDS = 10.0  # for which a server counts as looking at curves after it has asked for them
_GIVE_UP_SECONDS = 10.0  # without an answer of a training that shall stop
_ATTEMPTS = 3  # to start an actor
MOST_KNOWN = 5_000  # jobs; more than can wait and be remembered
_OF_JOB = ("config", "starter", "number")  # fields of a view that are those of the job here


def publish_view(job: Job, view: JobView) -> None:
    """Let a job show what the view of the same job in another process shows; curves that are missing there stay."""
    missing = ("curves",) if view.curves is None else ()
    job.publish(**{name: value for name, value in vars(view).items() if name not in (*_OF_JOB, *missing)})


class _ActorScheduler(LocalScheduler):
    """Gives each job that has a slot to an actor."""

    def __init__(self, id: str, settings: Mapping[str, str], version: str, jobs: RememberedJobs) -> None:
        super().__init__(jobs, InProcessExecutor())  # which ends jobs that are stopped before they begin
        self.takes_turns = False
        self.looked_at: dict[str, float] = {}  # when a server last asked for the curves of each job
        self._id, self._settings, self._version = id, settings, version

    async def run(self, job: Job) -> None:
        for attempt in range(_ATTEMPTS):
            actor = await asyncio.to_thread(self._start_actor, job)
            try:
                return await self._follow(job, actor)
            except ray.exceptions.RayError as error:  # the actor cannot be started, and Ray has given it up
                log.warning("the training of run %s has no actor: %s", job.key, last_line(error))
                problem = f"It cannot be trained in the Ray cluster: {last_line(error)}"
            await asyncio.sleep(_POLL_SECONDS * 2**attempt)
        await asyncio.to_thread(job.leave_to_owner, problem)

    def _start_actor(self, job: Job) -> Any:
        share, device = placement(ray.nodes(), environment().device, environment().jobs_at_once)
        options = actor_options(job.key, **share)
        settings = {**self._settings, "LINEAGE_DEVICE": device}
        submission = to_json(job.view().config), job.starter, self._submission(job)
        return ray.remote(Training).options(**options).remote(settings, self._version, *submission)

    def _submission(self, job: Job) -> str:
        return f"{self._id} {job.view().number}"

    async def _follow(self, job: Job, actor: Any) -> None:
        """Show what an actor reports until its training ends or pauses. Raises RayError if there is no actor."""
        asked, answered = None, time.monotonic()
        while True:
            now = time.monotonic()
            asked = asked or asyncio.wrap_future(actor.report.remote(self._request(job)).future())
            if not (await asyncio.wait({asked}, timeout=_POLL_SECONDS))[0]:
                if job.requested_action and now - answered > (_GIVE_UP_SECONDS if job.view().step else 0.0):
                    ray.kill(actor, no_restart=True)
                    return await job.run(self._executor) if job.requested_action == "stop" else None
                if now - answered > _PATIENCE_SECONDS and not job.view().problem:
                    job.publish(problem="It waits for a free machine of the Ray cluster.")
                continue
            report: Report = asked.result()
            asked, answered = None, now
            if report.ended and report.submission != self._submission(job):
                ray.kill(actor, no_restart=True)  # an earlier training of this run, whose end nobody has read
                raise ray.exceptions.RayActorError
            job.crashes = report.crashes
            publish_view(job, report.view)
            if report.ended:
                ray.kill(actor, no_restart=True)
                return
            await asyncio.sleep(_POLL_SECONDS)

    def _request(self, job: Job) -> Request:
        wanted = job.requested_action, job.pauses_at_checkpoint, job.until, frozenset(job.requesters)
        return Request(self._submission(job), *wanted, with_curves=job.key in self.looked_at)


@dataclass(frozen=True)
class Change:
    """What has become of one job since a server last asked."""

    identity: tuple[str, int]  # of the job; another one if the run is trained again
    mark: int  # of its view
    view: JobView
    starter: str
    requesters: frozenset[str]
    crashes: int


class Controller:
    """The job service of all servers. Ray starts it again if it is lost; then it reads the jobs from their folders."""

    def __init__(self, settings: Mapping[str, str], version: str) -> None:
        take_over(settings, version)
        os.environ.update(_SETTINGS)
        self._id = secrets.token_hex(8)
        self._lock = threading.Lock()
        # The last view of each job, and a random number for it.
        self._marks: LRUCache[str, tuple[JobView, int]] = LRUCache(MOST_KNOWN)
        place = storage.current()

        def make_scheduler(jobs: RememberedJobs) -> _ActorScheduler:
            self._scheduler = _ActorScheduler(self._id, settings, version, jobs)
            return self._scheduler

        self._service = JobService(make_scheduler, place.jobs)
        self._service.prepare()
        for run_key in place.unfinished_keys():
            self._restore(place, run_key)
        self._driver = SweepDriver(self._service)
        self._driver.start()

    def _restore(self, place: storage.RunStorage, run_key: str) -> None:
        """Submit a job again; its actor may still train it."""
        try:
            place.load_job(run_key)
            job = read_job_file(place.jobs / run_key)
            for visitor in (job.starter, *job.requesters):
                self._service.submit(job.view().config, visitor, job.until)
        except (OSError, ValueError, KeyError, TypeError, LineageError) as error:
            log.warning("the job of run %s cannot be restored: %s", run_key, error)

    def submit(self, config: dict[str, object], visitors: list[str], until: int) -> tuple[str, int] | str:
        """Train a configuration for visitors, first who has started it; return the job, or why there is none."""
        try:
            for visitor in visitors:
                job = self._service.submit(parse_config(config), visitor, until)
        except LineageError as error:
            return str(error)
        return self._id, job.view().number

    def stop(self, run_key: str) -> None:
        """End a training and store its last checkpoint."""
        if self._service.find(run_key):
            self._service.stop(run_key, operator=True)

    def changes(self, known: Mapping[str, int], shown: frozenset[str]) -> tuple[str, list[Change]]:
        """Return the id of this controller, and the jobs whose view has another mark than `known` says.

        known: the mark of each job that the server has
        shown: the jobs whose curves it needs
        """
        now, before = time.monotonic(), self._scheduler.looked_at
        recent = {run_key: seen for run_key, seen in before.items() if now - seen < _LOOK_SECONDS}
        self._scheduler.looked_at = recent | dict.fromkeys(shown, now)
        found = []
        for view in self._service.views():
            with self._lock:
                last, mark = self._marks.get(view.key, (None, 0))
                if last is not view:
                    self._marks[view.key] = view, (mark := secrets.randbelow(2**62))
            job = self._service.find(view.key)
            if job and known.get(view.key) != mark:
                sent = view if view.key in shown or view.done else replace(view, curves=None)
                identity = (self._id, view.number)
                found.append(Change(identity, mark, sent, job.starter, frozenset(job.requesters), job.crashes))
        return self._id, found
