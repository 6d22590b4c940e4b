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
    sentences = [grammar_text.draw_sentence(draw) for _ in range(4_000)]
    mean = sum(map(len, sentences)) / len(sentences)
    assert mean == pytest.approx(grammar_text.mean_sentence_length(), rel=0.01)
    assert GrammarTextConfig().loss_floor == pytest.approx(grammar_text.sentence_entropy() / mean, rel=0.01)
    # The entropy of the choices, estimated from their frequencies.
    words = [sentence.removesuffix(". ").split() for sentence in sentences]
    assert {word for sentence in words for word in sentence} == grammar_text.WORDS
    choices = [_grammar_choices(sentence) for sentence in words]
    surprisal = 0.0
    for name in {name for choice in choices for name, _ in choice}:
        frequencies = Counter(word for choice in choices for other, word in choice if other == name)
        count = sum(frequencies.values())
        surprisal -= sum(n * math.log(n / count) for n in frequencies.values())
    assert surprisal / len(sentences) == pytest.approx(grammar_text.sentence_entropy(), rel=0.01)


def _grammar_choices(words: list[str]) -> list[tuple[str, str]]:
    """Return the choices of the grammar that generated a sentence, as (choice, value)."""
    choices, rest = [], list(words)

    def read_noun_phrase() -> None:
        assert rest.pop(0) == "the"
        kind = rest[0] in grammar_text.ADJECTIVES
        choices.append(("whether of a kind", str(kind)))
        if kind:
            choices.append(("kind", rest.pop(0)))
        choices.append(("being", rest.pop(0)))

    read_noun_phrase()
    choices.append(("deed", rest.pop(0)))
    read_noun_phrase()
    choices.append(("whether somewhere", str(bool(rest))))
    if rest:
        side, the, place = rest
        assert the == "the"
        choices += [("side", side), ("place", place)]
    return choices


def test_targets_of_grammar_text_are_the_next_letters_and_evaluation_text_differs_from_training_text() -> None:
    rows = grammar_text_rows.batch(GrammarTextConfig(length=30), 2, 0, 0, 50)
    assert torch.equal(rows.ids[:, 1:], rows.targets[:, :-1]) and rows.mask.all()
    training_text = "".join(grammar_text.LETTERS[i] for i in grammar_text_rows.generate_text("told/2").tolist())
    for row in rows.ids.tolist():
        assert "".join(grammar_text.LETTERS[i] for i in row) in training_text
    assert not torch.equal(
        grammar_text_rows.generate_text("told/2")[:200], grammar_text_rows.generate_text("asked")[:200]
    )


@pytest.mark.parametrize("again", ["copy", "reverse"])
def test_targets_of_delayed_copy_are_the_digits_after_the_separator(again: str) -> None:
    config = DelayedCopyConfig(longest=5, again=again)
    rows = delayed_copy_rows.batch(config, 0, 0, 0, 50)
    assert set(rows.mask.sum(dim=-1).tolist()) == {1, 2, 3, 4, 5}
    for ids, targets, mask in zip(rows.ids, rows.targets, rows.mask, strict=True):
        tokens = [config.vocabulary[i] for i in ids.tolist()]
        n = tokens.index("|")
        digits = tokens[:n] if again == "copy" else tokens[:n][::-1]
        assert tokens[n + 1 :] == [*digits[: n - 1], *[PAD] * (len(tokens) - 2 * n)]
        assert [config.labels[i] for i in targets[mask].tolist()] == digits
        assert mask.nonzero().flatten().tolist() == list(range(n, 2 * n))


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
    sentence = build_sentence(0, "river", True, "boat", "mud")
    assert (
        " ".join(sentence.words) == "the bank is near the boat and the mud"
        and sentence.position == 1
        and sentence.ambiguous
    )
    assert sentence.content_positions == (1, 5, 8)


def test_new_cues_occur_with_homographs_only_in_evaluation() -> None:
    new = {noun for nouns in NOUNS.values() for noun in nouns[TRAINED_CUES:]}
    trained = training_sentences(600, 0)
    words_with_homographs = {word for sentence in trained if sentence.ambiguous for word in sentence.words}
    assert not new & words_with_homographs and new <= {word for sentence in trained for word in sentence.words}
    assert {sentence.topic for sentence in trained if sentence.ambiguous} == set(NOUNS)
    for sentence in evaluation_sentences(100, ambiguous=True, new_cues=True):
        assert len(new & set(sentence.words)) == 2 and sentence.ambiguous
    assert not any(new & set(sentence.words) for sentence in evaluation_sentences(100, ambiguous=True))
    assert not any(sentence.ambiguous for sentence in evaluation_sentences(100, ambiguous=False))


def test_both_senses_of_a_homograph_occur_in_the_same_frames() -> None:
    lengths: dict[tuple[str, str], set[int]] = {}
    for sentence in training_sentences(1_000, 0):
        if sentence.ambiguous:
            lengths.setdefault((sentence.words[sentence.position], sentence.topic), set()).add(len(sentence.words))
    for word in HOMOGRAPHS:
        one, other = (lengths[word, topic] for topic in SENSES[word])
        assert one == other


def test_word_sense_targets_are_words_and_senses_of_homographs() -> None:
    rows = word_sense_rows.build_rows(
        [build_sentence(0, "river", True, "boat", "mud"), build_sentence(0, "money", True, "loan", "cash")]
    )
    labels = [[SENSE_LABELS[i] for i in row.tolist()] for row in rows.targets]
    assert (
        labels[0] == ["the", "bank (river)", "is", "near", "the", "boat", "and", "the", "mud"]
        and labels[1][1] == "bank (money)"
    )
    assert sense_label("shore", "river") == SENSE_LABELS.index("shore") and rows.mask.all()


def test_masked_word_hides_one_word_which_is_the_target_everywhere() -> None:
    sentences = [build_sentence(0, "river", True, "boat", "mud"), build_sentence(2, "dog", False, "bone", "tail")]
    rows = masked_word_rows.build_rows(sentences, [1, 0])
    tokens = [[VOCABULARY.tokens[i] for i in row.tolist()] for row in rows.ids]
    assert tokens[0] == [*["the", "bank", "is", "near", "the", "<HIDDEN>", "and", "the", "mud"], PAD]
    assert tokens[1] == ["we", "saw", "the", "<HIDDEN>", "with", "a", "bone", "and", "a", "tail"]
    assert [WORDS[i] for i in rows.targets[:, 0].tolist()] == ["boat", "woof"]
    assert (rows.targets == rows.targets[:, :1]).all()
    assert torch.equal(rows.mask, rows.ids != PADDING) and rows.mask.sum(dim=-1).tolist() == [9, 10]


def test_share_of_vectors_nearer_to_the_right_synonym() -> None:
    sentences = [build_sentence(0, "river", True, "boat", "mud"), build_sentence(0, "money", True, "loan", "cash")]
    synonyms = torch.eye(8)[None]
    topics = list(NOUNS)
    right = torch.stack([synonyms[0, topics.index(sentence.topic)] for sentence in sentences])[None]
    wrong = right.flip(1)
    assert masked_word_rows.share_nearer_to_right_synonym(right, synonyms, sentences).tolist() == [1.0]
    assert masked_word_rows.share_nearer_to_right_synonym(wrong, synonyms, sentences).tolist() == [0.0]


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
