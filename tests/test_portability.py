"""The program on a system like Windows: without fork, fcntl and resource, and with another encoding of text files."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.serving import Server, visit_page

ROOT = Path(__file__).parents[1]
# Text files without an encoding are ASCII; what is printed has the characters of a Windows terminal.
OTHER_ENCODINGS = {
    "LC_ALL": "C",
    "PYTHONCOERCECLOCALE": "0",
    "PYTHONUTF8": "0",
    "PYTHONIOENCODING": "cp1252:backslashreplace",
    "USERNAME": "ada",  # Windows sets it, and torch asks the system for it otherwise
}


def run_elsewhere(home: Path, *code: str, **settings: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | OTHER_ENCODINGS | {"LINEAGE_HOME": str(home)} | settings
    return subprocess.run(
        [sys.executable, *code], cwd=ROOT, env=environment, capture_output=True, text=True, encoding="cp1252"
    )


@pytest.mark.slow
def test_training_exchange_of_runs_and_pages_work_on_a_system_like_windows(home: Path) -> None:
    process = run_elsewhere(home, "-m", "tests.other_system")
    assert process.returncode == 0, process.stdout + process.stderr
    assert "Traceback" not in process.stderr


@pytest.mark.slow
def test_the_server_shows_pages_on_a_system_like_windows(home: Path) -> None:
    server = Server(home, **OTHER_ENCODINGS)
    server.command = [sys.executable, "-m", "tests.other_system", "app", "--port", str(server.port)]
    server.command += ["--host", "127.0.0.1", "--no-browser"]
    try:
        server.start()
        for page in ("", "attention", "compare", "lessons", "negation", "runs", "studio"):
            assert asyncio.run(visit_page(server.url, page))
    finally:
        server.stop()
    assert "Traceback" not in (home / "server.log").read_text("utf-8")


@pytest.mark.slow
def test_worker_processes_are_refused_with_a_sentence_where_they_are_impossible(home: Path) -> None:
    code = """
from tests.other_system import pretend
pretend()
from explorer.errors import InvalidSetting
from explorer.jobs.scheduler import service
try:
    service.restore()
except InvalidSetting as error:
    print(error)
"""
    process = run_elsewhere(home, "-c", code, LINEAGE_EXECUTOR="processes")
    assert process.stdout.strip() == (
        "LINEAGE_EXECUTOR = processes is possible on Linux only. Unset it: trainings then run in the server."
    ), process.stderr
