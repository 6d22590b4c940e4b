"""The experiments on tiny random models of several families, and briefly on the real models."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from explorer.errors import InvalidSetting
from explorer.hub.loading import load
from explorer.hub.pretrained import PretrainedModule
from explorer.hub.tokenizer import PretrainedTokenizer, load_tokenizer
from explorer.inspection.attention.attend import Ablation, interventions
from explorer.inspection.pretrained.answer_depth import answers_by_depth, single_token_prompts
from explorer.inspection.pretrained.coreference import coreference
from explorer.inspection.pretrained.first_token import first_token_attention, remove_first
from explorer.inspection.pretrained.random_network import random_network
from explorer.inspection.pretrained.repeated_tokens import (
    losses_without,
    measure_removal,
    repeated_tokens,
    score_heads,
)
from explorer.inspection.pretrained.senses import ambiguous_occurrences, find_occurrence, sense_neighbours
from explorer.inspection.pretrained.texts import AMBIGUOUS, PROMPTS, PRONOUN_PAIRS, SENTENCES
from explorer.models.taps import intervene
from tests import needs
from tests.hub import real_models

pytestmark = needs.transformers
TEXTS = [(5, 9, 23, 8), (31, 6, 17, 40, 12)]
Load = Callable[[str], PretrainedModule]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Load:
    from tests.hub.tiny_models import save_random_model

    return lru_cache(lambda name: load(save_random_model(name, tmp_path_factory.mktemp(name))))


@pytest.mark.parametrize("name", ["gpt2", "llama", "gpt_neox", "mistral"])
def test_losses_without_heads_equal_whole_forward_passes(name: str, tiny: Load) -> None:
    model, ids = tiny(name).part(), repeated_tokens(range(3, 60), seed=0, sequences=6, period=8)
    groups = [(), [(2, 1)], [(0, 3), (2, 0)], [(1, 1)]]
    found = losses_without(model, ids, groups, period=8)
    assert found.shape == (4, 6)
    for heads, losses in zip(groups, found, strict=True):
        with torch.inference_mode(), intervene(model.module, interventions(model, Ablation(frozenset(heads)))):
            logits = model.module(ids)
        expected = F.cross_entropy(logits[:, 8:-1].transpose(1, 2), ids[:, 9:], reduction="none").mean(dim=1)
        assert np.allclose(losses, expected.numpy(), atol=1e-4)
    assert np.abs(np.diff(found, axis=0)).max(axis=1).min() > 1e-4, "each group changes something"


def test_heads_are_scored_and_removed_with_controls_of_their_layer(tiny: Load) -> None:
    model, ids = tiny("llama").part(), repeated_tokens(range(3, 60), seed=0, sequences=4, period=6)
    scores = score_heads(model, ids, period=6)
    assert scores.induction.shape == (4, 3, 4) and scores.induction.min() >= 0 and scores.induction.max() <= 1
    heads = scores.best_induction_heads(2)
    removal = measure_removal(model, ids, heads[:1], heads, draws=3, period=6)
    assert removal.controls.shape[1] == 4 and 1 <= len(removal.controls) <= 3 and 0 < removal.p <= 1


@pytest.mark.parametrize("name", ["gpt2", "llama", "bert", "distilbert"])
def test_a_random_network_has_its_own_weights_which_depend_on_the_seed(name: str, tiny: Load) -> None:
    module, ids = tiny(name), torch.tensor([TEXTS[0]])
    before = module(ids)
    first, again, other = (random_network(module, seed)(ids) for seed in (0, 0, 1))
    assert torch.equal(first, again) and not torch.allclose(first, other) and not torch.allclose(first, before)
    assert torch.equal(module(ids), before) and first.shape == before.shape


@pytest.mark.parametrize("name", ["gpt2", "bert", "llama"])
def test_attention_to_the_first_token_of_a_random_network_is_nearly_uniform(
    name: str, tiny: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiny(name).model.config, "initializer_range", 0.02)
    found = first_token_attention(random_network(tiny(name)).part(), TEXTS)
    assert np.allclose(found.shares, found.uniform[:, None, None], atol=0.02)
    assert found.shares.shape == (2, 3, 4) and found.resting_heads().value == 0
    causal = name != "bert"
    expected = [np.mean([1 / n for n in range(2, len(ids) + 1)]) if causal else 1 / len(ids) for ids in TEXTS]
    assert found.uniform.tolist() == pytest.approx(expected)


def test_an_encoder_has_no_answer_to_look_for(tiny: Load) -> None:
    with pytest.raises(InvalidSetting, match="does not continue texts"):
        answers_by_depth(tiny("bert").part(), [], 0)


def test_answers_that_the_model_does_not_give_are_left_out(tiny: Load) -> None:
    model = tiny("gpt2").part()
    with torch.inference_mode():
        best, worst = (int(model.logits(TEXTS[0])[-1].argmax()), int(model.logits(TEXTS[1])[-1].argmin()))
    prompts = [(PROMPTS[0], TEXTS[0], best), (PROMPTS[1], TEXTS[1], worst)]
    found = answers_by_depth(model, prompts, 5)
    assert found.prompts == PROMPTS[:1] and (found.single, found.given) == (2, 5)
    assert found.ranks.shape == (4, 1) and found.ranks[-1, 0] == 1
    with torch.inference_mode():
        probability = float(model.logits(TEXTS[0])[-1].softmax(-1)[best])
    assert found.probabilities[-1, 0] == pytest.approx(probability, abs=1e-5)
    with pytest.raises(InvalidSetting, match="none of the expected answers"):
        answers_by_depth(model, prompts[1:], 5)


# ---- real models: few texts, because the figures over many are in benchmarks/real_models.py


@lru_cache(maxsize=1)
def _minilm() -> tuple[PretrainedModule, PretrainedTokenizer]:
    return _with_tokenizer(real_models.minilm_folder())


@lru_cache(maxsize=1)
def _smollm2() -> tuple[PretrainedModule, PretrainedTokenizer]:
    return _with_tokenizer(real_models.smollm2_folder())


def _with_tokenizer(folder: Path) -> tuple[PretrainedModule, PretrainedTokenizer]:
    module = load(folder)
    return module, load_tokenizer(folder, module.vocabulary)


@needs.minilm
def test_a_word_is_found_by_its_letters_and_not_inside_another_word() -> None:
    _, tokenizer = _minilm()
    found = find_occurrence(tokenizer, "A suitcase and it", "it")
    assert found.positions == (4,) and tokenizer.tokens[found.ids[4]] == "it"
    pieces = find_occurrence(tokenizer, "The unbelievabilities end", "unbelievabilities").positions
    assert len(pieces) > 1 and pieces == tuple(range(2, 2 + len(pieces)))
    with pytest.raises(InvalidSetting, match="does not have the word “bank”"):
        find_occurrence(tokenizer, "A banker", "bank")


@needs.minilm
def test_a_real_encoder_separates_senses_and_a_random_one_does_not() -> None:
    module, tokenizer = _minilm()
    occurrences = ambiguous_occurrences(tokenizer, AMBIGUOUS)
    assert len(occurrences) == len(AMBIGUOUS)
    real = sense_neighbours(module.part(), occurrences).by_depth()
    random = sense_neighbours(random_network(module).part(), occurrences).by_depth()
    assert len(real) == 7 and real[-1].low > 0.8 and real[0].high < 0.6
    assert max(each.high for each in random) < 0.7


@needs.minilm
def test_no_head_of_a_real_encoder_finds_what_it_means_reliably() -> None:
    found = coreference(_minilm()[0].part(), _minilm()[1])
    assert found.preference.shape == (len(PRONOUN_PAIRS), 2, 6, 12) and found.query == "it"
    assert found.best_share().value < 0.5 and found.p() > 0.05


@needs.smollm2
def test_a_real_language_model_has_induction_heads_that_it_needs() -> None:
    module, tokenizer = _smollm2()
    pool = [id for id in range(len(tokenizer.tokens)) if id not in tokenizer.special]
    model = module.part()
    scores = score_heads(model, repeated_tokens(pool, seed=1, sequences=3))
    heads, previous = scores.best_induction_heads(), scores.previous_token_head()
    assert previous is not None and scores.induction_of(heads[0]).low > 0.7 and scores.previous_of(previous).low > 0.7
    losses = losses_without(model, repeated_tokens(pool, seed=2, sequences=4), [(), heads[:1], heads, [previous]])
    all_heads, best_off, four_off, previous_off = losses.mean(axis=1)
    assert best_off > all_heads + 1 and four_off > best_off + 1 and previous_off > all_heads + 3


@needs.smollm2
def test_many_heads_of_a_real_language_model_rest_on_the_first_token_whatever_it_is() -> None:
    module, tokenizer = _smollm2()
    texts = [(*tokenizer.before, *tokenizer.encode(text).tolist()) for text in SENTENCES[:8]]
    for variant in (texts, remove_first(texts)):
        found = first_token_attention(module.part(), variant)
        norm = found.value_norm()
        assert found.resting_heads().low > 100 and norm is not None and norm.high < 0.5


@needs.smollm2
def test_the_answer_of_a_real_language_model_appears_late() -> None:
    module, tokenizer = _smollm2()
    prompts = single_token_prompts(tokenizer)
    assert len(prompts) >= 40
    found = answers_by_depth(module.part(), prompts[:6], len(PROMPTS))
    assert found.median_settled_depth().low > 24 and any(re.search("France", each.text) for each in found.prompts)
    assert np.nanmedian(found.other_ranks[-1]) > 3
