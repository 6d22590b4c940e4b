from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from explorer.errors import InvalidSetting
from explorer.labs.generation.state import DEFAULT_MODELS, MAX_PATH_LENGTH, MAX_PROMPT_LENGTH, GenerationState
from explorer.ui.state import url_codec
from tests.labs.addresses import read_problems


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


def test_invalid_url_parameters_are_reported_and_the_rest_is_kept(snapshot: SnapshotAssertion) -> None:
    invalid = ("t=warm", "t=2.5", "t=nan", "top_k=-1", "top_p=1.5", "greedy=maybe", "models=,", "models=a,b,c,d")
    paths = ("path=1,-2", "path=" + ",".join("1" for _ in range(MAX_PATH_LENGTH + 1)), "path=a")
    lengths = ("tokens=5", "length=1e9x", "prompt=" + "x" * 2_001, "nonsense=1")
    assert read_problems(GenerationState, {"seed": "3"}, *invalid, *paths, *lengths) == snapshot
    assert url_codec.read(GenerationState, {"seed": "3"})[0] == GenerationState(seed=3)


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
