"""Files of the repository besides the program: documents, requirements, the workflow, the citation, the changelog."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import yaml
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.specifiers import Specifier
from packaging.utils import canonicalize_name
from typer.main import get_command

import explorer
from explorer.__main__ import app

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
DOCUMENTS = sorted(
    file
    for file in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docs/*.ipynb"), *ROOT.glob("deploy/*.md"))
    if file.name != "MODEL_CARD.md"
)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def anchors(file: Path) -> set[str]:
    """Return the anchors of a document's headings, as GitHub forms them."""
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", file.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def links_in(document: Path) -> list[str]:
    """Return the links of a document that lead to files of the repository."""
    links = LINK.findall(FENCED.sub("", document.read_text(encoding="utf-8")))
    return [link for link in links if not re.match(r"[a-z]+:", link)]


def test_every_link_leads_to_a_file_and_a_heading() -> None:
    for document in DOCUMENTS:
        for link in links_in(document):
            path, _, anchor = link.partition("#")
            target = (document.parent / path).resolve() if path else document
            assert target.exists() and (not anchor or anchor in anchors(target)), f"{document}: {link}"


def test_every_document_is_reached_from_the_readme() -> None:
    reached, todo = set(), [ROOT / "README.md"]
    while todo:
        document = todo.pop()
        if document in reached:
            continue
        reached.add(document)
        targets = [(document.parent / link.partition("#")[0]).resolve() for link in links_in(document)]
        files = [each / "README.md" if each.is_dir() else each for each in targets]
        todo += [each for each in files if each.suffix in (".md", ".ipynb") and each.is_file()]
    assert not set(DOCUMENTS) - reached


def test_the_readme_is_short_and_has_both_commands_and_every_picture() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    assert [each.name for each in (ROOT / "docs/pictures").iterdir() if f"docs/pictures/{each.name}" not in text] == []
    assert "\npip install -r requirements.txt && streamlit run app.py\n" in text
    assert "\npip install -r requirements-dev.txt && pytest\n" in text


def test_every_command_in_fences_or_backticks_is_one_of_the_program() -> None:
    group: Any = get_command(app)
    text = "\n".join(document.read_text(encoding="utf-8") for document in DOCUMENTS)
    commands = re.findall(r"^lineage(?: [^#\n]+)?", text, re.MULTILINE) + re.findall(r"`(lineage(?: [^`]+)?)`", text)
    for line in commands:
        _, *words = shlex.split(line)
        if words and words[0].islower() and words[0].isalpha() and not {"…", "-h"} & {*words}:
            name, command, rest = group.resolve_command(group.make_context("lineage", words), words)
            command.make_context(name, rest, resilient_parsing=not rest)


PYTHONS = ("3.11", "3.12", "3.13")
SYSTEMS = {"linux": ("Linux", "x86_64"), "darwin": ("Darwin", "arm64"), "win32": ("Windows", "AMD64")}
ENVIRONMENTS = [
    {"python_version": python, "python_full_version": f"{python}.0", "sys_platform": system}
    | {"platform_system": name, "platform_machine": machine}
    for python in PYTHONS
    for system, (name, machine) in SYSTEMS.items()
]


def read_requirements(name: str) -> list[Requirement]:
    lines = (line.partition(" #")[0].strip() for line in (ROOT / name).read_text("utf-8").splitlines())
    return [Requirement(line) for line in lines if line and not line.startswith(("#", "-r"))]


def read_lock() -> dict[str, list[tuple[Requirement, list[str]]]]:
    """Return the entries of the lock file by name: each version with its hashes."""
    text = re.sub(r"\\\n", " ", (ROOT / "requirements.lock").read_text("utf-8"))
    found: dict[str, list[tuple[Requirement, list[str]]]] = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            requirement, *hashes = re.split(r"\s+--hash=", line.strip())
            found.setdefault(canonicalize_name((parsed := Requirement(requirement)).name), []).append((parsed, hashes))
    return found


def holds(marker: Marker | None, environment: dict[str, str]) -> bool:
    return marker is None or marker.evaluate(environment)


def test_every_requirement_has_a_lower_and_an_upper_bound() -> None:
    for name in [file.name for file in ROOT.glob("requirements*.txt")]:
        for requirement in read_requirements(name):
            operators = {specifier.operator for specifier in requirement.specifier}
            assert operators in ({">=", "<"}, {"=="}), str(requirement)


def test_the_lock_has_one_allowed_version_for_every_system_and_python() -> None:
    lock = read_lock()
    for requirement in read_requirements("requirements.txt"):
        if requirement.name == "torch":  # its build depends on the machine
            assert requirement.name not in lock
            continue
        for environment in ENVIRONMENTS:
            locked = [each for each, _ in lock[canonicalize_name(requirement.name)] if holds(each.marker, environment)]
            assert len(locked) == holds(requirement.marker, environment), f"{requirement} in {environment}"
            for each in locked:
                (exact,) = each.specifier
                assert exact.operator == "==" and requirement.specifier.contains(exact.version), str(each)


def test_everything_in_the_lock_has_hashes_and_comes_from_no_named_host() -> None:
    assert [str(entry) for entries in read_lock().values() for entry, hashes in entries if not hashes] == []
    text = (ROOT / "requirements.lock").read_text("utf-8")
    assert not re.search(r"--(extra-)?index|--find-links|://", text)


def test_the_extra_requirements_are_those_of_the_tests() -> None:
    extras = SETTINGS["project"]["optional-dependencies"]
    names = ("requirements-dev.txt", "requirements-models.txt")
    tested = {each.name: each.specifier for name in names for each in read_requirements(name)}
    for each in map(Requirement, (line for extra in extras.values() for line in extra)):
        assert tested[each.name] == each.specifier


def test_the_lowest_python_is_the_one_that_the_tools_check() -> None:
    lowest = Specifier(SETTINGS["project"]["requires-python"]).version
    assert lowest == PYTHONS[0] == SETTINGS["tool"]["mypy"]["python_version"]
    assert SETTINGS["tool"]["ruff"]["target-version"] == f"py{lowest.replace('.', '')}"


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
    prefix = "Programming Language :: Python :: "
    named = [each.removeprefix(prefix) for each in SETTINGS["project"]["classifiers"] if each.startswith(prefix)]
    assert fast["strategy"]["matrix"]["python"] == named == list(PYTHONS)


def test_the_citation_and_the_changelog_name_this_version() -> None:
    citation = read("CITATION.cff")
    assert {"cff-version", "message", "title", "authors"} <= set(citation)  # what the format requires
    assert (citation["version"], citation["license"]) == (explorer.__version__, "MIT")
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    versions = re.findall(r"^## \[([\d.]+)\] - (\d{4}-\d{2}-\d{2})$", text, re.MULTILINE)
    assert versions[0] == (explorer.__version__, str(citation["date-released"]))
    assert set(re.findall(r"^### (.*)$", text, re.MULTILINE)) <= KINDS_OF_CHANGES
