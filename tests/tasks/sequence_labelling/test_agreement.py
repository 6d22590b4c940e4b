"""The agreement task."""

from __future__ import annotations

import hashlib

import pytest
import torch
from torch import nn

from explorer.seeds import generator
from explorer.tasks.sequence_labelling import agreement_rows
from explorer.tasks.sequence_labelling.agreement import (
    PLURAL_NOUNS,
    SINGULAR_NOUNS,
    AgreementConfig,
    Clause,
    pronoun_for,
)

CONFIG = AgreementConfig()
KINGS = Clause(tuple(["the", "kings", "near", "the", "queen", "are", "proud", "of"]), (1, 4), 5)
QUEEN = Clause(tuple(["today", "the", "queen", "is", "fond", "of"]), (2,), 3)


def test_nouns_have_singular_plural_and_a_pronoun() -> None:
    assert (
        len(SINGULAR_NOUNS) == len(PLURAL_NOUNS) == len({*SINGULAR_NOUNS, *PLURAL_NOUNS}) / 2
        and "princesses" in PLURAL_NOUNS
        and "kings" in PLURAL_NOUNS
    )
    assert [pronoun_for(noun) for noun in ("king", "nun", "kings", "nuns")] == [
        "himself",
        "herself",
        "themselves",
        "themselves",
    ]


def test_a_clause_has_a_subject_and_may_be_misleading() -> None:
    assert (KINGS.subject, KINGS.pronoun, KINGS.misleading, KINGS.confusing) == ("kings", "themselves", True, True)
    assert (QUEEN.subject, QUEEN.pronoun, QUEEN.misleading, QUEEN.confusing) == ("queen", "herself", False, False)


def test_two_positions_of_a_row_are_in_the_loss() -> None:
    rows = agreement_rows.build_rows(CONFIG, [KINGS, QUEEN])
    tokens = [[CONFIG.vocabulary[token] for token in row] for row in rows.ids.tolist()]
    assert tokens[0][:8] == list(KINGS.words) and set(tokens[0][8:]) == {"<PAD>"}
    labels = [
        {position: CONFIG.labels[targets[position]] for position in range(CONFIG.max_length) if mask[position]}
        for targets, mask in zip(rows.targets.tolist(), rows.mask.tolist(), strict=True)
    ]
    assert labels == [{4: "are", 7: "themselves"}, {2: "is", 5: "herself"}]


def test_every_clause_agrees_and_fits_into_a_row() -> None:
    for clause in agreement_rows.draw_clauses(generator(0, "test"), 300):
        assert len(clause.words) <= CONFIG.max_length
        assert clause.words[clause.verb_position] == ("are" if clause.subject in PLURAL_NOUNS else "is")
        assert (
            all(clause.words[position] in (*SINGULAR_NOUNS, *PLURAL_NOUNS) for position in clause.noun_positions)
            and clause.noun_positions[-1] < clause.verb_position
        )


def test_clauses_are_deterministic_and_of_the_requested_kind() -> None:
    rows = agreement_rows.batch(CONFIG, 3, 1, 7, 4)
    assert hashlib.sha256(str(rows.ids.tolist()).encode()).hexdigest()[:8] == "d0925cd7"
    for kind in ("misleading", "confusing"):
        clauses = agreement_rows.evaluation_clauses(kind, 20)
        assert len(clauses) == 20 and all(getattr(clause, kind) for clause in clauses)


class NearestNounModel(nn.Module):
    """Predicts from the last noun, as a model with a short window would do."""

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        logits = torch.zeros(*ids.shape, len(CONFIG.labels))
        for row, tokens in enumerate(ids.tolist()):
            noun = "king"
            for position, token in enumerate(tokens):
                word = CONFIG.vocabulary[token]
                noun = word if word in (*SINGULAR_NOUNS, *PLURAL_NOUNS) else noun
                verb = position + 1 < len(tokens) and CONFIG.vocabulary[tokens[position + 1]] in ("is", "are")
                answer = ("are" if noun in PLURAL_NOUNS else "is") if verb else pronoun_for(noun)
                logits[row, position, CONFIG.labels.index(answer)] = 9.0
        return logits


@pytest.mark.slow
def test_a_model_that_uses_the_nearest_noun_is_never_right() -> None:
    accuracy = agreement_rows.evaluate(CONFIG, NearestNounModel(), 1, whole=True)
    assert accuracy["verb"].tolist() == [0.0] and accuracy["pronoun"].tolist() == [0.0]


@pytest.mark.parametrize("what", ["verb", "pronoun"])
def test_is_correct_for_correct_and_wrong_logits(what: str) -> None:
    clauses = agreement_rows.evaluation_clauses("misleading", 12)
    rows = agreement_rows.build_rows(CONFIG, clauses)
    logits = nn.functional.one_hot(rows.targets, len(CONFIG.labels))[None].float()
    assert agreement_rows.is_correct(CONFIG, logits, clauses, what).all()
    assert not agreement_rows.is_correct(CONFIG, -logits, clauses, what).any()
