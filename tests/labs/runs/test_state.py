from __future__ import annotations

import datetime

from explorer.experiments.pretraining import shipped_configs
from explorer.labs.runs.state import RunsState, build_query, search_runs
from explorer.web.visitors import Visitor
from tests.labs.runs.stored import save_small_run

ADA, BOB = Visitor("ada"), Visitor("bob")


def test_a_period_is_counted_back_from_now() -> None:
    for when, days in (("today", 1), ("this week", 7), ("this month", 31)):
        since = build_query(RunsState(when=when), ADA).since  # type: ignore[arg-type]
        assert since is not None
        assert datetime.timedelta(0) <= datetime.datetime.now(datetime.UTC) - since - datetime.timedelta(days=days)
    assert build_query(RunsState(), ADA).since is None


def test_the_owner_filter_becomes_a_query() -> None:
    for whose, owner, shipped in (("everybody's", None, True), ("mine", "ada", False), ("shipped", "", True)):
        query = build_query(RunsState(whose=whose), ADA)  # type: ignore[arg-type]
        assert (query.owner, query.shipped) == (owner, shipped)


def test_unknown_models_and_tasks_are_left_out_of_the_query() -> None:
    query = build_query(RunsState(models=("rnn", "markov"), tasks=("chess",), tags=("a",)), ADA)
    assert (query.text, query.models, query.tasks, query.tags) == ("", ("rnn",), (), ("a",))


def test_shipped_runs_own_runs_and_the_operators_runs_are_distinguished() -> None:
    mine, terminal = save_small_run("ada"), save_small_run("", seed=1)
    ships = len(shipped_configs())
    assert len(search_runs(RunsState(), ADA)) == ships + 2
    assert [entry.key for entry in search_runs(RunsState(whose="mine"), ADA)] == [mine]
    assert search_runs(RunsState(whose="mine"), BOB) == []
    shipped = search_runs(RunsState(whose="shipped"), ADA)
    assert len(shipped) == ships and terminal not in {entry.key for entry in shipped}


def test_shipped_runs_are_found_by_folder_name_and_by_tag() -> None:
    assert [entry.folder for entry in search_runs(RunsState(text="text-BEST"), ADA)] == ["text-best-seeds", "text-best"]
    window = {name for name in shipped_configs() if name.startswith("text-window-")}
    assert {entry.folder for entry in search_runs(RunsState(tags=("window",)), ADA)} == window != set()
