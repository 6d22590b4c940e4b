"""Files of the repository that other programs read: the workflow, forms for issues, the citation, the changelog."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import yaml

import explorer

ROOT = Path(__file__).parents[1]
KINDS_OF_CHANGES = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def read(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text("utf-8"))


def test_the_workflow_runs_everything_on_linux_and_the_fast_tests_elsewhere() -> None:
    workflow = read(".github/workflows/ci.yml")
    assert set(workflow[True]) == {"push", "pull_request"}  # YAML 1.1 reads the key `on` as true
    everything, fast = workflow["jobs"]["everything"], workflow["jobs"]["fast-tests"]
    assert everything["steps"][-1] == {"run": ".ci/run"} and (ROOT / ".ci/run").is_file()
    assert fast["strategy"]["matrix"]["system"] == ["windows-latest", "macos-latest"]
    assert [step["run"] for step in fast["steps"] if "run" in step] == [
        "python -m pip install -r requirements-dev.txt",
        "python -m pytest",
    ]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    prefix = "Programming Language :: Python :: "
    named = [each.removeprefix(prefix) for each in project["classifiers"] if each.startswith(prefix)]
    assert fast["strategy"]["matrix"]["python"] == named


def test_the_citation_and_the_changelog_name_this_version() -> None:
    citation = read("CITATION.cff")
    assert {"cff-version", "message", "title", "authors"} <= set(citation)  # what the format requires
    assert (citation["version"], citation["license"]) == (explorer.__version__, "MIT")
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    versions = re.findall(r"^## \[([\d.]+)\] - (\d{4}-\d{2}-\d{2})$", text, re.MULTILINE)
    assert versions[0] == (explorer.__version__, str(citation["date-released"]))
    assert set(re.findall(r"^### (.*)$", text, re.MULTILINE)) <= KINDS_OF_CHANGES
