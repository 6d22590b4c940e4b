"""The experiments with real models as they are shown, on tiny models of letters."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from explorer.errors import InvalidSetting
from explorer.hub.card import ModelCard
from explorer.hub.opened import find_card
from explorer.inspection.attention.attend import attend
from explorer.inspection.pretrained import opened_model as module
from explorer.inspection.pretrained.coreference import coreference
from explorer.inspection.pretrained.first_token import first_token_attention
from explorer.inspection.pretrained.repeated_tokens import RepeatScores
from explorer.inspection.pretrained.senses import find_occurrence
from explorer.inspection.pretrained.texts import AMBIGUOUS, PROMPTS, SENTENCES, PronounPair
from tests import needs

pytestmark = needs.transformers


def card_of(name: str, folder: Path) -> ModelCard:
    from tests.hub.tiny_tokenizers import open_tiny

    return find_card(open_tiny(name, folder))


def test_the_experiments_of_an_opened_model(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    card, bert = card_of("gpt2", tmp_path), card_of("bert", tmp_path)
    opened, encoder = module.opened_model(card), module.opened_model(bert)
    assert opened.pool == tuple(range(3, 30)) and encoder.pool[0] == 5
    assert (opened.period, encoder.period) == (20, 19), "two copies, and the token before them, in a context of 40"
    assert opened.ids("a c") == (3, 4, 3, 6) and encoder.ids("a") == (2, 5, 3)
    assert (len(opened.own_ids("a" * 63)), opened.own_ids("a", 2), encoder.own_ids("a")) == (64, (3, 4), (2, 5))
    for text, least, tokens in (("a" * 64, 1, 65), ("a", 3, 2)):
        with pytest.raises(InvalidSetting, match=f"has {tokens} tokens. Write a text of {least} to 64 tokens"):
            opened.own_ids(text, least)
    monkeypatch.setattr(module, "SENTENCES", tuple(text[:6] for text in SENTENCES[:20]))
    monkeypatch.setattr(module, "PROMPTS", tuple(replace(each, text=each.text[:9]) for each in PROMPTS[:3]))
    short = tuple(replace(each, text=f"{each.word} in {each.text[:8]}") for each in AMBIGUOUS[:12])
    monkeypatch.setattr(module, "AMBIGUOUS", short)
    assert module.induction_scores(card).induction.shape == (16, 3, 4)
    scores, of_previous = np.zeros((2, 16, 3, 4), np.float32)
    scores[:, 2, 0], scores[:, 1, 1], scores[:, 2, 3], scores[:, 1, 2], of_previous[:, 0, 1] = 0.9, 0.8, 0.7, 0.6, 0.5
    monkeypatch.setattr(module, "induction_scores", lambda card: RepeatScores(scores, of_previous))
    best, previous = ((2, 0), (1, 1), (2, 3), (1, 2)), (0, 1)
    groups = {"best": best[:1], "two best": best[:2], "four best": best[:4], "previous-token head": (previous,)}
    for group, heads in groups.items():
        removal = module.loss_without_group(card, group, 2)  # type: ignore[arg-type]
        assert removal.heads == tuple(heads)
    with pytest.raises(InvalidSetting, match="The best induction head is in the first layer"):
        scores[:, 0, 3] = 1
        module.loss_without_group(card, "previous-token head", 3)
    others = module.first_token_of_others(card, 5)
    assert len(others.shares) == 20 and others.uniform == pytest.approx(np.mean([1 / n for n in (2, 3, 4, 5)]))
    first = first_token_attention(opened.model, [opened.sentences_from(0, 5)])
    np.testing.assert_array_equal(others.shares[0], first.shares[0])
    assert opened.sentences_from(19, 9) == opened.ids(" ".join((module.SENTENCES[19], *module.SENTENCES[:8])))[:9]
    variants = get_args(module.FirstTokens)
    shares = {variant: module.attention_to_first_token(card, variant).shares for variant in variants}
    counts = {"unchanged": 20, "replaced": 20, "removed": 20, "longer": 5, "random network": 20}
    assert {variant: len(each) for variant, each in shares.items()} == counts
    assert not np.allclose(shares["unchanged"], shares["random network"])
    assert not np.allclose(shares["unchanged"], shares["replaced"])
    assert module.lens_after_prompts(card).shape == (4, 3)
    with pytest.raises(InvalidSetting, match="none of the expected answers"):
        module.depth_of_answers(card)
    found, random = (module.neighbours_by_sense(bert, seed) for seed in (None, 0))
    assert found.same.shape == random.same.shape and (found.same != random.same).any()
    pair = PronounPair("cat and bag, it is {}.", "cat", "bag", ("big", "old"))
    meant = coreference(encoder.model, encoder.tokenizer, [pair])
    for preference, text in zip(meant.preference[0], map(pair.text.format, pair.words), strict=True):
        it, cat, bag = (find_occurrence(encoder.tokenizer, text, word) for word in ("it", "cat", "bag"))
        weights = attend(encoder.model, it.ids).weights[:, :, list(it.positions)].mean(axis=2)
        expected = weights[..., list(cat.positions)].sum(axis=-1) - weights[..., list(bag.positions)].sum(axis=-1)
        np.testing.assert_allclose(preference, expected, atol=1e-6)
    assert meant.query == "it" and coreference(opened.model, opened.tokenizer, [pair]).query == "the deciding word"
    monkeypatch.setenv("LINEAGE_MODELS_MEMORY", "1000")
    with pytest.raises(InvalidSetting, match="so it is not shown"):
        module.attention_to_first_token.__wrapped__(card, "random network")
