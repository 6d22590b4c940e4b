"""Two servers cannot use one home or one SQLite file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from explorer.database import home_lock

SECOND = "from explorer.database import home_lock\nwith home_lock.hold(): print('held')"


@pytest.mark.parametrize("shared", ["LINEAGE_HOME", "the SQLite file"])
def test_a_second_server_on_the_same_home_or_file_is_refused_with_what_to_do(
    shared: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start_second() -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-c", SECOND], capture_output=True, text=True)

    monkeypatch.setenv("LINEAGE_DATABASE_URL", f"sqlite:///{tmp_path}/shared.db")
    with home_lock.hold():
        if shared != "LINEAGE_HOME":
            monkeypatch.setenv("LINEAGE_HOME", str(tmp_path / "second"))
        refused = start_second()
    assert refused.returncode
    assert f"Another server already uses {shared}" in refused.stderr and "of its own" in refused.stderr
    assert start_second().stdout == "held\n"


def test_a_home_that_cannot_be_written_needs_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("LINEAGE_HOME", str(tmp_path / "file" / "home"))
    with home_lock.hold():
        pass
