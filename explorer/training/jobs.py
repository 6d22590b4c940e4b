"""The job service: trainings as something the program has, not something a page does.

A job runs on a worker thread and publishes an immutable view by one assignment, so drawing takes no
lock. The same configuration asked for twice while it runs is one job. Every method may be called from
any thread. Torch is imported by the worker, because the first page must not wait for it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

import numpy as np

from explorer.training import store
from explorer.training.config import RunConfig, key
from explorer.training.record import Curves, Record

log = logging.getLogger(__name__)
_REMEMBERED = 200  # jobs whose views are kept; their runs are on disk
_PUBLISH_EVERY = 0.25  # seconds between two views of a running job


@dataclass(frozen=True)
class View:
    """A job at one moment."""

    config: RunConfig
    state: Literal["waiting", "running", "finished", "stopped", "failed"] = "waiting"
    step: int = 0
    seconds: float = 0.0
    parameters: int = 0
    curves: Curves | None = None
    repeated: bool | None = None  # whether a stored run of this configuration had the same curve, bit for bit
    saved: bool = False

    @property
    def key(self) -> str:
        return key(self.config)

    @property
    def done(self) -> bool:
        return self.state in ("finished", "stopped", "failed")


class Job:
    """One training: asked for, running, or over."""

    def __init__(self, config: RunConfig) -> None:
        self._view = View(config)
        self._stop = threading.Event()

    def view(self) -> View:
        return self._view

    def stop(self) -> None:
        """Ask the training to end; it keeps what it had."""
        self._stop.set()

    def run(self) -> None:
        """Train to the end, to a stop, or to a failure. Called once, on a worker."""
        config = self._view.config
        if self._stop.is_set():  # while it waited
            self._view = View(config, "stopped")
            return
        try:
            record = self._train(config)
        except Exception:  # the outermost edge of the worker: log it, tell the visitor, serve the next
            log.exception("training %s failed", key(config))
            self._view = View(config, "failed")
            return
        before = store.find_config(config)
        repeated = np.array_equal(before.curves.losses, record.curves.losses) if before and record.finished else None
        saved = record.finished and _save(record)
        self._view = View(
            config,
            "finished" if record.finished else "stopped",
            record.curves.losses.shape[0],
            record.seconds,
            record.parameters,
            record.curves,
            repeated,
            saved,
        )

    def _train(self, config: RunConfig) -> Record:
        from explorer.training.recorder import Recorder  # torch: see the top of this file
        from explorer.training.train import train

        recorder = Recorder(config)
        published = time.monotonic()
        for event in train(config):
            recorder.add(event)
            if self._stop.is_set() and recorder.evaluated:
                break
            if time.monotonic() - published > _PUBLISH_EVERY and recorder.evaluated:
                self._view = View(
                    config, "running", recorder.step, recorder.seconds, recorder.parameters, recorder.curves()
                )
                published = time.monotonic()
        return recorder.record()


def _save(record: Record) -> bool:
    try:
        store.save(record, store.runs_folder() / key(record.config))
    except OSError:
        log.exception("run %s could not be saved", key(record.config))
        return False
    return True


class JobService:
    """A queue of trainings and the workers that take from it."""

    def __init__(self, workers: int = 2) -> None:
        self._workers = workers
        self._lock = threading.Lock()
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._pool: ThreadPoolExecutor | None = None

    def submit(self, config: RunConfig) -> Job:
        """Train this configuration; one that waits or runs already is joined."""
        with self._lock:
            job = self._jobs.get(key(config))
            if job and not job.view().done:
                return job
            job = Job(config)
            self._jobs[key(config)] = job
            self._jobs.move_to_end(key(config))
            while len(self._jobs) > _REMEMBERED and next(iter(self._jobs.values())).view().done:
                self._jobs.popitem(last=False)
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix="training")
            self._pool.submit(job.run)
            return job

    def find(self, run_key: str) -> Job | None:
        """The newest job of this key that this process remembers."""
        return self._jobs.get(run_key)

    def close(self) -> None:
        """Stop everything that runs and wait for the workers."""
        with self._lock:
            pool, self._pool = self._pool, None
            for job in self._jobs.values():
                job.stop()
        if pool:
            pool.shutdown()


service = JobService()
