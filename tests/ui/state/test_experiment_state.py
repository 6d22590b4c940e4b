from __future__ import annotations

from dataclasses import replace

import pytest

from explorer.experiments.labelling import VARIANTS
from explorer.jobs.cost import expected_seconds
from explorer.labs.depth.state import DepthState
from explorer.labs.induction.state import InductionState
from explorer.labs.masks.state import MasksState
from explorer.labs.memory.state import MemoryState
from explorer.labs.negation.state import EnglishLab
from explorer.labs.positions.state import PositionsState
from explorer.labs.scaled_attention.state import ScaledAttentionState
from explorer.labs.text.state import TextLab
from explorer.labs.translation.state import TranslationState
from explorer.run_store import store
from explorer.ui.state.experiment_state import SHORT_SECONDS, ExperimentState, VariantComparison
from explorer.ui.state.url_codec import apply_message


@pytest.mark.parametrize(
    ("state", "task"), [(MasksState(), "tale"), (MasksState(reads="noise"), "noise"), (PositionsState(), "echo")]
)
def test_the_default_configurations_are_shipped(state: MasksState | PositionsState, task: str) -> None:
    assert state.configs == {name: VARIANTS[f"{task}-{name}"].config() for name in state.who}


def test_a_prompt_is_reduced_to_letters_that_the_models_know() -> None:
    assert MasksState().prompt == ("the old king", [])
    assert MasksState(begin="The Wolf.").prompt == ("the wolf.", [])
    prompt, messages = MasksState(begin="a 3rd é<b>").prompt
    assert prompt == "a rd b" and messages == [
        "The models know the letters a to z, the space and the full stop; left out: “3”, “é”, “<” and “>”."
    ]
    prompt, messages = MasksState(begin=" !").prompt
    assert prompt == "the old king" and len(messages) == 2 and "until then it is “the old king”" in messages[1]


def test_a_run_of_the_comparison_selects_its_model_and_settings() -> None:
    state = replace(PositionsState(), who=("none",), run=store.find("echo-rotary").key).with_run()
    assert state.run == "" and state.who == ("rotary", "none") and state.steps == 0
    state, problems = PositionsState(run=store.find("echo-scaled").key).open_run()
    assert problems == () and state.steps == 200 and state.open_run() == (state, ()), "opened again, its steps stay"


def test_events_of_components_are_applied_and_invalid_ones_ignored() -> None:
    assert apply_message(MasksState(), '{"side": "left", "causal": false, "shown": 1}') == MasksState(
        side="left", causal=False, shown=1
    )
    for invalid in ("", "[]", '{"side": "up"}', '{"shown": 9}'):
        assert apply_message(MasksState(), invalid) == MasksState()
    assert apply_message(PositionsState(), '{"base": 100, "after": false, "width": 16}') == PositionsState(
        base=100.0, after=False, width=16
    )
    for invalid in ("x", '{"base": 1}', '{"width": "many"}', "3"):
        assert apply_message(PositionsState(), invalid) == PositionsState()


def test_an_odd_width_is_made_even_and_long_input_is_truncated() -> None:
    assert PositionsState(width=33, turn_width=7).component_state["width"] == 32
    long = MasksState(first=" ".join("word" for _ in range(12)))
    assert len(long.batch[0]) == 10 and "12 words" in long.input_problems[0]
    assert MasksState(first="", second=" ", third="").input_problems == [
        "The batch is empty: write a word in one of the three sentences."
    ]


def test_the_short_training_of_the_default_language_models_has_three_seeds_of_the_toy_text() -> None:
    assert TextLab.of_setup("shakespeare").short == TextLab.of_setup("toy").with_shared(replicas=3)


@pytest.mark.parametrize("kind", [MemoryState, TranslationState, MasksState, PositionsState, ScaledAttentionState])
def test_a_run_brings_its_seeds_and_the_settings_of_its_task(kind: type[VariantComparison]) -> None:
    config = kind(seeds=4, seed=17).config(next(iter(kind().choices)))
    state = kind().with_settings_of(config)
    assert (state.seeds, state.seed, state.run) == (4, 17, "")
    assert config in state.configs.values()


@pytest.mark.parametrize("kind", [MemoryState, TranslationState, InductionState, DepthState, TextLab, EnglishLab])
def test_a_short_training_has_fewer_seeds_and_then_fewer_steps(kind: type[ExperimentState]) -> None:
    def seconds(state: ExperimentState) -> float:
        return sum(expected_seconds(config, on_cores=1) for config in state.configs.values())

    state = kind()
    short = state.short
    assert seconds(short) <= SHORT_SECONDS < seconds(state)
    assert short.short == short, "what is short stays as it is"
    seeds = {config.replicas for config in short.configs.values()}
    assert max(seeds) < max(config.replicas for config in state.configs.values())
    fewer_steps = any(config.steps < state.configs[name].steps for name, config in short.configs.items())
    assert not fewer_steps or seeds == {1}, "the seeds are lowered first"
