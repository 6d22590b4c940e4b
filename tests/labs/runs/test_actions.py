from __future__ import annotations

import pytest

from explorer.errors import LineageError
from explorer.labs.runs import actions
from explorer.labs.runs.state import RunsState
from explorer.run_store import store
from explorer.ui.state.session import PageSession
from explorer.ui.state.visitor import BrowserTab
from explorer.web.visitors import Visitor
from tests.labs.runs.stored import save_small_run

OPERATOR = Visitor("eve", operator=True)


@pytest.fixture
def session() -> PageSession[RunsState]:
    return PageSession(RunsState())


@pytest.fixture
def tab(monkeypatch: pytest.MonkeyPatch) -> BrowserTab:
    """The tab of the current visitor; set its `visitor` to act as another one."""
    tab = BrowserTab("ada")
    monkeypatch.setattr(actions, "current_tab", lambda: tab)
    monkeypatch.setattr(actions, "current_visitor", lambda: Visitor(tab.visitor, tab.visitor == OPERATOR.id))
    return tab


def test_an_existing_run_is_not_replaced_by_an_import(session: PageSession[RunsState], tab: BrowserTab) -> None:
    for run in (save_small_run(), "negation-single-bag_of_words"):
        assert actions.import_run(session, actions.export_run(run)) == ""
        assert "is already stored" in session.problems[0]


def test_the_owner_deletes_and_restores_a_run(session: PageSession[RunsState], tab: BrowserTab) -> None:
    run = save_small_run("ada")
    session.state = RunsState(runs=(run,), run=run)
    actions.delete_runs(session, [run])
    assert (tab.deleted, session.problems, session.state.runs, session.state.run) == ([run], (), (), "")
    with pytest.raises(LineageError):
        store.find(run)
    assert actions.export_run(run) == b""
    actions.restore_runs(session)
    assert (tab.deleted, store.find(run).key) == ([], run)


def test_only_the_owner_and_the_operator_delete_or_rename_a_run(
    session: PageSession[RunsState], tab: BrowserTab
) -> None:
    run = save_small_run("ada")
    tab.visitor = "bob"
    actions.delete_runs(session, [run])
    actions.change_card(session, run, name="mine now")
    assert tab.deleted == [] and "belongs to another visitor" in session.problems[0]
    assert store.find(run).card.name == ""
    tab.visitor = OPERATOR.id
    actions.change_card(session, run, name="checked", tags=["a", "A", " b "], pinned=True)
    card = store.find(run).card
    assert (card.name, card.tags, card.pinned, session.problems) == ("checked", ("a", "b"), True, ())
    actions.delete_runs(session, [run])
    assert tab.deleted == [run]


def test_several_runs_are_deleted_together_or_not_at_all(session: PageSession[RunsState], tab: BrowserTab) -> None:
    mine, foreign = save_small_run("ada"), save_small_run("bob", seed=1)
    actions.delete_runs(session, [mine, foreign])
    assert store.find(mine) and tab.deleted == [] and session.problems
    actions.delete_runs(session, [mine, store.find("negation-single-rnn").key])
    assert store.find(mine) and "is included with the program" in session.problems[0]
