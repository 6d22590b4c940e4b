"""Who trains: the jobs that have a slot, and those that wait for one.

At most `LINEAGE_JOBS_AT_ONCE` jobs have a slot, and together they need at most `LINEAGE_JOBS_MEMORY`; the others wait,
and every visitor's first job gets a slot before anyone's second. A job is paused, and its slot given to a waiting one,
if all its visitors have left, or while the starter of the waiting job has no slot: if its own starter has several, or
if it has had its slot for some seconds. It later resumes at its last checkpoint, with the same curve. The jobs that
have a slot share the time of one thread, or run in processes of their own (`LINEAGE_EXECUTOR`), so that a comparison
progresses evenly and a short training does not wait for a long one. A second training thread would not be faster: steps
of models this small are mostly Python code, which only one thread at a time can run.

A run that has ended and cannot be stored, because the disk is full, is kept and stored later.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from pkgutil import resolve_name
from typing import Any, Protocol

from explorer.environment import environment
from explorer.jobs.executor import Executor, InProcessExecutor
from explorer.jobs.job import Job
from explorer.jobs.remembered_jobs import RememberedJobs
from explorer.jobs.worker_processes import ProcessExecutor

_SCHEDULE_SECONDS = 0.5  # seconds between two checks of who holds a slot while others wait
_TURN_SECONDS = 5.0  # seconds after which a job may have to give its slot to a visitor who has none
_STORE_SECONDS = 5.0  # seconds between two attempts to store runs for which there was no room
_ELSEWHERE = {"ray": "explorer.cluster.scheduler:ClusterScheduler"}  # loaded only if LINEAGE_EXECUTOR names it


class Scheduler(Protocol):
    """Decides when each remembered job is trained. Every method may be called from any thread."""

    takes_turns: bool  # whether trainings share the time of one thread
    trains_here: bool  # whether this process carries out the trainings, also those of sweeps

    def start(self) -> None:
        """Prepare for the first job, which starts sooner then."""

    def check(self, job: Job) -> None:
        """Raise StoreError if a job cannot be taken now."""

    def add(self, job: Job) -> None:
        """Take a job that waits."""

    def note_change(self, job: Job) -> None:
        """Take over what was requested of a job: that it stops, who wants it, and to which step."""

    def close(self) -> None:
        """Pause every job of this process so that it can be restored, and wait for that. It may be used again."""


class LocalScheduler:
    """Trains the jobs of this process on one thread with an event loop."""

    trains_here = True

    def __init__(self, jobs: RememberedJobs, executor: Executor) -> None:
        self.takes_turns = isinstance(executor, InProcessExecutor)
        self._jobs, self._executor = jobs, executor
        self._lock = threading.Lock()
        self._waiting: list[Job] = []  # used by the thread only, as are the fields below
        self._running: dict[Job, asyncio.Task[None]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closing = False
        self._store_again_at = 0.0
        self._storing: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._start_loop()

    def check(self, job: Job) -> None: ...

    def add(self, job: Job) -> None:
        def enqueue() -> None:
            job.write_job_file()
            self._waiting.append(job)
            self._schedule()

        self._start_loop().call_soon_threadsafe(enqueue)

    def note_change(self, job: Job) -> None:
        with self._lock:
            if self._loop:
                self._loop.call_soon_threadsafe(self._schedule)

    def close(self) -> None:
        with self._lock:
            loop, thread, self._loop = self._loop, self._thread, None
        if loop is None or thread is None:
            return
        asyncio.run_coroutine_threadsafe(self._pause_all(), loop).result()
        self._executor.close()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    def run(self, job: Job) -> Coroutine[Any, Any, None]:
        """Return what trains a job that has a slot, until the job ends or pauses."""
        return job.run(self._executor)

    def _start_loop(self) -> asyncio.AbstractEventLoop:
        """Return the event loop of the thread, which is started with the executor on first use."""
        with self._lock:
            if self._loop is None:
                self._executor.start()
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="training", daemon=True)
                self._thread.start()
                asyncio.run_coroutine_threadsafe(self._schedule_periodically(), self._loop)
            return self._loop

    # ---- on the thread ----

    async def _schedule_periodically(self) -> None:
        while True:
            await asyncio.sleep(_SCHEDULE_SECONDS)
            self._schedule()
            is_due = time.monotonic() > self._store_again_at and (self._storing is None or self._storing.done())
            if is_due and any(job.unstored for job in self._jobs.all()):
                self._store_again_at = time.monotonic() + _STORE_SECONDS
                self._storing = asyncio.create_task(asyncio.to_thread(self._store_again))

    def _store_again(self) -> None:
        for job in self._jobs.all():
            if job.unstored:
                job.store_again()

    def _schedule(self) -> None:
        """Give free slots to waiting jobs, and pause a running job where that is fair."""
        if self._closing:
            return
        self._drop_abandoned_private_jobs()
        for job in [job for job in self._waiting if job.requested_action == "stop"]:
            self._start_job(job)  # it ends at once, and its checkpoint is stored
        while self._waiting and len(self._running) < environment().jobs_at_once:
            job = min(self._waiting, key=self._priority())
            if not self._fits_memory(job):
                break
            self._start_job(job)
        for job in self._running:
            job.pauses_at_checkpoint = False  # decided anew, because whoever waited may have left
        if self._waiting:
            self._pause_for(min(self._waiting, key=self._priority()))

    def _drop_abandoned_private_jobs(self) -> None:
        """Stop private trainings whose visitors have all left, and forget them once they have ended."""
        abandoned = {job for job in self._jobs.all() if job.view().private and self._jobs.is_abandoned(job)}
        for job in abandoned:
            if not job.view().done:
                job.requested_action = "stop"
        if abandoned:
            self._jobs.forget(lambda job: job in abandoned and job.view().done)

    def _priority(self) -> Callable[[Job], tuple[bool, int]]:
        """Return the sort key of waiting jobs: abandoned jobs last, then by the slots that their starter holds."""
        held = self._held_slots()
        return lambda job: (self._jobs.is_abandoned(job), held[job.starter])

    def _held_slots(self) -> Counter[str]:
        return Counter(job.starter for job in self._running)

    def _fits_memory(self, job: Job) -> bool:
        """Whether a job may run beside the running ones; one at a time always may."""
        needed = sum(each.peak_bytes for each in (*self._running, job))
        return not self._running or needed <= environment().memory_of_jobs

    def _pause_for(self, first: Job) -> None:
        """Pause a running job if it has to give its slot to the waiting job `first`."""
        if self._jobs.is_abandoned(first) or any(job.requested_action for job in self._running):
            return
        held = self._held_slots()
        abandoned = [job for job in self._running if self._jobs.is_abandoned(job)]
        several = [] if held[first.starter] else [job for job in self._running if held[job.starter] > 1]
        if abandoned or several:
            (abandoned or several[::-1])[0].requested_action = "pause"
        elif not held[first.starter]:
            now = time.monotonic()
            for job in self._running:
                job.pauses_at_checkpoint = now - job.started_at > _TURN_SECONDS

    def _start_job(self, job: Job) -> None:
        self._waiting.remove(job)
        job.started_at = time.monotonic()
        task = asyncio.get_running_loop().create_task(self.run(job))
        self._running[job] = task
        task.add_done_callback(lambda _: self._on_task_done(job))

    def _on_task_done(self, job: Job) -> None:
        del self._running[job]
        if not job.view().done and not self._closing:
            if job.requested_action == "pause":  # and not stopped meanwhile
                job.requested_action = ""
            self._waiting.append(job)
        self._schedule()

    async def _pause_all(self) -> None:
        """Pause every job, wait for it, and write the job file of each."""
        self._closing = True
        for job in self._running:
            job.requested_action = job.requested_action or "pause"
        ending = [*self._running, *self._waiting]
        await asyncio.gather(*self._running.values(), return_exceptions=True)
        for job in self._waiting:
            job.write_job_file()
        self._waiting.clear()
        for job in ending:
            if not job.view().done:
                job.publish(state="stopped")
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await asyncio.get_running_loop().shutdown_default_executor()
        self._closing = False


def make_scheduler(jobs: RememberedJobs, name: str = "") -> Scheduler:
    """Return the scheduler of this name, by default the one that `LINEAGE_EXECUTOR` names. Raises InvalidSetting."""
    chosen = name or environment().executor
    if chosen == "here":
        return LocalScheduler(jobs, InProcessExecutor())
    if chosen == "processes":
        return LocalScheduler(jobs, ProcessExecutor())
    scheduler: Scheduler = resolve_name(_ELSEWHERE[chosen.partition(":")[0]])(jobs, chosen)
    return scheduler
