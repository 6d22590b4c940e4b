"""Sequence-labelling tasks: inputs, targets and loss masks."""

from __future__ import annotations

import hashlib
import math
import random
from functools import partial

import pytest
import torch
from torch import nn

from explorer.models.taps import Tap
from explorer.tasks.replicas import stack_replicas
from explorer.tasks.sequence_labelling import (
    agreement,
    delayed_copy,
    grammar_text,
    induction,
    masked_word,
    position_rule,
    random_symbols,
    word_sense,
)
from explorer.tasks.sequence_labelling.agreement import PLURAL_NOUNS, AgreementConfig, Clause, pronoun_for
from explorer.tasks.sequence_labelling.config import PAD
from explorer.tasks.sequence_labelling.delayed_copy import DelayedCopyConfig
from explorer.tasks.sequence_labelling.grammar_text import GrammarTextConfig
from explorer.tasks.sequence_labelling.homographs import (
    HIDDEN,
    NOUNS,
    PADDING,
    TRAINED_CUES,
    VOCABULARY,
    WORDS,
    build_sentence,
    evaluation_sentences,
    training_sentences,
)
from explorer.tasks.sequence_labelling.induction import InductionConfig
from explorer.tasks.sequence_labelling.masked_word import MaskedWordConfig
from explorer.tasks.sequence_labelling.position_rule import PositionRuleConfig
from explorer.tasks.sequence_labelling.random_symbols import RandomSymbolsConfig
from explorer.tasks.sequence_labelling.rows import Rows, masked_mean, position_losses, score
from explorer.tasks.sequence_labelling.word_sense import SENSE_LABELS, WordSenseConfig, sense_label

DRAWN = {
    "noise": (random_symbols, RandomSymbolsConfig(symbols=5, length=6), "6f1b1d12"),
    "tale": (grammar_text, GrammarTextConfig(length=12), "f42c0bdc"),
    "echo": (delayed_copy, DelayedCopyConfig(longest=4, symbols=3), "42dfda15"),
    "reverse": (delayed_copy, DelayedCopyConfig(shortest=3, longest=3, again="reverse"), "db33e0f7"),
    "gloss": (word_sense, WordSenseConfig(sentences=20), "1d846c70"),
    "gist": (masked_word, MaskedWordConfig(sentences=20), "01f0b93b"),
}

BANKS = [build_sentence(0, "river", True, "boat", "mud"), build_sentence(0, "money", True, "loan", "cash")]


def format_rows(rows: Rows) -> str:
    return "/".join(str(each.tolist()) for each in (rows.ids, rows.targets, rows.mask.long()))


@pytest.mark.parametrize("name", DRAWN)
def test_rows_are_deterministic_and_within_the_configured_sizes(name: str) -> None:
    module, config, known = DRAWN[name]
    rows = module.batch(config, 3, 1, 7, 4)
    assert hashlib.sha256(format_rows(rows).encode()).hexdigest()[:8] == known
    for other in ((2, 1, 7), (3, 0, 7), (3, 1, 8)):
        assert format_rows(module.batch(config, *other, 4)) != format_rows(rows)
    rows = module.batch(config, 3, 0, 0, 32)
    assert config.vocabulary[-1] == PAD and len(set(config.vocabulary)) == len(config.vocabulary)
    assert rows.ids.max() < len(config.vocabulary) and rows.targets.max() < len(config.labels)
    assert rows.ids.shape[-1] <= config.max_length and rows.mask.any(dim=-1).all()
    assert not rows.mask[rows.ids == len(config.vocabulary) - 1].any() or name == "noise"


def test_entropy_of_grammar_text() -> None:
    draw = random.Random("a long tale")
    sentences = [grammar_text.draw_sentence(draw) for _ in range(2_000)]
    mean = sum(map(len, sentences)) / len(sentences)
    assert mean == pytest.approx(grammar_text.mean_sentence_length(), rel=0.02)
    assert grammar_text.sentence_entropy() == pytest.approx(13.921835)  # that of the choices in sampled sentences: 13.9
    assert GrammarTextConfig().loss_floor == pytest.approx(13.921835 / (42 + 7 / 24))
    assert {word for sentence in sentences for word in sentence.removesuffix(". ").split()} == grammar_text.WORDS


@pytest.mark.parametrize("again", ["copy", "reverse"])
def test_targets_of_delayed_copy_are_the_digits_after_the_separator(again: str) -> None:
    config = DelayedCopyConfig(longest=5, again=again)
    rows = delayed_copy.batch(config, 0, 0, 0, 50)
    assert set(rows.mask.sum(dim=-1).tolist()) == {1, 2, 3, 4, 5}
    for ids, targets, mask in zip(rows.ids, rows.targets, rows.mask, strict=True):
        tokens = [config.vocabulary[i] for i in ids.tolist()]
        n = tokens.index("|")
        digits = tokens[:n] if again == "copy" else tokens[:n][::-1]
        assert tokens[n + 1 :] == [*digits[: n - 1], *[PAD] * (len(tokens) - 2 * n)]
        assert [config.labels[i] for i in targets[mask].tolist()] == digits
        assert mask.nonzero().flatten().tolist() == list(range(n, 2 * n))
    with pytest.raises(ValueError, match="shortest = 4 is more than longest = 3"):
        DelayedCopyConfig(shortest=4, longest=3)


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


def test_word_sense_targets_are_words_and_senses_of_homographs() -> None:
    rows = word_sense.build_rows(BANKS)
    labels = [[SENSE_LABELS[i] for i in row.tolist()] for row in rows.targets]
    assert labels[0] == ["the", "bank (river)", "is", "near", "the", "boat", "and", "the", "mud"]
    assert labels[1][1] == "bank (money)"
    assert sense_label("shore", "river") == SENSE_LABELS.index("shore") and rows.mask.all()


def test_masked_word_hides_one_word_which_is_the_target_everywhere() -> None:
    sentences = [BANKS[0], build_sentence(2, "dog", False, "bone", "tail")]
    rows = masked_word.build_rows(sentences, [1, 0])
    tokens = [[VOCABULARY.tokens[i] for i in row.tolist()] for row in rows.ids]
    assert tokens[0] == [*["the", "bank", "is", "near", "the", "<HIDDEN>", "and", "the", "mud"], PAD]
    assert tokens[1] == ["we", "saw", "the", "<HIDDEN>", "with", "a", "bone", "and", "a", "tail"]
    assert [WORDS[i] for i in rows.targets[:, 0].tolist()] == ["boat", "woof"]
    assert (rows.targets == rows.targets[:, :1]).all()
    assert torch.equal(rows.mask, rows.ids != PADDING) and rows.mask.sum(dim=-1).tolist() == [9, 10]
    synonyms = torch.eye(8)[None]
    right = torch.stack([synonyms[0, list(NOUNS).index(sentence.topic)] for sentence in BANKS])[None]
    for vectors, share in ((right, 1.0), (right.flip(1), 0.0)):
        assert masked_word.share_nearer_to_right_synonym(vectors, synonyms, BANKS).tolist() == [share]


def test_scores_and_stacked_batches() -> None:
    rows = Rows(torch.tensor([[0, 1]]), torch.tensor([[1, 0]]), torch.tensor([[True, False]]))

    right, surprise = score(nn.Embedding.from_pretrained(torch.tensor([[0.0, 2.0], [0.0, 1.0]])), rows, 1)
    assert right.tolist() == [[[True, False]]]
    expected = torch.log1p(torch.tensor(-2.0).exp())
    torch.testing.assert_close(masked_mean(surprise, rows.mask), expected[None])
    torch.testing.assert_close(
        position_losses(torch.zeros(1, 1, 4), torch.tensor([[3]])), torch.full((1, 1), 4.0).log()
    )
    short, long = (Rows(torch.ones(2, n).long(), torch.ones(2, n).long(), torch.ones(2, n).bool()) for n in (2, 3))
    both = stack_replicas([short, long], 9)
    assert both.ids.tolist() == [[[1, 1, 9]] * 2, [[1, 1, 1]] * 2] and both.mask.sum().item() == 10
    assert stack_replicas([short], 9) is short


def test_an_unknown_typed_word_suggests_the_nearest_ones() -> None:
    assert VOCABULARY.split("The Bank is near the boat.") == ("the", "bank", "is", "near", "the", "boat")
    with pytest.raises(Exception, match="never saw") as told_off:
        VOCABULARY.split("the banks")
    assert "bank" in told_off.value.nearest["banks"]
    assert HIDDEN not in VOCABULARY.words


# Induction

INDUCTION = InductionConfig(symbols=7, shortest=3, longest=5)


def test_rows_are_deterministic_and_hold_distinct_symbols_twice() -> None:
    rows = induction.batch(INDUCTION, 3, 1, 7, 4)
    assert hashlib.sha256(format_rows(rows).encode()).hexdigest()[:8] == "52901d32"
    rows = induction.batch(INDUCTION, 0, 0, 0, 30)
    lengths = induction.copy_lengths(INDUCTION, rows.ids)[:, 0].tolist()
    assert sorted(set(lengths)) == [3, 4, 5] and all(9 <= lengths.count(n) <= 11 for n in (3, 4, 5))
    for ids, targets, mask, n in zip(
        rows.ids.tolist(), rows.targets.tolist(), rows.mask.tolist(), lengths, strict=True
    ):
        assert ids[:n] == ids[n : 2 * n] and len(set(ids[:n])) == n and set(ids[2 * n :]) <= {INDUCTION.symbols}
        assert targets[: 2 * n - 1] == ids[1 : 2 * n]
        assert [t for t, in_loss in enumerate(mask) if in_loss] == [t for t in range(2 * n - 1) if t != n - 1]
    second = induction.in_second_copy(INDUCTION, rows)
    assert second.sum(dim=-1).tolist() == [n - 1 for n in lengths]
    with pytest.raises(ValueError, match="longest = 8 is more than symbols = 7"):
        InductionConfig(symbols=7, longest=8)
    with pytest.raises(ValueError, match="shortest = 6 is more than longest = 5"):
        InductionConfig(symbols=7, shortest=6, longest=5)


class PerfectHeads(nn.Module):
    """Head 0 attends to the token before, head 1 to the token after the earlier occurrence, which it predicts."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.Module()
        self.attention.weights = Tap()

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        position = torch.arange(ids.shape[-1])
        earlier = (ids[:, :, None] == ids[:, None]) & (position < position[:, None])
        after = nn.functional.pad(earlier, (1, 0))[..., :-1]
        before = (position == position[:, None] - 1).expand_as(after)
        weights = self.attention.weights(torch.stack([before, after], dim=1).float())
        one_hot = nn.functional.one_hot(ids, INDUCTION.symbols + 1).float()[..., : INDUCTION.symbols]
        return 50 * (weights[:, 1] @ one_hot)


def test_heads_that_do_what_the_scores_mean_score_one_and_no_heads_zero() -> None:
    model = nn.Module()
    model.blocks = nn.ModuleList([PerfectHeads()])
    model.forward = model.blocks[0].forward
    results = induction.evaluate(INDUCTION, model, 1, whole=False)
    assert results.keys() == set(INDUCTION.metrics)
    expected = {"accuracy": 1.0, "second_copy_loss": 0.0, "previous_score": 1.0, "induction_score": 1.0}
    assert {name: round(float(results[name][0]), 4) for name in expected} == expected
    embedding = nn.Embedding(INDUCTION.symbols + 1, INDUCTION.symbols)
    results = induction.evaluate(INDUCTION, embedding, 1, whole=False)
    assert float(results["previous_score"]) == float(results["induction_score"]) == 0


# Agreement

AGREEMENT = AgreementConfig()
KINGS = Clause(tuple(["the", "kings", "near", "the", "queen", "are", "proud", "of"]), (1, 4), 5)
QUEEN = Clause(tuple(["today", "the", "queen", "is", "fond", "of"]), (2,), 3)


def test_nouns_and_clauses() -> None:
    assert {"princesses", "kings"} < {*PLURAL_NOUNS}
    pronouns = ["himself", "herself", "themselves", "themselves"]
    assert [pronoun_for(noun) for noun in ("king", "nun", "kings", "nuns")] == pronouns
    assert (KINGS.subject, KINGS.pronoun, KINGS.misleading, KINGS.confusing) == ("kings", "themselves", True, True)
    assert (QUEEN.subject, QUEEN.pronoun, QUEEN.misleading, QUEEN.confusing) == ("queen", "herself", False, False)


def test_two_positions_of_a_row_are_in_the_loss() -> None:
    rows = agreement.build_rows(AGREEMENT, [KINGS, QUEEN])
    tokens = [[AGREEMENT.vocabulary[token] for token in row] for row in rows.ids.tolist()]
    assert tokens[0][:8] == list(KINGS.words) and set(tokens[0][8:]) == {"<PAD>"}
    labels = [
        {position: AGREEMENT.labels[targets[position]] for position in range(AGREEMENT.max_length) if mask[position]}
        for targets, mask in zip(rows.targets.tolist(), rows.mask.tolist(), strict=True)
    ]
    assert labels == [{4: "are", 7: "themselves"}, {2: "is", 5: "herself"}]


def test_clauses_are_deterministic_and_of_the_requested_kind() -> None:
    rows = agreement.batch(AGREEMENT, 3, 1, 7, 4)
    assert hashlib.sha256(str(rows.ids.tolist()).encode()).hexdigest()[:8] == "d0925cd7"
    for kind in ("misleading", "confusing"):
        clauses = agreement.evaluation_clauses(kind, 20)
        assert len(clauses) == 20 and all(getattr(clause, kind) for clause in clauses)


def test_a_model_of_equal_logits_has_the_loss_of_a_uniform_guess(monkeypatch: pytest.MonkeyPatch) -> None:
    few = partial(agreement.evaluation_clauses, count=12)
    monkeypatch.setattr(agreement, "evaluation_clauses", few)
    model = nn.Embedding.from_pretrained(torch.zeros(len(AGREEMENT.vocabulary), len(AGREEMENT.labels)))
    found = agreement.evaluate(AGREEMENT, model, 1, whole=True)
    assert found["loss"].tolist() == pytest.approx([math.log(len(AGREEMENT.labels))])
    first = AGREEMENT.labels[0]  # the answer to every question
    verbs = [clause.words[clause.verb_position] == first for clause in few("misleading")]
    pronouns = [clause.pronoun == first for clause in few("confusing")]
    assert found["verb"].tolist() == pytest.approx([sum(verbs) / 12])
    assert found["pronoun"].tolist() == pytest.approx([sum(pronouns) / 12])


def test_is_correct_for_correct_and_wrong_logits() -> None:
    clauses = agreement.evaluation_clauses("misleading", 12)
    rows = agreement.build_rows(AGREEMENT, clauses)
    logits = nn.functional.one_hot(rows.targets, len(AGREEMENT.labels))[None].float()
    for what in ("verb", "pronoun"):
        assert agreement.is_correct(AGREEMENT, logits, clauses, what).all()
        assert not agreement.is_correct(AGREEMENT, -logits, clauses, what).any()


# Position rule


def test_the_position_rule_and_its_evaluation() -> None:
    ids = torch.tensor([[3, 3, 9, 9, 0, 0]])
    assert position_rule.target_labels(PositionRuleConfig(period=2), ids).tolist() == [[3, 4, 9, 0, 0, 1]]
    assert position_rule.target_labels(PositionRuleConfig(period=3), ids).tolist() == [[3, 4, 1, 9, 1, 2]]
    config = PositionRuleConfig(length=5, period=5)
    one, other = (position_rule.batch(config, 0, 0, step, 4) for step in (0, 1))
    assert one.ids.shape == (4, 5) and one.mask.all() and not torch.equal(one.ids, other.ids)
    assert torch.equal(one.targets, position_rule.target_labels(config, one.ids))
    config = PositionRuleConfig(length=6)
    found = position_rule.evaluate(config, CountingModel(config, 9), 1, whole=True)
    assert found["accuracy"].tolist() == [1.0]
    assert found["by_place"].tolist() == [[1.0] * 9 + [0.0] * (config.max_length - 9)]
    on_the_way = position_rule.evaluate(config, CountingModel(config, 3), 1, whole=False)
    assert on_the_way["accuracy"].tolist() == [0.5] and on_the_way["by_place"].isnan().all()


class CountingModel(nn.Module):
    """Applies the rule correctly up to a position, wrongly after it."""

    def __init__(self, config: PositionRuleConfig, places: int) -> None:
        super().__init__()
        self.config, self.max_length = config, places

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        right = position_rule.target_labels(self.config, ids)
        known = torch.arange(ids.shape[-1]) < self.max_length
        return 9.0 * nn.functional.one_hot(torch.where(known, right, (right + 5) % 10), 10)
