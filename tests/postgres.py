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

import psycopg

_numbers = itertools.count()


@cache
def _binaries() -> Path | None:
    """Return the folder of PostgreSQL's programs, which Debian does not put on the path, or None."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "initdb").exists() and (folder / "pg_ctl").exists()), None)


@cache
def _server() -> Path:
    """Start a server and return the folder of its socket; it is stopped when the tests end."""
    folder = Path(tempfile.mkdtemp(prefix="lineage-pg-", dir="/tmp"))  # a socket's path must be short
    binaries = _binaries()
    assert binaries
    # PostgreSQL does not run as root.
    user_switch = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    if user_switch:
        shutil.chown(folder, "postgres")

    def run(*command: str) -> None:
        process = subprocess.run(
            [*user_switch, *command], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        if process.returncode:
            log = folder / "log"
            raise RuntimeError(f"{command[0]}: {process.stdout}\n{log.read_text() if log.exists() else ''}")

    def stop() -> None:
        try:
            run(f"{binaries}/pg_ctl", "stop", "-D", f"{folder}/data", "-m", "immediate", "-w")
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    run(f"{binaries}/initdb", "-D", f"{folder}/data", "-U", "lineage", "-A", "trust", "-E", "UTF8", "--no-sync")
    atexit.register(stop)
    options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off -c max_connections=50"
    run(f"{binaries}/pg_ctl", "start", "-D", f"{folder}/data", "-l", f"{folder}/log", "-w", "-o", options)
    return folder


def missing() -> str:
    """Return why PostgreSQL is not available on this machine, or an empty string."""
    if _binaries() and (os.geteuid() or shutil.which("runuser")):
        return ""
    return "no PostgreSQL here (initdb is neither on the path nor in /usr/lib/postgresql/*/bin)"


def fresh_database() -> str:
    """Create an empty database and return its URL, for LINEAGE_DATABASE_URL."""
    name = f"lineage_{next(_numbers)}"
    with psycopg.connect(host=str(_server()), user="lineage", dbname="postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} STRATEGY file_copy")
    return f"postgresql+psycopg://lineage@/{name}?host={_server()}"
