from __future__ import annotations

import pytest

from explorer.errors import InvalidSetting
from explorer.labs.generation.state import DEFAULT_MODELS, MAX_PATH_LENGTH, MAX_PROMPT_LENGTH, GenerationState
from explorer.ui.state import url_codec
from tests.words import assert_mentions


def test_the_url_has_what_differs_from_the_defaults_and_is_read_back() -> None:
    state = GenerationState(
        ("text-lstm",), "", "text-lstm", "O ", 100, 7, 1.35, True, 5, 0.9, 0.05, 12, 30, (3, 1, 4), 2_000
    )
    assert url_codec.write(GenerationState()) == {}
    assert url_codec.read(GenerationState, url_codec.write(state)) == (state, ())
    assert url_codec.read(GenerationState, url_codec.write(GenerationState(prompt=""))) == (
        GenerationState(prompt=""),
        (),
    )


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("t", "warm", "t = warm … not … from 0 to 2"),
        ("t", "2.5", "Give a number from 0 to 2"),
        ("t", "nan", "Give a number from 0 to 2"),
        ("top_k", "-1", "Give a number from 0 to 20,000"),
        ("top_p", "1.5", "Give a number from 0 to 1"),
        ("greedy", "maybe", "Give true or false"),
        ("models", ",", "Name one to 3"),
        ("models", "a,b,c,d", "models names 4 models. Name one to 3"),
        ("path", "1,-2", "path is not possible"),
        ("path", ",".join("1" for _ in range(MAX_PATH_LENGTH + 1)), "at most 120 numbers"),
        ("path", "a", "path = a … not … whole numbers with commas"),
        ("tokens", "5", "Give a number from 20 to 400"),
        ("length", "1e9x", "Give a number from 100 to 5,000"),
        ("prompt", "x" * 2_001, "at most 2,000 characters … 2,001"),
        ("nonsense", "1", "This page has no “nonsense”"),
    ],
)
def test_an_invalid_url_parameter_is_reported_and_the_rest_is_kept(name: str, text: str, expected: str) -> None:
    state, problems = url_codec.read(GenerationState, {name: text, "seed": "3"})
    assert state == GenerationState(seed=3)
    assert len(problems) == 1
    assert_mentions(problems[0], expected)


def test_another_prompt_or_sampling_setting_resets_position_and_path() -> None:
    state = GenerationState(at=12, of=30, path=(1, 2), t=1.2)
    assert state.with_settings(seed=4) == GenerationState(seed=4, t=1.2)
    assert state.with_settings(prompt="O ") == GenerationState(prompt="O ", t=1.2)
    assert state.with_models(["text-rnn"]) == GenerationState(models=("text-rnn",), t=1.2)
    with pytest.raises(InvalidSetting, match=f"at most {MAX_PROMPT_LENGTH:,} characters; this one has 2,001"):
        state.with_settings(prompt="x" * (MAX_PROMPT_LENGTH + 1))


def test_at_most_three_models_are_selected_and_the_newest_stay() -> None:
    assert GenerationState().with_models([]) == GenerationState()
    assert GenerationState().with_models(["a", "b", "a", "c", "d"]).models == ("b", "c", "d")


def test_the_focused_model_is_one_of_the_selected() -> None:
    assert GenerationState().focused_model == DEFAULT_MODELS[-1]
    assert GenerationState(focus="gone").focused_model == DEFAULT_MODELS[-1]
    assert GenerationState().with_position(DEFAULT_MODELS[0], 3, 5) == GenerationState(
        focus=DEFAULT_MODELS[0], of=3, at=5
    )


def test_the_first_position_is_the_same_in_every_text_and_a_path_belongs_to_its_model() -> None:
    state = GenerationState(path=(1, 2))
    assert state.with_position(DEFAULT_MODELS[-1], 9, 0) == state
    assert state.with_position(DEFAULT_MODELS[-1], 9, 1).path == (1, 2)
    assert state.with_position(DEFAULT_MODELS[0], 9, 1).path is None
    assert url_codec.read(GenerationState, url_codec.write(GenerationState(path=()))) == (GenerationState(path=()), ())
