"""The state of the Runs page: its filters, the selected runs and the open run."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Literal, get_args

from explorer.catalogue import MODELS, TASKS
from explorer.run_store import index
from explorer.run_store.index import Entry, Query
from explorer.ui.state.fields import PageState, setting
from explorer.web.visitors import Visitor

When = Literal["ever", "today", "this week", "this month"]
Whose = Literal["everybody's", "mine", "shipped"]
_DAYS = {"today": 1, "this week": 7, "this month": 31}


@dataclass(frozen=True)
class RunsState(PageState):
    """The filters and the selection. Each field is a URL parameter."""

    text: str = setting("", "Look for")
    models: tuple[str, ...] = setting((), "Models", options={name: row.title for name, row in MODELS.items()})
    tasks: tuple[str, ...] = setting((), "Tasks", options={name: row.title for name, row in TASKS.items()})
    tags: tuple[str, ...] = setting((), "Tags")
    when: When = setting("ever", "When", options=get_args(When))
    whose: Whose = setting("everybody's", "Whose", options=get_args(Whose))
    sort: str = setting("-created")
    runs: tuple[str, ...] = setting(())  # keys of the selected runs
    run: str = setting("")  # key of the open run


def build_query(state: RunsState, visitor: Visitor) -> Query:
    """Return the query of the run index; unknown models and tasks are ignored."""
    days = _DAYS.get(state.when)
    return Query(
        text=state.text,
        models=tuple(model for model in state.models if model in MODELS),
        tasks=tuple(task for task in state.tasks if task in TASKS),
        tags=state.tags,
        since=datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=days) if days else None,
        owner={"mine": visitor.id, "shipped": ""}.get(state.whose),
        shipped=state.whose != "mine",
    )


def search_runs(state: RunsState, visitor: Visitor) -> list[Entry]:
    """Return the runs that match the filters. Raises StoreError."""
    entries = index.search(build_query(state, visitor))
    return [entry for entry in entries if entry.shipped] if state.whose == "shipped" else entries
