"""Job services in processes of their own, as app servers that share a database. A test calls functions in them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from functools import cached_property
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

if TYPE_CHECKING:  # imported in each process, which is another server
    from explorer.jobs.job import JobView
    from explorer.training.config import RunConfig
    from tests.jobs.test_scheduler import HoldingExecutor

_T = TypeVar("_T")
LEASE_SECONDS = 4.0
_WAIT_SECONDS = 60.0
_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(["tests.jobs.preloaded"])


class JobServer:
    """An app server with a home of its own, and the test's other environment variables."""

    def __init__(self, home: Path, **variables: str) -> None:
        given = {name: value for name, value in os.environ.items() if name.startswith("LINEAGE_")}
        self.home = home
        self._pipe, other = _processes.Pipe()
        self._process = _processes.Process(
            target=_serve, args=(other, given | variables | {"LINEAGE_HOME": str(home)}), daemon=True
        )
        self._process.start()
        other.close()

    @cached_property
    def id(self) -> str:
        """Its id as a server; waits until it has started."""
        return str(self._receive())

    def call(self, function: Callable[..., _T], *arguments: object) -> _T:
        """Return what a function of this module returns there; its first argument is the executor."""
        assert self.id
        self._pipe.send((function, arguments))
        return self._receive()  # type: ignore[no-any-return]

    def _receive(self) -> Any:
        assert self._pipe.poll(_WAIT_SECONDS), "the server does not answer"
        result = self._pipe.recv()
        if isinstance(result, Exception):
            raise result
        return result

    def wait_for(self, config: RunConfig, state: str, step: int | None = None) -> JobView:
        """Wait until this server shows a job in this state, at this step or after it."""

        def has_arrived() -> bool:
            found = self.call(view, config)
            return found is not None and found.state == state and (step is None or found.step >= step)

        wait(has_arrived)
        found = self.call(view, config)
        assert found
        return found

    def freeze(self) -> None:
        assert self._process.pid
        os.kill(self._process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        assert self._process.pid
        os.kill(self._process.pid, signal.SIGCONT)

    def kill(self) -> None:
        self._process.kill()
        self._process.join()


def wait(until: Callable[[], object]) -> None:
    deadline = time.monotonic() + _WAIT_SECONDS
    while not until():
        assert time.monotonic() < deadline, "no success in time"
        time.sleep(0.02)


def _serve(pipe: Connection, variables: dict[str, str]) -> None:
    """Be a server until the pipe is closed."""
    for name in [name for name in os.environ if name.startswith("LINEAGE_")]:
        del os.environ[name]
    os.environ |= variables
    from explorer.database import servers
    from explorer.jobs import executor as executor_module
    from explorer.jobs import job as one_job
    from explorer.jobs import scheduler, shared_jobs
    from explorer.run_store import store
    from tests.jobs.test_scheduler import HoldingExecutor

    patch = pytest.MonkeyPatch()  # for as long as this process lives
    patch.setattr(executor_module, "SLICE_SECONDS", 0.0)
    patch.setattr(one_job, "_PUBLISH_SECONDS", 0.0)
    patch.setattr(scheduler, "_SCHEDULE_SECONDS", 0.05)
    patch.setattr(shared_jobs, "_SYNC_SECONDS", 0.2)
    patch.setattr(shared_jobs, "_UPLOAD_SECONDS", 0.0)
    patch.setattr(shared_jobs, "_UPLOAD_SHARE", 0.0)
    patch.setattr(shared_jobs, "_UNREACHABLE_SECONDS", LEASE_SECONDS)
    patch.setattr(servers, "LEASE_SECONDS", LEASE_SECONDS)
    patch.setattr(servers, "_RENEWAL_SECONDS", 0.3)
    patch.setattr(store, "PRETRAINED", Path(variables["LINEAGE_HOME"]) / "pretrained")
    executor = HoldingExecutor()
    try:
        servers.start("test", "1.0")
        executor.service.restore()
        pipe.send(servers.this_server())
        while True:
            function, arguments = pipe.recv()
            try:
                pipe.send(function(executor, *arguments))
            except Exception as error:  # the test is to see it
                pipe.send(error)
    except EOFError:  # the test has ended
        os._exit(0)


# ---- functions for `JobServer.call`


def hold(executor: HoldingExecutor, config: RunConfig, step: int = 13) -> None:
    executor.hold(config, step)


def is_reachable(executor: HoldingExecutor) -> bool:
    """Return whether the database has answered lately."""
    shared = executor.service._shared
    return shared is not None and shared.is_reachable()


def wait_for_checkpoints(executor: HoldingExecutor) -> None:
    """Write each checkpoint before the next event."""
    executor.waits_for_checkpoints = True


def leave_complete_run(executor: HoldingExecutor, config: RunConfig) -> None:
    """Make the folder that a server leaves that is killed when it has written a run, and before it stores it."""
    from explorer.environment import environment
    from explorer.jobs.job import Job
    from explorer.jobs.shared_jobs import SharedOwnership
    from explorer.run_store import store
    from explorer.training.config import key
    from explorer.training.recorder import record_run

    job = Job(config, "ada")
    assert executor.service._shared
    job.ownership = SharedOwnership(executor.service._shared, job)
    job.write_job_file(running=True)
    store.write_run(record_run(config), environment().jobs / key(config), "ada")


def hold_storing(executor: HoldingExecutor, until: Path) -> None:
    """Hold each run whose files have been uploaded, and whose card has not, until this file exists."""
    from explorer.run_store.storage import Storage

    upload = Storage.upload

    def upload_and_wait(*arguments: Any) -> Any:
        run = upload(*arguments)
        until.with_suffix(".reached").touch()
        while not until.exists():
            time.sleep(0.01)
        return run

    Storage.upload = upload_and_wait  # type: ignore[method-assign]


def release(executor: HoldingExecutor, *configs: RunConfig) -> None:
    executor.release(*configs)


def submit(executor: HoldingExecutor, config: RunConfig, visitor: str = "") -> None:
    executor.service.submit(config, visitor)


def view(executor: HoldingExecutor, config: RunConfig) -> JobView | None:
    from explorer.training.config import key

    job = executor.service.find(key(config))
    return job.view() if job else None


def states(executor: HoldingExecutor) -> dict[str, str]:
    return {each.key: each.state for each in executor.service.views()}


def requesters(executor: HoldingExecutor, config: RunConfig) -> frozenset[str]:
    from explorer.training.config import key

    return executor.service.requesters(key(config))


def stop(executor: HoldingExecutor, config: RunConfig, visitor: str = "") -> None:
    from explorer.training.config import key

    executor.service.stop(key(config), visitor)


def resume(executor: HoldingExecutor, config: RunConfig, visitor: str = "") -> None:
    from explorer.training.config import key

    executor.service.resume(key(config), visitor)


def start_steps(executor: HoldingExecutor, config: RunConfig) -> list[int | None]:
    """Return from which steps this server has trained a run."""
    return executor.start_steps(config)


def open_tab(executor: HoldingExecutor, visitor: str) -> None:
    executor.service.tab_opened(visitor)


def close_tab(executor: HoldingExecutor, visitor: str) -> None:
    executor.service.tab_closed(visitor)


def is_abandoned(executor: HoldingExecutor, config: RunConfig) -> bool:
    from explorer.training.config import key

    job = executor.service.find(key(config))
    return job is not None and executor.service._is_abandoned(job)


def drain(executor: HoldingExecutor) -> None:
    from explorer.database import servers

    servers.set_draining(servers.this_server(), True)


def close(executor: HoldingExecutor) -> None:
    """End as after SIGTERM."""
    from explorer.database import servers

    executor.service.close()
    servers.stop()


def delete_run(executor: HoldingExecutor, config: RunConfig, visitor: str = "") -> None:
    from explorer.run_store import operations
    from explorer.training.config import key

    operations.delete_runs([key(config)], visitor, False)


def version(executor: HoldingExecutor) -> int:
    return executor.service.version


def folders(executor: HoldingExecutor) -> list[str]:
    from explorer.environment import environment

    return sorted(folder.name for folder in environment().jobs.glob("*"))
