"""One training: asked for, under way, over; and its folder on disk, in which it survives the process.

A training on a visitor's own text has no folder: it stays in memory, ends with the process or when its visitors are
gone, and is kept only if they save it.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from explorer.environment import environment
from explorer.errors import DamagedRun, Diverged, LineageError, StoreError, UnknownRun
from explorer.training import store
from explorer.training.config import RunConfig, key, to_json
from explorer.training.executor import Executor, order
from explorer.training.record import Curves, Record

if TYPE_CHECKING:
    from explorer.training.recorder import Recorder

log = logging.getLogger(__name__)
_TURN = 0.02  # seconds of training before the next job has its turn
_PUBLISH_EVERY = 0.5  # seconds between two views of a running job
_BROKE_OFF = "The training broke off; its cause is in the server's log. Other runs are untouched."
_numbers = itertools.count(1)
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
    number: int = 0  # of this training among all of this process: a run that is trained again has another one

    @property
    def key(self) -> str:
        return key(self.config)

    @property
    def done(self) -> bool:
        return self.state not in ("waiting", "running")

    @property
    def private(self) -> bool:
        """Whether it learns a visitor's own text: then only those who asked for it may see it."""
        return getattr(self.config.task, "corpus", "") == "own"


class Job:
    """One training: asked for, under way, or over. The service gives it its turns; others look and wish."""

    def __init__(self, config: RunConfig, starter: str) -> None:
        self.starter = starter
        self.asked = {starter}  # who pressed Train
        self.watched: set[str] = set()  # who has it on the screen
        self.folder = environment().jobs / key(config)
        self.wish: Literal["", "stop", "rest"] = ""
        self.before: Record | None = None  # what it has to go on from
        self.record: Record | None = None  # what became of a private one, which is kept nowhere else
        self._view = View(config, starter, number=next(_numbers))
        self._written: asyncio.Task[None] | None = None

    def view(self) -> View:
        return self._view

    def show(self, **news: object) -> None:
        """Publish another view."""
        self._view = replace(self._view, **news)  # type: ignore[arg-type]

    @property
    def key(self) -> str:
        return self._view.key

    async def run(self, executor: Executor) -> None:
        """Train until it ends or rests, and keep what there is."""
        try:
            if self.before is None and not self._view.private:
                await asyncio.to_thread(self._prepare)
            record = self.before if self.wish == "stop" else await self._train(executor)
            if record and record.finished:
                self.show(repeated=await asyncio.to_thread(_repeated, record))
            elif self.wish == "rest" and not self._view.private:
                await asyncio.to_thread(self._leave_checkpoint, record)
                return
            if self._view.private:
                self.record, (saved, problem) = record, (False, "")
            else:
                saved, problem = await asyncio.to_thread(self._keep, record)
            if record is None:
                self.show(state="stopped", left=None)
                return
            self._show_record(record)
            self.show(
                state="stopped" if record.state == "running" else record.state,
                left=None,
                saved=saved,
                problem=record.problem or problem,
            )
        except LineageError as error:  # a branch without its parent, a checkpoint that does not fit
            self._forget()
            self.show(state="failed", left=None, problem=str(error))
        except Exception:  # the outermost edge of the worker: log it, tell the visitor, serve the next
            log.exception("training %s failed", self.key)
            self._forget()
            self.show(state="failed", left=None, problem=_BROKE_OFF)

    def leave_order(self) -> None:
        """What the next process has to know to take a job up. Called where nothing else writes to its folder."""
        if self._view.private:
            return
        try:
            told = {"config": to_json(self._view.config), "starter": self.starter, "asked": sorted(self.asked)}
            store.put(self.folder / "job.json", store.as_json(told))
        except OSError as error:
            log.warning("job %s would not survive a restart: %s", self.key, error)

    async def _train(self, executor: Executor) -> Record | None:
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
                if now - saved > environment().checkpoint_seconds and recorder.resumable:
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
        if self._view.private or (self._written and not self._written.done()):
            return
        record = recorder.record("running")

        async def save() -> None:
            try:
                await asyncio.to_thread(store.write, record, self.folder, self.starter)
                await asyncio.to_thread(self.leave_order)  # others may have joined
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

    def _prepare(self) -> None:
        """Find what there is to go on from: a checkpoint, or a stopped run."""
        config = self._view.config
        for folder in (self.folder, store.place_of(config)):
            try:
                run = store.load(folder)
                usable = run.config == config and run.card.state != "diverged"
                before = run.record() if usable and (folder == self.folder or not run.card.finished) else None
                if before and before.curves.step in before.snapshots:
                    if folder != self.folder:
                        store.write(replace(before, state="running"), self.folder, self.starter)
                    self.before = before
                    self._show_record(before)
                    return
            except (LineageError, OSError):
                pass
            _clear(self.folder)

    def _show_record(self, record: Record) -> None:
        self.show(step=record.curves.step, seconds=record.seconds, parameters=record.parameters, curves=record.curves)

    def _leave_checkpoint(self, record: Record | None) -> None:
        """A job that rests goes on from here, in this process or the next."""
        if record:
            self.before = replace(record, state="running")
            self._show_record(record)
            try:
                store.write(self.before, self.folder, self.starter)
            except OSError as error:  # then it will begin anew
                log.warning("job %s could not leave a checkpoint: %s", self.key, error)
                self.before = None
        self.leave_order()
        self.show(state="waiting", left=None)

    def _keep(self, record: Record | None) -> tuple[bool, str]:
        """Put a run where runs are kept; one that was stopped never replaces a finished one."""
        from explorer.training import library  # needs the database, which the first page must not wait for

        if record is None or (not record.finished and store.find_config(record.config)):
            self._forget()
            return False, ""
        if record.state == "running":
            record = replace(record, state="stopped")
        try:
            store.write(record, self.folder, self.starter)
            kept = library.keep(self.folder)
            (kept.folder / "job.json").unlink(missing_ok=True)  # not before: a crash in between would lose the run
        except (OSError, StoreError, DamagedRun) as error:
            log.warning("run %s could not be saved: %s", self.key, error)
            self._forget()
            return False, str(error) if isinstance(error, LineageError) else "The server's disk took no more."
        return True, ""

    def _forget(self) -> None:
        with contextlib.suppress(OSError):
            store.remove(self.folder)


def put_away(folder: Path) -> bool:
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


def _clear(folder: Path) -> None:
    """Take away what cannot be gone on from, except the order."""
    for file in folder.glob("**/*"):
        if file.is_file() and file.name != "job.json":
            file.unlink()


def _repeated(record: Record) -> bool | None:
    """Whether the curve came out as the stored one; None where there is none."""
    before = store.find_config(record.config)
    return np.array_equal(before.curves.losses, record.curves.losses) if before else None
