"""Sequence-labelling tasks: inputs, targets and loss masks."""

from __future__ import annotations

import hashlib
import math
import random
from collections import Counter

import pytest
import torch

from explorer.tasks.sequence_labelling import (
    delayed_copy_rows,
    grammar_text,
    grammar_text_rows,
    masked_word_rows,
    random_symbols_rows,
    word_sense_rows,
)
from explorer.tasks.sequence_labelling.config import PAD, LabellingConfig
from explorer.tasks.sequence_labelling.delayed_copy import DelayedCopyConfig
from explorer.tasks.sequence_labelling.grammar_text import GrammarTextConfig
from explorer.tasks.sequence_labelling.homographs import (
    FRAMES,
    HIDDEN,
    HOMOGRAPHS,
    NOUNS,
    SENSES,
    SYNONYMS,
    TRAINED_CUES,
    VOCABULARY,
    WORDS,
    build_sentence,
    word_ids,
)
from explorer.tasks.sequence_labelling.homographs_rows import PADDING, evaluation_sentences, training_sentences
from explorer.tasks.sequence_labelling.masked_word import MaskedWordConfig
from explorer.tasks.sequence_labelling.random_symbols import RandomSymbolsConfig
from explorer.tasks.sequence_labelling.rows import Rows, masked_mean, position_losses, score, stack_replicas
from explorer.tasks.sequence_labelling.word_sense import SENSE_LABELS, WordSenseConfig, sense_label

DRAWN = {
    "noise": (random_symbols_rows, RandomSymbolsConfig(symbols=5, length=6), "6f1b1d12"),
    "tale": (grammar_text_rows, GrammarTextConfig(length=12), "f42c0bdc"),
    "echo": (delayed_copy_rows, DelayedCopyConfig(longest=4, symbols=3), "42dfda15"),
    "reverse": (delayed_copy_rows, DelayedCopyConfig(shortest=3, longest=3, again="reverse"), "db33e0f7"),
    "gloss": (word_sense_rows, WordSenseConfig(sentences=20), "1d846c70"),
    "gist": (masked_word_rows, MaskedWordConfig(sentences=20), "01f0b93b"),
}


def format_rows(rows: Rows) -> str:
    return "/".join(str(each.tolist()) for each in (rows.ids, rows.targets, rows.mask.long()))


@pytest.mark.parametrize("name", DRAWN)
def test_rows_are_deterministic(name: str) -> None:
    module, config, known = DRAWN[name]
    rows = module.batch(config, 3, 1, 7, 4)
    assert hashlib.sha256(format_rows(rows).encode()).hexdigest()[:8] == known


@pytest.mark.parametrize("name", DRAWN)
def test_every_seed_step_and_order_has_its_own_batch(name: str) -> None:
    module, config, _ = DRAWN[name]
    one = format_rows(module.batch(config, 0, 0, 0, 8))
    assert one == format_rows(module.batch(config, 0, 0, 0, 8))
    for other in ((1, 0, 0), (0, 1, 0), (0, 0, 1)):
        assert format_rows(module.batch(config, *other, 8)) != one


@pytest.mark.parametrize("name", DRAWN)
def test_ids_and_labels_are_within_the_configured_sizes(name: str) -> None:
    module, config, _ = DRAWN[name]
    rows = module.batch(config, 0, 0, 0, 32)
    assert config.vocabulary[-1] == PAD and len(set(config.vocabulary)) == len(config.vocabulary)
    assert rows.ids.max() < len(config.vocabulary) and rows.targets.max() < len(config.labels)
    assert rows.ids.shape[-1] <= config.max_length and rows.mask.any(dim=-1).all()
    assert not rows.mask[rows.ids == len(config.vocabulary) - 1].any() or name == "noise"


def test_targets_of_random_symbols_are_the_next_symbols() -> None:
    rows = random_symbols_rows.batch(RandomSymbolsConfig(symbols=4, length=9), 0, 0, 0, 400)
    assert torch.equal(rows.ids[:, 1:], rows.targets[:, :-1]) and rows.mask.all()
    shares = torch.stack([(rows.targets == symbol).float().mean() for symbol in range(4)])
    assert (shares - 0.25).abs().max() < 0.04


def test_entropy_of_grammar_text_equals_that_of_samples() -> None:
    draw = random.Random("a long tale")
    told = [grammar_text.draw_sentence(draw) for _ in range(4_000)]
    mean = sum(map(len, told)) / len(told)
    assert mean == pytest.approx(grammar_text.mean_sentence_length(), rel=0.01)
    assert GrammarTextConfig().loss_floor == pytest.approx(grammar_text.sentence_entropy() / mean, rel=0.01)
    # One choice after the other, by how often each was taken.
    words = [each.removesuffix(". ").split() for each in told]
    assert {word for each in words for word in each} == grammar_text.WORDS
    slots = [_shape(each) for each in words]
    surprise = 0.0
    for name in {name for slot in slots for name, _ in slot}:
        taken = Counter(word for slot in slots for one, word in slot if one == name)
        count = sum(taken.values())
        surprise -= sum(n * math.log(n / count) for n in taken.values())
    assert surprise / len(told) == pytest.approx(grammar_text.sentence_entropy(), rel=0.01)


def _shape(words: list[str]) -> list[tuple[str, str]]:
    """Return the choices of the grammar that generated a sentence, as (choice, value)."""
    found, left = [], list(words)

    def somebody() -> None:
        assert left.pop(0) == "the"
        kind = left[0] in grammar_text.ADJECTIVES
        found.append(("whether of a kind", str(kind)))
        if kind:
            found.append(("kind", left.pop(0)))
        found.append(("being", left.pop(0)))

    somebody()
    found.append(("deed", left.pop(0)))
    somebody()
    found.append(("whether somewhere", str(bool(left))))
    if left:
        side, the, place = left
        assert the == "the"
        found += [("side", side), ("place", place)]
    return found


def test_targets_of_grammar_text_are_the_next_letters_and_evaluation_text_differs_from_training_text() -> None:
    rows = grammar_text_rows.batch(GrammarTextConfig(length=30), 2, 0, 0, 50)
    assert torch.equal(rows.ids[:, 1:], rows.targets[:, :-1]) and rows.mask.all()
    known = "".join(grammar_text.LETTERS[i] for i in grammar_text_rows.generate_text("told/2").tolist())
    for row in rows.ids.tolist():
        assert "".join(grammar_text.LETTERS[i] for i in row) in known
    assert not torch.equal(
        grammar_text_rows.generate_text("told/2")[:200], grammar_text_rows.generate_text("asked")[:200]
    )


@pytest.mark.parametrize("again", ["copy", "reverse"])
def test_targets_of_delayed_copy_are_the_digits_after_the_separator(again: str) -> None:
    config = DelayedCopyConfig(longest=5, again=again)
    rows = delayed_copy_rows.batch(config, 0, 0, 0, 50)
    assert set(rows.mask.sum(dim=-1).tolist()) == {1, 2, 3, 4, 5}
    for ids, wanted, counted in zip(rows.ids, rows.targets, rows.mask, strict=True):
        read = [config.vocabulary[i] for i in ids.tolist()]
        n = read.index("|")
        digits = read[:n] if again == "copy" else read[:n][::-1]
        assert read[n + 1 :] == [*digits[: n - 1], *[PAD] * (len(read) - 2 * n)]
        assert [config.labels[i] for i in wanted[counted].tolist()] == digits
        assert counted.nonzero().flatten().tolist() == list(range(n, 2 * n))


def test_delayed_copy_of_one_length_and_invalid_lengths() -> None:
    rows = delayed_copy_rows.batch(DelayedCopyConfig(shortest=3, longest=3), 0, 0, 0, 9)
    assert rows.ids.shape == (9, 6) and (rows.mask.sum(dim=-1) == 3).all()
    with pytest.raises(ValueError, match="shortest = 4 is more than longest = 3"):
        DelayedCopyConfig(shortest=4, longest=3)


def test_the_homograph_language_is_consistent() -> None:
    assert len(set(WORDS)) == len(WORDS) and len(FRAMES) == 10
    assert [len(nouns) for nouns in NOUNS.values()] == [8] * 8
    assert sorted(topic for topics in SENSES.values() for topic in topics) == sorted(NOUNS) == sorted(SYNONYMS)
    for frame in FRAMES:
        assert Counter(frame)["X"] == Counter(frame)["A"] == Counter(frame)["B"] == 1
    said = build_sentence(0, "river", True, "boat", "mud")
    assert " ".join(said.words) == "the bank is near the boat and the mud" and said.position == 1 and said.ambiguous
    assert said.content_positions == (1, 5, 8)


def test_new_cues_occur_with_homographs_only_in_evaluation() -> None:
    new = {noun for nouns in NOUNS.values() for noun in nouns[TRAINED_CUES:]}
    own = training_sentences(600, 0)
    beside_homographs = {word for said in own if said.ambiguous for word in said.words}
    assert not new & beside_homographs and new <= {word for said in own for word in said.words}
    assert {said.topic for said in own if said.ambiguous} == set(NOUNS)
    for said in evaluation_sentences(100, ambiguous=True, new_cues=True):
        assert len(new & set(said.words)) == 2 and said.ambiguous
    assert not any(new & set(said.words) for said in evaluation_sentences(100, ambiguous=True))
    assert not any(said.ambiguous for said in evaluation_sentences(100, ambiguous=False))


def test_both_senses_of_a_homograph_occur_in_the_same_frames() -> None:
    places: dict[tuple[str, str], set[int]] = {}
    for said in training_sentences(1_000, 0):
        if said.ambiguous:
            places.setdefault((said.words[said.position], said.topic), set()).add(len(said.words))
    for word in HOMOGRAPHS:
        one, other = (places[word, topic] for topic in SENSES[word])
        assert one == other


def test_word_sense_targets_are_words_and_senses_of_homographs() -> None:
    rows = word_sense_rows.build_rows(
        [build_sentence(0, "river", True, "boat", "mud"), build_sentence(0, "money", True, "loan", "cash")]
    )
    said = [[SENSE_LABELS[i] for i in row.tolist()] for row in rows.targets]
    assert (
        said[0] == ["the", "bank (river)", "is", "near", "the", "boat", "and", "the", "mud"]
        and said[1][1] == "bank (money)"
    )
    assert sense_label("shore", "river") == SENSE_LABELS.index("shore") and rows.mask.all()


def test_masked_word_hides_one_word_which_is_the_target_everywhere() -> None:
    said = [build_sentence(0, "river", True, "boat", "mud"), build_sentence(2, "dog", False, "bone", "tail")]
    rows = masked_word_rows.build_rows(said, [1, 0])
    read = [[VOCABULARY.tokens[i] for i in row.tolist()] for row in rows.ids]
    assert read[0] == [*["the", "bank", "is", "near", "the", "<HIDDEN>", "and", "the", "mud"], PAD]
    assert read[1] == ["we", "saw", "the", "<HIDDEN>", "with", "a", "bone", "and", "a", "tail"]
    assert [WORDS[i] for i in rows.targets[:, 0].tolist()] == ["boat", "woof"]
    assert (rows.targets == rows.targets[:, :1]).all()
    assert torch.equal(rows.mask, rows.ids != PADDING) and rows.mask.sum(dim=-1).tolist() == [9, 10]


def test_share_of_vectors_nearer_to_the_right_synonym() -> None:
    said = [build_sentence(0, "river", True, "boat", "mud"), build_sentence(0, "money", True, "loan", "cash")]
    synonyms = torch.eye(8)[None]
    topics = list(NOUNS)
    right = torch.stack([synonyms[0, topics.index(each.topic)] for each in said])[None]
    wrong = right.flip(1)
    assert masked_word_rows.share_nearer_to_right_synonym(right, synonyms, said).tolist() == [1.0]
    assert masked_word_rows.share_nearer_to_right_synonym(wrong, synonyms, said).tolist() == [0.0]


def test_stacked_batches_are_padded_outside_the_mask() -> None:
    short, long = (Rows(torch.ones(2, n).long(), torch.ones(2, n).long(), torch.ones(2, n).bool()) for n in (2, 3))
    both = stack_replicas([short, long], 9)
    assert both.ids.tolist() == [[[1, 1, 9]] * 2, [[1, 1, 1]] * 2] and both.mask.sum().item() == 10
    assert stack_replicas([short], 9) is short


def test_score_and_masked_mean() -> None:
    rows = Rows(torch.tensor([[0, 1]]), torch.tensor([[1, 0]]), torch.tensor([[True, False]]))

    class Says(torch.nn.Module):
        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return torch.tensor([[[0.0, 2.0], [0.0, 1.0]]]).expand(*ids.shape, 2)

    right, surprise = score(Says(), rows, 1)
    assert right.tolist() == [[[True, False]]]
    expected = torch.log1p(torch.tensor(-2.0).exp())
    torch.testing.assert_close(masked_mean(surprise, rows.mask), expected[None])
    torch.testing.assert_close(
        position_losses(torch.zeros(1, 1, 4), torch.tensor([[3]])), torch.full((1, 1), 4.0).log()
    )


def test_an_unknown_typed_word_suggests_the_nearest_ones() -> None:
    assert VOCABULARY.split("The Bank is near the boat.") == ("the", "bank", "is", "near", "the", "boat")
    with pytest.raises(Exception, match="never saw") as told_off:
        VOCABULARY.split("the banks")
    assert "bank" in told_off.value.nearest["banks"]
    assert HIDDEN not in VOCABULARY.words and word_ids(["a"]) == [VOCABULARY.tokens.index("a")]


def test_the_base_configuration_is_abstract() -> None:
    for name in ("vocabulary", "labels", "max_length", "metrics"):
        with pytest.raises(NotImplementedError):
            getattr(LabellingConfig(), name)
