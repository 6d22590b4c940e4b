"""Tables as CSV files: every table that this program writes in Python goes through `to_csv`. Needs no torch."""

from __future__ import annotations

import re

from explorer.lazy_libraries import pd

_FORMULA = re.compile(r"[\s\x00-\x1f]*[=+\-@＝＋－＠]|[\t\r\n]")  # a spreadsheet would run such a text (OWASP)


def to_csv(table: pd.DataFrame) -> str:
    """Return a table as CSV without its index: numbers in full precision, undefined values as empty cells.

    A text that a spreadsheet would run as a formula begins with an apostrophe.
    """
    safe = table.copy()
    for position, (_, column) in enumerate(table.items()):
        if not pd.api.types.is_numeric_dtype(column.dtype):
            cells = [_escape_text(cell) for cell in column]
            safe.isetitem(position, pd.Series(cells, index=table.index, dtype=object))  # holds unpaired surrogates too
    safe.columns = pd.Index([_escape_text(name) for name in table.columns], dtype=object)
    # Python quotes a carriage return only if it is part of the line ending; unquoted it would begin a row.
    text: str = safe.to_csv(index=False, lineterminator="\r\n")
    return text


def to_csv_file(table: pd.DataFrame) -> bytes:
    """Return the content of a CSV file: UTF-8 with the byte order mark that spreadsheets need to recognise it."""
    return to_csv(table).encode("utf-8-sig", "replace")


def escape_formula(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


def _escape_text(value: object) -> object:
    return escape_formula(value) if isinstance(value, str) else value
