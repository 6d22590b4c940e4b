"""One training job, and its folder `LINEAGE_HOME/jobs/KEY`, from which the job is restored after a restart.

A training on a visitor's own text is private. It has no folder: it stays in memory, ends with the process or when its
visitors have left, and is stored only if they save it. See `scheduler.py` for the states of a job.
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
from explorer.jobs.executor import Executor, encode_request
from explorer.run_store import store
from explorer.training.config import RunConfig, key, to_json
from explorer.training.record import Curves, Record

if TYPE_CHECKING:
    from explorer.training.recorder import Recorder

log = logging.getLogger(__name__)
_TIME_SLICE = 0.02  # seconds of training before the event loop switches to the next job
_PUBLISH_SECONDS = 0.5  # seconds between two views of a running job
_FAILURE_MESSAGE = "The training broke off; its cause is in the server's log. Other runs are untouched."
_numbers = itertools.count(1)
JobState: TypeAlias = Literal["waiting", "running", "finished", "stopped", "diverged", "failed"]


@dataclass(frozen=True)
class JobView:
    """An immutable snapshot of a job, which pages read without a lock."""

    config: RunConfig
    starter: str  # the visitor who submitted it first
    state: JobState = "waiting"
    step: int = 0
    seconds: float = 0.0  # of training, without the time slices of other jobs
    left: float | None = None  # estimated seconds to the end at the current speed
    loss: float | None = None  # of the last batch, mean over the seeds
    parameters: int = 0
    curves: Curves | None = None
    repeated: bool | None = None  # whether the losses equal those of the stored run of this configuration, bit for bit
    saved: bool = False
    problem: str = ""
    number: int = 0  # counts the jobs of this process, so that a run that is trained again has another number

    @property
    def key(self) -> str:
        return key(self.config)

    @property
    def done(self) -> bool:
        return self.state not in ("waiting", "running")

    @property
    def private(self) -> bool:
        """Whether it trains on a visitor's own text; then only its requesters may see it."""
        return getattr(self.config.task, "corpus", "") == "own"


class Job:
    """One training. The service runs it; other threads read its view and set `requested_action`."""

    def __init__(self, config: RunConfig, starter: str) -> None:
        self.starter = starter
        self.requesters = {starter}  # visitors who pressed Train
        self.watchers: set[str] = set()  # visitors who have it on the screen
        self.folder = environment().jobs / key(config)
        self.requested_action: Literal["", "stop", "pause"] = ""
        self.resume_record: Record | None = None  # the record to resume from
        self.record: Record | None = None  # the result of a private job, which is stored nowhere else
        self._view = JobView(config, starter, number=next(_numbers))
        self._checkpoint_task: asyncio.Task[None] | None = None

    def view(self) -> JobView:
        return self._view

    def publish(self, **changes: object) -> None:
        """Replace the view by one with other values in these fields."""
        self._view = replace(self._view, **changes)  # type: ignore[arg-type]

    @property
    def key(self) -> str:
        return self._view.key

    async def run(self, executor: Executor) -> None:
        """Train until the job ends or pauses, and store the result."""
        try:
            if self.resume_record is None and not self._view.private:
                await asyncio.to_thread(self._find_resume_record)
            record = self.resume_record if self.requested_action == "stop" else await self._train(executor)
            if record and record.finished:
                self.publish(repeated=await asyncio.to_thread(_equals_stored_curve, record))
            elif self.requested_action == "pause" and not self._view.private:
                await asyncio.to_thread(self._write_pause_checkpoint, record)
                return
            if self._view.private:
                self.record, (saved, problem) = record, (False, "")
            else:
                saved, problem = await asyncio.to_thread(self._store_run, record)
            if record is None:
                self.publish(state="stopped", left=None)
                return
            self._publish_record(record)
            self.publish(
                state="stopped" if record.state == "running" else record.state,
                left=None,
                saved=saved,
                problem=record.problem or problem,
            )
        except LineageError as error:  # a branch without its parent, a checkpoint that does not fit
            self._delete_folder()
            self.publish(state="failed", left=None, problem=str(error))
        except Exception:  # the outermost level of the worker: log it, show it to the visitor, go on with the next job
            log.exception("training %s failed", self.key)
            self._delete_folder()
            self.publish(state="failed", left=None, problem=_FAILURE_MESSAGE)

    def write_job_file(self) -> None:
        """Write `job.json`, from which the next process restores the job; nothing else may write to the folder."""
        if self._view.private:
            return
        try:
            data = {"config": to_json(self._view.config), "starter": self.starter, "asked": sorted(self.requesters)}
            store.write_file(self.folder / "job.json", store.json_bytes(data))
        except OSError as error:
            log.warning("job %s would not survive a restart: %s", self.key, error)

    async def _train(self, executor: Executor) -> Record | None:
        """Train until the end, a divergence or a requested action; None if no checkpoint was reached."""
        from explorer.training.recorder import Recorder

        config = self._view.config
        recorder = Recorder(config, self.resume_record, await self._branch_origin())
        try:
            finished = await self._consume_events(executor, recorder)
        except Diverged as error:
            return recorder.record("diverged", str(error))
        finally:
            if self._checkpoint_task:
                await self._checkpoint_task
        if finished:
            return recorder.record()
        stopped = recorder.record("stopped")
        return stopped if stopped.snapshots else self.resume_record

    async def _consume_events(self, executor: Executor, recorder: Recorder) -> bool:
        """Record the events of the training in slices; return whether it reached its last step."""
        published = saved = time.perf_counter()
        last_step, pace = 0, 0.0  # step of the last view, and a running mean of steps per second
        async with contextlib.aclosing(executor.events(self._encode_request())) as events:  # type: ignore[type-var]
            recorder.start_clock()
            slice_start = time.perf_counter()
            async for event in events:
                recorder.add(event)
                now = time.perf_counter()
                if now - slice_start < _TIME_SLICE:
                    continue
                recorder.stop_clock()
                if self.requested_action:
                    return False
                if now - published > _PUBLISH_SECONDS and recorder.has_evaluation:
                    if last_step:
                        current = (recorder.step - last_step) / (now - published)
                        pace = 0.7 * pace + 0.3 * current if pace else current
                    self._publish_progress(recorder, pace)
                    published, last_step = now, recorder.step
                if now - saved > environment().checkpoint_seconds and recorder.resumable:
                    self._save_checkpoint_soon(recorder)
                    saved = now
                await asyncio.sleep(0)
                recorder.start_clock()
                slice_start = time.perf_counter()
        recorder.stop_clock()
        return True

    def _publish_progress(self, recorder: Recorder, pace: float) -> None:
        curves = recorder.curves()
        self.publish(
            state="running",
            step=recorder.step,
            seconds=recorder.seconds - float(curves.seconds[0]),
            left=(self._view.config.steps - recorder.step) / pace if pace else None,
            loss=float(curves.losses[-1].mean()) if len(curves.losses) else None,
            parameters=recorder.parameters,
            curves=curves,
        )

    def _save_checkpoint_soon(self, recorder: Recorder) -> None:
        """Write a checkpoint in the background, unless one is still being written."""
        if self._view.private or (self._checkpoint_task and not self._checkpoint_task.done()):
            return
        record = recorder.record("running")

        async def save() -> None:
            try:
                await asyncio.to_thread(store.write_run, record, self.folder, self.starter)
                await asyncio.to_thread(self.write_job_file)  # other visitors may have joined
            except OSError as error:  # the training itself needs no disk
                log.warning("no checkpoint of %s: %s", self.key, error)

        self._checkpoint_task = asyncio.create_task(save())

    def _encode_request(self) -> str:
        config = self._view.config
        if self.resume_record:
            return encode_request(config, self.folder, self.resume_record.curves.step)
        if config.branch:
            return encode_request(config, store.find(config.branch.parent).folder, config.branch.step)
        return encode_request(config)

    async def _branch_origin(self) -> tuple[float, float]:
        """Return the tokens and seconds of its parent at the step where a branch starts."""
        branch = self._view.config.branch
        if branch is None or self.resume_record:
            return 0.0, 0.0
        curves = store.find(branch.parent).curves
        at = branch.step - curves.first
        if not 0 <= at < len(curves.tokens):
            raise UnknownRun(f"Run {branch.parent} never took step {branch.step:,}. Train it to its end first.")
        return float(curves.tokens[at]), float(curves.seconds[at])

    def _find_resume_record(self) -> None:
        """Find the record to resume from: a checkpoint of this job, or a stopped run in the store."""
        config = self._view.config
        for folder in (self.folder, store.run_folder(config)):
            try:
                run = store.load(folder)
                usable = run.config == config and run.card.state != "diverged"
                record = run.record() if usable and (folder == self.folder or not run.card.finished) else None
                if record and record.curves.step in record.snapshots:
                    if folder != self.folder:
                        store.write_run(replace(record, state="running"), self.folder, self.starter)
                    self.resume_record = record
                    self._publish_record(record)
                    return
            except (LineageError, OSError):
                pass
            _delete_checkpoint(self.folder)

    def _publish_record(self, record: Record) -> None:
        self.publish(
            step=record.curves.step, seconds=record.seconds, parameters=record.parameters, curves=record.curves
        )

    def _write_pause_checkpoint(self, record: Record | None) -> None:
        """Keep the record from which the paused job resumes, in this process or the next."""
        if record:
            self.resume_record = replace(record, state="running")
            self._publish_record(record)
            try:
                store.write_run(self.resume_record, self.folder, self.starter)
            except OSError as error:  # then the job starts again from step 0
                log.warning("job %s could not leave a checkpoint: %s", self.key, error)
                self.resume_record = None
        self.write_job_file()
        self.publish(state="waiting", left=None)

    def _store_run(self, record: Record | None) -> tuple[bool, str]:
        """Move the run into the store, and return whether it is there and what went wrong.

        A stopped run never replaces a finished one.
        """
        from explorer.run_store import operations  # needs the database, which the first page must not wait for

        if record is None or (not record.finished and store.find_by_config(record.config)):
            self._delete_folder()
            return False, ""
        if record.state == "running":
            record = replace(record, state="stopped")
        try:
            store.write_run(record, self.folder, self.starter)
            stored = operations.add_run(self.folder)
            (stored.folder / "job.json").unlink(missing_ok=True)  # only now: a crash in between would lose the run
        except (OSError, StoreError, DamagedRun) as error:
            log.warning("run %s could not be saved: %s", self.key, error)
            self._delete_folder()
            return False, str(error) if isinstance(error, LineageError) else "The server's disk took no more."
        return True, ""

    def _delete_folder(self) -> None:
        with contextlib.suppress(OSError):
            store.remove_folder(self.folder)


def store_finished_job(folder: Path) -> bool:
    """Move the run of a job that had already ended into the store; return False if the job had not ended."""
    try:
        run = store.load(folder)
    except LineageError:
        return False
    if run.card.state == "running":
        return False
    from explorer.run_store import operations

    if run.card.finished or not store.find_by_config(run.config):
        stored = operations.add_run(folder)
        (stored.folder / "job.json").unlink(missing_ok=True)
    else:
        store.remove_folder(folder)
    return True


def _delete_checkpoint(folder: Path) -> None:
    """Delete an unusable checkpoint, but not `job.json`."""
    for file in folder.glob("**/*"):
        if file.is_file() and file.name != "job.json":
            file.unlink()


def _equals_stored_curve(record: Record) -> bool | None:
    """Whether the losses equal those of the stored run, bit for bit; None if no run is stored."""
    stored = store.find_by_config(record.config)
    return np.array_equal(stored.curves.losses, record.curves.losses) if stored else None
