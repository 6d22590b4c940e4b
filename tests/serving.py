"""The app as it is really served: a process of its own, with a home of its own."""

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
    """A port and a home; the process that serves them may end and begin again."""

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
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Begin, and wait until it answers."""
        command = [sys.executable, "-m", "streamlit", "run", str(self.app), "--server.port", str(self.port)]
        command += ["--server.address", "127.0.0.1", "--server.headless", "true"]
        environment = os.environ | {"LINEAGE_HOME": str(self.home), "PYTHONDONTWRITEBYTECODE": "1"} | self.settings
        file = self.home / "server.log"
        with file.open("a") as log:
            self.process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
        until = time.monotonic() + 60
        while not _answers(self.port):
            if self.process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"the server did not start:\n{file.read_text()}")
            time.sleep(0.05)

    def stop(self) -> None:
        """Let it come to its own end."""
        if self.process:
            self.process.terminate()
            self.process.wait()

    def kill(self) -> None:
        """As a power cut does."""
        if self.process:
            self.process.kill()
            self.process.wait()


@contextmanager
def serving(home: Path) -> Iterator[str]:
    """The address of a server that runs as long as the block."""
    server = Server(home)
    try:
        server.start()
        yield server.address
    finally:
        server.stop()


def _answers(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/_stcore/health")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()
