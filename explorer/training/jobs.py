"""The job service: trainings as something the program has, not something a page does.

All jobs train on one thread, in turns of a few milliseconds: a race is a race, nobody's short training
waits behind somebody's long one, and the other core stays free for the pages. (Two threads would not be
faster: steps as small as ours are mostly Python, which one thread at a time can run.) A job publishes an
immutable view by one assignment, so drawing takes no lock. The same configuration asked for twice while
it runs is one job. Every method may be called from any thread. Torch is imported by the worker, because
the first page must not wait for it.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Literal

import numpy as np

from explorer.training import store
from explorer.training.config import RunConfig, key
from explorer.training.record import Curves, Record

log = logging.getLogger(__name__)
_SIDE_BY_SIDE = 12  # jobs that take turns; more wait until one of these is over
_TURN = 0.02  # seconds of training before the next job has its turn
_PUBLISH_EVERY = 0.25  # seconds between two views of a running job
_REMEMBERED = 200  # jobs whose views are kept; their runs are on disk


@dataclass(frozen=True)
class View:
    """A job at one moment."""

    config: RunConfig
    state: Literal["waiting", "running", "finished", "stopped", "failed"] = "waiting"
    step: int = 0
    seconds: float = 0.0  # of training; the turns of other jobs do not count
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
        self._stop = False

    def view(self) -> View:
        return self._view

    def stop(self) -> None:
        """Ask the training to end; it keeps what it had."""
        self._stop = True

    async def run(self, places: asyncio.Semaphore) -> None:
        """Train to the end, to a stop, or to a failure."""
        config = self._view.config
        try:
            async with places:
                record = await self._train()
            before = store.find_config(config)
            repeated = None
            if before and record.finished:
                repeated = np.array_equal(before.curves.losses, record.curves.losses)
            saved = record.finished and _save(record)
            state: Literal["finished", "stopped"] = "finished" if record.finished else "stopped"
            steps = record.curves.losses.shape[0]
            self._view = View(config, state, steps, record.seconds, record.parameters, record.curves, repeated, saved)
        except Exception:  # the outermost edge of the worker: log it, tell the visitor, serve the next
            log.exception("training %s failed", key(config))
            self._view = View(config, "failed")

    async def _train(self) -> Record:
        import torch  # see the top of this file

        from explorer.training.recorder import Recorder
        from explorer.training.train import train

        config = self._view.config
        recorder = Recorder(config)
        published = turn = time.perf_counter()
        for event in train(config):
            recorder.add(event)
            now = time.perf_counter()
            if now - turn < _TURN:
                continue
            recorder.seconds += now - turn
            if self._stop and recorder.evaluated:
                break
            if now - published > _PUBLISH_EVERY and recorder.evaluated:
                self._view = View(
                    config, "running", recorder.step, recorder.seconds, recorder.parameters, recorder.curves()
                )
                published = now
            await asyncio.sleep(0)
            torch.set_num_threads(config.threads)  # another job may have had its turn with another number
            turn = time.perf_counter()
        else:
            recorder.seconds += time.perf_counter() - turn
        return recorder.record()


def _save(record: Record) -> bool:
    try:
        store.save(record, store.runs_folder() / key(record.config))
    except OSError:
        log.exception("run %s could not be saved", key(record.config))
        return False
    return True


class JobService:
    """The trainings of this process: a thread whose event loop gives each job its turn."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._places = asyncio.Semaphore(_SIDE_BY_SIDE)

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
            loop = self._running_loop()  # makes the places too
            asyncio.run_coroutine_threadsafe(job.run(self._places), loop)
            return job

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        """The worker's loop, started when the first job comes."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._places = asyncio.Semaphore(_SIDE_BY_SIDE)
            self._thread = threading.Thread(target=self._loop.run_forever, name="training", daemon=True)
            self._thread.start()
        return self._loop

    def find(self, run_key: str) -> Job | None:
        """The newest job of this key that this process remembers."""
        return self._jobs.get(run_key)

    def close(self) -> None:
        """Stop everything that waits or runs, and wait until it has ended. The service may be used again."""
        with self._lock:
            loop, thread, self._loop = self._loop, self._thread, None
            jobs = [job for job in self._jobs.values() if not job.view().done]
        if loop is None or thread is None:
            return
        for job in jobs:
            job.stop()
        asyncio.run_coroutine_threadsafe(_ended(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _ended() -> None:
    """Wait for every other task of this loop."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.gather(*others, return_exceptions=True)


service = JobService()
