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
from urllib.parse import urlsplit

import httpx

from benchmarks.load.load_generator import open_page

ROOT = Path(__file__).parents[1]


def free_port() -> int:
    """Return a port of this machine on which nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


class Server:
    """A server on a free port with its own home directory; its process can be restarted.

    settings: environment variables.
    """

    def __init__(self, home: Path, app: Path = ROOT / "app.py", **settings: str) -> None:
        self.port = free_port()
        self.home = home
        self.folder = ROOT  # in which the process is started
        self.command = [sys.executable, "-m", "streamlit", "run", str(app), "--server.port", str(self.port)]
        self.command += ["--server.address", "127.0.0.1", "--server.headless", "true"]
        self.settings = settings
        self.process: subprocess.Popen[bytes] | None = None
        home.mkdir(parents=True, exist_ok=True)

    @property
    def url(self) -> str:
        path = self.settings.get("STREAMLIT_SERVER_BASE_URL_PATH", "").strip("/")
        return f"http://127.0.0.1:{self.port}" + (f"/{path}" if path else "")

    def start(self) -> None:
        """Start the process and wait until it answers. Raises RuntimeError if it does not within 120 seconds."""
        environment = os.environ | {"LINEAGE_HOME": str(self.home)} | self.settings
        file = self.home / "server.log"
        with file.open("a") as log:
            self.process = subprocess.Popen(self.command, cwd=self.folder, env=environment, stdout=log, stderr=log)
        deadline = time.monotonic() + 120
        while not is_healthy(self.url):
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
def running_server(home: Path, **settings: str) -> Iterator[str]:
    """Yield the URL of a server with these environment variables that runs for the duration of the block."""
    server = Server(home, **settings)
    try:
        server.start()
        yield server.url
    finally:
        server.stop()


def is_healthy(url: str, address: str = "_stcore/health") -> bool:
    """Return whether the server at this URL answers its health check, or another address, with status 200."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.netloc, timeout=5)
    try:
        connection.request("GET", f"{parts.path}/{address}")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


async def visit_page(url: str, page: str) -> str:
    """Open a page and return everything that the server sends. Fails if the page shows an error."""
    received: list[str] = []
    async with (
        httpx.AsyncClient(base_url=url, timeout=60, trust_env=False) as browser,
        open_page(browser, url, page, received=received) as visitor,
    ):
        assert await visitor.fetch_sections(60)
        assert visitor.exceptions == []
    return "".join(received)
