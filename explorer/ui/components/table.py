"""A table in the browser with dot strips, rows to choose, sort and open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, SupportsFloat

from explorer.charts import Table
from explorer.ui.components.base import event_callbacks, pop_event, register
from explorer.ui.document import Document

_table = register("table")


@dataclass(frozen=True)
class TableState:
    """The selection and the sort order of a table, which the page stores and passes in the next run."""

    chosen: tuple[str, ...]
    sort: str | None
    opened: str | None  # key of the row that was just opened


def column(key: str, label: str, kind: str = "text", **more: object) -> dict[str, object]:
    """Return a column of a table, which is aligned at the right if it has numbers.

    key: the name of its cells
    label: its header
    kind, more: see `static/components/table/view.js`
    """
    return {"key": key, "label": label, "kind": kind, "align": "right" if kind == "number" else "left", **more}


def strip_cell(text: str, values: Iterable[SupportsFloat], digits: int = 4, **more: object) -> dict[str, object]:
    """Return the cell of a column of dots: its text, and a dot for each value, rounded to so many digits."""
    return {"text": text, "values": [round(float(value), digits) for value in values], **more}


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


def draw_table(
    columns: Sequence[Mapping[str, object]],
    rows: Sequence[Mapping[str, object]],
    *,
    key: str,
    label: str,
    caption: str | None = None,
) -> None:
    """Draw a table; see `static/components/table/view.js`.

    columns: as `column` returns them.
    rows: the cells of each row, by the key of their column; or {"cells": …} with more about the row.
    """
    mount_table(_table_data(columns, rows, key, label, caption), key)


def mount_table(data: Mapping[str, object], key: str) -> None:
    """Mount the component with its data; see `static/components/table/view.js`."""
    _table(data=data, key=key, **event_callbacks(key, "chosen", "sort", "open"))


def add_table(
    document: Document,
    columns: Sequence[Mapping[str, object]],
    rows: Sequence[Mapping[str, object]],
    *,
    key: str,
    label: str,
    caption: str | None = None,
) -> None:
    """Add a table whose rows cannot be selected to a document; the parameters are those of `draw_table`."""
    document.component("table", _table_data(columns, rows, key, label, caption), key)


def _table_data(
    columns: Sequence[Mapping[str, object]],
    rows: Sequence[Mapping[str, object]],
    key: str,
    label: str,
    caption: str | None,
) -> dict[str, object]:
    return {
        "columns": list(columns),
        "rows": [_row_data(row) for row in rows],
        "select": None,
        "sort": None,
        "caption": caption,
        "file": key,
        "label": label,
    }


def _row_data(row: Mapping[str, Any]) -> dict[str, object]:
    row = row if "cells" in row else {"cells": row}
    cells = {key: {"text": cell} if isinstance(cell, str) else cell for key, cell in row["cells"].items()}
    return {**row, "cells": cells}
