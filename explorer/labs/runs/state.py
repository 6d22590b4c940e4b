"""The state of the Runs page: its filters, the selected runs and the open run."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from explorer.catalogue import MODELS, TASKS
from explorer.errors import InvalidSetting, UnknownSweep
from explorer.labs.runs.descriptions import MOST_RUNS, matching_entries
from explorer.run_store import index
from explorer.run_store.index import Entry, Query
from explorer.sweeps import stored
from explorer.sweeps.space import possible_runs
from explorer.ui.state.fields import PageState, setting
from explorer.web.visitors import Visitor

When = Literal["ever", "today", "this week", "this month"]
Whose = Literal["everybody's", "mine", "shipped"]
WHOSE_TITLES = {"everybody's": "all", "mine": "yours", "shipped": "included"}
ROWS = 50  # of the table at a time
_DAYS = {"today": 1, "this week": 7, "this month": 31}


@dataclass(frozen=True)
class RunsState(PageState):
    """The filters and the selection. Each field is a URL parameter."""

    text: str = setting("", "Search")
    models: tuple[str, ...] = setting((), "Models", options={name: row.title for name, row in MODELS.items()})
    tasks: tuple[str, ...] = setting((), "Tasks", options={name: row.title for name, row in TASKS.items()})
    tags: tuple[str, ...] = setting((), "Tags")
    sweep: str = setting("", "Search for settings")  # key of a sweep, whose runs are listed
    when: When = setting("ever", "Trained", options=get_args(When))
    whose: Whose = setting("everybody's", "Owner", options=WHOSE_TITLES)
    others: bool = setting(False, "Only runs of other visitors")
    sort: str = setting("-created")  # key of a column, with a minus for descending order; see `column`
    page: int = setting(1, low=1, high=1_000)  # of the table
    runs: tuple[str, ...] = setting(())  # keys of the selected runs
    run: str = setting("")  # key of the open run

    @property
    def column(self) -> str:
        """The column that sorts the table; empty by default: own runs first, then by task. Old URLs have “created”."""
        return {"-created": "", "created": "when"}.get(self.sort, self.sort)

    @property
    def filters(self) -> int:
        """How many filters are set, without the search text."""
        unset = type(self)()
        return sum(
            getattr(self, name) != getattr(unset, name)
            for name in ("models", "tasks", "tags", "sweep", "when", "whose", "others")
        )

    @property
    def lists_runs(self) -> bool:
        """Whether the page lists single runs, and not the tasks."""
        return bool(self.text or self.filters)

    def with_filter(self, **changes: Any) -> RunsState:
        """Return the state with other filters, at the first rows of the table."""
        return replace(self, page=1, **changes)

    def without_filters(self) -> RunsState:
        """Return the state that lists the tasks."""
        unset = type(self)()
        return replace(unset, runs=self.runs, sort=self.sort)


def build_query(state: RunsState, visitor: Visitor) -> Query:
    """Return the query of the run index, without the text; unknown models and tasks are ignored."""
    days = _DAYS.get(state.when)
    return Query(
        models=tuple(model for model in state.models if model in MODELS),
        tasks=tuple(task for task in state.tasks if task in TASKS),
        tags=state.tags,
        keys=_runs_of_sweep(state.sweep) if state.sweep else None,
        since=datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=days) if days else None,
        owner={"mine": visitor.id, "shipped": ""}.get(state.whose),
        shipped=state.whose != "mine" and not state.others,
        limit=MOST_RUNS,
    )


def _runs_of_sweep(key: str) -> tuple[str, ...]:
    """Return the keys of the runs of a sweep; none if it is not here any more."""
    try:
        return possible_runs(stored.find(key).sweep)
    except (UnknownSweep, InvalidSetting):
        return ()


def search_runs(state: RunsState, visitor: Visitor) -> list[Entry]:
    """Return the runs that match the filters and the text, the newest first. Raises StoreError, InvalidSetting.

    The text is looked for in what the index stores (names, tags, keys); or its words stand in the name of the run.
    """
    entries = index.search(build_query(state, visitor))
    if state.text:
        entries = matching_entries(entries, state.text)
    if state.whose == "shipped":
        return [entry for entry in entries if entry.shipped]
    return [entry for entry in entries if entry.owner != visitor.id] if state.others else entries
