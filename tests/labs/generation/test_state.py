from __future__ import annotations

import pytest

from explorer.errors import InvalidSetting
from explorer.labs.generation.state import DEFAULT_MODELS, MAX_PROMPT_LENGTH, GenerationState
from explorer.ui.state import url_codec


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
