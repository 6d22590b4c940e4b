"""A real PostgreSQL for tests: a server of its own in a temporary folder, over a unix socket only."""

from __future__ import annotations

import atexit
import itertools
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import psycopg


@cache
def _binaries() -> Path | None:
    """Return the folder of PostgreSQL's programs, which Debian does not put on the path, or None."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "initdb").exists() and (folder / "pg_ctl").exists()), None)


class PostgresServer:
    """A server of its own in a temporary folder, over a unix socket only. `start` and `stop` may be repeated.

    options: further settings of the server, as `postgres` takes them on its command line.
    """

    def __init__(self, options: str = "") -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="lineage-pg-", dir="/tmp"))  # a socket's path must be short
        # PostgreSQL does not run as root.
        self._user_switch = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        if self._user_switch:
            shutil.chown(self.folder, "postgres")
        self._options = f"-c listen_addresses='' -c unix_socket_directories={self.folder} {options}"
        self._run("initdb", "-D", f"{self.folder}/data", "-U", "lineage", "-A", "trust", "-E", "UTF8", "--no-sync")
        self._databases = itertools.count()

    def start(self) -> None:
        """Start the server. Raises RuntimeError with its log."""
        folder = self.folder
        self._run("pg_ctl", "start", "-D", f"{folder}/data", "-l", f"{folder}/log", "-w", "-o", self._options)

    def stop(self) -> None:
        """Stop the server as after a loss of power."""
        self._run("pg_ctl", "stop", "-D", f"{self.folder}/data", "-m", "immediate", "-w")

    def remove(self) -> None:
        """Stop the server and delete its folder."""
        try:
            self.stop()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def process_id(self) -> int:
        """Return the id of the process whose children serve the connections."""
        return int((self.folder / "data" / "postmaster.pid").read_text().split()[0])

    def fresh_database(self) -> str:
        """Create an empty database and return its URL, for LINEAGE_DATABASE_URL."""
        name = f"lineage_{next(self._databases)}"
        with self.connect() as connection:
            connection.execute(f"CREATE DATABASE {name} STRATEGY file_copy")
        return f"postgresql+psycopg://lineage@/{name}?host={self.folder}"

    def connect(self) -> psycopg.Connection[Any]:
        """Return a connection as the administrator of the server."""
        return psycopg.connect(host=str(self.folder), user="lineage", dbname="postgres", autocommit=True)

    def _run(self, program: str, *arguments: str) -> None:
        process = subprocess.run(
            [*self._user_switch, f"{_binaries()}/{program}", *arguments],
            cwd=self.folder,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        if process.returncode:
            log = self.folder / "log"
            raise RuntimeError(f"{program}: {process.stdout}\n{log.read_text() if log.exists() else ''}")


@cache
def _server() -> PostgresServer:
    """Start the server of all tests of this process; it is stopped when they end."""
    server = PostgresServer("-c fsync=off -c max_connections=50")
    atexit.register(server.remove)
    server.start()
    return server


def missing() -> str:
    """Return why PostgreSQL is not available on this machine, or an empty string."""
    if _binaries() and (os.geteuid() or shutil.which("runuser")):
        return ""
    return "no PostgreSQL here (initdb is neither on the path nor in /usr/lib/postgresql/*/bin)"


def fresh_database() -> str:
    """Create an empty database in the server of all tests and return its URL, for LINEAGE_DATABASE_URL."""
    return _server().fresh_database()


def administrator() -> psycopg.Connection[Any]:
    """Return a connection as the administrator of the server of all tests."""
    return _server().connect()
