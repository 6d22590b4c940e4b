"""One training job, and its folder `LINEAGE_HOME/jobs/KEY`, from which the job is restored after a restart.

A training on a visitor's own text is private. It has no folder: it stays in memory, ends with the process or when its
visitors have left, and is stored only if they save it. See `scheduler.py` for the states of a job.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from explorer import metrics
from explorer.environment import environment
from explorer.errors import DamagedRun, Diverged, LimitExceeded, LineageError, StoreError, UnknownRun
from explorer.jobs import disk_space
from explorer.jobs.cost import estimate_cost, expected_seconds
from explorer.jobs.executor import Executor, WorkerLost
from explorer.jobs.order import Order
from explorer.run_store import operations, storage, store
from explorer.run_store.store import describe_disk_error
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.training import recorder as recording
from explorer.training.config import RunConfig, key, parse_config, to_json
from explorer.training.record import Curves, Record

log = logging.getLogger(__name__)
_PUBLISH_SECONDS = 0.5  # seconds between two views of a running job
_FAILURE_MESSAGE = "The training broke off; its cause is in the server's log. Other runs are not affected."
MAX_CRASHES = 2  # after so many without a new checkpoint in between the job waits for its owner
_CRASH_MESSAGE = (
    "The process that trained this run ended unexpectedly twice at the same checkpoint, perhaps because the memory was "
    "full. Press Go on to try again from there, or train a smaller model."
)
_ESTIMATE_SECONDS = 3.0  # of training that the estimated speed counts as much as
_FORGET_SECONDS = 15.0  # after which a shown remaining time is not continued
_TIME_LIMIT = 4  # times the seconds that a training may be estimated at; beside other trainings it takes longer
_TOO_LONG_MESSAGE = (
    "The training took several times as long as one training may take on this server, so it was stopped. What there is "
    "of it is stored. Take fewer steps or a smaller model."
)
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
    left: float | None = None  # estimated seconds of training to the end, without the time slices of other jobs
    loss: float | None = None  # of the last batch, mean over the seeds
    parameters: int = 0
    curves: Curves | None = None
    repeated: bool | None = None  # whether the losses equal those of the stored run of this configuration, bit for bit;
    # None without a stored run, and if it was not trained on the same kind of machine as far as is known. Then:
    difference: float | None = None  # the largest difference between a loss and that of the stored run, in nats
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
        return bool(self.config.own_text) and not corpora.is_personal()


class Job:
    """One training. The service runs it; other threads read its view and set `requested_action`."""

    def __init__(self, config: RunConfig, starter: str, crashes: int = 0, folder: Path | None = None) -> None:
        """folder: has those of all jobs; by default `LINEAGE_HOME/jobs`"""
        self.starter = starter
        self.requesters = {starter}  # visitors who pressed Train
        self.watchers: set[str] = set()  # visitors who have it on the screen
        self.folder = (folder or environment().jobs) / key(config)
        self.requested_action: Literal["", "stop", "pause"] = ""
        self.pauses_at_checkpoint = False  # whether to pause at the next checkpoint, so that no step is repeated
        self.until = 0  # the step of a snapshot after which the training stops, so that it can go on later; 0: its end
        self.resume_record: Record | None = None  # the record to resume from, if it is not on disk
        self.record: Record | None = None  # a result that is stored nowhere else
        self.unstored = False  # whether the run has ended and waits for room in the store
        self.started_at = 0.0  # when it got its slot (`time.monotonic`)
        self.crashes = crashes  # how often what trained it has ended unexpectedly since its last checkpoint
        self.keep_folder: Callable[[], None] = lambda: None  # called after its files have changed
        self._reached_checkpoint = False  # whether the present attempt has reached a new checkpoint
        self._shown_left = 0.0, 0.0  # the last value of `seconds_left`, and when it was asked for
        self.submitted_at = time.time()
        self._view = JobView(config, starter, number=next(_numbers))
        self._has_started = False  # whether it has had an evaluated step, also if it waits again
        self._checkpoint_task: asyncio.Task[None] | None = None

    def view(self) -> JobView:
        return self._view

    def publish(self, **changes: object) -> None:
        """Replace the view by one with other values in these fields."""
        before, self._view = self._view, replace(self._view, **changes)  # type: ignore[arg-type]
        if self._view.state == "running" and not self._has_started:
            self._has_started = True
            metrics.FIRST_EVALUATION.observe(max(time.time() - self.submitted_at, 0.0))
        if self._view.done and not before.done:
            metrics.JOBS_ENDED.labels(self._view.state).inc()

    def seconds_left(self, seconds: float) -> float:
        """Return the seconds to the end as they are shown, which follow an estimate in small steps."""
        (before, asked), now = self._shown_left, time.monotonic()
        past = now - asked
        if past < _FORGET_SECONDS:
            expected, factor = max(before - past, 1.0), math.exp(min(0.3 * past, 0.4))
            seconds = min(max(seconds, expected / factor), expected * factor)
        self._shown_left = seconds, now
        return seconds

    @property
    def key(self) -> str:
        return self._view.key

    @cached_property
    def peak_bytes(self) -> int:
        """The memory that the training needs. Asked on the thread of the service, because torch is loaded for it."""
        with corpora.read_as(self.starter):  # the cost depends on the text
            return estimate_cost(self._view.config).peak_bytes

    @property
    def waits_after_crashes(self) -> bool:
        """Whether it has ended because what trained it crashed too often; then it may be submitted again."""
        return self._view.state == "stopped" and self.crashes >= MAX_CRASHES

    async def run(self, executor: Executor) -> None:
        """Train until the job ends or pauses, and store the result."""
        corpora.reader.set(self.starter)  # for this task only, and for what it runs on threads
        try:
            if self.crashes >= MAX_CRASHES:
                await asyncio.to_thread(self.leave_to_owner)
                return
            prepared = self._prepare()  # not on a thread: to wait for it would take a slice of another training
            record = self.resume_record if prepared is None else await self._train(executor, *prepared)
            if record and record.finished:
                self.publish(**await asyncio.to_thread(_compare_with_stored_run, record))
            elif self.requested_action == "pause":
                await asyncio.to_thread(self._pause, record)
                return
            await asyncio.to_thread(self._end, record)
        except WorkerLost as error:
            self.crashes = 0 if self._reached_checkpoint else self.crashes + 1
            log.warning("what trained run %s has ended unexpectedly: %s", self.key, error)
            if self.requested_action == "stop":
                await asyncio.to_thread(self._end, self.resume_record)
            elif self.crashes < MAX_CRASHES:
                await asyncio.to_thread(self._pause, self.resume_record)
            else:
                await asyncio.to_thread(self.leave_to_owner)
        except LineageError as error:  # a branch without its parent, a checkpoint that does not fit, a full disk
            if isinstance(error, StoreError) and self.resume_record:
                await asyncio.to_thread(self._end, self.resume_record, str(error))
            else:
                self.delete_folder()
                self.publish(state="failed", left=None, problem=str(error))
        except Exception:  # the outermost level of the worker: log it, show it to the visitor, go on with the next job
            log.exception("training %s failed", self.key)
            self.delete_folder()
            self.publish(state="failed", left=None, problem=_FAILURE_MESSAGE)

    def write_job_file(self, running: bool = False) -> None:
        """Write `job.json`, from which the next process restores the job; nothing else may write to the folder.

        running: count a crash, because a process that reads this file as it is has not written it again since. A job
            with a new checkpoint has none to count.
        """
        if self._view.private:
            return
        try:
            data: dict[str, object] = {
                "config": to_json(self._view.config),
                "starter": self.starter,
                "asked": sorted(self.requesters),
            }
            data |= {"crashes": 0 if self._reached_checkpoint else self.crashes + running, "until": self.until}
            store.write_file(self.folder / "job.json", store.json_bytes(data))
            self.keep_folder()
        except (OSError, StoreError) as error:
            log.warning("job %s would not survive a restart: %s", self.key, error)

    def leave_to_owner(self, problem: str = "") -> None:
        """End a job with its progress stored; its owner may resume it. `problem`: why, if it has not crashed twice."""
        if self.resume_record is None and not self._view.private:
            self.find_resume_record()
        problem = problem or _CRASH_MESSAGE
        if self.resume_record or self._view.private:
            self._end(self.resume_record, problem)
        else:
            self.write_job_file()  # so that its owner finds it after a restart as well
            self.publish(state="stopped", left=None, problem=problem)

    def wait_for_space(self, error: OSError | StoreError) -> None:
        """Wait for room in the store for the complete run in the folder of this job."""
        card, self.unstored = store.load(self.folder).card, True
        self.publish(state=card.state, step=card.step, seconds=card.seconds, problem=_describe_unstored(error))

    def store_again(self) -> None:
        """Store a run that has ended and could not be stored, if this is possible now."""
        saved, problem = self._store_run(self.record)
        if saved or not self.unstored:
            self.publish(saved=saved, problem=problem)

    def _prepare(self) -> tuple[Order, tuple[float, float]] | None:
        """Return the order, and the tokens and seconds at which its axes start; None if the job is to be stopped."""
        self._reached_checkpoint = False
        if not self._view.private:
            if self.resume_record is None:
                self.find_resume_record()
            self.write_job_file()
        if self.requested_action == "stop":
            return None
        self.publish(left=self._estimate_left(self._view.step))
        order, origin = self._make_order(), self._branch_origin()
        if not self._view.private:
            disk_space.reserve(self.folder, self._view.config)
        return order, origin

    async def _train(self, executor: Executor, order: Order, origin: tuple[float, float]) -> Record | None:
        """Train until the end, a divergence or a requested action; None if no checkpoint was reached."""
        recorder = recording.Recorder(self._view.config, self.resume_record, origin)
        problem = ""
        try:
            if await self._consume_slices(executor, order, recorder):
                return recorder.record()
        except Diverged as error:
            return recorder.record("diverged", str(error))
        except LimitExceeded as error:  # what there is of it is stored
            if not recorder.resumable:
                raise
            problem = str(error)
        except WorkerLost:
            self.resume_record = self._record_so_far(recorder)
            raise
        finally:
            if self._checkpoint_task:
                await self._checkpoint_task
        return self._record_so_far(recorder, problem)

    def _record_so_far(self, recorder: recording.Recorder, problem: str = "") -> Record | None:
        """Return the record of a training that has not reached its end, up to its last checkpoint."""
        stopped = recorder.record("stopped", problem)
        return stopped if stopped.snapshots else self.resume_record

    async def _consume_slices(self, executor: Executor, order: Order, recorder: recording.Recorder) -> bool:
        """Record the slices of the training; return whether it reached its last step."""
        published, saved = 0.0, time.perf_counter()  # the first view follows the first evaluation
        before_step, before_seconds, has_begun = recorder.step, recorder.seconds, False
        async with contextlib.aclosing(executor.slices(order)) as slices:  # type: ignore[type-var]
            async for part in slices:
                if not has_begun:
                    has_begun = True
                    self.write_job_file(running=True)
                before, seconds = recorder.checkpoint_step, recorder.seconds
                recorder.add_slice(part)
                metrics.TRAINING_SECONDS.inc(max(recorder.seconds - seconds, 0.0))
                if recorder.checkpoint_step > max(before, order.step):
                    self._reached_checkpoint = True
                    if self.pauses_at_checkpoint:
                        self.requested_action = self.requested_action or "pause"
                if 0 < self.until <= recorder.checkpoint_step < self._view.config.steps:
                    self.requested_action = "stop"
                if self.requested_action:
                    return False
                if recorder.seconds - before_seconds > _TIME_LIMIT * environment().most_seconds:
                    raise LimitExceeded(_TOO_LONG_MESSAGE)
                now = time.perf_counter()
                if part.events and now - published > _PUBLISH_SECONDS and recorder.has_evaluation:
                    done = recorder.step - before_step, recorder.seconds - before_seconds
                    self._publish_progress(recorder, self._estimate_left(recorder.step, *done))
                    published = now
                if now - saved > environment().checkpoint_seconds and recorder.resumable:
                    self._save_checkpoint_soon(recorder)
                    saved = now
        return True

    def _estimate_left(self, step: int, steps: int = 0, seconds: float = 0.0) -> float:
        """Return the seconds of training from a step to the end; `steps` took `seconds` in the present attempt."""
        config = self._view.config
        estimated = expected_seconds(config) / max(config.steps - config.first_step, 1)
        # It counts as much as a few measured seconds, so that the first steps, which are slower, change little.
        pace = (_ESTIMATE_SECONDS + seconds) / (_ESTIMATE_SECONDS / max(estimated, 1e-6) + steps)
        return (config.steps - step) * pace

    def _publish_progress(self, recorder: recording.Recorder, left: float) -> None:
        curves = recorder.curves()
        self.publish(
            state="running",
            step=recorder.step,
            seconds=recorder.seconds - float(curves.seconds[0]),
            left=left,
            loss=float(curves.losses[-1].mean()) if len(curves.losses) else None,
            parameters=recorder.parameters,
            curves=curves,
            problem="",
        )

    def _save_checkpoint_soon(self, recorder: recording.Recorder) -> None:
        """Write a checkpoint in the background, unless one is still being written."""
        if self._view.private or (self._checkpoint_task and not self._checkpoint_task.done()):
            return
        record = recorder.record("running")

        def write() -> None:
            with disk_space.use_reserved(self.folder, self._view.config):
                store.write_run(record, self.folder, self.starter)
            self.write_job_file(running=True)  # other visitors may have joined

        async def save() -> None:
            try:
                await asyncio.to_thread(write)
            except OSError as error:  # the training itself needs no disk
                log.warning("no checkpoint of %s: %s", self.key, error)

        self._checkpoint_task = asyncio.create_task(save())

    def _make_order(self) -> Order:
        """Return the order for the executor. Raises LineageError if the parent of a branch or the text is missing."""
        config, step, snapshot = self._view.config, 0, None
        text = corpora.load_text(TextConfig(corpus="own", text=config.own_text)) if config.own_text else ""
        if record := self.resume_record:
            step, snapshot = record.curves.step, record.snapshots[record.curves.step]
        elif config.branch:
            step = config.branch.step
            snapshot = store.find(config.branch.parent).checkpoint(step)
        return Order(config, step, snapshot, text)

    def _branch_origin(self) -> tuple[float, float]:
        """Return the tokens and seconds of its parent at the step where a branch starts."""
        branch = self._view.config.branch
        if branch is None or self.resume_record:
            return 0.0, 0.0
        curves = store.find(branch.parent).curves
        at = branch.step - curves.first
        if not 0 <= at < len(curves.tokens):
            raise UnknownRun(f"Run {branch.parent} never took step {branch.step:,}. Train it to its end first.")
        return float(curves.tokens[at]), float(curves.seconds[at])

    def find_resume_record(self) -> None:
        """Find the record to resume from: a checkpoint of this job, or a stopped run in the store; and publish it."""
        config = self._view.config
        for folder in (self.folder, storage.current().folder(key(config))):
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

    def _pause(self, record: Record | None) -> None:
        """Keep the record from which the paused job resumes, on disk or, if that is not possible, in memory."""
        self.resume_record = replace(record, state="running") if record else None
        if record:
            self._publish_record(record)
        if self.resume_record and not self._view.private:
            try:
                with disk_space.use_reserved(self.folder):
                    store.write_run(self.resume_record, self.folder, self.starter)
                self.resume_record = None
            except OSError as error:
                log.warning("job %s could not leave a checkpoint: %s", self.key, error)
        self.write_job_file()
        self.publish(state="waiting", left=None)

    def _end(self, record: Record | None, problem: str = "") -> None:
        if self._view.private:
            self.record, saved, unstored = record, False, ""
        else:
            saved, unstored = self._store_run(record)
        if record is None:
            self.publish(state="stopped", left=None, problem=problem)
            return
        self._publish_record(record)
        state = "stopped" if record.state == "running" else record.state
        self.publish(state=state, left=None, saved=saved, problem=problem or record.problem or unstored)

    def _store_run(self, record: Record | None) -> tuple[bool, str]:
        """Move the run into the store, and return whether it is there and, if not, why.

        `record` is None if its folder already contains it. A stopped run never replaces a finished one. A run that
        cannot be stored now stays in its folder, or in memory if it cannot be written there either.
        """
        try:
            if not self.unstored and (record is None or (not record.finished and store.find_by_config(record.config))):
                if record and record.state != "diverged":  # it goes on from there if it is submitted again
                    store.write_run(replace(record, state="running"), self.folder, self.starter)
                    (self.folder / "job.json").unlink(missing_ok=True)
                else:
                    self.delete_folder()
                return False, ""
            if record:
                done = replace(record, state="stopped") if record.state == "running" else record
                with disk_space.use_reserved(self.folder):
                    self.record = done
                    store.write_run(done, self.folder, self.starter)
                self.record = None
            move_into_store(self.folder)
        except (OSError, StoreError, DamagedRun) as error:
            log.warning("run %s could not be stored: %s", self.key, error)
            self.unstored = True
            return False, _describe_unstored(error)
        self.unstored = False
        return True, ""

    def delete_folder(self) -> None:
        """Delete the files of this job."""
        with contextlib.suppress(OSError):
            store.remove_folder(self.folder)


def _describe_unstored(error: OSError | LineageError) -> str:
    cause = error if isinstance(error, LineageError) else f"The run could not be stored: {describe_disk_error(error)}"
    return f"{cause} It stays on this server and is stored as soon as that is possible."


def is_complete(folder: Path) -> bool:
    """Return whether a folder has a run that has ended, and not only a checkpoint."""
    try:
        return store.load(folder).card.state != "running"
    except LineageError:
        return False


def read_job_file(folder: Path) -> Job:
    """Return the job that this folder belongs to. Raises OSError, LineageError, ValueError, KeyError or TypeError."""
    data = json.loads((folder / "job.json").read_text("utf-8"))
    job = Job(parse_config(data["config"]), str(data["starter"]), int(data.get("crashes", 0)), folder.parent)
    if job.folder != folder:
        raise ValueError(f"{folder} has the job of run {job.key}")
    job.requesters |= {str(visitor) for visitor in data["asked"]}
    job.until = int(data.get("until", 0))
    return job


def move_into_store(folder: Path) -> None:
    """Store a run that has ended, unless a finished one is there. Raises RunError, StoreError or OSError."""
    run = store.load(folder)
    if run.card.finished or not store.find_by_config(run.config):
        stored = operations.add_run(folder)
        (stored.folder / "job.json").unlink(missing_ok=True)  # only now: a crash in between would lose the run
    else:
        store.remove_folder(folder)


def _delete_checkpoint(folder: Path) -> None:
    """Delete an unusable checkpoint, but not `job.json`."""
    for file in folder.glob("**/*"):
        if file.is_file() and file.name != "job.json":
            file.unlink()


def _compare_with_stored_run(record: Record) -> dict[str, bool | float]:
    """Return `repeated` or `difference` of the view, as far as the run can be compared; see there."""
    stored = store.find_by_config(record.config)
    if stored is None:
        return {}
    one, other = stored.curves.losses, record.curves.losses
    if len(record.machines) == 1 and stored.card.machines == record.machines:
        return {"repeated": np.array_equal(one, other)}
    steps = min(len(one), len(other))  # early stopping may end them at different steps
    return {"difference": float(np.abs(one[:steps] - other[:steps]).max(initial=0.0))}
