"""The scheduler of a server whose trainings run in a Ray cluster. It has what the controller of the cluster knows."""

from __future__ import annotations

import logging
import sys
import threading
import time
from types import ModuleType
from typing import Any

from cachetools import LRUCache

from explorer.cluster import connection
from explorer.cluster.controller import MOST_KNOWN, Change, Controller, publish_view
from explorer.errors import LineageError, StoreError
from explorer.jobs.executor import InProcessExecutor
from explorer.jobs.job import Job
from explorer.jobs.remembered_jobs import RememberedJobs
from explorer.jobs.scheduler import LocalScheduler
from explorer.jobs.worker_processes import ProcessExecutor
from explorer.periodic_thread import PeriodicThread
from explorer.program_files import VERSION
from explorer.run_store import store
from explorer.training.config import to_json

log = logging.getLogger(__name__)
_PAUSE_SECONDS, _RETRY_SECONDS = 0.4, 3.0  # between two questions to the controller, or after one without an answer
_ANSWER_SECONDS = 15.0  # after which a call counts as lost
_UNREACHABLE_SECONDS = 10.0  # without an answer after which new trainings are refused


class ClusterScheduler:
    """Gives jobs to the controller of the cluster, and shows what it reports, also of the jobs of other servers.

    Trainings on a visitor's own text stay in the memory of this server.
    """

    takes_turns = False
    trains_here = False

    def __init__(self, jobs: RememberedJobs, name: str) -> None:
        connection.import_ray(name)
        executor = ProcessExecutor() if sys.platform == "linux" else InProcessExecutor()
        self._private = LocalScheduler(jobs, executor)
        self._jobs, self._name = jobs, name
        self._lock = threading.Lock()
        self._unsent: dict[str, Job] = {}  # of which the controller has yet to hear, by key
        self._identities: LRUCache[str, tuple[str, int]] = LRUCache(MOST_KNOWN)  # of the jobs of the controller
        # Of the views that are here, and whether with their curves.
        self._marks: LRUCache[str, tuple[int, bool]] = LRUCache(MOST_KNOWN)
        self._controller: Any = None
        self._answered_at = time.monotonic()
        self._thread = PeriodicThread("cluster", self._synchronise, self._pause, "the Ray cluster does not answer")

    def start(self) -> None:
        self._thread.start()

    def check(self, job: Job) -> None:
        if not job.view().private and time.monotonic() - self._answered_at > _UNREACHABLE_SECONDS:
            raise StoreError(
                "No training can be started now, because the Ray cluster does not answer. Trainings under way go on; "
                "try again in a minute."
            )

    def add(self, job: Job) -> None:
        if job.view().private:
            self._private.add(job)
            return
        with self._lock:
            self._unsent[job.key] = job
        self._thread.start()
        self._thread.wake()

    def note_change(self, job: Job) -> None:
        if job.view().private:
            self._private.note_change(job)
        else:
            self.add(job)

    def close(self) -> None:
        """End the trainings on visitors' texts; those in the cluster go on."""
        self._private.close()
        self._thread.stop()
        self._controller = None

    def _pause(self) -> float:
        return _PAUSE_SECONDS if self._controller else _RETRY_SECONDS

    def _synchronise(self) -> None:
        """Tell the controller what is new here, and show what is new there."""
        ray = connection.connect(self._name)
        try:
            controller = self._find_controller(ray)
            for job in list(self._unsent.values()):
                self._send(ray, controller, job)
            shown = frozenset(job.key for job in self._jobs.all() if self._jobs.is_shown(job))
            known = {name: mark for name, (mark, curves) in self._marks.items() if curves or name not in shown}
            id, changes = ray.get(controller.changes.remote(known, shown), timeout=_ANSWER_SECONDS)
        except (ray.exceptions.RayError, ConnectionError, TimeoutError) as error:
            self._controller = None
            if isinstance(error, ConnectionError):
                connection.disconnect(self._name)
            raise StoreError(f"{type(error).__name__}. It is asked again.") from error
        self._answered_at = time.monotonic()
        for change in changes:
            self._show(change, change.view.key in shown)
        self._send_lost_again(id)

    def _find_controller(self, ray: ModuleType) -> Any:
        """Return the controller, which is started if there is none. One of another version of this program is ended."""
        if self._controller is None:
            name = f"controller {VERSION}"
            for each in ray.util.list_named_actors():
                if each.startswith("controller ") and each != name:
                    ray.kill(ray.get_actor(each, connection.NAMESPACE), no_restart=True)
            variables = {"env_vars": connection.variables_of_actors(self._name)}
            options = connection.actor_options(name, num_cpus=0, max_concurrency=16, runtime_env=variables)
            self._controller = (
                ray.remote(Controller).options(**options).remote(connection.settings_for_actors(), VERSION)
            )
        return self._controller

    def _send(self, ray: ModuleType, controller: Any, job: Job) -> None:
        if job.requested_action != "stop" or job.key not in self._identities:
            submission = to_json(job.view().config), [job.starter, *job.requesters], job.until
            answer = ray.get(controller.submit.remote(*submission), timeout=_ANSWER_SECONDS)
            if isinstance(answer, str):
                job.publish(state="failed", left=None, problem=answer)
            else:
                self._identities[job.key] = answer
                self._marks.pop(job.key, None)
            job.delete_folder()  # of a job that was restored here; the cluster begins it anew, to the same curve
        if job.requested_action == "stop":
            ray.get(controller.stop.remote(job.key), timeout=_ANSWER_SECONDS)
        with self._lock:
            if self._unsent.get(job.key) is job:
                del self._unsent[job.key]

    def _show(self, change: Change, with_curves: bool) -> None:
        run_key = change.view.key
        with self._jobs.lock:
            if run_key in self._unsent:
                return  # what is here is newer
            job = self._jobs.find(run_key)
            is_other = self._identities.get(run_key) != change.identity
            if job is None or (is_other and job.view().done):
                job = Job(change.view.config, change.starter)
                self._jobs.remember(job)
        self._identities[run_key] = change.identity
        self._marks[run_key] = change.mark, with_curves or change.view.done
        job.requesters |= change.requesters
        job.crashes = change.crashes
        if job.requested_action and change.view.done:
            job.requested_action = ""
        publish_view(job, change.view)

    def _send_lost_again(self, controller: str) -> None:
        """Send the jobs again that an earlier controller knew and this one does not, unless their runs are stored."""
        for job in self._jobs.all():
            identity = self._identities.get(job.key)
            if identity and identity[0] != controller and not job.view().done and job.key not in self._unsent:
                try:
                    if run := store.find_by_config(job.view().config):
                        job.publish(state="finished", step=run.card.step, curves=run.curves, left=None, saved=True)
                        continue
                except LineageError as error:
                    log.warning("run %s cannot be read now: %s", job.key, error)
                    continue
                self.add(job)
