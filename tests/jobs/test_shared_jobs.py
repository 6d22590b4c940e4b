"""The trainings of several servers with one PostgreSQL database; each server is a process of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import make_url, select

from explorer.database import engine as db
from explorer.database.engine import run_transaction
from explorer.environment import environment
from explorer.errors import NotAllowed, StoreError
from explorer.jobs.job_rows import JobRow, decode_curves, encode_curves
from explorer.run_store import operations, storage, store
from explorer.training.config import RunConfig, key
from explorer.training.recorder import record_run
from tests import needs, postgres
from tests.export.alike import assert_records_equal, short_config
from tests.jobs import shared_server as there
from tests.jobs.shared_server import JobServer, wait

pytestmark = [
    needs.postgresql,
    pytest.mark.parametrize("database", ["postgresql"], indirect=True),
    pytest.mark.skipif(sys.platform == "win32", reason="a process is forked"),
]
StartServer = Callable[..., JobServer]


@pytest.fixture
def start(
    database: str, tmp_path: Path, included_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[StartServer]:
    """Start servers that share a database and a folder of runs; all are killed at the end."""
    monkeypatch.setenv("LINEAGE_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("LINEAGE_CHECKPOINT_SECONDS", "0")
    (tmp_path / "runs").mkdir()
    db.database()  # the servers find its tables
    started: list[JobServer] = []

    def make(home: Path | None = None, **variables: str) -> JobServer:
        started.append(JobServer(home or tmp_path / f"server{len(started)}", **variables))
        return started[-1]

    yield make
    for server in started:
        server.end()
    storage._open.cache_clear()


def row(config: RunConfig) -> JobRow:
    return run_transaction(lambda session: session.scalars(select(JobRow).where(JobRow.key == key(config))).one())


def start_steps(config: RunConfig, *servers: JobServer) -> list[int | None]:
    """Return from which steps these servers have trained a run."""
    return [step for server in servers for step in server.call("start_steps", config)]


def assert_trained_once(config: RunConfig) -> None:
    """Assert that a run equal to an uninterrupted training is stored."""
    db.database().refreshed_at = float("-inf")  # as after two seconds
    assert_records_equal(store.find(key(config)).record(), record_run(config), from_disk=True)


def test_a_job_of_one_server_is_seen_joined_and_finished_on_the_other(start: StartServer) -> None:
    one, other = start(LINEAGE_GRACE_SECONDS="0"), start()
    config = short_config(replicas=2)
    one.submit_held(config)
    assert one.call(there.is_abandoned, config)
    other.call("service.tab_opened", "ada")
    wait(lambda: not one.call(there.is_abandoned, config))
    other.submit(config, "bob")
    wait(lambda: (found := other.view(config)) and found.curves and found.curves.step == 13)
    wait(lambda: one.call("service.requesters", key(config)) == {"ada", "bob"})
    found = other.view(config)
    assert found and found.curves and found.starter == "ada"
    assert found.loss == pytest.approx(found.curves.losses[-1].mean())
    np.testing.assert_array_equal(found.curves.losses, record_run(config).curves.losses[:13])
    one.call("release", config)
    view = other.wait_for(config, "finished")
    assert (view.step, view.saved, view.left) == (32, True, None)
    assert view.curves and view.curves.step == 32
    assert (start_steps(config, one), start_steps(config, other)) == ([None], [])
    assert_trained_once(config)


def test_two_servers_that_get_the_same_request_at_once_train_it_once(start: StartServer) -> None:
    servers = [start(), start()]
    configs = [short_config(seed=seed) for seed in range(4)]
    for config in configs:
        for server, visitor in zip(servers, ("ada", "bob"), strict=True):
            server.submit(config, visitor)
    for config in configs:
        views = [server.wait_for(config, "finished") for server in servers]
        assert views[0].starter == views[1].starter
        assert row(config).requesters == ["ada", "bob"] and row(config).claims == 1
        assert_trained_once(config)


def test_a_job_is_stopped_and_resumed_from_another_server(start: StartServer) -> None:
    one, other = start(), start()
    config = short_config()
    one.submit_held(config)
    other.wait_for(config, "running", 13)
    with pytest.raises(NotAllowed):
        other.call("service.stop", key(config), "bob")
    other.call("service.stop", key(config), "ada")
    for server in (one, other):
        view = server.wait_for(config, "stopped")
        assert (view.step, view.saved) == (10, True)
    one.call("release", config)
    other.call("service.resume", key(config), "ada")
    assert one.wait_for(config, "finished").step == 32
    assert start_steps(config, one, other) == [None, 10]
    assert_trained_once(config)


def test_a_killed_servers_job_goes_on_elsewhere_and_stays_deleted_after_its_restart(start: StartServer) -> None:
    one = start()
    config = short_config(replicas=2)
    one.call(there.wait_for_checkpoints)
    one.submit_held(config, 25)
    wait(lambda: row(config).crashes == 0)  # checkpoints are uploaded, so another crash would be the first
    one.kill()
    other = start()
    assert other.wait_for(config, "finished").starter == "ada"
    assert start_steps(config, other) == [20]
    assert_trained_once(config)
    assert not list((other.home.parent / "runs" / "checkpoints").glob("*.zip"))
    operations.delete_runs([key(config)], "ada", False)
    again = start(home=one.home)
    again.wait_for(config, "finished")
    assert again.call(there.folders) == []
    assert list((one.home.parent / "runs" / "cards").iterdir()) == []


def test_a_run_that_a_killed_server_had_not_stored_yet_is_stored_after_its_restart(start: StartServer) -> None:
    config = short_config()
    one = start(LINEAGE_CHECKPOINT_SECONDS="1000")
    one.submit_held(config, 5)
    one.call(there.leave_complete_run, config)
    one.kill()
    again = start(home=one.home)
    again.wait_for(config, "finished")
    assert start_steps(config, again) == [32]
    assert_trained_once(config)
    wait(lambda: again.call(there.folders) == [])


def test_a_frozen_server_that_comes_back_overwrites_nothing(start: StartServer) -> None:
    one, other = start(), start()
    config, stopped = short_config(seed=1), short_config(seed=2)
    other.call("hold", config)
    one.call(there.wait_for_checkpoints)
    for each in (config, stopped):
        one.submit_held(each, 25)
        wait(lambda each=each: row(each).crashes == 0)  # type: ignore[misc]  # a checkpoint is uploaded
        other.wait_for(each, "running", 25)
    one.freeze()
    other.call("service.stop", key(stopped), "ada")
    assert other.wait_for(stopped, "stopped").step == 20
    wait(lambda: row(config).server == other.id)
    one.thaw()
    one.call("release", config)  # it would reach the end now
    wait(lambda: one.call(there.folders) == [])
    assert (row(config).server, row(config).state) == (other.id, "running")
    assert not (one.home / "runs" / key(config)).exists()
    other.call("release", config)
    for server in (one, other):
        assert server.wait_for(config, "finished").step == 32
        assert server.wait_for(stopped, "stopped").step == 20
    assert row(config).claims == 2
    assert start_steps(stopped, one, other) == [None]
    assert_trained_once(config)


@contextmanager
def unreachable(database: str) -> Iterator[None]:
    """Let the database end all connections and refuse new ones."""
    with closing(postgres.administrator()) as connection:
        connection.execute(f"ALTER DATABASE {database} ALLOW_CONNECTIONS false")
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [database])
        try:
            yield
        finally:
            connection.execute(f"ALTER DATABASE {database} ALLOW_CONNECTIONS true")


def test_trainings_go_on_while_the_database_does_not_answer_and_stay_where_they_are(start: StartServer) -> None:
    servers = [start(), start()]
    configs = [short_config(seed=seed) for seed in range(2)]
    for server, config in zip(servers, configs, strict=True):
        server.submit_held(config)
    for server in servers:
        for config in configs:
            server.wait_for(config, "running", 13)
    name = make_url(environment().database_url).database
    assert name
    with unreachable(name):
        servers[0].call("hold", configs[0], 25)
        servers[0].wait_for(configs[0], "running", 25)
        wait(lambda: servers[0].call(there.loses_database, 0.5))
        with pytest.raises(StoreError, match="No training can be started now"):
            servers[0].submit(short_config(seed=2))
        servers[1].call("release", configs[1])
        servers[1].wait_for(configs[1], "running", 32)  # it waits to be stored
    servers[0].call("release", configs[0])
    for server in servers:
        for config in configs:
            server.wait_for(config, "finished")
    wait(lambda: not servers[0].call(there.loses_database, 60.0))
    for server, config in zip(servers, configs, strict=True):
        assert (row(config).claims, start_steps(config, server)) == (1, [None])
        assert_trained_once(config)


def test_a_server_that_is_drained_hands_its_jobs_over_and_takes_no_new_ones(start: StartServer) -> None:
    one = start()
    configs = [short_config(seed=seed) for seed in range(2)]
    for config in configs:
        one.submit_held(config)
    other = start(LINEAGE_JOBS_AT_ONCE="1")
    one.call(there.drain)
    for config in configs:
        other.wait_for(config, "finished")
        assert start_steps(config, other) == [10]
        assert (row(config).claims, row(config).crashes) == (2, 0)
        assert_trained_once(config)
    assert one.call(there.folders) == []
    one.submit(short_config(seed=2))
    other.wait_for(short_config(seed=2), "finished")
    assert start_steps(short_config(seed=2), one) == []


def test_curves_are_the_same_after_a_journey(database: str) -> None:
    curves = record_run(short_config(replicas=2)).curves
    again = decode_curves(encode_curves(curves))
    assert (again.first, again.samples, again.step) == (curves.first, curves.samples, curves.step)
    for name in ("losses", "tokens", "seconds", "evaluated"):
        np.testing.assert_array_equal(getattr(again, name), getattr(curves, name), strict=True)
    for part in ("metrics", "answers", "signals"):
        assert getattr(again, part).keys() == getattr(curves, part).keys()
        for name, values in getattr(curves, part).items():
            np.testing.assert_array_equal(getattr(again, part)[name], values, strict=True)
