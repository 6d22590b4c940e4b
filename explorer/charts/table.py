"""Tables: columns with their kinds, and rows of cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Literal, SupportsFloat, TypeAlias


@dataclass(frozen=True)
class Column:
    """A column; `static/components/table/view.js` describes each kind and each field."""

    label: str
    kind: Literal["text", "number", "model", "strip", "verdict", "mono", "open", "tags", "brief"] = "text"
    colour: str = ""  # of a dot before the label, a CSS variable
    range: tuple[float, float] | None = None  # of a strip
    each: str = ""  # what a dot of a strip stands for, if it is not a seed
    wrap: bool = False  # its words may stand below each other
    minor: bool = False  # a narrow screen leaves it out
    sort: bool = False  # rows can be sorted by it

    @property
    def data(self) -> dict[str, object]:
        """The column as the browser takes it: numbers on the right."""
        return {**_filled_fields(self), "align": "right" if self.kind == "number" else "left"}


@dataclass(frozen=True)
class Cell:
    """A cell that is more than a text."""

    text: str
    colour: str = ""  # a CSS variable
    values: Sequence[float] | None = None  # dots of a strip; None: it has none
    mark: float | None = None  # a value that the strip marks
    detail: str = ""
    tone: str = ""
    wrong: bool = False
    tags: Sequence[str] = ()
    sort: float | str | None = None  # by which rows are sorted instead of the text; "": at the end

    @property
    def data(self) -> dict[str, object]:
        """The cell as the browser takes it."""
        return _filled_fields(self) | ({} if self.sort is None else {"sort": self.sort})


Row: TypeAlias = Mapping[str, Cell | str]


@dataclass(frozen=True)
class Table:
    """Rows of cells by the keys of the columns.

    label: what it shows, for readers who do not see it
    keys: names of the rows in events, if rows can be opened or chosen
    ruled: the indices of rows with a line above them
    """

    columns: Mapping[str, Column]
    rows: Sequence[Row]
    label: str
    caption: str = ""
    keys: Sequence[str] = ()
    ruled: Sequence[int] = ()

    def data(self, key: str) -> dict[str, object]:
        """Return the data of the component `table`; `key` names the saved file."""
        return {
            "columns": [{"key": name, **column.data} for name, column in self.columns.items()],
            "rows": [self._row_data(i, row) for i, row in enumerate(self.rows)],
            "select": None,
            "sort": None,
            "caption": self.caption or None,
            "file": key,
            "label": self.label,
        }

    def _row_data(self, i: int, row: Row) -> dict[str, object]:
        cells = {name: {"text": cell} if isinstance(cell, str) else cell.data for name, cell in row.items()}
        key = {"key": self.keys[i]} if self.keys else {}
        return {"cells": cells} | key | ({"rule": True} if i in self.ruled else {})


def strip(text: str, values: Iterable[SupportsFloat], mark: float | None = None) -> Cell:
    """Return a cell with a dot for each value, as of a seed."""
    return Cell(text, values=[round(float(value), 4) for value in values], mark=mark)


def _filled_fields(part: Column | Cell) -> dict[str, object]:
    values = {each.name: getattr(part, each.name) for each in fields(part)}
    return {
        name: value
        for name, value in values.items()
        if value is not None and value is not False and value not in ("", ())
    }
