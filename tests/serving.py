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


@contextmanager
def serving(home: Path) -> Iterator[str]:
    """The address of a server that runs as long as the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    command += ["--server.address", "127.0.0.1", "--server.headless", "true"]
    environment = os.environ | {"LINEAGE_HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    with (home / "server.log").open("w+") as log:
        server = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
        try:
            until = time.monotonic() + 60
            while not _answers(port):
                if server.poll() is not None or time.monotonic() > until:
                    log.seek(0)
                    raise RuntimeError(f"the server did not start:\n{log.read()}")
                time.sleep(0.05)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait()


def _answers(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/_stcore/health")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()
