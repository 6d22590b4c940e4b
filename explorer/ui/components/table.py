"""A table in the browser with dot strips, rows to choose, sort and open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, SupportsFloat

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


def draw_table(
    columns: Sequence[Mapping[str, object]],
    rows: Sequence[Mapping[str, object]],
    *,
    key: str,
    label: str,
    caption: str | None = None,
    chosen: Sequence[str] | None = None,
    max_chosen: int | None = None,
    sort: str | None = None,
) -> TableState:
    """Draw a table whose rows can be selected, sorted and opened; see `static/components/table/view.js`.

    columns: as `column` returns them.
    rows: the cells of each row, by the key of their column; or {"cells": …} with more about the row, such as its key.
        A cell that is only a text may be given as such.
    chosen: keys of the selected rows; None if rows cannot be selected.
    max_chosen: the largest number of selected rows; None for no limit.
    sort: key of a column, with a leading minus for descending order.
    """
    event = pop_event(key, "chosen")
    if chosen is not None and isinstance(event, list):
        keys = {row.get("key") for row in rows} | set(chosen)
        chosen = [one for one in event if isinstance(one, str) and one in keys][:max_chosen]
    event = pop_event(key, "sort")
    if isinstance(event, str) and any(c.get("sort") and c["key"] == event.removeprefix("-") for c in columns):
        sort = event
    event = pop_event(key, "open")
    opened = event if isinstance(event, str) and any(row.get("key") == event for row in rows) else None
    select = None if chosen is None else {"chosen": list(chosen), "most": max_chosen}
    data = {**_table_data(columns, rows, key, label, caption), "select": select, "sort": sort}
    mount_table(data, key)
    return TableState(tuple(chosen or ()), sort, opened)


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
