"""Settings of the operator."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pydantic
import pytest

from explorer.environment import Environment, environment
from explorer.errors import InvalidSetting

SERVER_GUIDE = Path(__file__).parents[1] / "docs" / "server.md"
NUMBERS = {
    "most_steps": 50_000,
    "most_draws": 5_000_000,
    "most_width": 1_024,
    "most_layers": 24,
    "most_batch": 2_048,
    "most_length": 1_000,
    "most_replicas": 32,
    "most_memory": 4_000_000_000,
    "most_seconds": 3_600.0,
    "most_step_seconds": 0.5,
    "most_text": 2_000,
    "most_corpus": 5_000_000,
    "most_tokens": 65_536,
    "jobs_at_once": 12,
    "most_jobs": 40,
    "most_trials": 500,
    "grace_seconds": 60.0,
    "checkpoint_seconds": 5.0,
    "most_disk": 2_000_000_000,
    "most_copies": 2_000_000_000,
    "most_upload": 50_000_000,
    "models_memory": 2_000_000_000,
}


@pytest.fixture(autouse=True)
def no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove variables that may be set on the machine of the tests."""
    monkeypatch.delenv("LINEAGE_DATA_DIR", raising=False)
    monkeypatch.delenv("LINEAGE_CACHE", raising=False)


def test_released_defaults_do_not_change() -> None:
    values = environment().model_dump()
    assert {name: value for name, value in values.items() if isinstance(value, int | float)} == NUMBERS
    texts = {"database_url", "operator_password", "secret", "trusted_proxies", "origins", "frame_ancestors", "models"}
    texts |= {"run_storage", "metrics_token", "log"}
    assert values.keys() - NUMBERS.keys() == {"home", "data_dir", "cache", "executor", "device", "jobs_memory", *texts}
    assert (values["database_url"], values["operator_password"]) == ("", "")
    assert values["data_dir"] is None


def test_the_default_home_is_in_the_users_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LINEAGE_HOME")
    assert environment().home.name == "lineage"
    assert environment().home.is_absolute()


def test_the_default_cache_is_in_the_users_cache_folder() -> None:
    assert environment().cache.name == "lineage"
    assert environment().cache.is_absolute()


@pytest.mark.parametrize("name", ["data_dir", "cache"])
def test_the_folders_of_texts_can_be_set(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"LINEAGE_{name.upper()}", str(tmp_path / "texts"))
    assert getattr(environment(), name) == tmp_path / "texts"


def test_runs_jobs_and_trash_are_folders_of_the_home(home: Path) -> None:
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
    assert getattr(environment(), name) == 9  # values are not cached


@pytest.mark.parametrize("value", ["nonsense", "", "-1", "1e400x", "nan", "[1]", "a\nb", "x" * 5_000])
@pytest.mark.parametrize("name", NUMBERS)
def test_an_invalid_value_raises_one_sentence(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_limits_of_zero_are_rejected(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"LINEAGE_{name.upper()}", "0")
    with pytest.raises(InvalidSetting, match="greater than or equal to 1"):
        environment()


def test_unknown_variables_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_COLOUR", "red")
    monkeypatch.setenv("MOST_STEPS", "3")
    assert environment().most_steps == 50_000


def test_the_environment_is_immutable() -> None:
    with pytest.raises(pydantic.ValidationError):
        environment().most_steps = 3


def test_every_setting_has_a_comment() -> None:
    lines = inspect.getsource(Environment)
    for name in Environment.model_fields:
        assert re.search(rf"^    {name}: .*(#|\(\n.*#|= \d)", lines, re.MULTILINE), name


def test_the_documentation_lists_every_setting_with_its_default() -> None:
    table = re.findall(r"^\| `LINEAGE_([A-Z_]+)` \| ([^|]+) \|", SERVER_GUIDE.read_text(encoding="utf-8"), re.MULTILINE)
    assert {f"LINEAGE_{name}" for name, _ in table} == {
        str(field.validation_alias or f"LINEAGE_{name.upper()}") for name, field in Environment.model_fields.items()
    }
    units = {"": 1, "MB": 1_000_000, "GB": 1_000_000_000}
    for name, default in table:
        if name.lower() in NUMBERS:
            number, _, unit = default.replace(",", "").partition(" ")
            assert float(number) * units[unit] == NUMBERS[name.lower()], f"LINEAGE_{name} in {SERVER_GUIDE}"


@pytest.mark.parametrize("executor", ["here", "processes", "ray", "ray://cluster", "ray://10.0.0.7:10001"])
def test_an_executor_is_named(executor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_EXECUTOR", executor)
    assert environment().executor == executor


@pytest.mark.parametrize("executor", ["", "there", "ray:", "ray://", "ray://a b", "http://cluster:10001", "ray://a:b"])
def test_an_unknown_executor_is_refused(executor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_EXECUTOR", executor)
    with pytest.raises(InvalidSetting, match=r"possible are here, processes, ray and ray://host:port"):
        environment()


@pytest.mark.parametrize("device", ["cpu", "cuda", "cuda:0", "cuda:12", "mps", "auto"])
def test_a_device_is_named(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_DEVICE", device)
    assert environment().device == device


@pytest.mark.parametrize("device", ["", "gpu", "cuda:", "cuda:-1", "cpu:0", "CUDA"])
def test_an_unknown_device_is_refused(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_DEVICE", device)
    with pytest.raises(InvalidSetting, match=r"possible are cpu, cuda, cuda:n, mps and auto"):
        environment()
