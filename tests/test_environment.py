"""Settings of the operator."""

from __future__ import annotations

import re
from pathlib import Path

import pydantic
import pytest

from explorer.environment import Environment, environment, vanished_settings
from explorer.errors import InvalidSetting

SERVER_GUIDE = (Path(__file__).parents[1] / "docs" / "server.md").read_text("utf-8")
DOCUMENTED = dict(re.findall(r"^\| `LINEAGE_([A-Z_]+)` \| ([^|]+?) *\|", SERVER_GUIDE, re.MULTILINE))
UNITS = {"": 1, " MB": 1_000_000, " GB": 1_000_000_000}
NUMBERS = {
    name.lower(): float(number[1].replace(",", "")) * UNITS[number[2]]
    for name, default in DOCUMENTED.items()
    if (number := re.fullmatch(r"([\d.,]+)((?: [MG]B)?)", default))
}


@pytest.fixture(autouse=True)
def no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove variables that may be set on the machine of the tests."""
    monkeypatch.delenv("LINEAGE_DATA_DIR", raising=False)
    monkeypatch.delenv("LINEAGE_CACHE", raising=False)


def test_the_documentation_lists_every_setting_with_its_default() -> None:
    assert {f"LINEAGE_{name}" for name in DOCUMENTED} == {
        str(field.validation_alias or f"LINEAGE_{name.upper()}") for name, field in Environment.model_fields.items()
    }
    values = environment().model_dump()
    assert {name: value for name, value in values.items() if isinstance(value, int | float)} == NUMBERS
    assert len(NUMBERS) > 20
    texts = {"database_url", "operator_password", "secret", "trusted_proxies", "origins", "frame_ancestors"}
    assert {values[name] for name in texts | {"run_storage", "metrics_token"}} == {""}
    assert (values["executor"], values["device"], values["log"]) == ("here", "cpu", "text")
    assert values["data_dir"] is values["jobs_memory"] is None


def test_the_default_folders_are_those_of_the_user(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = environment()
    assert (settings.runs, settings.jobs, settings.trash) == (home / "runs", home / "jobs", home / "trash")
    monkeypatch.delenv("LINEAGE_HOME")
    for folder in (environment().home, environment().cache):
        assert folder.name == "lineage" and folder.is_absolute()
    for name in ("data_dir", "cache"):
        monkeypatch.setenv(f"LINEAGE_{name.upper()}", str(tmp_path / "texts"))
        assert getattr(environment(), name) == tmp_path / "texts"


def test_a_folder_for_the_runs_holds_runs_and_trash(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for value, folder in (("/mnt/x", Path("/mnt/x")), ("file:///mnt/x", Path("/mnt/x")), ("s3://bucket/x", None)):
        monkeypatch.setenv("LINEAGE_RUNS", value)
        settings, place = environment(), folder or home
        assert settings.shared_folder == folder
        assert (settings.runs, settings.trash, settings.jobs) == (place / "runs", place / "trash", home / "jobs")


def test_a_setting_that_vanished_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert vanished_settings() == []
    monkeypatch.setenv("LINEAGE_MOST_COPIES", "5")
    (sentence,) = vanished_settings()
    assert sentence.startswith("LINEAGE_MOST_COPIES has no effect any more: ") and sentence.endswith(" Unset it.")


@pytest.mark.parametrize("name", NUMBERS)
def test_every_number_can_be_set_within_its_limits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    variable = f"LINEAGE_{name.upper()}"
    others = environment().model_dump(exclude={name})
    for value in (7, 9):  # values are not cached
        monkeypatch.setenv(variable, str(value))
        assert (getattr(environment(), name), environment().model_dump(exclude={name})) == (value, others)
    impossible = ["nonsense", "", "-1", "1e400x", "nan", "[1]", "a\nb", "x" * 5_000]
    for text in impossible if name.endswith("seconds") else [*impossible, "0"]:
        monkeypatch.setenv(variable, text)
        with pytest.raises(InvalidSetting) as raised:
            environment()
        message = str(raised.value)
        assert message.startswith(f"{variable} = ") and message.endswith(". Change or unset it.")
        assert "is not possible: " in message and "\n" not in message and len(message) < 250


def test_unknown_variables_are_ignored_and_the_environment_is_immutable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_COLOUR", "red")
    monkeypatch.setenv("MOST_STEPS", "3")
    assert environment().most_steps == 50_000
    with pytest.raises(pydantic.ValidationError):
        environment().most_steps = 3


@pytest.mark.parametrize(
    ("name", "possible", "impossible", "problem"),
    [
        (
            "executor",
            ["here", "processes", "ray", "ray://cluster", "ray://10.0.0.7:10001"],
            ["", "there", "ray:", "ray://", "ray://a b", "http://cluster:10001", "ray://a:b"],
            "possible are here, processes, ray and ray://host:port",
        ),
        (
            "device",
            ["cpu", "cuda", "cuda:0", "cuda:12", "mps", "auto"],
            ["", "gpu", "cuda:", "cuda:-1", "cpu:0", "CUDA"],
            "possible are cpu, cuda, cuda:n, mps and auto",
        ),
        ("models", ["gpt2", "owner/name@v1.0", "a, b"], ["-x", "a/b/c", "é"], "no model such as gpt2"),
        ("secret", ["", "x" * 16], ["too short", "x" * 15], "a secret has at least 16 characters"),
        ("trusted_proxies", ["10.0.0.0/8, ::1", "10.0.0.7/8"], ["10.0.0.0/99"], "10.0.0.0/99"),
        ("origins", ["https://example.org, http://*.a:1"], ["example.org"], "no origin such as https://example.org"),
        ("frame_ancestors", ["https://a.org"], ["https://a.org; script-src *"], "no origin"),
    ],
)
def test_a_text_has_one_of_the_possible_forms(
    name: str, possible: list[str], impossible: list[str], problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for value in possible:
        monkeypatch.setenv(f"LINEAGE_{name.upper()}", value)
        assert getattr(environment(), name) == value
    for value in impossible:
        monkeypatch.setenv(f"LINEAGE_{name.upper()}", value)
        with pytest.raises(InvalidSetting, match=f"LINEAGE_{name.upper()}") as raised:
            environment()
        assert problem in str(raised.value)
        assert (not value or value in str(raised.value)) == (not value or name != "secret")
