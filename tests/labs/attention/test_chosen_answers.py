"""The two answers of the section on patching that a visitor can choose."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

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
from tests.words import assert_mentions

LETTERS, PIECES, LABELS, CLASSES = (
    "text-through-training",
    "text-assignment",
    "agreement-heads",
    "negation-single-transformer-attending",
)


@pytest.mark.parametrize(
    ("model", "answer", "names"),
    [
        (LETTERS, "s", ["s"]),
        (LETTERS, " ", [" "]),
        (LETTERS, "␣", [" "]),
        (LETTERS, "↵", ["\n"]),
        (PIECES, "ha", ["ha"]),
        (PIECES, "␣ha", ["ha"]),  # as the page shows it after another token
        (LABELS, "themselves", ["themselves"]),
        (CLASSES, "sustain", ["sustain"]),
    ],
)
def test_an_answer_is_one_token_or_a_class(model: str, answer: str, names: list[str]) -> None:
    stored_model = find_model(model)
    assert [stored_model.outcome_names[outcome] for outcome in find_outcomes(stored_model, answer)] == names


@pytest.mark.parametrize(
    ("model", "answer", "message"),
    [
        (LETTERS, "has", "“has” is not one letter of this model, which reads it as “h”, “a” and “s”. Give exactly one"),
        (LETTERS, "ß", "“ß” is not one letter of this model. Give exactly one letter of its vocabulary, or leave"),
        (PIECES, "himself", "“himself” is not one token of this model, which reads it as “him” and “self”."),
        (PIECES, " ", "“␣” is not one token of this model. Give exactly one token"),
        (PIECES, "x" * 1_000, "which reads it as “x”, “x”, “x”, “x” and others"),
        (LABELS, "king", "no answer “king”. Give one of “is”, “are”, “himself”, “herself” and “themselves”, or leave"),
        (CLASSES, "grow", "no answer “grow”. Give one of “collapse” and “sustain”, or leave the field empty for the"),
    ],
)
def test_another_text_is_refused_with_what_is_possible(model: str, answer: str, message: str) -> None:
    with pytest.raises(InvalidSetting) as error:
        find_outcomes(find_model(model), answer)
    assert_mentions(str(error.value), message)
    assert len(str(error.value)) < 300


def test_what_the_model_does_not_have_becomes_automatic() -> None:
    stored_model = find_model(LETTERS)
    state = AttentionState(LETTERS, answer="s", contrast="has")
    kept, problems = keep_possible_answers(state, stored_model)
    assert kept == replace(state, contrast="") and len(problems) == 1
    assert_mentions(problems[0], "“has” is not one letter … or leave the field empty … This answer is automatic now.")
    fits = replace(state, contrast="v")
    assert keep_possible_answers(fits, stored_model) == (fits, ())
    assert keep_possible_answers(AttentionState(), find_model(LABELS)) == (AttentionState(), ())
    both, problems = keep_possible_answers(replace(state, answer="␣", contrast=" "), stored_model)
    assert (both.answer, both.contrast) == ("␣", "")
    assert_mentions(
        problems[0],
        "Both answers are “␣”, so there is no difference to measure. Give another one, or leave the field empty.",
    )


@pytest.mark.parametrize("part", ["parts", "attention"])
def test_answers_stay_while_a_model_is_shown_for_which_nothing_is_patched(
    part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, stored_model = AttentionState(answer="Paris"), find_model(LETTERS)
    assert len(keep_possible_answers(state, stored_model)[1]) == 1
    value = ("encoder", "decoder", "cross") if part == "parts" else replace(stored_model.attention, answers=False)
    monkeypatch.setattr(type(stored_model), part, value)
    assert keep_possible_answers(state, stored_model) == (state, ())


def test_patching_and_attribution_measure_the_chosen_answers() -> None:
    stored_model = find_model(LETTERS)
    state = AttentionState(LETTERS, say="O thou ha")
    assert stored_model.tokenizer
    usual = compute_patching(stored_model, state, "O they ha").patching.outcomes[:2]
    d, v = (stored_model.tokenizer.tokens.index(letter) for letter in "dv")
    both, one = replace(state, answer="d", contrast="v"), replace(state, contrast="d")
    found = compute_patching(stored_model, both, "O they ha").patching
    assert found.outcomes[:2] == (d, v) and usual[0] not in (d, v)
    assert compute_patching(stored_model, one, "O they ha").patching.outcomes[:2] == (usual[0], d)
    parts = attribute_answer(stored_model, both).attribution
    assert parts and (parts.outcome, parts.contrast) == (d, v)
    parts = attribute_answer(stored_model, one).attribution
    assert parts and (parts.outcome, parts.contrast) == (usual[0], d)


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
