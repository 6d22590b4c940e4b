"""The list of app servers, the notifications between them, and the values that they share."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from explorer.database import notifications, servers, shared_values
from explorer.database.engine import close_database, run_transaction
from explorer.environment import environment
from explorer.errors import InvalidSetting, UnknownServer

OTHER = """
import sys, time
from explorer.database import notifications, servers
from explorer.database.engine import run_transaction
notifications.subscribe("tests", lambda text: print("notified", text, flush=True))
servers.start("other:1", "1.0")
print("started", servers.this_server(), flush=True)
for line in sys.stdin:
    match line.split():
        case ["publish", text]: run_transaction(lambda session: notifications.publish(session, "tests", text))
        case ["leads"]: print("leads", servers.is_leader(), flush=True)
        case ["draining"]: print("draining", servers.is_draining(), flush=True)
        case ["stop"]: break
servers.stop()
print("stopped", flush=True)
"""


class OtherServer:
    """A second process that is registered as a server with a home of its own."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with monkeypatch.context() as patch:
            patch.setenv("LINEAGE_HOME", str(home))
            self.process = subprocess.Popen(
                [sys.executable, "-c", OTHER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        self.id = self.wait_for("started")

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
    deadline = time.monotonic() + 60
    while not there():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture
def this(database: str) -> Iterator[str]:
    servers.start("this:1", "1.0")
    yield servers.this_server()
    servers.stop()


def test_a_server_is_listed_until_it_stops(database: str) -> None:
    assert servers.living() == []
    servers.start("this:1", "1.0")
    listed = servers.living()
    assert [(each.id, each.name, each.version) for each in listed] == [(servers.this_server(), "this:1", "1.0")]
    servers.stop()
    assert servers.living() == []


def test_a_second_server_on_the_same_home_is_refused_with_what_to_do(this: str) -> None:
    code = "from explorer.database import servers; servers.start('other:1', '1.0')"
    second = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert second.returncode
    assert "Another server already uses LINEAGE_HOME" in second.stderr and "of its own" in second.stderr


def test_a_second_server_on_the_same_sqlite_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_DATABASE_URL", f"sqlite:///{tmp_path}/shared.db")
    servers.start("this:1", "1.0")
    try:
        with monkeypatch.context() as patch:
            patch.setenv("LINEAGE_HOME", str(tmp_path / "second"))
            code = "from explorer.database import servers; servers.start('other:1', '1.0')"
            second = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    finally:
        servers.stop()
    assert second.returncode
    assert f"Another server already uses the SQLite file {tmp_path}/shared.db" in second.stderr


def test_the_home_is_free_again_after_a_stop(database: str) -> None:
    for _ in range(2):
        servers.start("this:1", "1.0")
        servers.stop()


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


def test_a_server_is_listed_with_the_facts_that_can_be_read(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(servers, "_facts", {"disk": fail, "jobs": lambda: 3})
    servers.start("this:1", "1.0")
    assert [each.facts for each in servers.living()] == [{"jobs": 3}]
    servers.stop()


def test_an_unknown_server_cannot_be_drained(this: str) -> None:
    with pytest.raises(UnknownServer):
        servers.set_draining("nobody", True)
    servers.set_draining(this, True)
    assert servers.is_draining() and servers.living()[0].draining


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_two_servers_hear_each_other_and_one_leads(this: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str | None] = []
    notifications.subscribe("tests", heard.append)
    wait_until(servers.is_leader)
    other = OtherServer(tmp_path / "other", monkeypatch)
    assert [each.id for each in servers.living()] == [this, other.id]
    other.say("publish from-other")
    wait_until(lambda: "from-other" in heard)
    run_transaction(lambda session: notifications.publish(session, "tests", "from-this"))
    assert "from-this" in iter(lambda: other.wait_for("notified"), "never")
    other.say("leads")
    assert other.wait_for("leads") == "False"
    servers.set_draining(other.id, True)
    other.say("publish seen")  # the notification about draining arrives before the answer to this
    wait_until(lambda: "seen" in heard)
    other.say("draining")
    assert other.wait_for("draining") == "True"
    other.say("stop")
    other.wait_for("stopped")
    assert [each.id for each in servers.living()] == [this]
    other.kill()


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_server_that_stops_during_a_renewal_leaves_no_row(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    renewing, may_go_on = threading.Event(), threading.Event()

    def wait() -> None:
        if threading.current_thread().name == "server":
            renewing.set()
            assert may_go_on.wait(60)

    monkeypatch.setitem(servers._facts, "slow", wait)
    servers.start("this:1", "1.0")
    assert renewing.wait(60)
    stopping = threading.Thread(target=servers.stop)
    stopping.start()
    wait_until(lambda: servers._thread.stopping)
    may_go_on.set()
    stopping.join()
    assert servers.living() == []


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_another_server_leads_after_the_leader_was_killed(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    close_database()
    other = OtherServer(tmp_path / "other", monkeypatch)

    def leads() -> bool:
        other.say("leads")
        return other.wait_for("leads") == "True"

    wait_until(leads)
    servers.start("this:1", "1.0")
    try:
        time.sleep(3)  # one renewal: the lock is taken
        assert not servers.is_leader()
        other.kill()
        wait_until(servers.is_leader)
        monkeypatch.setattr(servers, "LEASE_SECONDS", 0.5)
        wait_until(lambda: [each.name for each in servers.living()] in ([], ["this:1"]))
    finally:
        servers.stop()


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_servers_of_one_database_sign_with_one_key(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from explorer.web.signing import signing_key

    first = signing_key()
    close_database()
    monkeypatch.setenv("LINEAGE_HOME", str(tmp_path / "other"))
    assert environment().home == tmp_path / "other" and signing_key() == first
