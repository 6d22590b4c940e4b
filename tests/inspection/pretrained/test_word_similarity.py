"""The similarity of a word in sentences is that of its vectors, in the model and in a random network of its sizes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from explorer.errors import InvalidSetting
from explorer.inspection.pretrained.word_similarity import share_of_halvings
from tests import needs

pytestmark = needs.transformers
SENTENCES = ("a cat sat", "the Cat is", "no cat")


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    from explorer.hub.loading import load
    from explorer.hub.tokenizer import load_tokenizer
    from tests.hub.tiny_models import save_random_model
    from tests.hub.tiny_tokenizers import wordpieces_of_letters

    folder: Path = save_random_model("bert", tmp_path_factory.mktemp("models") / "bert")
    wordpieces_of_letters().save(str(folder / "tokenizer.json"))
    module = load(folder)
    return module, load_tokenizer(folder, module.vocabulary)


def test_cosines_are_those_of_the_hidden_states_of_transformers(loaded: tuple[Any, Any]) -> None:
    from explorer.inspection.pretrained.word_similarity import word_similarity

    module, tokenizer = loaded
    found = word_similarity(module, tokenizer, SENTENCES, "cat")
    starts = (2, 4, 3)  # of the letters of “cat”, after [CLS]
    vectors = []
    for sentence, start in zip(SENTENCES, starts, strict=True):
        ids = torch.tensor([tokenizer.add_special_tokens(tokenizer.encode(sentence).tolist())])
        states = module.model(input_ids=ids, output_hidden_states=True).hidden_states
        vectors.append(torch.stack([state[0, start : start + 3].mean(dim=0) for state in states]))
    centred = torch.stack(vectors, dim=1) - torch.stack(vectors, dim=1).mean(dim=1, keepdim=True)
    expected = torch.nn.functional.cosine_similarity(centred[:, :, None], centred[:, None], dim=-1)
    np.testing.assert_allclose(found, expected.numpy(), atol=1e-4)
    assert found.shape == (4, 3, 3)


def test_a_random_network_has_other_similarities_and_the_model_stays_unchanged(loaded: tuple[Any, Any]) -> None:
    from explorer.inspection.pretrained.word_similarity import random_word_similarity, word_similarity

    module, tokenizer = loaded
    before = word_similarity(module, tokenizer, SENTENCES, "cat")
    random = random_word_similarity(module, tokenizer, SENTENCES, "cat")
    assert random.shape == before.shape and not np.allclose(random, before, atol=0.05)
    np.testing.assert_array_equal(word_similarity(module, tokenizer, SENTENCES, "cat"), before)


def test_a_sentence_without_the_word_is_named(loaded: tuple[Any, Any]) -> None:
    from explorer.inspection.pretrained.word_similarity import word_similarity

    with pytest.raises(InvalidSetting, match="“catch a dog” does not have the word “cat”"):
        word_similarity(*loaded, (*SENTENCES, "catch a dog"), "cat")


def test_a_second_network_needs_memory(loaded: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    from explorer.inspection.pretrained.word_similarity import random_word_similarity

    monkeypatch.setenv("LINEAGE_MODELS_MEMORY", "1000")
    with pytest.raises(InvalidSetting, match="LINEAGE_MODELS_MEMORY"):
        random_word_similarity(*loaded, SENTENCES, "cat")


def _cosines_of_groups(groups: list[int]) -> np.ndarray:
    members = np.array(groups)
    return np.where(members[:, None] == members, 0.8, -0.3)


@pytest.mark.parametrize(
    ("groups", "share"),
    [
        ([0, 0, 1, 1], 1 / 3),  # the best of three halvings
        ([0, 1, 0, 1], 1.0),  # the worst, with another one
        ([0, 0, 0, 1, 1, 1], 1 / 10),
        ([0, 0, 0, 0, 1, 1, 1, 1], 1 / 35),
        ([0, 0, 0, 1, 0, 1, 1, 1], 17 / 35),  # as good are the 16 halvings that exchange one pair
        ([0, 0, 0, 0, 0, 0, 0, 0], 1.0),  # nothing to separate
    ],
)
def test_the_share_of_halvings_is_that_of_an_exact_permutation_test(groups: list[int], share: float) -> None:
    assert share_of_halvings(_cosines_of_groups(groups)) == pytest.approx(share)
