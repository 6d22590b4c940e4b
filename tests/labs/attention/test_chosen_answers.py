"""The two answers of the section on patching that a visitor can choose."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from syrupy.assertion import SnapshotAssertion

from explorer.errors import InvalidSetting
from explorer.labs.attention.chosen_answers import chosen_outcomes, find_outcomes, keep_possible_answers
from explorer.labs.attention.head_importance import attribute_answer
from explorer.labs.attention.patching import compute_patching
from explorer.labs.attention.state import AttentionState
from explorer.ui.training.stored_models import find_model

LETTERS, PIECES, LABELS, CLASSES = (
    "text-through-training",
    "text-assignment",
    "agreement-heads",
    "negation-single-transformer-attending",
)


def test_an_answer_is_one_token_or_a_class() -> None:
    classes = {
        LETTERS: {"s": ["s"], " ": [" "], "␣": [" "], "↵": ["\n"]},
        PIECES: {"ha": ["ha"], "␣ha": ["ha"]},  # the second as the page shows it after another token
        LABELS: {"themselves": ["themselves"]},
        CLASSES: {"sustain": ["sustain"]},
    }
    for model, answers in classes.items():
        stored_model = find_model(model)
        for answer, names in answers.items():
            assert [stored_model.outcomes[outcome] for outcome in find_outcomes(stored_model, answer)] == names


def test_another_text_is_refused_with_what_is_possible(snapshot: SnapshotAssertion) -> None:
    refused = {LETTERS: ["has", "ß"], PIECES: ["himself", " ", "x" * 1_000], LABELS: ["king"], CLASSES: ["grow"]}
    messages = []
    for model, answers in refused.items():
        for answer in answers:
            with pytest.raises(InvalidSetting) as error:
                find_outcomes(find_model(model), answer)
            messages.append(str(error.value))
    assert messages == snapshot


def test_what_the_model_does_not_have_becomes_automatic(snapshot: SnapshotAssertion) -> None:
    stored_model = find_model(LETTERS)
    state = AttentionState(LETTERS, answer="s", contrast="has")
    kept, problems = keep_possible_answers(state, stored_model)
    assert kept == replace(state, contrast="")
    fits = replace(state, contrast="v")
    assert keep_possible_answers(fits, stored_model) == (fits, ())
    assert keep_possible_answers(AttentionState(), find_model(LABELS)) == (AttentionState(), ())
    both, more = keep_possible_answers(replace(state, answer="␣", contrast=" "), stored_model)
    assert (both.answer, both.contrast) == ("␣", "")
    assert [problems, more] == snapshot


def test_answers_stay_while_a_model_is_shown_for_which_nothing_is_patched(monkeypatch: pytest.MonkeyPatch) -> None:
    state, stored_model = AttentionState(answer="Paris"), find_model(LETTERS)
    assert len(keep_possible_answers(state, stored_model)[1]) == 1
    changes = {"parts": ("encoder", "decoder", "cross"), "layout": replace(stored_model.layout, answers=False)}
    for part, value in changes.items():
        with monkeypatch.context() as patch:
            patch.setattr(type(stored_model), part, value)
            assert keep_possible_answers(state, stored_model) == (state, ())


def test_patching_and_attribution_measure_the_chosen_answers() -> None:
    stored_model = find_model(LETTERS)
    state = AttentionState(LETTERS, say="O thou ha")
    assert stored_model.tokenizer
    usual = compute_patching(stored_model, state, "O they ha").patching.outcomes[0]
    d, v = (stored_model.tokenizer.tokens.index(letter) for letter in "dv")
    assert usual not in (d, v)
    for chosen, outcomes in (({"answer": "d", "contrast": "v"}, (d, v)), ({"contrast": "d"}, (usual, d))):
        state_chosen = replace(state, **chosen)
        assert compute_patching(stored_model, state_chosen, "O they ha").patching.outcomes[:2] == outcomes
        parts = attribute_answer(stored_model, state_chosen).attribution
        assert parts and (parts.outcome, parts.contrast) == outcomes


def test_a_word_stands_for_its_more_probable_token_with_or_without_a_space() -> None:
    model: Any = SimpleNamespace(outcomes=("Mary", *"abcdefghijkl", " Mary", " "), tokenizer=None, unit="token")
    assert sorted(find_outcomes(model, "Mary")) == [0, 13] and find_outcomes(model, "␣") == [14]
    for likely in (0, 13):
        logits = torch.zeros(15)
        logits[likely] = 1.0
        assert chosen_outcomes(model, AttentionState(answer="Mary"), logits) == [likely, None]
        assert chosen_outcomes(model, AttentionState(contrast="␣Mary"), logits) == [None, 13]
