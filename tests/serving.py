"""Run the app as a server process with its own home directory."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path

ROOT = Path(__file__).parents[1]


class Server:
    """A server on a free port with its own home directory; its process can be restarted."""

    def __init__(self, home: Path, app: Path = ROOT / "app.py", **settings: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.home = home
        self.app = app
        self.settings = settings
        self.process: subprocess.Popen[bytes] | None = None
        home.mkdir(parents=True, exist_ok=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start the process and wait until it answers. Raises RuntimeError if it does not within 60 seconds."""
        command = [sys.executable, "-m", "streamlit", "run", str(self.app), "--server.port", str(self.port)]
        command += ["--server.address", "127.0.0.1", "--server.headless", "true"]
        environment = os.environ | {"LINEAGE_HOME": str(self.home)} | self.settings
        file = self.home / "server.log"
        with file.open("a") as log:
            self.process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
        deadline = time.monotonic() + 60
        while not _is_healthy(self.port):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the server did not start:\n{file.read_text()}")
            time.sleep(0.05)

    def stop(self) -> None:
        """Terminate the process and wait for its end."""
        if self.process:
            self.process.terminate()
            self.process.wait()

    def kill(self) -> None:
        """Kill the process without a shutdown, as in a power failure."""
        if self.process:
            self.process.kill()
            self.process.wait()


@contextmanager
def running_server(home: Path) -> Iterator[str]:
    """Yield the URL of a server that runs for the duration of the block."""
    server = Server(home)
    try:
        server.start()
        yield server.url
    finally:
        server.stop()


def _is_healthy(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/_stcore/health")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()
