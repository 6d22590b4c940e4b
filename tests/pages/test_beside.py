"""A model trained here and a real one on the same sentence, on the attention page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load

from explorer.hub import memory
from explorer.inspection.attention.attend import attend, pack_weights
from explorer.labs.attention.state import AttentionState
from explorer.ui.training.pretrained_models import find_pretrained
from explorer.web import results
from tests import needs
from tests.pages.screen import component_data, headings, page, page_text, wait_until_ready, warnings_of

OWN = "text-toy-transformer"


@pytest.fixture
def real(home: Path, tmp_path: Path) -> Iterator[str]:
    """The name of an opened decoder."""
    from tests.hub.tiny_tokenizers import open_tiny

    yield open_tiny("gpt2", tmp_path)
    memory.reset()


def both(params: dict[str, str]) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Return the page, and the data of the two components."""
    at = wait_until_ready(page("attention.py", params))
    first, second = component_data(at, "attention_heads")
    return at, first, second


@needs.transformers
def test_an_own_and_a_real_model_read_the_same_sentence(real: str) -> None:
    at, first, second = both({"model": OWN, "beside": real, "say": "abca", "sort": "first", "view": "matrix"})
    assert warnings_of(at) == []
    assert first["title"] != second["title"] == "tiny-gpt2" and first["colour"] != second["colour"]
    assert "".join(first["tokens"]) == "".join(second["tokens"]).strip() == "abca"
    assert (first["sort"], first["view"]) == (second["sort"], second["view"]) == ("first", "matrix")
    assert second["fixed"] and "fixed" not in first and second["answers"]["rows"]
    packed = results.find(second["address"].rpartition("/")[2])
    assert isinstance(packed, results.Arrays)
    model = find_pretrained(real)
    weights = attend(model.model(), model.tokenize("abca").ids).weights
    np.testing.assert_array_equal(load(packed.content)["weights"], pack_weights(weights, causal=True))
    sentences = [each for each in headings(at) if "The model predicts" in each]
    assert [each.partition(":")[0] for each in sentences] == [first["title"], "tiny-gpt2"]
    assert "not trained here" in page_text(at)


@needs.transformers
def test_the_second_model_has_its_own_head_and_query_and_keeps_the_example(real: str) -> None:
    _, first, second = both(
        {
            "model": "text-transformer",
            "beside": real,
            "beside_layer": "2",
            "beside_head": "3",
            "beside_at": "1",
            "off": "0.0",
        }
    )
    assert first["open"] != second["open"] and second["open"] == [2, 3] and second["asked"] == 1
    assert first["touch"]["off"] == [[0, 0]] and second["touch"]["off"] == []
    assert "".join(first["tokens"]) == "".join(second["tokens"]).strip(), "the example of the first model"


@pytest.mark.parametrize(
    ("beside", "sentence"),
    [
        ("hub:nothing", "The second model cannot be shown: The real model “nothing” is not open"),
        ("text-lstm", "The second model cannot be shown: This run"),
        ("x", "The second model cannot be shown: There is no model “x”"),
    ],
)
def test_a_second_model_that_cannot_be_shown_is_explained(beside: str, sentence: str) -> None:
    at = wait_until_ready(page("attention.py", {"model": OWN, "beside": beside, "say": "abc"}))
    assert any(sentence in warning for warning in warnings_of(at))
    assert len(component_data(at, "attention_heads")) == 1


def test_a_text_that_the_second_model_cannot_read_is_explained_in_its_place() -> None:
    at = wait_until_ready(page("attention.py", {"model": OWN, "beside": "negation-single-transformer", "say": "abc"}))
    assert len(component_data(at, "attention_heads")) == 1
    assert "abc" in page_text(at) or any("abc" in warning for warning in warnings_of(at))


def test_another_model_or_text_keeps_the_second_model_without_its_query() -> None:
    state = AttentionState(model="a", beside="b", beside_layer=1, beside_head=2, beside_at=3)
    assert state.with_text("x").beside == "b" and state.with_text("x").beside_at is None
    changed = state.with_model("c")
    assert (changed.beside, changed.beside_layer, changed.beside_at) == ("b", 0, None)
    assert state.with_model("b").beside == "" and state.with_second_model("d").beside_head == 0
