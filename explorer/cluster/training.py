"""One training in a Ray cluster: an actor that trains, keeps checkpoints and stores its own run."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from explorer.cluster.connection import take_over
from explorer.environment import environment
from explorer.errors import LineageError, StoreError
from explorer.jobs.executor import InProcessExecutor
from explorer.jobs.job import Job, JobView, is_complete, read_job_file
from explorer.jobs.worker_training import import_everything, limit_process
from explorer.lazy_libraries import ray
from explorer.run_store import storage, store
from explorer.training.config import key, parse_config

_STORE_SECONDS = 5.0  # between two attempts to store a run for which there was no room
_LAST_SECONDS = 60.0  # for which the result can be read after the end


@dataclass(frozen=True)
class Request:
    """What is wanted of a training; see the attributes of `Job`."""

    submission: str  # names this request to train the run; the run may be trained again later
    action: str = ""
    pauses: bool = False  # at the next checkpoint
    until: int = 0
    requesters: frozenset[str] = frozenset()
    with_curves: bool = True  # whether somebody looks at it


@dataclass(frozen=True)
class Report:
    """What has become of a training."""

    view: JobView
    crashes: int
    ended: bool  # or paused, with all files complete
    submission: str  # the one that it has carried out


class Training:
    """The training of one run, an actor that is named after the key of the run, so that there is one.

    Ray starts it again after a crash, on another machine if need be, with the same arguments: it then goes on from the
    last checkpoint in the storage of runs, to the same curve. `submission`: see `Request`.
    """

    def __init__(
        self, settings: Mapping[str, str], version: str, config: dict[str, object], starter: str, submission: str
    ) -> None:
        take_over(settings, version)
        import_everything()
        limit_process(environment().memory_of_one_job)
        context = ray.get_runtime_context()
        self._actor = context.current_actor
        configuration = parse_config(config)
        run_key, place = key(configuration), storage.current()
        place.load_job(run_key)
        try:
            self._job = read_job_file(place.jobs / run_key)
        except (OSError, ValueError, KeyError, TypeError, LineageError):
            self._job = Job(configuration, starter, folder=place.jobs)
            if context.was_current_actor_reconstructed and store.find_by_config(configuration):
                self._job.publish(state="finished", step=configuration.steps, saved=True)  # it had stored its run
        self._job.keep_folder = partial(place.save_job, run_key)
        self._ended, self._submission = False, submission
        threading.Thread(target=self._train, name="training", daemon=True).start()

    def _train(self) -> None:
        if is_complete(self._job.folder):
            self._job.wait_for_space(StoreError("The process ended before the run was stored."))
        elif not self._job.view().done:
            asyncio.run(self._job.run(InProcessExecutor()))
        while self._job.unstored:
            self._job.store_again()
            time.sleep(_STORE_SECONDS if self._job.unstored else 0.0)
        if self._job.view().done:
            with contextlib.suppress(StoreError):  # it is logged, and tidied later
                storage.current().delete_job(self._job.key)
        self._ended = True
        time.sleep(_LAST_SECONDS)  # nobody has asked: whoever starts this training again gets a new actor
        ray.kill(self._actor, no_restart=True)

    def report(self, request: Request) -> Report:
        """Take over what is wanted of the training, and return what has become of it."""
        job, ended = self._job, self._ended  # in this order: whatever precedes the end is in the view
        if not ended:
            self._submission = request.submission
        job.requesters |= request.requesters
        job.until, job.pauses_at_checkpoint = request.until, request.pauses
        if request.action in ("stop", "pause") and not job.requested_action:
            job.requested_action = request.action  # type: ignore[assignment]
        view = job.view()
        view = view if request.with_curves or ended else replace(view, curves=None)
        return Report(view, job.crashes, ended, self._submission)
