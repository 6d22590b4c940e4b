"""A training that is killed with -9 at random moments and taken up each time ends as if nothing had happened."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_a_run_that_was_killed_again_and_again_is_bit_equal_to_an_undisturbed_one() -> None:
    command = [sys.executable, "-m", "benchmarks.killable", "--kills", "6", "--seed", "4", "--json"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert told.returncode == 0, told.stderr
    found = json.loads(told.stdout)
    assert (found["kills"], found["worries"]) == (6, [])
    assert found["runs"] > 0
