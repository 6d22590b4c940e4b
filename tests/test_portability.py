"""The program on a system like Windows: without fork, fcntl and resource, and with another encoding of text files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Text files without an encoding are ASCII; what is printed has the characters of a Windows terminal.
OTHER_ENCODINGS = {
    "LC_ALL": "C",
    "PYTHONCOERCECLOCALE": "0",
    "PYTHONUTF8": "0",
    "PYTHONIOENCODING": "cp1252:backslashreplace",
    "USERNAME": "ada",  # Windows sets it, and torch asks the system for it otherwise
}


def test_training_and_exchange_of_runs_work_on_a_system_like_windows(home: Path) -> None:
    process = subprocess.run(
        [sys.executable, "-m", "tests.other_system"],
        cwd=ROOT, env=os.environ | OTHER_ENCODINGS, capture_output=True, text=True, encoding="cp1252",
    )  # fmt: skip
    assert process.returncode == 0, process.stdout + process.stderr
    assert "Traceback" not in process.stderr
    assert process.stdout.splitlines()[-1] == (
        "LINEAGE_EXECUTOR = processes is possible on Linux only. Unset it: trainings then run in the server."
    )
