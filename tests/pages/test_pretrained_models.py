"""Attention and generation with real models; tiny random ones stand for them here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from explorer.hub import memory
from explorer.inspection.attention.attend import attend, unpack_weights
from explorer.ui.training.pretrained_models import find_pretrained
from explorer.web import results
from tests import needs
from tests.pages.screen import (
    component_data,
    headings,
    page,
    page_text,
    wait_until_ready,
    warnings_of,
)
from tests.words import assert_mentions

pytestmark = needs.transformers
FOLDS = "walkthrough,layers,importance"


@pytest.fixture(autouse=True)
def forget_models(home: Path) -> Iterator[None]:
    yield
    memory.reset()


def open_tiny(name: str, folder: Path) -> str:
    from tests.hub import tiny_tokenizers

    return tiny_tokenizers.open_tiny(name, folder)


def test_the_attention_of_a_real_decoder_is_shown_with_its_card(tmp_path: Path) -> None:
    name = open_tiny("gpt2", tmp_path)
    at = wait_until_ready(page("attention.py", {"model": name, "say": "the cat sat", "unfold": FOLDS}))
    assert warnings_of(at) == [] and at.title[0].value == "Which tokens does a Transformer attend to?"
    assert "a real decoder, not trained here" in page_text(at) and "licence not stated" in page_text(at)
    (data,) = component_data(at, "attention_heads")
    assert (data["layers"], data["heads"], data["causal"]) == (3, 4, True)
    assert data["can"] == {"mask": True, "positions": False} and data["snapshots"] is None
    model = find_pretrained(name)
    ids = model.tokenize("the cat sat").ids
    packed = results.find(data["address"].rpartition("/")[2])
    assert isinstance(packed, results.Arrays)
    from safetensors.numpy import load

    shown = unpack_weights(load(packed.content)["weights"], len(ids), causal=True)
    np.testing.assert_allclose(shown, attend(model.model(), ids).weights, atol=1e-4)
    assert data["answers"]["where"] == "after “ the cat sat”" and len(data["answers"]["rows"]) == 5
    assert any("the loss" in heading for heading in headings(at)), "the importance of heads on this text"
    assert component_data(at, "attention_walkthrough")[0]["turned"] is False


def test_a_switched_off_head_changes_the_answer_of_a_real_model(tmp_path: Path) -> None:
    address = {"model": open_tiny("gpt2", tmp_path), "say": "the cat sat", "off": "0.0,1.1", "unmasked": "true"}
    at = wait_until_ready(page("attention.py", address))
    assert_mentions(" ".join(headings(at)), "With two heads switched off and the causal mask removed the model")
    rows = component_data(at, "attention_heads")[0]["answers"]["rows"]
    assert any(row["now"] != row["before"] for row in rows)


def test_a_masked_language_model_predicts_in_place_of_a_token(tmp_path: Path) -> None:
    at = wait_until_ready(page("attention.py", {"model": open_tiny("bert", tmp_path), "say": "a [MASK] cat"}))
    (data,) = component_data(at, "attention_heads")
    assert data["causal"] is False and data["tokens"][data["asked"]].strip() == "[MASK]"
    assert data["answers"]["where"] == "in place of “[MASK]”"
    assert_mentions(" ".join(headings(at)), "The model predicts … in place of “[MASK]”")


@pytest.mark.parametrize("part", ["", "encoder", "decoder", "cross"])
def test_the_three_kinds_of_attention_of_an_encoder_decoder(part: str, tmp_path: Path) -> None:
    name = open_tiny("t5", tmp_path)
    at = wait_until_ready(page("attention.py", {"model": name, "say": "a cat", "kind": part, "unfold": FOLDS}))
    assert warnings_of(at) == []
    (data,) = component_data(at, "attention_heads")
    source = list(find_pretrained(name).tokenize("a cat").tokens)
    assert (data["tokens"] == source) == (part == "encoder")
    assert data.get("keys") == (source if part in ("", "cross") else None)
    assert (data["answers"] is None) == (part == "encoder")
    assert data["causal"] == (part == "decoder") and data["kind"] == (part or "cross")
    assert list(data["kinds"]) == ["encoder", "decoder", "cross"]
    assert bool(component_data(at, "attention_walkthrough")) == (part in ("encoder", "decoder"))


@pytest.mark.parametrize(("file", "parameter"), [("attention.py", "model"), ("generation.py", "models")])
def test_a_real_model_that_is_not_open_is_explained(file: str, parameter: str) -> None:
    at = page(file, {parameter: "hub:gpt2"})
    assert_mentions(" ".join(warnings_of(at)), "“gpt2” is not open on this machine. … “lineage open gpt2”")


def test_a_real_model_generates_beside_one_that_was_trained_here(tmp_path: Path) -> None:
    name = open_tiny("gpt2", tmp_path)
    folds = "studio-tree,studio-measures,studio-writing,studio-formulas"
    address = {"models": f"text-ngram,{name}", "prompt": "the", "tokens": "20", "unfold": folds}
    at = wait_until_ready(page("generation.py", address))
    assert warnings_of(at) == []
    (data,) = component_data(at, "temperature")
    assert [model["name"] for model in data["models"]] == ["text-ngram", name]
    real = data["models"][1]
    assert (real["prompt"].strip(), real["unit"], real["colour"]) == ("the", "token", "--m-pretrained")
    assert real["tokens"] == list(find_pretrained(name).tokenizer.tokens)
    tree = component_data(at, "token_tree")[0]
    assert tree["colour"] == "--m-pretrained" and len(tree["steps"]) == 8
    assert component_data(at, "text_stream")[0]["models"][1]["title"] == "tiny-gpt2"
