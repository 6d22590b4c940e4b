"""The list of app servers, the notifications between them, and the values that they share."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import NoResultFound

from explorer.database import notifications, servers, shared_values
from explorer.database.engine import close_database, run_transaction
from explorer.environment import environment
from explorer.errors import InvalidSetting, StoreError, UnknownServer
from explorer.web.signing import signing_key
from tests.jobs.shared_server import end_lease, shorten_periods

OTHER = """
import sys
from explorer.database import notifications, servers
from explorer.database.engine import run_transaction
def tell(*words):  # in one write, which no other thread can interrupt: `print` writes each word on its own
    sys.stdout.write(" ".join(map(str, words)) + "\\n")
    sys.stdout.flush()
notifications.subscribe("tests", lambda text: tell("notified", text))
servers._RENEWAL_SECONDS = notifications._LISTEN_SECONDS = 0.05
servers.start("other:1", "1.0")
tell("started", servers.this_server())
for line in sys.stdin:
    match line.split():
        case ["publish", text]: run_transaction(lambda session: notifications.publish(session, "tests", text))
        case ["leads"]: tell("leads", servers.is_leader())
        case ["draining"]: tell("draining", servers.is_draining())
"""


class OtherServer:
    """A second process that is registered as a server with a home of its own."""

    def __init__(self, home: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", OTHER],
            env=os.environ | {"LINEAGE_HOME": str(home)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.id = self.wait_for("started")

    def ask(self, question: str) -> str:
        self.say(question)
        return self.wait_for(question)

    def say(self, line: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def wait_for(self, word: str) -> str:
        """Return what follows this word in the next line that begins with it."""
        assert self.process.stdout
        for line in self.process.stdout:
            first, _, rest = line.strip().partition(" ")
            if first == word:
                return rest
        raise AssertionError(f"the other server ended before it wrote {word}")

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


def wait_until(there: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not there():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture(autouse=True)
def short_periods(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if "database" in request.fixturenames:
        request.getfixturevalue("database")  # which is closed last
    shorten_periods(monkeypatch)
    yield
    servers.stop()
    close_database()


def test_a_server_is_listed_with_the_facts_that_can_be_read_until_it_stops(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(servers, "_facts", {"disk": fail, "jobs": lambda: 3})
    assert servers.living() == []
    for _ in range(2):
        servers.start("this:1", "1.0")
        this = servers.this_server()
        (listed,) = servers.living()
        assert (listed.id, listed.name, listed.version, listed.facts) == (this, "this:1", "1.0", {"jobs": 3})
        assert not servers.is_draining()
        with pytest.raises(UnknownServer):
            servers.set_draining("nobody", True)
        servers.set_draining(this, True)
        assert servers.is_draining() and servers.living()[0].draining
        servers.stop()
        assert servers.living() == [] and servers.this_server() != this


@pytest.mark.parametrize("shared", ["LINEAGE_HOME", "the SQLite file"])
def test_a_second_server_on_the_same_home_or_file_is_refused_with_what_to_do(
    shared: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_DATABASE_URL", f"sqlite:///{tmp_path}/shared.db")
    servers.start("this:1", "1.0")
    if shared != "LINEAGE_HOME":
        monkeypatch.setenv("LINEAGE_HOME", str(tmp_path / "second"))
    code = "from explorer.database import servers; servers.start('other:1', '1.0')"
    second = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert second.returncode
    assert f"Another server already uses {shared}" in second.stderr and "of its own" in second.stderr


def test_notifications_arrive_after_the_commit_only(database: str) -> None:
    heard: list[str | None] = []
    notifications.subscribe("one", heard.append)

    def fail(session: object) -> None:
        notifications.publish(session, "one", "lost")  # type: ignore[arg-type]
        raise InvalidSetting("no")

    with pytest.raises(InvalidSetting):
        run_transaction(fail)
    run_transaction(lambda session: notifications.publish(session, "one", "kept"))
    assert heard == ["kept"]


def test_a_shared_value_is_that_of_the_first(database: str) -> None:
    assert shared_values.find_or_store("name", lambda: "first") == "first"
    assert shared_values.find_or_store("name", lambda: "second") == "first"
    shared_values.replace("name", "third")
    assert shared_values.find_or_store("name", lambda: "second") == "third"


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_two_servers_hear_each_other_and_one_leads(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[str | None] = []
    notifications.subscribe("tests", heard.append)
    other = OtherServer(tmp_path / "other")
    wait_until(lambda: other.ask("leads") == "True")
    close_database()
    servers.start("this:1", "1.0")
    begun = time.monotonic()
    wait_until(lambda: servers._this.renewed > begun)
    assert not servers.is_leader(), "the lock is taken"
    assert [(each.id, each.leads) for each in servers.living()] == [(other.id, True), (servers.this_server(), False)]
    other.say("publish from-other")
    wait_until(lambda: "from-other" in heard)
    run_transaction(lambda session: notifications.publish(session, "tests", "from-this"))
    assert "from-this" in iter(lambda: other.wait_for("notified"), "never")
    servers.set_draining(other.id, True)
    wait_until(lambda: other.ask("draining") == "True")
    other.kill()
    wait_until(servers.is_leader)
    assert len(servers.living()) == 2, "its lease has not ended"
    end_lease(other.id)
    assert [each.id for each in servers.living()] == [servers.this_server()]
    monkeypatch.setattr(servers, "_FORGET_SECONDS", servers.LEASE_SECONDS / 2)
    wait_until(lambda: run_transaction(lambda session: session.get(servers._Row, other.id)) is None)


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_servers_of_one_database_sign_with_one_key(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = signing_key()
    close_database()
    monkeypatch.setenv("LINEAGE_HOME", str(tmp_path / "other"))
    assert environment().home == tmp_path / "other" and signing_key() == first


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_postgresql_is_asked_to_notice_that_a_server_is_gone(database: str) -> None:
    query = text("SELECT name FROM pg_settings WHERE source = 'client' ORDER BY name")
    found = run_transaction(lambda session: session.scalars(query).all())
    tcp = ["tcp_keepalives_count", "tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_user_timeout"]
    assert list(found) == ["idle_in_transaction_session_timeout", *tcp]


def test_a_transaction_that_the_program_has_made_impossible_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(StoreError):
        run_transaction(lambda session: session.get_one(servers._Row, "unknown"))
    (record,) = caplog.records
    assert record.exc_info and isinstance(record.exc_info[1], NoResultFound)
