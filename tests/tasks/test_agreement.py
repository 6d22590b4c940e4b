"""Sentences in which the subject has to be remembered past other nouns."""

from __future__ import annotations

import hashlib

import pytest
import torch
from torch import nn

from explorer.seeds import generator
from explorer.tasks import agreement_rows
from explorer.tasks.agreement import MANY, ONE, AgreementConfig, Clause, pronoun_of

CONFIG = AgreementConfig()
KINGS = Clause(tuple(["the", "kings", "near", "the", "queen", "are", "proud", "of"]), (1, 4), 5)
QUEEN = Clause(tuple(["today", "the", "queen", "is", "fond", "of"]), (2,), 3)


def test_nouns_have_two_forms_and_a_pronoun() -> None:
    assert len(ONE) == len(MANY) == len({*ONE, *MANY}) / 2 and "princesses" in MANY and "kings" in MANY
    assert [pronoun_of(noun) for noun in ("king", "nun", "kings", "nuns")] == [
        "himself",
        "herself",
        "themselves",
        "themselves",
    ]


def test_a_sentence_knows_whom_it_is_about_and_whether_it_misleads() -> None:
    assert (KINGS.subject, KINGS.pronoun, KINGS.misleading, KINGS.confusing) == ("kings", "themselves", True, True)
    assert (QUEEN.subject, QUEEN.pronoun, QUEEN.misleading, QUEEN.confusing) == ("queen", "herself", False, False)


def test_two_places_of_a_row_count() -> None:
    rows = agreement_rows.rows_of(CONFIG, [KINGS, QUEEN])
    said = [[CONFIG.vocabulary[token] for token in row] for row in rows.ids.tolist()]
    assert said[0][:8] == list(KINGS.words) and set(said[0][8:]) == {"<PAD>"}
    asked = [
        {place: CONFIG.labels[wanted[place]] for place in range(CONFIG.places) if counted[place]}
        for wanted, counted in zip(rows.wanted.tolist(), rows.counted.tolist(), strict=True)
    ]
    assert asked == [{4: "are", 7: "themselves"}, {2: "is", 5: "herself"}]


def test_every_sentence_agrees_and_fits() -> None:
    for each in agreement_rows.clauses(generator(0, "test"), 300):
        assert len(each.words) <= CONFIG.places
        assert each.words[each.verb] == ("are" if each.subject in MANY else "is")
        assert all(each.words[place] in (*ONE, *MANY) for place in each.nouns) and each.nouns[-1] < each.verb


def test_sentences_are_the_same_for_ever_and_of_the_kind_that_was_asked_for() -> None:
    rows = agreement_rows.batch(CONFIG, 3, 1, 7, 4)
    assert hashlib.sha256(str(rows.ids.tolist()).encode()).hexdigest()[:8] == "d0925cd7"
    for kind in ("misleading", "confusing"):
        said = agreement_rows.fresh(kind, 20)
        assert len(said) == 20 and all(getattr(each, kind) for each in said)


class Nearest(nn.Module):
    """Goes by the last noun it has read, which is what a window would do."""

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        logits = torch.zeros(*ids.shape, len(CONFIG.labels))
        for row, tokens in enumerate(ids.tolist()):
            noun = "king"
            for place, token in enumerate(tokens):
                word = CONFIG.vocabulary[token]
                noun = word if word in (*ONE, *MANY) else noun
                verb = place + 1 < len(tokens) and CONFIG.vocabulary[tokens[place + 1]] in ("is", "are")
                answer = ("are" if noun in MANY else "is") if verb else pronoun_of(noun)
                logits[row, place, CONFIG.labels.index(answer)] = 9.0
        return logits


def test_who_goes_by_the_nearest_noun_is_never_right() -> None:
    found = agreement_rows.examine(CONFIG, Nearest(), 1, whole=True)
    assert found["verb"].tolist() == [0.0] and found["pronoun"].tolist() == [0.0]


@pytest.mark.parametrize("what", ["verb", "pronoun"])
def test_the_right_answer_is_right(what: str) -> None:
    said = agreement_rows.fresh("misleading", 12)
    rows = agreement_rows.rows_of(CONFIG, said)
    logits = nn.functional.one_hot(rows.wanted, len(CONFIG.labels))[None].float()
    assert agreement_rows.right_at(CONFIG, logits, said, what).all()
    assert not agreement_rows.right_at(CONFIG, -logits, said, what).any()
