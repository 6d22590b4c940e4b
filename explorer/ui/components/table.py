"""A table in the browser with dot strips, rows to choose, sort and open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from explorer.charts import Table
from explorer.ui.components.base import event_callbacks, pop_event, register

_table = register("table")


@dataclass(frozen=True)
class TableState:
    """The selection and the sort order of a table, which the page stores and passes in the next run."""

    chosen: tuple[str, ...]
    sort: str | None
    opened: str | None  # key of the row that was just opened


def draw_rows(table: Table, key: str, *, chosen: Sequence[str] | None = None, sort: str | None = None) -> TableState:
    """Draw a table whose rows, which have keys, can be opened, chosen and sorted.

    chosen: keys of the chosen rows; None if rows cannot be chosen
    sort: key of a column, with a leading minus for descending order
    """
    event = pop_event(key, "chosen")
    if chosen is not None and isinstance(event, list):
        keys = {*table.keys, *chosen}
        chosen = [one for one in event if isinstance(one, str) and one in keys]
    event = pop_event(key, "sort")
    sortable = [name for name, column in table.columns.items() if column.sort]
    if isinstance(event, str) and event.removeprefix("-") in sortable:
        sort = event
    event = pop_event(key, "open")
    opened = event if isinstance(event, str) and event in table.keys else None
    select = None if chosen is None else {"chosen": list(chosen), "most": None}
    mount_table({**table.data(key), "select": select, "sort": sort}, key)
    return TableState(tuple(chosen or ()), sort, opened)


def mount_table(data: Mapping[str, object], key: str) -> None:
    """Mount the component with its data; see `static/components/table/view.js`."""
    _table(data=data, key=key, **event_callbacks(key, "chosen", "sort", "open"))
