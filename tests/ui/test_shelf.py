from __future__ import annotations

import datetime
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from explorer.errors import LineageError
from explorer.training import index, library, store
from explorer.training.config import RunConfig, branched, key
from explorer.training.pretraining import recipes
from explorer.training.recorder import record_run
from explorer.ui import shelf
from explorer.ui.session import PageSession
from explorer.ui.shelf import Shelf, query
from explorer.ui.visitors import Visitor, Window
from tests.training.alike import short

ADA, BOB, OPERATOR = Visitor("ada"), Visitor("bob"), Visitor("eve", operator=True)
NOW = datetime.datetime(2026, 5, 1, tzinfo=datetime.UTC)
SMALL: dict[str, object] = {"epochs": 1, "train_size": 8, "test_size": 8}


@pytest.fixture
def session() -> PageSession[Shelf]:
    return PageSession(Shelf())


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Window:
    """Who sits in front of the shelf, and their window: set `visitor` to change places."""
    window = Window("ada")
    monkeypatch.setattr(shelf, "window", lambda: window)
    monkeypatch.setattr(shelf, "visitor", lambda: Visitor(window.visitor, window.visitor == OPERATOR.id))
    return window


def kept(owner: str = "ada", **changes: object) -> str:
    """A tiny run on the shelf."""
    config: RunConfig = short("bag_of_words", **{**SMALL, **changes})
    return store.save_run(record_run(config), store.place_of(config), owner).key


@pytest.mark.parametrize(("when", "days"), [("today", 1), ("this week", 7), ("this month", 31)])
def test_a_time_is_counted_back_from_now(when: str, days: int) -> None:
    since = query(Shelf(when=when), ADA).since  # type: ignore[arg-type]
    assert since is not None
    assert datetime.timedelta(0) <= datetime.datetime.now(datetime.UTC) - since - datetime.timedelta(days=days)
    assert query(Shelf(), ADA).since is None


@pytest.mark.parametrize(
    ("whose", "owner", "shipped"), [("everybody's", None, True), ("mine", "ada", False), ("shipped", "", True)]
)
def test_whose_runs_are_asked_for(whose: str, owner: str | None, shipped: bool) -> None:
    asked = query(Shelf(whose=whose), ADA)  # type: ignore[arg-type]
    assert (asked.owner, asked.shipped) == (owner, shipped)


def test_models_and_tasks_that_do_not_exist_are_not_asked_for() -> None:
    asked = query(Shelf(text="x", models=("rnn", "markov"), tasks=("chess",), tags=("a",)), ADA)
    assert (asked.text, asked.models, asked.tasks, asked.tags) == ("x", ("rnn",), (), ("a",))


def test_shipped_runs_mine_and_the_operators_are_told_apart() -> None:
    mine, terminal = kept("ada"), kept("", seed=1)
    ships = len(recipes())
    assert len(shelf.found(Shelf(), ADA)) == ships + 2
    assert [entry.key for entry in shelf.found(Shelf(whose="mine"), ADA)] == [mine]
    assert shelf.found(Shelf(whose="mine"), BOB) == []
    shipped = shelf.found(Shelf(whose="shipped"), ADA)
    assert len(shipped) == ships and terminal not in {entry.key for entry in shipped}


def test_shipped_runs_are_found_by_the_name_a_terminal_knows_and_by_their_experiment() -> None:
    assert [entry.folder for entry in shelf.found(Shelf(text="text-BEST"), ADA)] == ["text-best"]
    window = {name for name in recipes() if name.startswith("text-window-")}
    assert {entry.folder for entry in shelf.found(Shelf(tags=("window",)), ADA)} == window != set()


def entry(name: str = "negation-half-rnn") -> index.Entry:
    return next(e for e in index.search() if e.folder == name)


def test_a_run_is_told_by_what_is_not_as_released() -> None:
    assert shelf.unusual(entry()) == "p_not = 0.5"
    assert shelf.unusual(entry("negation-single-rnn")) == "as released"
    assert shelf.unusual(replace(entry(), parent="abcdefghijkl")) == "p_not = 0.5, branch of abcdefghijkl"
    assert shelf.named(entry()) == "RNN" and shelf.named(replace(entry(), name="mine")) == "mine"


def test_how_a_run_ended_is_said_only_where_it_was_not_its_end() -> None:
    run = replace(entry(), step=1_200, steps=2_000)
    assert shelf.ended(run) == ""
    assert shelf.ended(replace(run, state="stopped")) == "stopped at step 1,200 of 2,000"
    assert shelf.ended(replace(run, state="diverged")) == "diverged by step 1,200 of 2,000"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "just now"),
        (59, "just now"),
        (61, "1 minute ago"),
        (7_300, "2 hours ago"),
        (86_500, "1 day ago"),
        (9e6, "104 days ago"),
    ],
)
def test_how_long_ago_something_was(monkeypatch: pytest.MonkeyPatch, seconds: float, text: str) -> None:
    class Clock(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:
            return NOW

    monkeypatch.setattr(shelf.datetime, "datetime", Clock)
    assert shelf.ago(NOW - datetime.timedelta(seconds=seconds)) == text


@pytest.mark.parametrize(("count", "text"), [(0, "0.0 MB"), (1_234_567, "1.2 MB"), (2_000_000_000, "2.00 GB")])
def test_a_size_is_said_as_one_says_it(count: int, text: str) -> None:
    assert shelf.megabytes(count) == text


# ---- what is done with runs


def test_a_zip_is_taken_in_for_whoever_brings_it(session: PageSession[Shelf], here: Window, home: Path) -> None:
    run = store.find(kept())
    content = shelf.packed(run.key)
    shutil.rmtree(home)
    here.visitor = "bob"
    assert shelf.import_zip(session, content) == run.key
    assert session.problems == ()
    taken = store.find(run.key)
    assert (taken.card.owner, taken.config, taken.card.pinned) == ("bob", run.config, False)


def test_a_run_that_is_here_already_is_not_replaced(session: PageSession[Shelf], here: Window) -> None:
    for run in (kept(), "negation-single-bag_of_words"):
        assert shelf.import_zip(session, shelf.packed(run)) == ""
        assert "is here already" in session.problems[0]


@pytest.mark.parametrize("content", [b"", b"no zip", b"PK\x03\x04" + bytes(100)])
def test_what_is_no_zip_is_refused_in_one_sentence(
    session: PageSession[Shelf], here: Window, home: Path, content: bytes
) -> None:
    assert shelf.import_zip(session, content) == ""
    assert len(session.problems) == 1
    assert not list(home.glob("runs/*"))


def test_a_run_that_is_gone_is_packed_into_nothing() -> None:
    assert shelf.packed("abcdefghijkl") == b""


def test_who_trained_a_run_deletes_it_and_brings_it_back(session: PageSession[Shelf], here: Window) -> None:
    run = kept("ada")
    session.state = Shelf(runs=(run,), run=run)
    shelf.delete(session, [run])
    assert (here.deleted, session.problems, session.state.runs, session.state.run) == ([run], (), (), "")
    with pytest.raises(LineageError):
        store.find(run)
    shelf.undelete(session)
    assert (here.deleted, store.find(run).key) == ([], run)


def test_nobody_else_deletes_or_renames_it_except_the_operator(session: PageSession[Shelf], here: Window) -> None:
    run = kept("ada")
    here.visitor = "bob"
    shelf.delete(session, [run])
    shelf.change(session, run, name="mine now")
    assert here.deleted == [] and "somebody else's" in session.problems[0]
    assert store.find(run).card.name == ""
    here.visitor = OPERATOR.id
    shelf.change(session, run, name="checked", tags=["a", "A", " b "], pinned=True)
    card = store.find(run).card
    assert (card.name, card.tags, card.pinned, session.problems) == ("checked", ("a", "b"), True, ())
    shelf.delete(session, [run])
    assert here.deleted == [run]


def test_of_several_runs_all_are_deleted_or_none(session: PageSession[Shelf], here: Window) -> None:
    mine, foreign = kept("ada"), kept("bob", seed=1)
    shelf.delete(session, [mine, foreign])
    assert store.find(mine) and here.deleted == [] and session.problems
    shelf.delete(session, [mine, store.find("negation-single-rnn").key])
    assert store.find(mine) and "comes with the program" in session.problems[0]


def test_the_facts_of_a_run_are_those_of_its_card() -> None:
    config = branched(short("bag_of_words", replicas=2, **SMALL), 0, {"learning_rate": 0.5})
    record = replace(record_run(short("bag_of_words", replicas=2, **SMALL)), config=config)
    run = store.save_run(record, store.place_of(config))
    facts = dict(shelf.facts(run))
    assert facts["seeds"] == "0 to 1" and facts["steps"] == "1 of 1" and facts["learning_rate"] == "0.5"
    assert facts["parameters"] == f"{run.card.parameters:,}"
    assert key(config) == run.key
    assert library.may_change(run, "", True)
