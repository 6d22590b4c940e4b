"""The job service: the trainings of this process, whichever page started them.

CONTRIBUTING.md shows the states of a job. `close` pauses all jobs and shows them as `stopped`; the next process
enqueues them again in `restore`. A scheduler (`scheduler.py`) decides which job trains. A job during whose training
this process or a worker has crashed twice waits for its owner, or for the sweep that it belongs to.

A job publishes an immutable view by one assignment, so pages read it without a lock. Submitting a configuration that is
already being trained joins that job. Checkpoints go to `LINEAGE_HOME/jobs/KEY`, so a job survives the process. Every
method may be called from any thread. The scheduler imports torch, because the first page must not wait for it.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from explorer.cores import physical_cores
from explorer.environment import environment
from explorer.errors import LineageError, NotAllowed, StoreError, UnknownRun
from explorer.jobs import job as one_job
from explorer.jobs import limits
from explorer.jobs.cost import expected_seconds
from explorer.jobs.job import Job, JobState, JobView
from explorer.jobs.remembered_jobs import RememberedJobs
from explorer.jobs.scheduler import Scheduler, make_scheduler
from explorer.run_store import operations, store
from explorer.tasks.text import corpora
from explorer.training.config import RunConfig, key

log = logging.getLogger(__name__)
_MOST_WAITING = 2_000  # jobs of all visitors
_MOST_UNSTORED = 12  # runs that wait for room on the disk; while there are so many, nothing else is trained


class JobService:
    """The trainings of this process."""

    def __init__(
        self, scheduler: Callable[[RememberedJobs], Scheduler] = make_scheduler, folder: Path | None = None
    ) -> None:
        """scheduler: makes what decides when jobs train, with the first job; by default as the environment says
        folder: that of the checkpoints; by default `LINEAGE_HOME/jobs`
        """
        self.jobs = RememberedJobs()  # which also knows whose browser tabs are open
        self._make_scheduler = scheduler
        self._made_scheduler: Scheduler | None = None
        self._folder = folder
        self._lock = threading.Lock()

    @property
    def _scheduler(self) -> Scheduler:
        """The scheduler. Raises InvalidSetting if the environment names one that is not possible here."""
        with self._lock:
            if self._made_scheduler is None:
                self._made_scheduler = self._make_scheduler(self.jobs)
            return self._made_scheduler

    @property
    def version(self) -> int:
        """The number of jobs so far; the jobs panel uses it to notice new ones."""
        return self.jobs.version

    @property
    def trains_here(self) -> bool:
        """Whether this process carries out the trainings, also those of sweeps."""
        return self._scheduler.trains_here

    def submit(self, config: RunConfig, visitor: str = "", until: int = 0) -> Job:
        """Train this configuration, join the job that already does, or resume a stopped run.

        until: the step of a snapshot, after which the training stops at the first checkpoint; 0: its end. If several
            requests share a job, the latest step counts.

        Raises InvalidSetting above a limit of this server, NotAllowed or StoreError if there are too many jobs or
        unstored runs, NeedsText, and StoreError if the place where trainings run does not answer.
        """
        if config.own_text and not corpora.may_read(config.own_text, visitor):
            raise corpora.needs_text(config.own_text)
        with corpora.read_as(visitor):  # the cost depends on the text
            limits.check(config)
        scheduler = self._scheduler
        with self.jobs.lock:
            previous = self.jobs.find(key(config))
            if previous and (previous.unstored or not previous.view().done):
                previous.requesters.add(visitor)
                previous.until = max(previous.until, until) if previous.until and until else 0
                scheduler.note_change(previous)
                return previous
            self._check_numbers(visitor)
            job = Job(config, visitor, folder=self._folder)
            scheduler.check(job)
            job.until = until
            if previous and previous.view().state == "stopped":  # show the stopped curves until the job resumes
                view = previous.view()
                if view.private and previous.record:
                    job.resume_record = replace(previous.record, state="running")
                job.publish(step=view.step, seconds=view.seconds, parameters=view.parameters, curves=view.curves)
            self.jobs.remember(job)
            scheduler.add(job)  # under the lock: a late report of the stopped job is not taken for its own
        return job

    def _check_numbers(self, visitor: str) -> None:
        jobs = self.jobs.all()
        unstored = [job.view().problem for job in jobs if job.unstored]
        if len(unstored) >= _MOST_UNSTORED:
            raise StoreError(
                f"{len(unstored)} finished runs wait to be stored, so nothing new is trained. {unstored[0]}"
            )
        active = [job for job in jobs if not job.view().done]
        if len(active) >= _MOST_WAITING:
            raise NotAllowed(f"{_MOST_WAITING:,} trainings wait on this server, the most that it accepts. Try later.")
        mine, most = sum(job.starter == visitor for job in active), environment().most_jobs
        if visitor and mine >= most:
            raise NotAllowed(f"You have {mine} trainings under way; {most} are possible. Stop some, or wait.")

    def find(self, run_key: str, visitor: str = "") -> Job | None:
        """Return the newest job of this key that this process remembers, if the visitor may see it."""
        job = self.jobs.find(run_key)
        return job if job and _is_visible(job, visitor) else None

    def views(self, visitor: str = "") -> list[JobView]:
        """Return the views of all remembered jobs that the visitor may see, the newest first."""
        return [job.view() for job in reversed(self.jobs.all()) if _is_visible(job, visitor)]

    def estimate_seconds(self, configs: Sequence[RunConfig], visitor: str) -> float:
        """Return about how long it takes to train these side by side, beside the trainings that the visitor sees."""
        own = {key(config) for config in configs}
        others = sum(not view.done and view.key not in own for view in self.views(visitor))
        cores = 1 if self._scheduler.takes_turns else min(physical_cores(), environment().jobs_at_once)
        together = sum(expected_seconds(config, on_cores=1) for config in configs) / cores
        seconds = max(together, *(expected_seconds(config) for config in configs), 0.5)
        return seconds * (1 + others / max(len(configs), 1))  # all of them share the cores

    def seconds_left(self, view: JobView) -> float | None:
        """Return about how long it takes until a job ends; None if that is not known."""
        job, left = self.jobs.find(view.key), view.left
        if job is None or left is None or view.done:
            return None
        if self._scheduler.takes_turns:  # each training delays another by what both still need
            others = [other.view() for other in self.jobs.all() if other is not job]
            left += sum(min(left, other.left or 0.0) for other in others if not other.done)
        return job.seconds_left(left)

    def count_states(self) -> Counter[JobState]:
        """Return how many of the remembered jobs, private ones included, are in each state."""
        return Counter(job.view().state for job in self.jobs.all())

    def requesters(self, run_key: str) -> frozenset[str]:
        """Return the visitors who submitted this job."""
        job = self.jobs.find(run_key)
        return frozenset(job.requesters) if job else frozenset()

    def add_watcher(self, run_key: str, visitor: str) -> None:
        """Note that a visitor has a job on the screen: the job keeps its slot while they have a tab open."""
        if job := self.jobs.find(run_key):
            job.watchers.add(visitor)

    def stop(self, run_key: str, visitor: str = "", operator: bool = False) -> None:
        """End a training and store its last checkpoint. Raises UnknownRun, NotAllowed for anyone but its starter."""
        job = self.jobs.find(run_key)
        if job is None:
            raise UnknownRun(f"No training of run {run_key} is remembered here.")
        if not operator and visitor != job.starter:
            raise NotAllowed("Somebody else started this training; only they can stop it. Leave the page: it goes on.")
        job.requested_action = "stop"
        self._scheduler.note_change(job)

    def resume(self, run_key: str, visitor: str = "", operator: bool = False) -> Job:
        """Resume a stopped training. Raises UnknownRun, or NotAllowed for anyone but its starter."""
        job = self.jobs.find(run_key)
        if job and job.view().state != "finished":
            config, starter = job.view().config, job.starter
        else:
            config, starter = _stopped_run(run_key)
        if not operator and visitor != starter:
            raise NotAllowed("Somebody else started this training; Train on its page makes it yours as well.")
        return self.submit(config, starter)

    def save(self, run_key: str, visitor: str) -> store.StoredRun:
        """Store a private run on this server, where everybody can see it. Raises UnknownRun, StoreError."""
        job = self.find(run_key, visitor)
        if job is None or job.record is None:
            raise UnknownRun(f"There is nothing of run {run_key} to save: it is not over, or it was forgotten.")
        record = job.record if job.record.finished else replace(job.record, state="stopped")
        try:
            store.write_run(record, job.folder, visitor)
            stored = operations.add_run(job.folder)
        except OSError as error:
            raise StoreError(f"The run could not be stored: {store.describe_disk_error(error)}") from error
        job.publish(saved=True)
        return stored

    def restore(self) -> None:
        """Enqueue the jobs of the last process, and store the runs that had just ended. Raises InvalidSetting."""
        scheduler = self._scheduler
        for folder in sorted((self._folder or environment().jobs).glob("[!.]*")):
            try:
                if (folder / "job.json").is_file():
                    self._restore_job(one_job.read_job_file(folder), scheduler)
                    continue  # otherwise it is of a stopped job whose finished run is in the store
            except (OSError, ValueError, KeyError, TypeError, RecursionError, LineageError):
                log.exception("the job in %s cannot be restored", folder)
            with contextlib.suppress(OSError):
                store.remove_folder(folder)
        if not scheduler.trains_here:
            scheduler.start()

    def _restore_job(self, job: Job, scheduler: Scheduler) -> None:
        """Store the run of a job that had ended, leave one that has crashed too often to its owner, enqueue others."""
        if one_job.is_complete(job.folder):
            try:
                one_job.move_into_store(job.folder)
                return
            except (OSError, StoreError) as error:  # no room for a complete run: it stays in its folder
                log.warning("the run in %s is not stored yet: %s", job.folder, error)
                job.wait_for_space(error)
        else:
            problem = limits.describe_excess(job.view().config)
            if job.crashes < one_job.MAX_CRASHES and not problem:
                self.jobs.remember(job)
                scheduler.add(job)
                return
            job.leave_to_owner(problem)
        self.jobs.remember(job)
        scheduler.start()

    def prepare(self) -> None:
        """Prepare for the first training, which starts sooner then."""
        self._scheduler.start()

    def close(self) -> None:
        """Pause every job so that it can be restored, and wait for that. The service may be used again afterwards."""
        with self._lock:
            scheduler, self._made_scheduler = self._made_scheduler, None
        if scheduler:
            scheduler.close()

    def reset(self) -> None:
        """Close the service and forget its jobs; what they left on disk stays."""
        self.close()
        self.jobs.forget()


def _is_visible(job: Job, visitor: str) -> bool:
    """Whether a visitor may see a job: every public one, and private ones that they submitted."""
    return not job.view().private or visitor in job.requesters


def _stopped_run(run_key: str) -> tuple[RunConfig, str]:
    """Return the configuration and the owner of a run that was not trained to its end. Raises UnknownRun."""
    run = store.find(run_key)
    if run.card.finished:
        raise UnknownRun(f"Run {run_key} is finished; there is nothing to go on with. Train trains it again.")
    return run.config, run.card.owner


service = JobService()
