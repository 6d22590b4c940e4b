"""Every requirement has bounds, requirements.lock fits them, and the package requires the same as the tests."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.specifiers import Specifier
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
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
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    names = ("requirements-dev.txt", "requirements-models.txt")
    tested = {each.name: each.specifier for name in names for each in read_requirements(name)}
    for each in map(Requirement, (line for extra in extras.values() for line in extra)):
        assert tested[each.name] == each.specifier


def test_the_lowest_python_is_the_one_that_the_tools_check() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    lowest = Specifier(settings["project"]["requires-python"]).version
    assert lowest == PYTHONS[0] == settings["tool"]["mypy"]["python_version"]
    assert settings["tool"]["ruff"]["target-version"] == f"py{lowest.replace('.', '')}"
