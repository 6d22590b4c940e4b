"""`.ci/run` fails if any of its parts fails, tried with programs that do nothing but succeed or fail."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
# Stands in for every program. FAIL is a part of the command line that fails.
PROGRAM = """#!/bin/sh
line="$(basename "$0") $*"
if [ "$(basename "$0")" = python3 ]; then # python3 -m venv FOLDER
    mkdir -p "$3/bin" "$3/lib/python3/site-packages"
    cp "$0" "$3/bin/pip"
    cp "$0" "$3/bin/python"
    : > "$3/bin/activate"
fi
case "$line" in *"$FAIL"*) exit 3 ;; esac
"""
PROGRAMS = ("apt-get", "lint-imports", "mypy", "npm", "pip", "pytest", "python", "python3", "ruff")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with `.ci/run` and the programs."""
    (tmp_path / ".ci").mkdir()
    for name in (".ci/run", "README.md"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "programs").mkdir()
    for name in PROGRAMS:
        (tmp_path / "programs" / name).write_text(PROGRAM, "utf-8")
        (tmp_path / "programs" / name).chmod(0o755)
    return tmp_path


def test_the_workflow_names_no_folder_outside_its_container() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text("utf-8"))
    in_containers = [job for job in workflow["jobs"].values() if "container" in job]
    assert in_containers
    for job in in_containers:  # https://github.com/actions/runner/issues/2058
        assert not re.search(r"(github|runner)\.(workspace|temp)", str(job))


@pytest.mark.skipif(os.name == "nt", reason="It is a program for bash.")
@pytest.mark.parametrize(
    "fails",
    [
        "nothing",
        "npm install",
        "npm run",
        "python3 -m venv",
        "pip install -r",
        "--no-deps -r",
        "ruff check",
        "ruff format",
        "mypy",
        "lint-imports",
        "--require-hashes",
        "explorer predict",
        "pytest",
        "pytest --skipped",
    ],
)
def test_it_fails_if_one_part_fails(fails: str, checkout: Path) -> None:
    path = os.pathsep.join((str(checkout / "programs"), os.environ["PATH"]))
    environment = os.environ | {"PATH": path, "FAIL": fails}
    process = subprocess.run(
        ["bash", str(checkout / ".ci/run")], env=environment, capture_output=True, text=True, encoding="utf-8"
    )
    assert (process.returncode == 0) is (fails == "nothing"), process.stdout + process.stderr
    if fails in ("nothing", "mypy", "lint-imports", "pytest --skipped"):  # the other checks are done nevertheless
        for part in ("== README", "== mypy", "== import contracts", "== locked packages", "== tests", "together"):
            assert part in process.stdout
