"""The job service: trainings as something the program has, not something a page does.

All jobs train on one thread, in turns of a few milliseconds: a race is a race, nobody's short training
waits behind somebody's long one, and the other core stays free for the pages. (Two threads would not be
faster: steps as small as ours are mostly Python, which one thread at a time can run.) There are so many
places for jobs that take turns; the rest wait, each visitor's first job before anyone's second. A place is
taken back from whoever holds several while somebody with none waits, and from a training that only vanished
visitors asked for: such a job goes on later, from where it was, to the same curve.

A job publishes an immutable view by one assignment, so drawing takes no lock. The same configuration asked
for twice while it runs is one job. Checkpoints go to `LINEAGE_HOME/jobs/KEY`, so that what is under way
survives the process. Every method may be called from any thread. Torch is imported by the worker, because
the first page must not wait for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import threading
import time
from collections import Counter, OrderedDict
from dataclasses import replace

from explorer.environment import environment
from explorer.errors import LineageError, NotAllowed, StoreError, UnknownRun
from explorer.training import limits, store
from explorer.training.config import RunConfig, key, parse
from explorer.training.executor import Executor, InThisProcess
from explorer.training.job import Job, View, put_away

log = logging.getLogger(__name__)
_LOOK_EVERY = 0.5  # seconds between two looks at who holds a place while others wait
_REMEMBERED = 200  # jobs whose views are kept; their runs are on disk


class JobService:
    """The trainings of this process: a thread whose event loop gives each job its turn."""

    def __init__(self, executor: Executor | None = None) -> None:
        self.news = 0  # jobs taken on so far
        self._executor = executor or InThisProcess()
        self._lock = threading.Lock()
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._waiting: list[Job] = []  # touched by the worker only, as is what follows
        self._running: dict[Job, asyncio.Task[None]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closing = False
        self._present: Counter[str] = Counter()  # open windows of each visitor
        self._left: dict[str, float] = {}  # when a visitor's last window closed
        self._born = time.monotonic()

    # ---- what pages ask ----

    def submit(self, config: RunConfig, visitor: str = "") -> Job:
        """Train this configuration, or join whoever does; a stopped run is gone on with.

        Raises InvalidSetting above a limit of this server, NotAllowed where a visitor has too many jobs.
        """
        limits.check(config)
        with self._lock:
            job = self._jobs.get(key(config))
            if job and not job.view().done:
                job.asked.add(visitor)
                return job
            mine = sum(1 for other in self._jobs.values() if other.starter == visitor and not other.view().done)
            most = environment().most_jobs
            if visitor and mine >= most:
                raise NotAllowed(f"You have {mine} trainings under way; {most} are possible. Stop some, or wait.")
            before, job = job, Job(config, visitor)
            if before and before.view().state == "stopped":  # seen as it stood, until it goes on from there
                stood = before.view()
                job.show(step=stood.step, seconds=stood.seconds, parameters=stood.parameters, curves=stood.curves)
            self._enter(job)
            return job

    def find(self, run_key: str, visitor: str = "") -> Job | None:
        """The newest job of this key that this process remembers, if this visitor may see it."""
        job = self._jobs.get(run_key)
        return job if job and _visible(job, visitor) else None

    def views(self, visitor: str = "") -> list[View]:
        """Every job that is remembered and that this visitor may see, the newest first."""
        return [job.view() for job in reversed(list(self._jobs.values())) if _visible(job, visitor)]

    def asked(self, run_key: str) -> frozenset[str]:
        """Who asked for a job."""
        job = self._jobs.get(run_key)
        return frozenset(job.asked) if job else frozenset()

    def watch(self, run_key: str, visitor: str) -> None:
        """This visitor has a job on the screen: while they are here it keeps its place."""
        if job := self._jobs.get(run_key):
            job.watched.add(visitor)

    def stop(self, run_key: str, visitor: str = "", operator: bool = False) -> None:
        """End a training; it keeps what it had. Raises UnknownRun, or NotAllowed for anyone but its starter."""
        job = self._jobs.get(run_key)
        if job is None:
            raise UnknownRun(f"No training of run {run_key} is remembered here.")
        if not operator and visitor != job.starter:
            raise NotAllowed("Somebody else started this training; only they can stop it. Leave the page: it goes on.")
        job.wish = "stop"
        with self._lock:
            if self._loop:
                self._loop.call_soon_threadsafe(self._look)

    def resume(self, run_key: str, visitor: str = "", operator: bool = False) -> Job:
        """Go on with a stopped training. Raises UnknownRun, or NotAllowed for anyone but its starter."""
        job = self._jobs.get(run_key)
        if job and job.view().state != "finished":
            config, starter = job.view().config, job.starter
        else:
            config, starter = _stopped(run_key)
        if not operator and visitor != starter:
            raise NotAllowed("Somebody else started this training; Train on its page makes it yours as well.")
        return self.submit(config, starter)

    def save(self, run_key: str, visitor: str) -> store.StoredRun:
        """Keep a private run on this server, where everybody sees it. Raises UnknownRun, StoreError."""
        job = self.find(run_key, visitor)
        if job is None or job.record is None:
            raise UnknownRun(f"There is nothing of run {run_key} to save: it is not over, or it was forgotten.")
        from explorer.training import library

        record = job.record if job.record.finished else replace(job.record, state="stopped")
        try:
            store.write(record, job.folder, visitor)
            kept = library.keep(job.folder)
        except OSError as error:
            raise StoreError(f"The run cannot be saved: the disk refuses ({error.strerror}). Try again.") from error
        job.show(saved=True)
        return kept

    def arrive(self, visitor: str) -> None:
        """A window of this visitor is open."""
        with self._lock:
            self._present[visitor] += 1

    def leave(self, visitor: str) -> None:
        """One is closed, or its connection is lost; it may come back."""
        with self._lock:
            self._present[visitor] -= 1
            if self._present[visitor] <= 0:
                del self._present[visitor]
                self._left[visitor] = time.monotonic()

    def restore(self) -> None:
        """Take up what was under way when the process last ended, and keep what had ended by then."""
        for folder in sorted(file.parent for file in environment().jobs.glob("*/job.json")):
            try:
                told = json.loads((folder / "job.json").read_text())
                config = parse(told["config"])
                if key(config) == folder.name:
                    if put_away(folder):
                        continue
                    job = Job(config, str(told["starter"]))
                    job.asked |= {str(visitor) for visitor in told["asked"]}
                    with self._lock:
                        self._enter(job)
                    continue
            except StoreError as error:  # no room for a run that is whole: it stays for the next start
                log.warning("the run in %s is not kept yet: %s", folder, error)
                continue
            except (OSError, ValueError, KeyError, TypeError, RecursionError, LineageError):
                log.exception("the job in %s cannot be taken up", folder)
            with contextlib.suppress(OSError):
                store.remove(folder)

    def close(self) -> None:
        """Let everything rest, ready to be restored, and wait until it does. The service may be used again."""
        with self._lock:
            loop, thread, self._loop = self._loop, self._thread, None
        if loop is None or thread is None:
            return
        asyncio.run_coroutine_threadsafe(self._rest(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    # ---- the worker ----

    def _enter(self, job: Job) -> None:
        """Take a job on. Called under the lock."""
        self.news += 1
        self._jobs[job.key] = job
        self._jobs.move_to_end(job.key)
        while len(self._jobs) > _REMEMBERED and next(iter(self._jobs.values())).view().done:
            self._jobs.popitem(last=False)
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, name="training", daemon=True)
            self._thread.start()
            asyncio.run_coroutine_threadsafe(self._keep_looking(), self._loop)

        def enter() -> None:
            job.leave_order()
            self._waiting.append(job)
            self._look()

        self._loop.call_soon_threadsafe(enter)

    async def _keep_looking(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_EVERY)
            self._look()

    def _look(self) -> None:
        """Give free places to those who wait, and take some back where that is fair."""
        if self._closing:
            return
        self._forget_private()
        for job in [job for job in self._waiting if job.wish == "stop"]:
            self._waiting.remove(job)
            self._start(job)  # it ends at once, and is kept as it is
        while self._waiting and len(self._running) < environment().jobs_at_once:
            job = min(self._waiting, key=self._rank)
            self._waiting.remove(job)
            self._start(job)
        if self._waiting and (holder := self._who_may_rest(min(self._waiting, key=self._rank))):
            holder.wish = holder.wish or "rest"

    def _forget_private(self) -> None:
        """A training on a visitor's own text ends when everybody who asked for it is gone; nothing of it stays."""
        for job in [job for job in self._jobs.values() if job.view().private and self._vanished(job)]:
            if job.view().done:
                with self._lock:
                    self._jobs.pop(job.key, None)
            else:
                job.wish = "stop"

    def _rank(self, job: Job) -> tuple[bool, int]:
        """Lower goes first: who is there before who has vanished, first jobs before second ones; then by arrival."""
        return self._vanished(job), sum(other.starter == job.starter for other in self._running)

    def _who_may_rest(self, first: Job) -> Job | None:
        """A running job whose place another one deserves more."""
        if self._vanished(first) or any(job.wish for job in self._running):
            return None
        may = [job for job in self._running if not job.view().private]  # it has no disk to rest on
        for job in may:
            if self._vanished(job):
                return job
        held = Counter(job.starter for job in self._running)
        if held[first.starter]:
            return None
        several = [job for job in may if held[job.starter] > 1]
        return several[-1] if several else None

    def _vanished(self, job: Job) -> bool:
        """Whether everybody who asked for a job has been gone for a while. The terminal ("") never is."""
        past = time.monotonic() - environment().grace_seconds
        return all(
            visitor and not self._present[visitor] and self._left.get(visitor, self._born) < past
            for visitor in [*job.asked, *job.watched]
        )

    def _start(self, job: Job) -> None:
        task = asyncio.get_running_loop().create_task(job.run(self._executor))
        self._running[job] = task
        task.add_done_callback(lambda _: self._ended(job))

    def _ended(self, job: Job) -> None:
        del self._running[job]
        if not job.view().done and not self._closing:
            job.wish = "" if job.wish == "rest" else job.wish  # somebody may have stopped it meanwhile
            self._waiting.append(job)
        self._look()

    async def _rest(self) -> None:
        """Ask every job to rest, and wait for it; all of them leave their order on disk."""
        self._closing = True
        for job in self._running:
            job.wish = job.wish or "rest"
        await asyncio.gather(*self._running.values(), return_exceptions=True)
        for job in self._waiting:
            job.leave_order()
        self._waiting.clear()
        for job in list(self._jobs.values()):
            if not job.view().done:
                job.show(state="stopped")
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await asyncio.get_running_loop().shutdown_default_executor()
        self._closing = False


def _visible(job: Job, visitor: str) -> bool:
    """Everybody sees everything, except what learns somebody's own text."""
    return not job.view().private or visitor in job.asked


def _stopped(run_key: str) -> tuple[RunConfig, str]:
    """The configuration and the owner of a run that was not trained to its end. Raises UnknownRun."""
    run = store.find(run_key)
    if run.card.finished:
        raise UnknownRun(f"Run {run_key} is finished; there is nothing to go on with. Train trains it again.")
    return run.config, run.card.owner


service = JobService()
