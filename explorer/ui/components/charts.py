"""Components: plotly figures side by side, with live updates and playback, and tables with rows to choose."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from explorer.charts import Table
from explorer.ui.components.base import event_callbacks, pop_event, register

_frame = register("plot_frame")


def mount_frame(data: Mapping[str, object], key: str) -> None:
    """Mount the component with the data that `frame_data` returns."""
    _frame(data=data, key=key, **event_callbacks(key, "target", "stop", "pick"))


def pop_target(key: str) -> float | None:
    """Return the value to which the visitor has just dragged the target of a frame; None without a new one."""
    event = pop_event(key, "target")
    return float(event) if isinstance(event, int | float) and math.isfinite(event) else None


def pop_pick(key: str) -> tuple[str, int, int] | None:
    """Return the panel and the whole numbers x and y of the point that the visitor has just clicked; None without."""
    event = pop_event(key, "pick")
    if not isinstance(event, dict):
        return None
    figure, x, y = (event.get(name) for name in ("figure", "x", "y"))
    return (figure, x, y) if isinstance(figure, str) and type(x) is int and type(y) is int else None


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
