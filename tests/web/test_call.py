from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from explorer.inspection.compare import metric_over_seeds
from explorer.lazy_exports import LazyModule
from explorer.run_store import store
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.web import background
from explorer.web.call import Call


def add(one: int, *, other: int = 0) -> int:
    return one + other


def test_equal_calls_have_one_key_and_others_have_another() -> None:
    assert Call(add, 1, other=2)() == 3 and Call(add, 1).key == Call(add, 1).key
    keys = {call.key for call in (Call(add, 1), Call(add, 2), Call(add, 1, other=0), Call(max, (1,), (2,)))}
    assert len(keys | {Call(max, (1, 2), ()).key}) == 5


def test_a_measurement_that_is_not_yet_imported_has_the_key_of_the_function_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:
        patch.delitem(sys.modules, "explorer.inspection.compare")
        lazy = LazyModule("explorer.inspection.compare").metric_over_seeds
    call = Call(lazy, None, "loss")
    assert lazy is not metric_over_seeds and call.key == Call(metric_over_seeds, None, "loss").key
    assert [len(each) for each in call()] == [0, 0, 0, 0]


def test_the_key_of_a_run_has_its_weights() -> None:
    run = store.find("echo-rotary")
    assert Call(repr, run).key == Call(repr, replace(run)).key and run.cache_key in Call(repr, run).key[1]  # type: ignore[operator]


@pytest.mark.parametrize("wrap", [lambda t: t, lambda t: ((t,), 1), lambda t: TextConfig("own", text=t)])
def test_own_texts_are_named_so_that_their_results_can_be_dropped_and_refused(wrap: object) -> None:
    sha = corpora.store_text("a text of a visitor, long enough", "somebody")
    call = Call(repr, wrap(sha))  # type: ignore[operator]
    assert sha in call.key
    assert isinstance(background.submit(call.key, call).exception(), Exception), "another visitor must not read it"
    with corpora.read_as("somebody"):
        assert background.submit(call.key, call).result() == repr(wrap(sha))  # type: ignore[operator]
    background.drop_results(sha)
    assert call.key not in background.results()
