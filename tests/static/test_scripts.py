"""The parts of the browser's scripts that know no browser are tested by node."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests import needs

TESTS = Path(__file__).parents[1]


@needs.node
def test_the_scripts_pass_their_own_tests() -> None:
    files = sorted(map(str, TESTS.rglob("*.test.mjs")))
    process = subprocess.run([str(needs.NODE), "--test", *files], capture_output=True, text=True)
    assert files
    assert process.returncode == 0, process.stdout + process.stderr
