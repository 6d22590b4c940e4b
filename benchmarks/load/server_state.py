"""A server with a home of its own: what it takes of its machine, and what it has logged. Works on Linux only."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.serving import Server


@contextmanager
def fresh_server(**settings: str) -> Iterator[Server]:
    """A server with an empty home of its own, just started."""
    with tempfile.TemporaryDirectory(prefix="lineage-server-", ignore_cleanup_errors=True) as home:
        server = Server(Path(home), **settings)
        try:
            server.start()
            yield server
        finally:
            server.stop()


@dataclass(frozen=True)
class ServerState:
    """Figures of a server's process and its children at one moment."""

    megabytes: float  # proportional resident memory (PSS) of all its processes together
    own_megabytes: float  # of it, what is no copy of a file; the rest depends on who else has the same libraries loaded
    files: int  # open files and sockets
    threads: int
    processes: int
    traces: int  # tracebacks in its log


def read_state(server: Server) -> ServerState:
    """Measure the processes of a running server."""
    assert server.process
    kilobytes = own = files = threads = count = 0
    parent = psutil.Process(server.process.pid)
    for process in (parent, *parent.children(recursive=True)):
        try:
            rollup = Path(f"/proc/{process.pid}/smaps_rollup").read_text("utf-8")
            sizes = dict(re.findall(r"^(\w+): +(\d+)", rollup, re.MULTILINE))
            kilobytes, own = kilobytes + int(sizes["Pss"]), own + int(sizes["Pss_Anon"])
            files, threads, count = files + process.num_fds(), threads + process.num_threads(), count + 1
        except (OSError, KeyError, psutil.Error):  # it ended meanwhile
            continue
    traces = read_log(server).count("Traceback")
    return ServerState(kilobytes * 1024 / 1e6, own * 1024 / 1e6, files, threads, count, traces)


def read_log(server: Server, begin: int = 0) -> str:
    """Return the text of the server's log from a position on (bytes)."""
    return (server.home / "server.log").read_bytes()[begin:].decode(errors="backslashreplace")
