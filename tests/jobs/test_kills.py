"""A training that is killed with -9 at random moments and resumed each time ends like an undisturbed one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_a_run_that_was_killed_repeatedly_is_bit_equal_to_an_undisturbed_one() -> None:
    command = [sys.executable, "-m", "benchmarks.load.crash_recovery", "--kills", "6", "--seed", "4", "--json"]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert process.returncode == 0, process.stderr
    report = json.loads(process.stdout)
    assert (report["kills"], report["problems"]) == (6, [])
    assert report["runs"] > 0
