"""The URL codec of pages whose state is one flat dataclass."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import get_args, get_type_hints

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from explorer.labs.compare.state import Comparison
from explorer.labs.runs.state import RunsState
from explorer.ui.state.url_codec import read, write

LIST_ITEM = st.text(st.characters(exclude_characters=",", codec="utf-8"), min_size=1, max_size=20)
LISTS = st.lists(LIST_ITEM, max_size=6).map(tuple)


def choice(kind: type, name: str) -> st.SearchStrategy[str]:
    return st.sampled_from(get_args(get_type_hints(kind)[name]))


RUNS_STATES = st.fixed_dictionaries(
    {
        "text": st.text(max_size=100),
        **dict.fromkeys(("models", "tasks", "tags", "runs"), LISTS),
        "when": choice(RunsState, "when"),
        "whose": choice(RunsState, "whose"),
        "sort": LIST_ITEM,
        "run": st.text(max_size=30),
    }
)
COMPARISON_STATES = st.fixed_dictionaries(
    {
        "runs": LISTS,
        "run": st.text(max_size=30),
        "x": choice(Comparison, "x"),
        "y": choice(Comparison, "y"),
        "smooth": st.integers(0, 99).map(lambda v: v / 100),
        "log_x": st.booleans(),
        "log_y": st.booleans(),
        "target": st.none() | st.floats(0, 1e6).map(lambda v: float(f"{v:.6g}")),
    }
)


@settings(deadline=None)
@given(st.tuples(st.just(RunsState), RUNS_STATES) | st.tuples(st.just(Comparison), COMPARISON_STATES))
@example((Comparison, {"target": 0.0}))
@example((Comparison, {"target": 1e-6, "log_y": True}))
@example((RunsState, {"runs": ("a" * 12,) * 40}))
def test_a_state_round_trips_through_the_url(case: tuple[type, dict[str, object]]) -> None:
    kind, values = case
    state = kind(**values)
    assert read(kind, write(state)) == (state, ())


@pytest.mark.parametrize("kind", [RunsState, Comparison])
def test_defaults_are_not_written(kind: type) -> None:
    assert write(kind()) == {}
    assert read(kind, {}) == (kind(), ())


GOOD = {"smooth": "0.5", "log_x": "true", "runs": "aaaaaaaaaaaa,bbbbbbbbbbbb"}
BAD = {
    "x": ("epochs", "x = epochs is not possible. Give one of step, tokens, seconds."),
    "y": ("f1", "y = f1 is not possible. Give one of test_accuracy,"),
    "log_y": ("perhaps", "log_y = perhaps is not possible. Give true or false."),
    "colour": ("red", "This page has no “colour”; that part of the address was left out."),
    "__class__": ("x", "This page has no “__class__”; that part of the address was left out."),
    "rising": ("true", "This page has no “rising”; that part of the address was left out."),
}
BAD |= {
    f"target={v}": (v, "is not possible. Give a number from 0 to 1e+06.")
    for v in ("nan", "inf", "-inf", "-1", "2e6", "x")
}


@pytest.mark.parametrize("case", BAD)
def test_an_invalid_parameter_is_reported_and_the_others_are_read(case: str) -> None:
    value, sentence = BAD[case]
    state, problems = read(Comparison, {case.split("=")[0]: value, **GOOD})
    assert len(problems) == 1 and sentence in problems[0]
    assert write(state) == GOOD


@pytest.mark.parametrize("value", ["nan", "inf", "1", "0.995", "-0.1", "much"])
def test_an_invalid_smoothing_is_refused(value: str) -> None:
    assert read(Comparison, {"smooth": value}) == (
        Comparison(),
        (f"smooth = {value} is not possible. Give a number from 0 to 0.99.",),
    )


def test_a_value_too_long_for_a_url_is_not_written() -> None:
    assert write(RunsState(text="a" * 601, whose="mine")) == {"whose": "mine"}
    assert write(RunsState(runs=tuple("abcdefghijkl" for _ in range(60)))) == {}


@settings(deadline=None)
@given(
    st.sampled_from([RunsState, Comparison]),
    st.dictionaries(
        st.sampled_from([f.name for kind in (RunsState, Comparison) for f in dataclasses.fields(kind)]) | st.text(),
        st.sampled_from(["1", "-1", "nan", "9" * 5000, "<script>", "a," * 5000, "true", "\x00", "٣"]) | st.text(),
    ),
)
def test_any_url_gives_a_state_and_short_messages(kind: type, params: Mapping[str, str]) -> None:
    state, problems = read(kind, params)
    assert isinstance(state, kind)
    assert len(problems) <= len(params)
    assert all(len(problem) < 300 and problem.isprintable() for problem in problems)
