"""Translations of pretrained models and their alignments are those of transformers; the best head is worked by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from explorer.errors import InvalidSetting
from explorer.inspection.pretrained.translation import (
    PretrainedTranslation,
    alignment_information,
    translate_and_align,
)
from tests import needs


def test_information_is_that_of_the_definition() -> None:
    identity, uniform = np.eye(4), np.full((4, 4), 0.25)
    always_the_end = np.eye(4)[[3, 3, 3, 3]]
    halves = np.array([[0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5], [0, 0, 0.5, 0.5]])
    found = alignment_information(np.stack([identity, uniform, always_the_end, halves]))
    np.testing.assert_allclose(found, [2, 0, 0, 1], atol=1e-6)


def test_the_best_head_is_that_of_the_layer_or_of_all_layers() -> None:
    uniform, halves = np.full((2, 2), 0.5), np.array([[0.8, 0.2], [0.2, 0.8]])
    weights = np.stack([np.stack([uniform, halves]), np.stack([np.eye(2), uniform])])
    found = PretrainedTranslation(("a", "b"), ("c", "d"), "c d", True, "", weights)
    assert (found.best_head(), found.best_head(0)) == ((1, 0), (0, 1))
    np.testing.assert_allclose(found.mean_weights(), weights.reshape(4, 2, 2).mean(axis=0))
    np.testing.assert_allclose(found.mean_weights(1), weights[1].mean(axis=0))


@needs.transformers
@pytest.mark.parametrize("name", ["marian", "t5"])
def test_translation_and_alignment_equal_those_of_transformers(name: str, tmp_path: Path, home: Path) -> None:
    from explorer.inspection.pretrained.reader import find_reader
    from tests.hub.tiny_models import random_model
    from tests.hub.tiny_tokenizers import open_tiny

    model = find_reader(open_tiny(name, tmp_path))
    found = translate_and_align(model, "a cat sat")
    ids = model.tokenize("a cat sat").ids
    written = model.translate(ids)
    assert len(found.source) == len(ids) and len(found.target) == len(written) - 1
    eager: Any = random_model(name)
    eager.set_attn_implementation("eager")
    given = {"input_ids": torch.tensor([ids]), "decoder_input_ids": torch.tensor([written[:-1]])}
    with torch.inference_mode():
        expected = eager(**given, use_cache=False, output_attentions=True).cross_attentions
    np.testing.assert_allclose(found.weights, torch.cat(expected).numpy(), atol=1e-4)
    np.testing.assert_allclose(found.weights.sum(axis=-1), 1, atol=1e-4)


@needs.transformers
def test_an_empty_text_is_not_translated(tmp_path: Path, home: Path) -> None:
    from explorer.inspection.pretrained.reader import find_reader
    from tests.hub.tiny_tokenizers import open_tiny

    with pytest.raises(InvalidSetting, match="no text"):
        translate_and_align(find_reader(open_tiny("marian", tmp_path)), "  ")
