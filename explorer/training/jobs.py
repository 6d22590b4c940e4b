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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from explorer.environment import environment
from explorer.errors import DamagedRun, Diverged, LineageError, NotAllowed, StoreError, UnknownRun
from explorer.training import limits, store
from explorer.training.config import RunConfig, key, parse, to_json
from explorer.training.executor import Executor, InThisProcess, order
from explorer.training.record import Curves, Record

if TYPE_CHECKING:
    from explorer.training.recorder import Recorder

log = logging.getLogger(__name__)
_TURN = 0.02  # seconds of training before the next job has its turn
_PUBLISH_EVERY = 0.5  # seconds between two views of a running job
_LOOK_EVERY = 0.5  # seconds between two looks at who holds a place while others wait
_REMEMBERED = 200  # jobs whose views are kept; their runs are on disk
_BROKE_OFF = "The training broke off; its cause is in the server's log. Other runs are untouched."
JobState: TypeAlias = Literal["waiting", "running", "finished", "stopped", "diverged", "failed"]


@dataclass(frozen=True)
class View:
    """A job at one moment."""

    config: RunConfig
    starter: str  # the visitor who asked first
    state: JobState = "waiting"
    step: int = 0
    seconds: float = 0.0  # of training; the turns of other jobs do not count
    left: float | None = None  # seconds until it is over, as it goes now
    loss: float | None = None  # of the last batch, mean over the seeds
    parameters: int = 0
    curves: Curves | None = None
    repeated: bool | None = None  # whether a stored run of this configuration had the same curve, bit for bit
    saved: bool = False
    problem: str = ""

    @property
    def key(self) -> str:
        return key(self.config)

    @property
    def done(self) -> bool:
        return self.state not in ("waiting", "running")


class Job:
    """One training: asked for, under way, or over. The service drives it; others look and wish."""

    def __init__(self, config: RunConfig, starter: str) -> None:
        self.starter = starter
        self.asked = {starter}  # who pressed Train
        self.watched: set[str] = set()  # who has it on the screen
        self.folder = environment().jobs / key(config)
        self.wish: Literal["", "stop", "rest"] = ""
        self.before: Record | None = None  # what it has to go on from
        self._view = View(config, starter)
        self._written: asyncio.Task[None] | None = None

    def view(self) -> View:
        return self._view

    def show(self, **news: object) -> None:
        """Publish another view."""
        self._view = replace(self._view, **news)  # type: ignore[arg-type]

    @property
    def key(self) -> str:
        return self._view.key

    async def train(self, executor: Executor) -> Record | None:
        """Train until the end, a divergence, or a wish; None if there was nothing to keep yet."""
        from explorer.training.recorder import Recorder

        config = self._view.config
        recorder = Recorder(config, self.before, await self._origin())
        try:
            finished = await self._follow(executor, recorder)
        except Diverged as error:
            return recorder.record("diverged", str(error))
        finally:
            if self._written:
                await self._written
        if finished:
            return recorder.record()
        stopped = recorder.record("stopped")
        return stopped if stopped.snapshots else self.before

    async def _follow(self, executor: Executor, recorder: Recorder) -> bool:
        """Take every event in, in turns with the other jobs. Whether it came to its end."""
        published = saved = time.perf_counter()
        told, pace = 0, 0.0  # steps at the last view, and steps a second as it goes now
        async with contextlib.aclosing(executor.events(self._order())) as events:  # type: ignore[type-var]
            recorder.go()
            turn = time.perf_counter()
            async for event in events:
                recorder.add(event)
                now = time.perf_counter()
                if now - turn < _TURN:
                    continue
                recorder.rest()
                if self.wish:
                    return False
                if now - published > _PUBLISH_EVERY and recorder.evaluated:
                    if told:
                        lately = (recorder.step - told) / (now - published)
                        pace = 0.7 * pace + 0.3 * lately if pace else lately
                    self._publish(recorder, pace)
                    published, told = now, recorder.step
                if now - saved > environment().checkpoint_seconds and recorder.evaluated:
                    self._save_soon(recorder)
                    saved = now
                await asyncio.sleep(0)
                recorder.go()
                turn = time.perf_counter()
        recorder.rest()
        return True

    def _publish(self, recorder: Recorder, pace: float) -> None:
        curves = recorder.curves()
        self.show(
            state="running",
            step=recorder.step,
            seconds=recorder.seconds - float(curves.seconds[0]),
            left=(self._view.config.steps - recorder.step) / pace if pace else None,
            loss=float(curves.losses[-1].mean()) if len(curves.losses) else None,
            parameters=recorder.parameters,
            curves=curves,
        )

    def _save_soon(self, recorder: Recorder) -> None:
        """Leave a checkpoint, beside the training; one at a time."""
        if self._written and not self._written.done():
            return
        record = recorder.record("running")

        async def save() -> None:
            try:
                await asyncio.to_thread(store.write, record, self.folder, self.starter)
                await asyncio.to_thread(_leave_order, self)  # others may have joined
            except OSError as error:  # the training itself needs no disk
                log.warning("no checkpoint of %s: %s", self.key, error)

        self._written = asyncio.create_task(save())

    def _order(self) -> str:
        config = self._view.config
        if self.before:
            return order(config, self.folder, self.before.curves.step)
        if config.branch:
            return order(config, store.find(config.branch.parent).folder, config.branch.step)
        return order(config)

    async def _origin(self) -> tuple[float, float]:
        """Where a branch starts on the axes of tokens and seconds."""
        branch = self._view.config.branch
        if branch is None or self.before:
            return 0.0, 0.0
        curves = store.find(branch.parent).curves
        at = branch.step - curves.first
        if not 0 <= at < len(curves.tokens):
            raise UnknownRun(f"Run {branch.parent} never took step {branch.step:,}. Train it to its end first.")
        return float(curves.tokens[at]), float(curves.seconds[at])


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

    def find(self, run_key: str) -> Job | None:
        """The newest job of this key that this process remembers."""
        return self._jobs.get(run_key)

    def views(self) -> list[View]:
        """Every job that is remembered, the newest first."""
        return [job.view() for job in reversed(list(self._jobs.values()))]

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
                    if _put_away(folder):
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
            _leave_order(job)
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
        for job in [job for job in self._waiting if job.wish == "stop"]:
            self._waiting.remove(job)
            self._start(job)  # it ends at once, and is kept as it is
        while self._waiting and len(self._running) < environment().jobs_at_once:
            job = min(self._waiting, key=self._rank)
            self._waiting.remove(job)
            self._start(job)
        if self._waiting and (holder := self._who_may_rest(min(self._waiting, key=self._rank))):
            holder.wish = holder.wish or "rest"

    def _rank(self, job: Job) -> tuple[bool, int]:
        """Lower goes first: who is there before who has vanished, first jobs before second ones; then by arrival."""
        return self._vanished(job), sum(other.starter == job.starter for other in self._running)

    def _who_may_rest(self, first: Job) -> Job | None:
        """A running job whose place another one deserves more."""
        if self._vanished(first) or any(job.wish for job in self._running):
            return None
        for job in self._running:
            if self._vanished(job):
                return job
        held = Counter(job.starter for job in self._running)
        if held[first.starter]:
            return None
        several = [job for job in self._running if held[job.starter] > 1]
        return several[-1] if several else None

    def _vanished(self, job: Job) -> bool:
        """Whether everybody who asked for a job has been gone for a while. The terminal ("") never is."""
        past = time.monotonic() - environment().grace_seconds
        return all(
            visitor and not self._present[visitor] and self._left.get(visitor, self._born) < past
            for visitor in [*job.asked, *job.watched]
        )

    def _start(self, job: Job) -> None:
        task = asyncio.get_running_loop().create_task(self._run(job))
        self._running[job] = task
        task.add_done_callback(lambda _: self._ended(job))

    def _ended(self, job: Job) -> None:
        del self._running[job]
        if not job.view().done and not self._closing:
            job.wish = "" if job.wish == "rest" else job.wish  # somebody may have stopped it meanwhile
            self._waiting.append(job)
        self._look()

    async def _run(self, job: Job) -> None:
        """Train until it ends or rests, and keep what there is."""
        try:
            if job.before is None:
                await asyncio.to_thread(_prepare, job)
            record = job.before if job.wish == "stop" else await job.train(self._executor)
            if record and record.finished:
                job.show(repeated=await asyncio.to_thread(_repeated, record))
            elif job.wish == "rest":
                await asyncio.to_thread(_leave_checkpoint, job, record)
                return
            saved, problem = await asyncio.to_thread(_keep, job, record)
            if record is None:
                job.show(state="stopped", left=None)
                return
            _show_record(job, record)
            job.show(
                state="stopped" if record.state == "running" else record.state,
                left=None,
                saved=saved,
                problem=record.problem or problem,
            )
        except LineageError as error:  # a branch without its parent, a checkpoint that does not fit
            _forget(job)
            job.show(state="failed", left=None, problem=str(error))
        except Exception:  # the outermost edge of the worker: log it, tell the visitor, serve the next
            log.exception("training %s failed", job.key)
            _forget(job)
            job.show(state="failed", left=None, problem=_BROKE_OFF)

    async def _rest(self) -> None:
        """Ask every job to rest, and wait for it; all of them leave their order on disk."""
        self._closing = True
        for job in self._running:
            job.wish = job.wish or "rest"
        await asyncio.gather(*self._running.values(), return_exceptions=True)
        for job in self._waiting:
            _leave_order(job)
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


def _stopped(run_key: str) -> tuple[RunConfig, str]:
    """The configuration and the owner of a run that was not trained to its end. Raises UnknownRun."""
    run = store.find(run_key)
    if run.card.finished:
        raise UnknownRun(f"Run {run_key} is finished; there is nothing to go on with. Train trains it again.")
    return run.config, run.card.owner


def _leave_order(job: Job) -> None:
    """What the next process has to know to take a job up. Called where nothing else writes to its folder."""
    try:
        told = {"config": to_json(job.view().config), "starter": job.starter, "asked": sorted(job.asked)}
        store.put(job.folder / "job.json", store.as_json(told))
    except OSError as error:
        log.warning("job %s would not survive a restart: %s", job.key, error)


def _put_away(folder: Path) -> bool:
    """Whether a job was over already, and only its run not at its place; now it is, as it was written then."""
    try:
        run = store.load(folder)
    except LineageError:
        return False
    if run.card.state == "running":
        return False
    from explorer.training import library

    if run.card.finished or not store.find_config(run.config):
        kept = library.keep(folder)
        (kept.folder / "job.json").unlink(missing_ok=True)
    else:
        store.remove(folder)
    return True


def _prepare(job: Job) -> None:
    """Find what there is to go on from: a checkpoint, or a stopped run."""
    config = job.view().config
    for folder in (job.folder, store.place_of(config)):
        try:
            run = store.load(folder)
            usable = run.config == config and run.card.state != "diverged"
            before = run.record() if usable and (folder == job.folder or not run.card.finished) else None
            if before and before.curves.step in before.snapshots:
                if folder != job.folder:
                    store.write(replace(before, state="running"), job.folder, job.starter)
                job.before = before
                _show_record(job, before)
                return
        except (LineageError, OSError):
            pass
        _clear(job.folder)


def _clear(folder: Path) -> None:
    """Take away what cannot be gone on from, except the order."""
    for file in folder.glob("**/*"):
        if file.is_file() and file.name != "job.json":
            file.unlink()


def _show_record(job: Job, record: Record) -> None:
    job.show(step=record.curves.step, seconds=record.seconds, parameters=record.parameters, curves=record.curves)


def _repeated(record: Record) -> bool | None:
    """Whether the curve came out as the stored one; None where there is none."""
    before = store.find_config(record.config)
    return np.array_equal(before.curves.losses, record.curves.losses) if before else None


def _leave_checkpoint(job: Job, record: Record | None) -> None:
    """A job that rests goes on from here, in this process or the next."""
    if record:
        job.before = replace(record, state="running")
        _show_record(job, record)
        try:
            store.write(job.before, job.folder, job.starter)
        except OSError as error:  # then it will begin anew
            log.warning("job %s could not leave a checkpoint: %s", job.key, error)
            job.before = None
    _leave_order(job)
    job.show(state="waiting", left=None)


def _keep(job: Job, record: Record | None) -> tuple[bool, str]:
    """Put a run where runs are kept; one that was stopped never replaces a finished one."""
    from explorer.training import library  # needs the database, which the first page must not wait for

    if record is None or (not record.finished and store.find_config(record.config)):
        _forget(job)
        return False, ""
    if record.state == "running":
        record = replace(record, state="stopped")
    try:
        store.write(record, job.folder, job.starter)
        kept = library.keep(job.folder)
        (kept.folder / "job.json").unlink(missing_ok=True)  # not before: a crash in between would lose the run
    except (OSError, StoreError, DamagedRun) as error:
        log.warning("run %s could not be saved: %s", job.key, error)
        _forget(job)
        return False, str(error) if isinstance(error, LineageError) else "The server's disk took no more."
    return True, ""


def _forget(job: Job) -> None:
    with contextlib.suppress(OSError):
        store.remove(job.folder)


service = JobService()
