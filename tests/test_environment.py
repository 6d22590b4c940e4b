"""What whoever runs the program decides about it."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pydantic
import pytest

from explorer.environment import Environment, environment
from explorer.errors import InvalidSetting

NUMBERS = {
    "most_steps": 50_000,
    "most_draws": 5_000_000,
    "most_width": 1_024,
    "most_layers": 24,
    "most_batch": 2_048,
    "most_length": 1_000,
    "most_replicas": 32,
    "most_text": 2_000,
    "most_corpus": 5_000_000,
    "most_tokens": 65_536,
    "jobs_at_once": 12,
    "most_jobs": 40,
    "grace_seconds": 60.0,
    "checkpoint_seconds": 5.0,
    "most_disk": 2_000_000_000,
    "most_upload": 50_000_000,
}


@pytest.fixture(autouse=True)
def no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the tests may have said where texts lie."""
    monkeypatch.delenv("LINEAGE_DATA_DIR", raising=False)
    monkeypatch.delenv("LINEAGE_CACHE", raising=False)


def test_the_defaults_are_these() -> None:
    found = environment().model_dump()
    assert {name: value for name, value in found.items() if isinstance(value, int | float)} == NUMBERS
    assert found.keys() - NUMBERS.keys() == {"home", "data_dir", "cache", "database_url", "operator_password"}
    assert (found["database_url"], found["operator_password"]) == ("", "")
    assert found["data_dir"] is None


def test_without_a_home_of_its_own_it_is_in_the_users_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LINEAGE_HOME")
    assert environment().home.name == "lineage"
    assert environment().home.is_absolute()


def test_without_a_cache_of_its_own_it_is_in_the_users_cache() -> None:
    assert environment().cache.name == "lineage"
    assert environment().cache.is_absolute()


@pytest.mark.parametrize("name", ["data_dir", "cache"])
def test_the_folders_of_texts_can_be_set(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"LINEAGE_{name.upper()}", str(tmp_path / "texts"))
    assert getattr(environment(), name) == tmp_path / "texts"


def test_runs_jobs_and_trash_lie_in_its_home(home: Path) -> None:
    settings = environment()
    assert (settings.runs, settings.jobs, settings.trash) == (home / "runs", home / "jobs", home / "trash")


@pytest.mark.parametrize("name", NUMBERS)
def test_every_number_can_be_set(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"LINEAGE_{name.upper()}", "7")
    assert getattr(environment(), name) == 7
    assert environment().model_dump(exclude={name}) == Environment.model_construct().model_dump(exclude={name}) | {
        "home": environment().home
    }
    monkeypatch.setenv(f"LINEAGE_{name.upper()}", "9")
    assert getattr(environment(), name) == 9  # what was read is not remembered for ever


@pytest.mark.parametrize("value", ["nonsense", "", "-1", "1e400x", "nan", "[1]", "a\nb", "x" * 5_000])
@pytest.mark.parametrize("name", NUMBERS)
def test_a_value_that_is_not_possible_is_said_in_one_sentence(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable = f"LINEAGE_{name.upper()}"
    monkeypatch.setenv(variable, value)
    with pytest.raises(InvalidSetting) as raised:
        environment()
    message = str(raised.value)
    assert message.startswith(f"{variable} = ")
    assert "is not possible: " in message
    assert message.endswith(". Change or unset it.")
    assert "\n" not in message
    assert len(message) < 250


@pytest.mark.parametrize("name", [name for name in NUMBERS if not name.endswith("seconds")])
def test_no_ceiling_is_zero(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"LINEAGE_{name.upper()}", "0")
    with pytest.raises(InvalidSetting, match="greater than or equal to 1"):
        environment()


def test_other_variables_are_nobodys_business(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_COLOUR", "red")
    monkeypatch.setenv("MOST_STEPS", "3")
    assert environment().most_steps == 50_000


def test_nobody_changes_it_while_the_program_runs() -> None:
    with pytest.raises(pydantic.ValidationError):
        environment().most_steps = 3


def test_every_setting_says_what_it_is_for() -> None:
    lines = inspect.getsource(Environment)
    for name in Environment.model_fields:
        assert re.search(rf"^    {name}: .*(#|\(\n.*#|= \d)", lines, re.MULTILINE), name
