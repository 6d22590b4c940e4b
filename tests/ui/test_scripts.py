"""The parts of the browser's scripts that know no browser are tested by node."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
NODE = shutil.which("node")


@pytest.mark.skipif(NODE is None, reason="node is not installed: the scripts of the browser are not tested here")
def test_the_scripts_pass_their_own_tests() -> None:
    files = sorted(map(str, HERE.glob("*.test.mjs")))
    done = subprocess.run([str(NODE), "--test", *files], capture_output=True, text=True)
    assert files
    assert done.returncode == 0, done.stdout + done.stderr
