"""How opened models read and translate texts, and the experiments as they are shown, on tiny models of letters."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from explorer.errors import InvalidSetting
from explorer.inspection.attention.attend import attend
from explorer.inspection.pretrained import opened_model as module
from explorer.inspection.pretrained.coreference import coreference
from explorer.inspection.pretrained.first_token import first_token_attention
from explorer.inspection.pretrained.reader import PretrainedReader, find_reader
from explorer.inspection.pretrained.repeated_tokens import RepeatScores
from explorer.inspection.pretrained.senses import find_occurrence
from explorer.inspection.pretrained.texts import AMBIGUOUS, PROMPTS, SENTENCES, PronounPair
from tests import needs

pytestmark = needs.transformers


def reader(name: str, folder: Path) -> PretrainedReader:
    from tests.hub.tiny_tokenizers import open_tiny

    return find_reader(open_tiny(name, folder))


def test_a_language_model_reads_the_end_of_a_text_and_generates(tmp_path: Path, home: Path) -> None:
    model = reader("gpt2", tmp_path)
    texts = (("A cat", None), ("a cat", 3), ("x" * 60, 99), ("", None))
    whole, end, long, empty = (model.tokenize(text, most) for text, most in texts)
    assert (whole.ids, whole.unknown, whole.lowercased) == ((3, 2, 3, 6, 4, 23), ("A",), True)
    assert (end.tokens, end.truncated, end.truncated_at, end.lowercased) == (("c", "a", "t"), "a ", "start", False)
    assert (long.tokens, long.truncated) == (("x",) * 40, "x" * 20)
    assert (empty.ids, empty.tokens, empty.empty, whole.empty) == ((3, 2), (" ", "<unk>"), True, False)
    assert model.token_texts([4, 2, 1], [3]) == ["a", "<unk>", "</s>"]
    assert (model.parts, model.steps, model.prompt_start, model.default_query(["a", "b"])) == ((), (), (), 1)
    assert [model.count_truncated(tokens) for tokens in (39, 40, 41)] == [0, 0, 20]
    assert model.attention_part("cross", [3, 4])[1] == (3, 4) and model.check_step(None) is None
    with pytest.raises(InvalidSetting, match=r"No weights of step 5 of tiny-gpt2 are on this machine\. Leave the step"):
        model.check_step(5)
    generator = model.text_generator()
    assert (generator.context, generator.start, generator.model) == (40, (), model.module())


def test_an_encoder_reads_the_beginning_and_an_encoder_decoder_translates_first(tmp_path: Path, home: Path) -> None:
    model = reader("bert", tmp_path)
    whole, begin = (model.tokenize("a cat", most) for most in (None, 4))
    assert (whole.ids, whole.tokens) == ((2, 5, 7, 31, 50, 3), ("[CLS]", "a", " c", "a", "t", "[SEP]"))
    assert (begin.ids, begin.truncated, begin.truncated_at) == ((2, 5, 7, 3), "##at", "end")
    assert model.tokenize("", 1).ids == (2, 3) and model.tokenize("a cat", 1).ids == (2, 5, 3)
    queries = (["a", "b", "[MASK]"], ["<mask>", "b"], ["a", "b", "c"], ["a"])
    assert [model.default_query(tokens) for tokens in queries] == [2, 0, 1, 0]
    both = reader("t5", tmp_path)
    ids = both.tokenize("a cat").ids
    target = both.translate(ids)
    assert ids == (3, 4, 3, 6, 4, 23, 1) and target[0] == 0 and len(target) <= 65
    assert both.parts == ("encoder", "decoder", "cross")
    seen = {part: both.attention_part(part, ids)[1] for part in ("encoder", "decoder", "cross", "")}  # type: ignore[arg-type]
    assert seen == {"encoder": ids, "decoder": target[:-1], "cross": target[:-1], "": target[:-1]}
    for each, what in ((model, "an encoder"), (both, "an encoder-decoder")):
        with pytest.raises(InvalidSetting, match=f"is {what}, it does not continue texts"):
            each.text_generator()


def test_the_experiments_of_an_opened_model(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    card, encoder = reader("gpt2", tmp_path).card, module.opened_model(reader("bert", tmp_path).card)
    opened = module.opened_model(card)
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
    first = first_token_attention(opened.model, [opened._sentences_from(0, 5)])
    np.testing.assert_array_equal(others.shares[0], first.shares[0])
    assert opened._sentences_from(19, 9) == opened.ids(" ".join((module.SENTENCES[19], *module.SENTENCES[:8])))[:9]
    variants = get_args(module.FirstTokens)
    shares = {variant: module.attention_to_first_token(card, variant).shares for variant in variants}
    counts = {"unchanged": 20, "replaced": 20, "removed": 20, "longer": 5, "random network": 20}
    assert {variant: len(each) for variant, each in shares.items()} == counts
    assert not np.allclose(shares["unchanged"], shares["random network"])
    assert not np.allclose(shares["unchanged"], shares["replaced"])
    assert module.lens_after_prompts(card).shape == (4, 3)
    with pytest.raises(InvalidSetting, match="none of the expected answers"):
        module.depth_of_answers(card)
    found, random = (encoder.sense_neighbours(seed) for seed in (None, 0))
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
    with pytest.raises(InvalidSetting, match="does not fit into the memory for models"):
        opened.first_token("random network")
