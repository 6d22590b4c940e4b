"""Several servers as a department runs them: PostgreSQL, app servers, nginx in front of them, on this machine.

Each app server has a home of its own; all share the database and the folder of runs. Single parts can be killed and
started again. Used by `python -m benchmarks.course` and by tests/deploy/test_several_servers.py.
"""

from __future__ import annotations

import contextlib
import signal
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.load.server_state import read_state
from tests import nginx
from tests.postgres import PostgresServer
from tests.serving import Server, free_port, is_healthy

BASE_PATH = "lineage"
SERVERS = 3


@dataclass(frozen=True)
class Cost:
    """What the parts have used since they were started."""

    app: float  # seconds of processor time of all app servers that run now
    proxy: float
    database: float
    transactions: int  # of the database
    log_bytes: int  # that the database has written to its write-ahead log

    def __sub__(self, other: Cost) -> Cost:
        return Cost(*(mine - its for mine, its in zip(vars(self).values(), vars(other).values(), strict=True)))


class Cluster:
    """PostgreSQL, three app servers and nginx. `url` is the address behind nginx, with TLS and a path.

    folder: of the homes, the runs and the logs.
    settings: environment variables of all app servers.
    """

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        self.port = free_port()
        self.url = f"https://127.0.0.1:{self.port}/{BASE_PATH}"
        self.runs = folder / "shared-runs"
        self.database = PostgresServer("-c max_connections=200")
        self.database_url = ""  # once it has started
        self._settings = settings
        self.servers: list[Server] = []
        self._stack = contextlib.ExitStack()
        self._proxy: psutil.Process | None = None

    def start(self) -> None:
        """Start everything. Raises RuntimeError with the log of what does not start."""
        self._stack.callback(self.database.remove)
        self.database.start()
        self.database_url = self.database.fresh_database()
        self.runs.mkdir(parents=True)
        settings = {
            "STREAMLIT_SERVER_BASE_URL_PATH": BASE_PATH,
            "LINEAGE_TRUSTED_PROXIES": "127.0.0.1",
            "LINEAGE_DATABASE_URL": self.database_url,
            "LINEAGE_RUNS": str(self.runs),
            "LINEAGE_SECRET": "the same for all servers",
            "LINEAGE_OPERATOR_PASSWORD": "a password for the operator",
        } | self._settings
        self.servers = [Server(self.folder / f"server-{number}", **settings) for number in range(1, SERVERS + 1)]
        for server in self.servers:
            self._stack.callback(server.kill)
        with ThreadPoolExecutor(SERVERS) as pool:
            for started in [pool.submit(server.start) for server in self.servers]:
                started.result()
        folder = self.folder / "nginx"
        ports = [server.port for server in self.servers]
        sites = nginx.site_of_several(ports, self.port, folder, "127.0.0.1")
        process = self._stack.enter_context(nginx.running_nginx(folder, sites, self.port))
        self._proxy = psutil.Process(process.pid)

    def close(self) -> None:
        """Stop everything."""
        for server in self.servers:
            if server.process and server.process.poll() is None:
                server.process.send_signal(signal.SIGTERM)
        self._stack.close()

    def kill(self, number: int) -> None:
        """Kill an app server without a shutdown; `number` counts from 0."""
        self.servers[number].kill()

    def restart(self, number: int) -> None:
        """Start an app server again that was killed or stopped, with the same port and home; return when it is ready.

        Raises RuntimeError if it is not ready within 60 seconds.
        """
        server = self.servers[number]
        server.start()
        deadline = time.monotonic() + 60
        while not is_healthy(server.url, "ready"):
            if time.monotonic() > deadline:
                raise RuntimeError(f"server {number} is not ready:\n{self.logs()}")
            time.sleep(0.2)

    def server_of(self, cookies: dict[str, str]) -> int:
        """Return the number from 0 of the app server that has the page of the browser with these cookies."""
        return int(cookies["lineage_server"]) - 1

    def logs(self) -> str:
        """Return the logs of all app servers."""
        files = sorted(self.folder.glob("server-*/server.log"))
        return "".join(f"--- {file.parent.name}\n{file.read_text('utf-8', 'replace')}" for file in files)

    def cost(self) -> Cost:
        """Return what the parts have used so far."""
        with self.database.connect() as connection:
            row = connection.execute(
                "SELECT sum(xact_commit + xact_rollback)::bigint, "
                "pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint FROM pg_stat_database"
            ).fetchone()
        assert row and self._proxy
        running = [each.process.pid for each in self.servers if each.process and each.process.poll() is None]
        return Cost(
            sum(_processor_seconds(psutil.Process(pid)) for pid in running),
            _processor_seconds(self._proxy),
            _processor_seconds(psutil.Process(self.database.process_id)),
            int(row[0]),
            int(row[1]),
        )

    def megabytes(self) -> float:
        """Return the memory of all app servers and what they have started, without copies of files."""
        return sum(read_state(server).own_megabytes for server in self.servers)


def _processor_seconds(process: psutil.Process) -> float:
    """Return the processor time of a process and of all its children, also of those that have ended."""
    total = 0.0
    for each in (process, *process.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):
            times = each.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


@contextlib.contextmanager
def running_cluster(folder: Path | None = None, **settings: str) -> Iterator[Cluster]:
    """Yield a cluster that runs for the duration of the block."""
    with tempfile.TemporaryDirectory(prefix="lineage-cluster-") as temporary:
        cluster = Cluster(folder or Path(temporary), **settings)
        try:
            cluster.start()
            yield cluster
        finally:
            cluster.close()
