"""The two answers of the section on patching that a visitor can choose."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from explorer.errors import InvalidSetting
from explorer.hub import memory, opened, opening
from explorer.inspection.attention.attend import attend
from explorer.labs.attention.chosen_answers import find_outcomes, keep_possible_answers
from explorer.labs.attention.logit_attribution import attribute_answer
from explorer.labs.attention.patching import compute_patching
from explorer.labs.attention.state import AttentionState
from explorer.ui.training.stored_models import find_model
from tests import needs
from tests.hub.real_models import smollm2_folder

LETTERS, PIECES, LABELS, CLASSES = (
    "text-through-training",
    "text-assignment",
    "agreement-heads",
    "negation-single-transformer-attending",
)


def test_an_answer_is_one_token_or_a_class() -> None:
    letters = {"s": ["s"], " ": [" "], "␣": [" "], "↵": ["\n"]}
    pieces = {"ha": ["ha"], "␣ha": ["ha"]}  # the second as the page shows it after another token
    classes = {
        LETTERS: letters,
        PIECES: pieces,
        LABELS: {"themselves": ["themselves"]},
        CLASSES: {"sustain": ["sustain"]},
    }
    for model, answers in classes.items():
        stored_model = find_model(model)
        for answer, names in answers.items():
            assert [stored_model.outcome_names[outcome] for outcome in find_outcomes(stored_model, answer)] == names


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
    changes = {"parts": ("encoder", "decoder", "cross"), "attention": replace(stored_model.attention, answers=False)}
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


@pytest.fixture
def closed_models(home: Path) -> Iterator[None]:
    """Close the real models that a test opens."""
    yield
    opening.reset()
    memory.reset()


@needs.transformers
@pytest.mark.usefixtures("closed_models")
def test_the_answers_of_a_real_model_are_tokens_of_its_vocabulary(tmp_path: Path) -> None:
    from tests.hub.tiny_tokenizers import open_tiny

    name = open_tiny("gpt2", tmp_path)
    model = find_model(name)
    names = list(model.outcome_names)
    state = AttentionState(name, say="abcd", answer="e", contrast="has")
    kept, problems = keep_possible_answers(state, model)
    assert kept == replace(state, contrast="") and "“has” is not one token of this model" in problems[0]
    assert names[3] == " " and find_outcomes(model, "␣") == [3] and len(names) == model.vocabulary_size
    found = compute_patching(model, kept, "abce").patching
    expected = attend(model.model(), model.tokenize("abcd").ids).log_probabilities[-1, names.index("e")]
    assert found.outcomes[0] == names.index("e") and found.clean[0] == pytest.approx(expected, abs=1e-4)


@needs.smollm2
@pytest.mark.usefixtures("closed_models")
def test_a_word_stands_for_its_more_probable_token_with_or_without_a_space() -> None:
    name = f"hub:{opened.open_model(str(smollm2_folder())).name}"
    model = find_model(name)
    text = "When Mary and John went to the store, John gave a drink to"
    assert [model.outcome_names[outcome] for outcome in find_outcomes(model, "Mary")] == [" Mary", "Mary"]
    for say, answer, token in ((text, "Mary", " Mary"), (f"{text} Rose", "mary", "mary"), (text, "␣John", " John")):
        parts = attribute_answer(model, AttentionState(name, say=say, answer=answer)).attribution
        assert parts and model.outcome_names[parts.outcome] == token
    with pytest.raises(InvalidSetting, match="is not one token of this model, which reads it as “"):
        find_outcomes(model, "Constantinopolitan")
