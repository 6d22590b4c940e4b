"""The URL codec of pages whose state is one flat dataclass."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.labs.compare.state import Comparison
from explorer.labs.runs.state import RunsState
from explorer.ui.state.url_codec import read, write


@pytest.mark.parametrize("values", [{"target": 0.0}, {"target": 1e-6, "log_y": True}, {"runs": ("a" * 12,) * 40}])
def test_small_numbers_and_long_lists_are_read_as_they_were_written(values: dict[str, object]) -> None:
    assert read(Comparison, write(Comparison(**values))) == (Comparison(**values), ())


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
