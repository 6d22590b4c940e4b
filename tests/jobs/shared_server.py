"""Job services in processes of their own, as app servers that share a database. A test calls functions in them."""

from __future__ import annotations

import datetime
import multiprocessing
import os
import secrets
import signal
import time
from collections.abc import Callable
from functools import cached_property
from multiprocessing.connection import Connection
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.orm import Session

from explorer.database import notifications, servers
from explorer.database.engine import run_transaction
from explorer.environment import environment
from explorer.jobs import executor as executor_module
from explorer.jobs import job as one_job
from explorer.jobs import scheduler, shared_jobs
from explorer.jobs.job import Job, JobView
from explorer.run_store import store
from explorer.training.config import RunConfig, key
from explorer.training.recorder import record_run
from tests.jobs.test_scheduler import HoldingExecutor

_WAIT_SECONDS = 120.0
_LEASE_SECONDS = 600.0
_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(["tests.jobs.preloaded"])


def shorten_periods(patch: pytest.MonkeyPatch) -> None:
    """Let servers do often what they do every second or so. Leases are so long that only `end_lease` ends one."""
    patch.setattr(servers, "LEASE_SECONDS", _LEASE_SECONDS)
    patch.setattr(servers, "_FORGET_SECONDS", 10 * _LEASE_SECONDS)
    patch.setattr(notifications, "_LISTEN_SECONDS", 0.05)
    patch.setattr(servers, "_RENEWAL_SECONDS", 0.1)
    patch.setattr(scheduler, "_SCHEDULE_SECONDS", 0.02)
    for name, seconds in {"_SYNC": 0.1, "_LEAST": 0.01, "_RETRY": 0.1, "_CLAIM": 0.1, "_LOST_CLAIM": 0.05}.items():
        patch.setattr(shared_jobs, f"{name}_SECONDS", seconds)
    patch.setattr(shared_jobs, "_UPLOAD_SECONDS", 0.0)
    patch.setattr(shared_jobs, "_UPLOAD_SHARE", 0.0)


def end_lease(server: str) -> None:
    """Let the last sign of life of a server that is dead or frozen be so old that the others count it as dead."""

    def write(session: Session) -> None:
        row = session.get_one(servers._Row, server)
        row.seen -= datetime.timedelta(seconds=_LEASE_SECONDS + 1)

    run_transaction(write)


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

    def call(self, function: str | Callable[..., Any], *arguments: object) -> Any:
        """Return the result of a method of its executor, or of a function that gets the executor first."""
        assert self.id
        self._pipe.send((function, arguments))
        return self._receive()

    def _receive(self) -> Any:
        assert self._pipe.poll(_WAIT_SECONDS), "the server does not answer"
        result = self._pipe.recv()
        if isinstance(result, Exception):
            raise result
        return result

    def submit(self, config: RunConfig, visitor: str = "ada") -> None:
        self.call("service.submit", config, visitor)

    def view(self, config: RunConfig) -> JobView | None:
        return self.call(_view, config)  # type: ignore[no-any-return]

    def submit_held(self, config: RunConfig, step: int = 13) -> None:
        """Submit a configuration, and wait until its training is held at a step."""
        self.call("hold", config, step)
        self.submit(config)
        self.wait_for(config, "running", step)

    def wait_for(self, config: RunConfig, state: str, step: int = 0) -> JobView:
        """Wait until this server shows a job in this state, at this step or after it."""

        def has_arrived() -> bool:
            found = self.view(config)
            return found is not None and found.state == state and found.step >= step

        wait(has_arrived)
        found = self.view(config)
        assert found
        return found

    def freeze(self) -> None:
        """Stop the process, and let its lease end."""
        assert self._process.pid
        os.kill(self._process.pid, signal.SIGSTOP)
        end_lease(self.id)

    def thaw(self) -> None:
        assert self._process.pid
        os.kill(self._process.pid, signal.SIGCONT)

    def kill(self) -> None:
        """Kill the process, and let its lease end."""
        self.end()
        end_lease(self.id)

    def end(self) -> None:
        self._process.kill()
        self._process.join()


def wait(until: Callable[[], object]) -> None:
    deadline = time.monotonic() + _WAIT_SECONDS
    while not until():
        assert time.monotonic() < deadline, "no success in time"
        time.sleep(0.01)


def _serve(pipe: Connection, variables: dict[str, str]) -> None:
    """Be a server until the pipe is closed."""
    for name in [name for name in os.environ if name.startswith("LINEAGE_")]:
        del os.environ[name]
    os.environ |= variables
    # It is forked from a process that has these already, and is another server.
    servers._this, notifications._SENDER = servers._Membership(), secrets.token_hex(8)
    patch = pytest.MonkeyPatch()  # for as long as this process lives
    shorten_periods(patch)
    patch.setattr(executor_module, "SLICE_SECONDS", 0.0)
    patch.setattr(one_job, "_PUBLISH_SECONDS", 0.0)
    patch.setattr(store, "PRETRAINED", Path(variables["LINEAGE_HOME"]) / "pretrained")
    executor = HoldingExecutor()
    try:
        servers.start("test", "1.0")
        executor.service.restore()
        pipe.send(servers.this_server())
        while True:
            function, arguments = pipe.recv()
            try:
                called = attrgetter(function)(executor) if isinstance(function, str) else None
                result = called(*arguments) if called else function(executor, *arguments)
                pipe.send(None if isinstance(result, Job) else result)
            except Exception as error:  # the test is to see it
                pipe.send(error)
    except EOFError:  # the test has ended
        os._exit(0)


def _view(executor: HoldingExecutor, config: RunConfig) -> JobView | None:
    job = executor.service.find(key(config))
    return job.view() if job else None


def wait_for_checkpoints(executor: HoldingExecutor) -> None:
    """Write each checkpoint before the next event."""
    executor.waits_for_checkpoints = True


def loses_database(executor: HoldingExecutor, seconds: float) -> bool:
    """Return whether the database has not answered for so many seconds, after which no training can be started."""
    shared_jobs._UNREACHABLE_SECONDS = seconds
    return executor.service._shared is not None and not executor.service._shared.is_reachable()


def leave_complete_run(executor: HoldingExecutor, config: RunConfig) -> None:
    """Make the folder that a server leaves that is killed when it has written a run, and before it stores it."""
    job = Job(config, "ada")
    assert executor.service._shared
    job.ownership = shared_jobs.SharedOwnership(executor.service._shared, job)
    job.write_job_file(running=True)
    store.write_run(record_run(config), environment().jobs / key(config), "ada")


def is_abandoned(executor: HoldingExecutor, config: RunConfig) -> bool:
    job = executor.service.find(key(config))
    return job is not None and executor.service._is_abandoned(job)


def drain(executor: HoldingExecutor) -> None:
    servers.set_draining(servers.this_server(), True)


def folders(executor: HoldingExecutor) -> list[str]:
    return sorted(folder.name for folder in environment().jobs.glob("*"))
