"""The job service: it schedules the trainings of this process, whichever page started them.

    submit ──> waiting ──> running ──> finished    the last step is reached, or early stopping ends it
                  ^           │
                  │           ├──────> diverged    a loss is not finite; the run up to the last checkpoint is stored
                  │           ├──────> stopped     `stop`, no memory, or what trained it has crashed twice; the run up
                  │           │                    to the last checkpoint is stored
                  │           ├──────> failed      an exception; nothing is stored
                  └─ pause ───┘                    the slot goes to another job

    A waiting job that is stopped goes to `stopped` at once. `submit` and `resume` continue a stopped run as a new job.
    `close` pauses all jobs and shows them as `stopped`; the next process enqueues them again in `restore`.

Two levels decide which job trains. At most `LINEAGE_JOBS_AT_ONCE` jobs have a slot, and together they need at most
`LINEAGE_JOBS_MEMORY`; the others wait, and every visitor's first job gets a slot before anyone's second. A job is
paused, and its slot given to a waiting one, if all its visitors have left, or while the starter of the waiting job has
no slot: if its own starter has several, or if it has had its slot for some seconds. It later resumes at its last
checkpoint, with the same curve. The jobs that have a slot share the time of one thread, or run in processes of their
own (`LINEAGE_EXECUTOR`), so that a comparison progresses evenly and a short training does not wait for a long one. A
second training thread would not be faster: steps of models this small are mostly Python code, which only one thread
at a time can run.

A run that has ended and cannot be stored, because the disk is full, is kept and stored later. A job during whose
training this process or a worker has crashed twice waits for its owner, or for the sweep that it belongs to.

Servers that share a database share their jobs: they remember those of all servers, and whoever has a free slot claims a
waiting one (`shared_jobs.py`). Then a job that pauses is released, so that any server may go on, and so are all jobs of
a server that is closed or drained. Trainings on a visitor's own text stay in the memory of their server.

A job publishes an immutable view by one assignment, so pages read it without a lock. Submitting a configuration that is
already being trained joins that job. Checkpoints go to `LINEAGE_HOME/jobs/KEY`, so a job survives the process. Every
method may be called from any thread. The worker imports torch, because the first page must not wait for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from explorer.database import servers
from explorer.database.engine import run_transaction
from explorer.environment import environment
from explorer.errors import LineageError, NotAllowed, StoreError, UnknownRun
from explorer.jobs import job_rows, limits, shared_jobs
from explorer.jobs.executor import Executor, InProcessExecutor
from explorer.jobs.job import MAX_CRASHES, Job, JobState, JobView, later_step, store_finished_job
from explorer.jobs.ray_executor import RayExecutor
from explorer.jobs.worker_processes import ProcessExecutor
from explorer.run_store import operations, store
from explorer.tasks.text import corpora
from explorer.training.config import RunConfig, key, parse_config

log = logging.getLogger(__name__)
_SCHEDULE_SECONDS = 0.5  # seconds between two checks of who holds a slot while others wait
_TURN_SECONDS = 5.0  # seconds after which a job may have to give its slot to a visitor who has none
_STORE_SECONDS = 5.0  # seconds between two attempts to store runs for which there was no room
_REMEMBERED_JOBS = 200  # jobs whose views are kept; their runs are on disk
_MOST_WAITING = 2_000  # jobs of all visitors
_MOST_UNSTORED = 12  # runs that wait for room on the disk; while there are so many, nothing else is trained


class JobService:
    """The trainings of this process, run by one thread with an event loop."""

    def __init__(self, executor: Executor | None = None, folder: Path | None = None) -> None:
        """executor: where trainings run; by default that of the environment, made with the first job.
        folder: that of the checkpoints; by default the one from which the server restores its jobs
        """
        self.version = 0  # number of jobs submitted so far; the jobs panel uses it to notice new ones
        self._executor = executor
        self._folder = folder
        self._lock = threading.Lock()
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._waiting: list[Job] = []  # used by the worker thread only, as are the fields below
        self._running: dict[Job, asyncio.Task[None]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closing = False
        self._store_again_at = 0.0
        self._storing: asyncio.Task[None] | None = None
        self._open_tabs: Counter[str] = Counter()  # open browser tabs of each visitor
        self._tab_closed_at: dict[str, float] = {}  # when a visitor's last tab closed
        self._started_at = time.monotonic()
        self._shared: shared_jobs.SharedJobs | None = None  # once it has started, if servers share their jobs

    # ---- called by pages ----

    def submit(self, config: RunConfig, visitor: str = "", until: int = 0) -> Job:
        """Train this configuration, join the job that already does, or resume a stopped run.

        until: the step of a snapshot of this run (`RunConfig.snapshot_steps`). The training stops at the first
            checkpoint from there on, and goes on when it is submitted again; 0: it goes on to its end. If several
            requests share a job, the latest step counts.

        Raises InvalidSetting above a limit of this server, NotAllowed if there are too many jobs, NeedsText for a text
        that this visitor has not entered, and StoreError if too many runs wait for room on the disk.
        """
        if config.own_text and not corpora.may_read(config.own_text, visitor):
            raise corpora.needs_text(config.own_text)
        with corpora.read_as(visitor):  # the cost depends on the text
            limits.check(config)
        with self._lock:
            job = self._jobs.get(key(config))
            if job and (job.unstored or not job.view().done):
                job.requesters.add(visitor)
                job.until = later_step(job.until, until)
                self._share_soon(job)
                return job
            self._start_loop()
            if self._shared and not config.own_text:
                self._shared.check_reachable()
            unstored = [other.view().problem for other in self._jobs.values() if other.unstored]
            if len(unstored) >= _MOST_UNSTORED:
                raise StoreError(
                    f"{len(unstored)} finished runs wait to be stored, so nothing new is trained. {unstored[0]}"
                )
            if sum(not other.view().done for other in self._jobs.values()) >= _MOST_WAITING:
                raise NotAllowed(
                    f"{_MOST_WAITING:,} trainings wait on this server, the most that it accepts. Try later."
                )
            active = sum(1 for other in self._jobs.values() if other.starter == visitor and not other.view().done)
            most = environment().most_jobs
            if visitor and active >= most:
                raise NotAllowed(f"You have {active} trainings under way; {most} are possible. Stop some, or wait.")
            previous, job = job, Job(config, visitor, folder=self._folder)
            job.until = until
            if previous and previous.view().state == "stopped":  # show the stopped curves until the job resumes
                view = previous.view()
                if view.private and previous.record:
                    job.resume_record = replace(previous.record, state="running")
                job.publish(step=view.step, seconds=view.seconds, parameters=view.parameters, curves=view.curves)
            if self._shared and not config.own_text:
                self._shared.add(job, previous)
            self._enqueue(job)
            return job

    @property
    def shares_jobs(self) -> bool:
        """Whether other servers train jobs that are submitted here."""
        return self._shared is not None

    def find(self, run_key: str, visitor: str = "") -> Job | None:
        """Return the newest job of this key that this process remembers, if the visitor may see it."""
        job = self._jobs.get(run_key)
        if job and self._shared and job.is_shared:
            self._shared.look_at(job)
        return job if job and _is_visible(job, visitor) else None

    def views(self, visitor: str = "") -> list[JobView]:
        """Return the views of all remembered jobs that the visitor may see, the newest first."""
        return [job.view() for job in reversed(list(self._jobs.values())) if _is_visible(job, visitor)]

    def seconds_left(self, view: JobView) -> float | None:
        """Return about how long it takes until a job ends; None if that is not known.

        Trainings in this process share its thread equally, so each delays another by what both still need.
        """
        job, left = self._jobs.get(view.key), view.left
        if job is None or left is None or view.done:
            return None
        if isinstance(self._executor, InProcessExecutor):
            here = [other for other in list(self._jobs.values()) if self._is_counted(other) and not other.view().done]
            left += sum(min(left, other.view().left or 0.0) for other in here if other is not job)
        return job.seconds_left(left)

    def count_states(self) -> Counter[JobState]:
        """Return how many of the remembered jobs, private ones included, are in each state.

        Each job that servers share is counted by the one that has claimed it, or else by the leading one.
        """
        return Counter(job.view().state for job in list(self._jobs.values()) if self._is_counted(job))

    def _is_counted(self, job: Job) -> bool:
        if self._shared is None or not job.is_shared or shared_jobs.ownership(job).held:
            return True
        return servers.is_leader() and not self._shared.is_trained_elsewhere(job)

    def count_presence(self) -> tuple[int, int]:
        """Return how many browsers have a tab open, and how many tabs are open."""
        with self._lock:
            return len(self._open_tabs), self._open_tabs.total()

    def requesters(self, run_key: str) -> frozenset[str]:
        """Return the visitors who submitted this job."""
        job = self._jobs.get(run_key)
        return frozenset(job.requesters) if job else frozenset()

    def add_watcher(self, run_key: str, visitor: str) -> None:
        """Note that a visitor has a job on the screen: the job keeps its slot while they have a tab open."""
        if job := self._jobs.get(run_key):
            job.watchers.add(visitor)

    def stop(self, run_key: str, visitor: str = "", operator: bool = False) -> None:
        """End a training and store its last checkpoint. Raises UnknownRun, NotAllowed for anyone but its starter."""
        job = self._jobs.get(run_key)
        if job is None:
            raise UnknownRun(f"No training of run {run_key} is remembered here.")
        if not operator and visitor != job.starter:
            raise NotAllowed("Somebody else started this training; only they can stop it. Leave the page: it goes on.")
        job.requested_action = "stop"
        if self._shared and job.is_shared:
            shared_jobs.ownership(job).stop_wanted = True
            self._shared.sync_soon()
        with self._lock:
            if self._loop:
                self._loop.call_soon_threadsafe(self._schedule)

    def resume(self, run_key: str, visitor: str = "", operator: bool = False) -> Job:
        """Resume a stopped training. Raises UnknownRun, or NotAllowed for anyone but its starter."""
        job = self._jobs.get(run_key)
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

    def tab_opened(self, visitor: str) -> None:
        """Count an opened browser tab of a visitor."""
        with self._lock:
            self._open_tabs[visitor] += 1

    def tab_closed(self, visitor: str) -> None:
        """Count a closed tab, or one whose connection is lost; it may come back."""
        with self._lock:
            self._open_tabs[visitor] -= 1
            if self._open_tabs[visitor] <= 0:
                del self._open_tabs[visitor]
                self._tab_closed_at[visitor] = time.monotonic()

    def restore(self) -> None:
        """Enqueue the jobs that waited or ran when the process last ended, and store runs that had just ended.

        Raises InvalidSetting if the executor that the environment names is not possible here.
        """
        self._executor = self._executor or make_executor()
        with self._lock:
            self._start_sharing()
            if self._shared:
                self._start_loop()  # a job of another server may wait
        for folder in sorted(environment().jobs.glob("[!.]*")):
            try:
                if not (folder / "job.json").is_file():  # of a stopped job whose finished run is in the store
                    store.remove_folder(folder)
                    continue
                data = json.loads((folder / "job.json").read_text("utf-8"))
                config = parse_config(data["config"])
                if self._shared and self._is_known_to_all(folder, bool(data.get("shared"))):
                    continue
                if key(config) == folder.name:
                    job = Job(config, str(data["starter"]), int(data.get("crashes", 0)))
                    job.requesters |= {str(visitor) for visitor in data["asked"]}
                    job.until = int(data.get("until", 0))
                    self._restore_job(job)
                    continue
            except (OSError, ValueError, KeyError, TypeError, RecursionError, LineageError):
                log.exception("the job in %s cannot be restored", folder)
            with contextlib.suppress(OSError):
                store.remove_folder(folder)

    def _is_known_to_all(self, folder: Path, was_shared: bool) -> bool:
        """Return whether the row of a job, which it has or had, decides what becomes of it, and not its folder.

        The folder of a job that goes on stays: the server that claims the job finds a checkpoint there, or a complete
        run, if it is this one. That of a job that has ended elsewhere is removed, because its run may be deleted.

        was_shared: whether the job had a row when the folder was written
        """
        assert self._shared
        try:
            is_active = run_transaction(lambda session: job_rows.find_active(session, folder.name))
        except StoreError as error:
            log.warning("the job in %s is left as it is: %s", folder, error)
            return True
        if is_active or (is_active is None and not was_shared):
            return bool(is_active)
        store.remove_folder(folder)
        return True

    def _restore_job(self, job: Job) -> None:
        """Store the run of a job that had ended, leave one that has crashed too often to its owner, enqueue others."""
        try:
            if store_finished_job(job.folder):
                return
        except (OSError, StoreError) as error:  # no room for a complete run: it stays in its folder
            log.warning("the run in %s is not stored yet: %s", job.folder, error)
            job.wait_for_space(error)
        else:
            problem = limits.describe_excess(job.view().config)
            if job.crashes < MAX_CRASHES and not problem:
                with self._lock:
                    if self._shared:
                        self._shared.add(job)
                    self._enqueue(job)
                return
            job.leave_to_owner(problem)
        with self._lock:
            self._remember(job)
            self._start_loop()

    def prepare(self) -> None:
        """Prepare for the first training, which starts sooner then."""
        with self._lock:
            self._start_loop()

    def close(self) -> None:
        """Pause every job so that it can be restored, and wait for that. The service may be used again afterwards."""
        with self._lock:
            loop, thread, self._loop = self._loop, self._thread, None
        if loop is None or thread is None:
            return
        if self._shared:
            self._shared.stop_waiting()
        asyncio.run_coroutine_threadsafe(self._pause_all(), loop).result()
        if self._executor:
            self._executor.close()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
        if self._shared:
            self._shared.close()
            self._shared = None

    def reset(self) -> None:
        """Close the service and forget its jobs; what they left on disk stays."""
        self.close()
        with self._lock:
            self._jobs.clear()

    # ---- the worker ----

    def _enqueue(self, job: Job) -> None:
        """Add a job to the queue. The caller holds the lock."""
        self._remember(job)

        def enqueue() -> None:
            if not job.is_shared:
                job.write_job_file()
            self._wait(job)
            self._schedule()
            if self._shared and job.is_shared and job in self._waiting:
                self._shared.wait_for_slot(job)

        self._start_loop().call_soon_threadsafe(enqueue)

    def _remember(self, job: Job) -> None:
        self.version += 1
        self._jobs[job.key] = job
        self._jobs.move_to_end(job.key)
        for other in list(self._jobs.values())[: max(len(self._jobs) - _REMEMBERED_JOBS, 0)]:
            if other.view().done and not other.unstored:
                del self._jobs[other.key]

    def _start_loop(self) -> asyncio.AbstractEventLoop:
        """Return the event loop of the worker thread, which is started with the executor on first use."""
        if self._loop is None:
            if self._executor is None:
                self._executor = make_executor()
            self._executor.start()
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, name="training", daemon=True)
            self._thread.start()
            self._start_sharing()
            asyncio.run_coroutine_threadsafe(self._schedule_periodically(), self._loop)
        return self._loop

    def _start_sharing(self) -> None:
        """Share the jobs with other servers if this is one of several. The caller holds the lock. Raises StoreError."""
        if self._shared is None and self._folder is None and shared_jobs.is_possible():
            self._shared = shared_jobs.SharedJobs(
                self._shared_jobs, self._remember_shared, self._forget_shared, self._on_shared_change
            )
            servers.add_fact("visitors", lambda: sorted(self._open_tabs))
            self._shared.start()

    def _shared_jobs(self) -> dict[str, Job]:
        return {job.key: job for job in list(self._jobs.values()) if job.is_shared}

    def _share_soon(self, job: Job) -> None:
        if self._shared and job.is_shared:
            self._shared.sync_soon()

    def _remember_shared(self, job: Job, previous: Job | None) -> bool:
        """Remember a job of another server in the place of `previous`, unless one was submitted here meanwhile."""
        with self._lock:
            if self._jobs.get(job.key) is not previous:
                return False
            self._remember(job)
            return True

    def _forget_shared(self, job: Job) -> None:
        with self._lock:
            if self._jobs.get(job.key) is job:
                del self._jobs[job.key]

    def _on_shared_change(self) -> None:
        if loop := self._loop:
            with contextlib.suppress(RuntimeError):  # it is closed at this moment
                loop.call_soon_threadsafe(self._schedule_shared)

    def _schedule_shared(self) -> None:
        """Let the waiting jobs be those that this server may train, after something has changed elsewhere."""
        if self._shared and not self._closing:
            remembered = [job for job in self._shared_jobs().values() if job not in self._running]
            claimable = dict.fromkeys(job for job in remembered if self._shared.is_claimable(job))
            waiting = [job for job in self._waiting if not job.is_shared or job in claimable]
            self._waiting = list(dict.fromkeys((*waiting, *claimable)))  # the order of those that waited stays
            self._schedule()

    async def _schedule_periodically(self) -> None:
        while True:
            await asyncio.sleep(_SCHEDULE_SECONDS)
            self._schedule()
            if time.monotonic() > self._store_again_at and (self._storing is None or self._storing.done()):
                self._store_again_at = time.monotonic() + _STORE_SECONDS
                unstored = [job for job in list(self._jobs.values()) if job.unstored]
                self._storing = (
                    asyncio.create_task(asyncio.to_thread(self._store_again, unstored)) if unstored else None
                )

    def _store_again(self, unstored: Sequence[Job]) -> None:
        for job in unstored:
            job.store_again()
            if self._shared and job.is_shared and not job.unstored:
                self._shared.hand_back(job)

    def _schedule(self) -> None:
        """Give free slots to waiting jobs, and pause a running job where that is fair."""
        if self._closing:
            return
        self._drop_abandoned_private_jobs()
        for job in [job for job in self._startable_jobs() if job.requested_action == "stop"]:
            self._start(job)  # it ends at once, and its checkpoint is stored
        startable = self._startable_jobs()
        while startable and len(self._running) < environment().jobs_at_once:
            job = min(startable, key=self._priority())
            if not self._fits_memory(job):
                break
            startable.remove(job)
            self._start(job)
        for job in self._running:
            job.pauses_at_checkpoint = False  # decided anew, because whoever waited may have left
        if self._shared and servers.is_draining():
            for job in self._running:
                if job.is_shared:
                    job.requested_action = job.requested_action or "pause"
        elif first := self._first_waiting(startable):
            self._pause_for(first)

    def _startable_jobs(self) -> list[Job]:
        """Return the waiting jobs that may start now."""
        if self._shared is None:
            return list(self._waiting)
        now, takes_shared = time.monotonic(), self._shared.is_reachable() and not servers.is_draining()
        return [
            job
            for job in self._waiting
            if not job.is_shared or (takes_shared and now > shared_jobs.ownership(job).claim_after)
        ]

    def _first_waiting(self, waiting: list[Job]) -> Job | None:
        """Return the one of these waiting jobs for which this server may pause another one.

        Of several servers each looks after another waiting job, so that not all of them pause one for the same.
        """
        if self._shared is None or not waiting:
            return min(waiting, key=self._priority(), default=None)
        place = self._shared.place()
        return next(iter(sorted(waiting, key=self._priority())[place : place + 1]), None)

    def _drop_abandoned_private_jobs(self) -> None:
        """Stop private trainings whose visitors have all left, and forget them once they have ended."""
        for job in [job for job in list(self._jobs.values()) if job.view().private and self._is_abandoned(job)]:
            if job.view().done:
                with self._lock:
                    self._jobs.pop(job.key, None)
            else:
                job.requested_action = "stop"

    def _priority(self) -> Callable[[Job], tuple[bool, int]]:
        """Return the sort key of waiting jobs: abandoned jobs last, then by the slots that their starter holds."""
        held = self._held_slots()
        return lambda job: (self._is_abandoned(job), held[job.starter])

    def _held_slots(self) -> Counter[str]:
        """Return how many slots each visitor holds, on all servers."""
        held = Counter(job.starter for job in self._running)
        if self._shared:
            jobs = [job for job in list(self._jobs.values()) if job.is_shared and job not in self._running]
            held += Counter(job.starter for job in jobs if self._shared.is_trained_elsewhere(job))
        return held

    def _fits_memory(self, job: Job) -> bool:
        """Whether a job may run beside the running ones; one at a time always may."""
        needed = sum(each.peak_bytes for each in (*self._running, job))
        return not self._running or needed <= environment().memory_of_jobs

    def _pause_for(self, first: Job) -> None:
        """Pause a running job if it has to give its slot to the waiting job `first`."""
        if self._is_abandoned(first) or any(job.requested_action for job in self._running):
            return
        held = self._held_slots()
        abandoned = [job for job in self._running if self._is_abandoned(job)]
        several = [] if held[first.starter] else [job for job in self._running if held[job.starter] > 1]
        if abandoned or several:
            (abandoned or several[::-1])[0].requested_action = "pause"
        elif not held[first.starter]:
            now = time.monotonic()
            for job in self._running:
                job.pauses_at_checkpoint = now - job.started_at > _TURN_SECONDS

    def _is_abandoned(self, job: Job) -> bool:
        """Whether all visitors of a job have had no tab open for a while. The terminal ("") never leaves."""
        past = time.monotonic() - environment().grace_seconds
        return all(
            visitor and not self._open_tabs[visitor] and self._last_seen(visitor) < past
            for visitor in list(job.requesters | job.watchers)
        )

    def _last_seen(self, visitor: str) -> float:
        """Return when a visitor closed the last tab here, or had one open on another server."""
        seen = self._tab_closed_at.get(visitor, self._started_at)
        return max(seen, self._shared.last_seen(visitor)) if self._shared else seen

    def _start(self, job: Job) -> None:
        """Give a slot to a waiting job."""
        assert self._executor
        self._waiting.remove(job)
        job.started_at = time.monotonic()
        run = self._run_shared(self._shared, job) if self._shared and job.is_shared else job.run(self._executor)
        task = asyncio.get_running_loop().create_task(run)
        self._running[job] = task
        task.add_done_callback(lambda _: self._on_task_done(job))

    async def _run_shared(self, shared: shared_jobs.SharedJobs, job: Job) -> None:
        """Claim a job, train it unless another server has it, and hand it back."""
        assert self._executor
        if not await asyncio.to_thread(shared.claim, job):
            return
        try:
            problem = await asyncio.to_thread(
                limits.describe_excess, job.view().config
            )  # another server may have other limits
            await job.run(self._executor, problem)
        finally:
            await asyncio.to_thread(shared.hand_back, job)

    def _on_task_done(self, job: Job) -> None:
        del self._running[job]
        if not job.view().done and not self._closing:
            if job.requested_action in ("pause", "abandon"):  # and not stopped meanwhile
                job.requested_action = ""
            if not job.is_shared or (self._shared and self._shared.is_claimable(job)):
                self._wait(job)
        self._schedule()

    def _wait(self, job: Job) -> None:
        """Let a job wait for a slot, unless it already waits, or has one because of a change on another server."""
        if job not in self._waiting and job not in self._running:
            self._waiting.append(job)

    async def _pause_all(self) -> None:
        """Pause every job, wait for it, and write the job file of each."""
        self._closing = True
        for job in self._running:
            job.requested_action = job.requested_action or "pause"
        await asyncio.gather(*self._running.values(), return_exceptions=True)
        for job in self._waiting:
            if not job.is_shared:
                job.write_job_file()
        self._waiting.clear()
        for job in list(self._jobs.values()):
            if not job.view().done:
                job.publish(state="stopped")
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await asyncio.get_running_loop().shutdown_default_executor()
        self._closing = False


def _is_visible(job: Job, visitor: str) -> bool:
    """Whether a visitor may see a job: every public one, and private ones that they submitted."""
    return not job.view().private or visitor in job.requesters


def _stopped_run(run_key: str) -> tuple[RunConfig, str]:
    """Return the configuration and the owner of a run that was not trained to its end. Raises UnknownRun."""
    run = store.find(run_key)
    if run.card.finished:
        raise UnknownRun(f"Run {run_key} is finished; there is nothing to go on with. Train trains it again.")
    return run.config, run.card.owner


def make_executor(name: str = "") -> Executor:
    """Return the executor of this name, by default the one that `LINEAGE_EXECUTOR` names. Raises InvalidSetting."""
    chosen = name or environment().executor
    if chosen == "here":
        return InProcessExecutor()
    if chosen != "processes":
        return RayExecutor(chosen)
    return ProcessExecutor()


service = JobService()
