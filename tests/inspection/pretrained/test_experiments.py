"""The experiments on tiny random models of several families, and briefly on a real model."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from explorer.errors import InvalidSetting
from explorer.hub.loading import load
from explorer.hub.pretrained import PretrainedModule
from explorer.hub.tokenizer import load_tokenizer
from explorer.inspection.attention.head_ablation import Ablation, interventions
from explorer.inspection.pretrained.answer_depth import answers_by_depth, own_answer
from explorer.inspection.pretrained.first_token import first_token_attention
from explorer.inspection.pretrained.random_network import random_network
from explorer.inspection.pretrained.repeated_tokens import losses_without, repeated_tokens
from explorer.inspection.pretrained.senses import find_occurrence
from explorer.inspection.pretrained.texts import AMBIGUOUS, PROMPTS
from explorer.inspection.pretrained.word_similarity import share_of_halvings, word_similarity
from explorer.models.taps import intervene
from tests import needs

Patch = pytest.MonkeyPatch
pytestmark = needs.transformers
TEXTS = [(5, 9, 23, 8), (31, 6, 17, 40, 12)]
Load = Callable[[str], PretrainedModule]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Load:
    from tests.hub.tiny_models import save_random_model

    return lru_cache(lambda name: load(save_random_model(name, tmp_path_factory.mktemp(name))))


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_losses_without_heads_equal_whole_forward_passes(name: str, tiny: Load) -> None:
    model, ids = tiny(name).part(), repeated_tokens(range(3, 60), seed=0, sequences=6, period=8)
    groups = [(), [(2, 1)], [(0, 3), (2, 0)], [(1, 1)]]
    found = losses_without(model, ids, groups, period=8)
    for heads, losses in zip(groups, found, strict=True):
        with torch.inference_mode(), intervene(model.module, interventions(model, Ablation(frozenset(heads)))):
            logits = model.module(ids)
        expected = F.cross_entropy(logits[:, 8:-1].transpose(1, 2), ids[:, 9:], reduction="none").mean(dim=1)
        assert np.allclose(losses, expected.numpy(), atol=1e-4)
    assert np.abs(np.diff(found, axis=0)).max(axis=1).min() > 1e-4, "each group changes something"


@pytest.mark.parametrize("name", ["llama", "distilbert"])
def test_a_random_network_has_its_own_weights_which_depend_on_the_seed(name: str, tiny: Load) -> None:
    module, ids = tiny(name), torch.tensor([TEXTS[0]])
    before = module(ids)
    first, again, other = (random_network(module, seed)(ids) for seed in (0, 0, 1))
    assert torch.equal(first, again) and not torch.allclose(first, other) and not torch.allclose(first, before)
    assert torch.equal(module(ids), before) and first.shape == before.shape
    for key, weight in random_network(module).model.named_parameters():
        assert weight.dim() > 1 or (weight == (0 if key.endswith("bias") else 1)).all(), key


@pytest.mark.parametrize("name", ["bert", "llama"])
def test_attention_of_a_random_network_is_nearly_uniform(name: str, tiny: Load, monkeypatch: Patch) -> None:
    monkeypatch.setattr(tiny(name).model.config, "initializer_range", 0.02)
    found = first_token_attention(random_network(tiny(name)).part(), TEXTS)
    assert np.allclose(found.shares, found.uniform[:, None, None], atol=0.02)
    assert found.shares.shape == (2, 3, 4) and found.resting_heads().value == 0
    causal = name != "bert"
    expected = [np.mean([1 / n for n in range(2, len(ids) + 1)]) if causal else 1 / len(ids) for ids in TEXTS]
    assert found.uniform.tolist() == pytest.approx(expected)


def test_answers_that_the_model_does_not_give_are_left_out(tiny: Load) -> None:
    model = tiny("gpt2").part()
    with torch.inference_mode():
        first, second = (model.logits(text)[-1] for text in TEXTS)
    best, worst = int(first.argmax()), int(second.argmin())
    prompts = [(PROMPTS[0], TEXTS[0], best), (PROMPTS[1], TEXTS[1], worst)]
    found = answers_by_depth(model, prompts, 5)
    assert found.prompts == PROMPTS[:1] and (found.single, found.given) == (2, 5)
    assert found.ranks.shape == (4, 1) and found.ranks[-1, 0] == 1
    assert found.probabilities[-1, 0] == pytest.approx(float(first.softmax(-1)[best]), abs=1e-5)
    own = own_answer(model, TEXTS[0])
    assert (own.token, own.layers, own.probability) == (best, 3, pytest.approx(found.probabilities[-1, 0]))
    assert own.settled_depth <= 3
    with pytest.raises(InvalidSetting, match="none of the expected answers"):
        answers_by_depth(model, prompts[1:], 5)
    with pytest.raises(InvalidSetting, match="does not continue texts"):
        answers_by_depth(tiny("bert").part(), [], 0)


SENTENCES = ("a cat sat", "the Cat is", "no cat")


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    from tests.hub.tiny_models import save_random_model
    from tests.hub.tiny_tokenizers import wordpieces_of_letters

    folder: Path = save_random_model("bert", tmp_path_factory.mktemp("models") / "bert")
    wordpieces_of_letters().save(str(folder / "tokenizer.json"))
    module = load(folder)
    return module, load_tokenizer(folder, module.vocabulary)


def test_cosines_are_those_of_the_hidden_states_of_transformers(loaded: tuple[Any, Any]) -> None:
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
    occurrence = find_occurrence(tokenizer, "catch a cat, cat", "cat", "pet")
    assert occurrence.positions == (7, 8, 9) and occurrence.sense == "pet"
    assert [tokenizer.tokens[id] for id in occurrence.ids[7:10]] == ["c", "##a", "##t"]
    for each in AMBIGUOUS[:3]:
        assert len(find_occurrence(tokenizer, each.text, each.word).positions) == len(each.word)


def test_a_random_network_has_other_similarities(loaded: tuple[Any, Any], monkeypatch: Patch) -> None:
    before = word_similarity(*loaded, SENTENCES, "cat")
    random = word_similarity(random_network(loaded[0]), loaded[1], SENTENCES, "cat")
    assert random.shape == before.shape and not np.allclose(random, before, atol=0.05)
    np.testing.assert_array_equal(word_similarity(*loaded, SENTENCES, "cat"), before)
    with pytest.raises(InvalidSetting, match="“catch a dog” does not have the word “cat”"):
        word_similarity(*loaded, (*SENTENCES, "catch a dog"), "cat")
    both = 2 * 4 * sum(weight.numel() for weight in loaded[0].model.parameters())
    monkeypatch.setenv("LINEAGE_MODELS_MEMORY", str(both))
    random_network(loaded[0])
    monkeypatch.setenv("LINEAGE_MODELS_MEMORY", str(both - 1))
    with pytest.raises(InvalidSetting, match="so it is not shown"):
        random_network(loaded[0])


def test_the_share_of_halvings_is_that_of_an_exact_permutation_test() -> None:
    for groups, share in (
        ([0, 0, 1, 1], 1 / 3),  # the best of three halvings
        ([0, 1, 0, 1], 1.0),  # the worst, with another one
        ([0, 0, 0, 1, 1, 1], 1 / 10),
        ([0, 0, 0, 1, 0, 1, 1, 1], 17 / 35),  # as good are the 16 halvings that exchange one pair
        ([0, 0, 0, 0, 0, 0, 0, 0], 1.0),  # nothing to separate
    ):
        cosines = np.where(np.equal.outer(groups, groups), 0.8, -0.3)
        assert share_of_halvings(cosines) == pytest.approx(share)


@pytest.mark.parametrize("name", ["marian", "t5"])
def test_translation_and_alignment_equal_those_of_transformers(name: str, tmp_path: Path, home: Path) -> None:
    from explorer.model.real_model import find_real_model
    from tests.hub.tiny_models import random_model
    from tests.hub.tiny_tokenizers import open_tiny

    model = find_real_model(open_tiny(name, tmp_path))
    found = model.align_translation("a cat sat")
    ids = model.tokenize("a cat sat").ids
    written = model.translate(ids)
    assert len(found.source) == len(ids) and len(found.target) == len(written) - 1
    eager: Any = random_model(name)
    eager.set_attn_implementation("eager")
    given = {"input_ids": torch.tensor([ids]), "decoder_input_ids": torch.tensor([written[:-1]])}
    with torch.inference_mode():
        expected = eager(**given, use_cache=False, output_attentions=True).cross_attentions
    np.testing.assert_allclose(found.weights, torch.cat(expected).numpy(), atol=1e-4)
    with pytest.raises(InvalidSetting, match="no text"):
        model.align_translation("  ")
