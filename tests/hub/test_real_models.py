"""The real weights that tests use: where they are, and that a conversion loses nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from safetensors import safe_open

from tests import needs
from tests.hub import real_models


@needs.minilm
def test_minilm_is_a_folder_with_safetensors_and_a_tokenizer() -> None:
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= {
        file.name for file in real_models.minilm_folder().iterdir()
    }


@needs.smollm2
def test_smollm2_is_converted_once_says_its_precision_and_knows_a_capital(monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = real_models.smollm2_folder()
    monkeypatch.setattr(real_models, "_convert_gguf", None)  # a second conversion would fail
    assert real_models.smollm2_folder() == folder
    with safe_open(folder / "model.safetensors", "pt") as weights:
        assert weights.metadata()["precision"] == "4-bit weights made float32"
    model, report = AutoModelForCausalLM.from_pretrained(folder, use_safetensors=True, output_loading_info=True)
    assert not any(report.values())
    tokenizer = AutoTokenizer.from_pretrained(folder)
    ids = tokenizer("The capital of France is", return_tensors="pt")["input_ids"]
    assert tokenizer.decode(model(ids).logits[0, -1].argmax()) == " Paris"


def test_an_unfinished_conversion_is_begun_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "smollm2.unfinished").mkdir()

    def convert(file: Path, folder: Path) -> None:
        folder.mkdir()
        (folder / "config.json").write_text("{}", "utf-8")

    monkeypatch.setattr(real_models, "_find_file", lambda *_: tmp_path / "model.gguf")
    monkeypatch.setattr(real_models, "_convert_gguf", convert)
    assert (real_models.smollm2_folder(tmp_path) / "config.json").is_file()
    assert not (tmp_path / "smollm2.unfinished").exists()
