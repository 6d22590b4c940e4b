"""The trainings of several servers with one PostgreSQL database; each server is a process of its own."""

from __future__ import annotations

import datetime
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import make_url, select
from sqlalchemy.orm import Session

from explorer.database import engine as db
from explorer.database.engine import run_transaction
from explorer.environment import environment
from explorer.errors import NotAllowed, StoreError
from explorer.jobs import job_rows
from explorer.jobs.job_rows import JobRow, decode_curves, encode_curves
from explorer.run_store import store
from explorer.training.config import RunConfig, key
from explorer.training.recorder import record_run
from tests import postgres
from tests.export.alike import assert_records_equal, short_config
from tests.jobs import shared_server as there
from tests.jobs.shared_server import JobServer, wait

pytestmark = [
    pytest.mark.parametrize("database", ["postgresql"], indirect=True),
    pytest.mark.skipif(sys.platform == "win32", reason="a process is forked"),
]
StartServer = Callable[..., JobServer]


@pytest.fixture
def start(database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StartServer]:
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
        server.kill()


def rows() -> dict[str, JobRow]:
    return {row.key: row for row in run_transaction(lambda session: session.scalars(select(JobRow)).all())}


def row(config: RunConfig) -> JobRow:
    return rows()[key(config)]


def assert_trained_once(config: RunConfig, *servers: JobServer, times: int = 1) -> None:
    """Assert that a run equal to an uninterrupted training is stored, and that this happened only so often."""
    stored = list((servers[0].home.parent / "runs" / "runs" / key(config)).iterdir())
    assert len(stored) <= times, "each time that a run is stored, its files have another name"
    folder = next(folder for server in servers if (folder := server.home / "runs" / key(config)).exists())
    assert_records_equal(store.load(folder).record(), record_run(config), from_disk=True)


def test_a_job_of_one_server_is_seen_joined_and_finished_on_the_other(start: StartServer) -> None:
    one, other = start(), start()
    config = short_config(replicas=2)
    one.call(there.hold, config)
    one.call(there.submit, config, "ada")
    one.wait_for(config, "running", 13)
    other.call(there.submit, config, "bob")
    wait(lambda: (found := other.call(there.view, config)) and found.curves and found.curves.step == 13)
    wait(lambda: one.call(there.requesters, config) == {"ada", "bob"})
    found = other.call(there.view, config)
    assert found and found.curves and found.starter == "ada"
    assert found.loss == pytest.approx(found.curves.losses[-1].mean())
    np.testing.assert_array_equal(found.curves.losses, record_run(config).curves.losses[:13])
    one.call(there.release, config)
    view = other.wait_for(config, "finished")
    assert (view.step, view.saved, view.left) == (32, True, None)
    assert view.curves and view.curves.step == 32
    assert (one.call(there.start_steps, config), other.call(there.start_steps, config)) == ([None], [])
    assert one.call(there.version) == 1
    assert_trained_once(config, one, other)


def test_two_servers_that_get_the_same_request_at_once_train_it_once(start: StartServer) -> None:
    servers = [start(), start()]
    configs = [short_config(seed=seed) for seed in range(4)]
    for config in configs:
        for server, visitor in zip(servers, ("ada", "bob"), strict=True):
            server.call(there.submit, config, visitor)
    for config in configs:
        views = [server.wait_for(config, "finished") for server in servers]
        assert views[0].starter == views[1].starter
        assert row(config).requesters == ["ada", "bob"] and row(config).claims == 1
        assert_trained_once(config, *servers)


def test_a_job_is_stopped_and_resumed_from_another_server(start: StartServer) -> None:
    one, other = start(), start()
    config = short_config()
    for server in (one, other):
        server.call(there.hold, config)
    one.call(there.submit, config, "ada")
    one.wait_for(config, "running", 13)
    other.wait_for(config, "running", 13)
    with pytest.raises(NotAllowed):
        other.call(there.stop, config, "bob")
    other.call(there.stop, config, "ada")
    for server in (one, other):
        view = server.wait_for(config, "stopped")
        assert (view.step, view.saved) == (10, True)
    for server in (one, other):
        server.call(there.release, config)
    one.call(there.resume, config, "ada")
    assert one.wait_for(config, "finished").step == 32
    assert one.call(there.start_steps, config) + other.call(there.start_steps, config) == [None, 10]
    assert_trained_once(config, one, other)


def test_a_killed_servers_job_goes_on_elsewhere_from_its_checkpoint_to_the_same_curve(start: StartServer) -> None:
    one, other = start(), start()
    config = short_config(replicas=2)
    one.call(there.wait_for_checkpoints)
    one.call(there.hold, config, 25)
    one.call(there.submit, config, "ada")
    one.wait_for(config, "running", 25)
    wait(lambda: row(config).crashes == 0)  # checkpoints are uploaded, so another crash would be the first
    one.kill()
    assert other.wait_for(config, "finished").starter == "ada"
    (first,) = other.call(there.start_steps, config)
    assert first == 20
    assert_trained_once(config, other)
    assert not list((other.home.parent / "runs" / "checkpoints").glob("*.zip"))


def test_a_frozen_server_that_comes_back_overwrites_nothing(start: StartServer) -> None:
    one, other = start(), start()
    config = short_config()
    for server in (one, other):
        server.call(there.hold, config)
    one.call(there.submit, config, "ada")
    one.wait_for(config, "running", 13)
    one.freeze()
    wait(lambda: row(config).server == other.id)
    other.wait_for(config, "running", 13)
    one.thaw()
    one.call(there.release, config)  # it would reach the end now
    wait(lambda: one.call(there.folders) == [])
    one.wait_for(config, "running", 13)
    assert (row(config).server, row(config).state) == (other.id, "running")
    assert not (one.home / "runs" / key(config)).exists()
    other.call(there.release, config)
    for server in (one, other):
        assert server.wait_for(config, "finished").step == 32
    assert row(config).claims == 2
    assert_trained_once(config, one, other)


def test_a_job_that_is_stopped_while_its_server_is_frozen_is_not_trained_by_another(start: StartServer) -> None:
    one, other = start(), start()
    config = short_config()
    one.call(there.wait_for_checkpoints)
    one.call(there.hold, config, 25)
    one.call(there.submit, config, "ada")
    one.wait_for(config, "running", 25)
    wait(lambda: row(config).crashes == 0)  # a checkpoint is uploaded
    other.wait_for(config, "running", 25)
    one.freeze()
    other.call(there.stop, config, "ada")
    assert other.wait_for(config, "stopped").step == 20
    one.thaw()
    wait(lambda: one.call(there.folders) == [])
    assert one.wait_for(config, "stopped").step == 20
    assert (one.call(there.start_steps, config), other.call(there.start_steps, config)) == ([None], [])


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
        server.call(there.hold, config)
        server.call(there.submit, config, "ada")
        server.wait_for(config, "running", 13)
    for server in servers:
        for config in configs:
            server.wait_for(config, "running", 13)
    name = make_url(environment().database_url).database
    assert name
    with unreachable(name):
        servers[0].call(there.hold, configs[0], 25)
        servers[0].wait_for(configs[0], "running", 25)
        for server in servers:
            wait(lambda server=server: not server.call(there.is_reachable))  # type: ignore[misc]
        with pytest.raises(StoreError, match="No training can be started now"):
            servers[0].call(there.submit, short_config(seed=2), "ada")
        servers[1].call(there.release, configs[1])
        servers[1].wait_for(configs[1], "running", 32)  # it waits to be stored
    servers[0].call(there.release, configs[0])
    for server in servers:
        for config in configs:
            server.wait_for(config, "finished")
    for server, config in zip(servers, configs, strict=True):
        assert (row(config).claims, server.call(there.start_steps, config)) == (1, [None])
        assert_trained_once(config, *servers)


def test_a_server_that_is_frozen_while_it_stores_a_stopped_run_does_not_replace_the_finished_one(
    start: StartServer, tmp_path: Path
) -> None:
    one, other = start(), start()
    config = short_config()
    one.call(there.hold, config)
    one.call(there.hold_storing, tmp_path / "thawed")
    one.call(there.submit, config, "ada")
    one.wait_for(config, "running", 13)
    one.call(there.stop, config, "ada")
    wait((tmp_path / "thawed.reached").exists)
    one.freeze()
    other.wait_for(config, "stopped")
    other.call(there.resume, config, "ada")
    other.wait_for(config, "finished")
    (tmp_path / "thawed").touch()
    one.thaw()
    wait(lambda: one.call(there.folders) == [])
    assert one.wait_for(config, "finished").step == 32
    assert_trained_once(config, one, other)
    card = json.loads((tmp_path / "runs" / "cards" / f"{key(config)}.json").read_text())["card"]
    assert (card["state"], card["step"]) == ("finished", 32)


def test_a_run_that_a_killed_server_had_not_stored_yet_is_stored_after_its_restart(start: StartServer) -> None:
    config = short_config()
    one = start(LINEAGE_CHECKPOINT_SECONDS="1000")
    one.call(there.hold, config, 5)
    one.call(there.submit, config, "ada")
    one.wait_for(config, "running", 5)
    one.call(there.leave_complete_run, config)
    one.kill()
    again = start(home=one.home)
    again.wait_for(config, "finished")
    assert again.call(there.start_steps, config) == [32]
    assert_trained_once(config, again)
    wait(lambda: again.call(there.folders) == [])


def test_a_deleted_run_does_not_return_with_a_server_that_had_not_stored_it_yet(start: StartServer) -> None:
    config = short_config()
    one, other = start(LINEAGE_CHECKPOINT_SECONDS="1000"), start()
    one.call(there.hold, config, 5)
    one.call(there.submit, config, "ada")
    one.wait_for(config, "running", 5)
    one.call(there.leave_complete_run, config)
    one.kill()
    other.wait_for(config, "finished")
    other.call(there.delete_run, config, "ada")
    again = start(home=one.home)
    again.wait_for(config, "finished")
    assert again.call(there.folders) == []
    assert list((one.home.parent / "runs" / "cards").iterdir()) == []


@pytest.mark.parametrize("how", ["close", "drain"])
def test_a_server_that_closes_or_drains_hands_its_jobs_over(how: str, start: StartServer) -> None:
    one = start()
    configs = [short_config(seed=seed) for seed in range(2)]
    for config in configs:
        one.call(there.hold, config)
        one.call(there.submit, config, "ada")
    for config in configs:
        one.wait_for(config, "running", 13)
    other = start(LINEAGE_JOBS_AT_ONCE="1")
    one.call(there.close if how == "close" else there.drain)
    for config in configs:
        other.wait_for(config, "finished")
        assert other.call(there.start_steps, config) == [10]
        assert (row(config).claims, row(config).crashes) == (2, 0)
        assert_trained_once(config, one, other)
    if how == "drain":
        assert one.call(there.folders) == []
        one.call(there.submit, short_config(seed=2), "bob")
        other.wait_for(short_config(seed=2), "finished")
        assert one.call(there.start_steps, short_config(seed=2)) == []


def test_a_visitor_on_another_server_is_present(start: StartServer) -> None:
    one, other = start(LINEAGE_GRACE_SECONDS="0"), start(LINEAGE_JOBS_AT_ONCE="1")
    config = short_config()
    one.call(there.hold, config)
    one.call(there.submit, config, "ada")
    one.wait_for(config, "running", 13)
    assert one.call(there.is_abandoned, config)
    other.call(there.open_tab, "ada")
    wait(lambda: not one.call(there.is_abandoned, config))
    other.call(there.close_tab, "ada")
    wait(lambda: one.call(there.is_abandoned, config))


def test_a_job_that_waits_at_a_full_server_is_trained_by_another(start: StartServer) -> None:
    one = start(LINEAGE_JOBS_AT_ONCE="1")
    held, waiting = short_config(seed=1), short_config(seed=2)
    one.call(there.hold, held)
    one.call(there.submit, held, "ada")
    one.wait_for(held, "running", 13)
    one.call(there.submit, waiting, "ada")
    assert one.call(there.states) == {key(held): "running", key(waiting): "waiting"}
    other = start()
    one.wait_for(waiting, "finished")
    assert other.call(there.start_steps, waiting) == [None]
    one.call(there.release, held)
    one.wait_for(held, "finished")


def test_a_job_whose_servers_died_twice_without_a_new_checkpoint_waits_for_its_owner(start: StartServer) -> None:
    config = short_config()
    for count in (1, 2):
        server = start(LINEAGE_CHECKPOINT_SECONDS="1000")
        server.call(there.hold, config, 5)
        if count == 1:
            server.call(there.submit, config, "ada")
        server.wait_for(config, "running", 5)
        wait(lambda count=count: row(config).crashes == count)  # type: ignore[misc]
        server.kill()
    last = start()
    view = last.wait_for(config, "stopped")
    assert "ended unexpectedly twice" in view.problem and last.call(there.start_steps, config) == []
    last.call(there.resume, config, "ada")
    last.wait_for(config, "finished")


def test_a_hundred_small_jobs_survive_the_death_of_a_server(start: StartServer) -> None:
    one, other = start(LINEAGE_MOST_JOBS="1000"), start(LINEAGE_MOST_JOBS="1000")
    configs = [short_config(seed=seed, epochs=1) for seed in range(100)]
    for number, config in enumerate(configs):
        (one, other)[number % 2].call(there.submit, config, "ada")
    wait(lambda: sum(state == "finished" for state in other.call(there.states).values()) > 30)
    one.freeze()
    held = {name for name, found in rows().items() if found.server == one.id}
    one.kill()
    wait(lambda: set(other.call(there.states).values()) == {"finished"})
    assert sorted(other.call(there.states)) == sorted(map(key, configs))
    assert held and all(found.claims <= 1 + (name in held) for name, found in rows().items())
    for config in configs[::10]:
        # A server that is killed after it has stored a run may not yet have written that into the row.
        assert_trained_once(config, one, other, times=1 + (key(config) in held))


def test_old_rows_are_removed(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_rows, "_KEPT_ROWS", 2)
    now = datetime.datetime.now(datetime.UTC)
    hours = {"new": 0, "older": 1, "oldest": 2, "of last week": 24 * 7, "waiting": 24 * 7}

    def fill(session: Session) -> None:
        for name, age in hours.items():
            values: dict[str, Any] = dict.fromkeys(("submission", "mark", "starter", "problem", "curves_mark"), "")
            values |= dict.fromkeys(("until", "crashes", "claims", "step", "seconds", "parameters"), 0)
            values |= {"requesters": [], "watchers": [], "config": {}, "stop_requested": False, "saved": True}
            state = "waiting" if name == "waiting" else "finished"
            changed = now - datetime.timedelta(hours=age)
            session.add(JobRow(key=name, state=state, submitted=now, changed=changed, **values))

    run_transaction(fill)
    run_transaction(job_rows.remove_old_rows)
    assert sorted(rows()) == ["new", "older", "waiting"]


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
