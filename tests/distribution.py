"""How pytest-xdist divides the tests: the tests of one file run in one process, in the order of the file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

DIVIDED = ("test_fuzz", "test_every_page")  # long files whose tests share nothing: they run last, in all processes


def is_divided(path: Path) -> bool:
    return path.parent.name == "browser" and path.stem in DIVIDED


def pytest_xdist_auto_num_workers() -> int:
    """One process more than there are cores, because tests also wait for servers; at most four."""
    return min(4, (os.cpu_count() or 1) + 1)


class Scheduling(LoadFileScheduling):
    """Files are assigned to the processes whole; of a divided file each test alone."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return nodeid if is_divided(Path(file)) else file


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling:
    return Scheduling(config, log)
