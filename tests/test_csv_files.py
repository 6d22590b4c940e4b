"""CSV files: what is written is read again, and no text is a formula for a spreadsheet."""

from __future__ import annotations

import csv
import io

import numpy as np
import pandas as pd

from explorer.csv_files import escape_formula, to_csv, to_csv_file


def read_rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


def test_numbers_are_written_in_full_precision_and_undefined_ones_as_empty_cells() -> None:
    table = pd.DataFrame({"step": [1, 2, 3], "loss": [1 / 3, np.nan, -2.5], "name": ["a", None, "b, c"]})
    rows = read_rows(to_csv(table))
    assert rows == [["step", "loss", "name"], ["1", repr(1 / 3), "a"], ["2", "", ""], ["3", "-2.5", "b, c"]]
    pd.testing.assert_frame_equal(pd.read_csv(io.StringIO(to_csv(table))), table)


def test_no_cell_and_no_heading_is_a_formula() -> None:
    for text in ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "  =1", "\x00=1", "＝1", "＠x", "=1\n2"):
        rows = read_rows(to_csv(pd.DataFrame({text: [text, "b"], "mixed": [text, 1]})))
        assert rows == [[f"'{text}", "mixed"], [f"'{text}", f"'{text}"], ["b", "1"]]
    for text in ("a = b", "RNN", "5 = 5", "", "“=”", 'a"\r=1'):
        assert escape_formula(text) == text


def test_a_file_begins_with_the_byte_order_mark_and_holds_any_text() -> None:
    content = to_csv_file(pd.DataFrame({"word": ["Grün", "half a pair \ud800"]}, dtype=object))
    assert content.startswith(b"\xef\xbb\xbf") and content.decode("utf-8-sig").split("\r\n")[1:3] == [
        "Grün",
        "half a pair ?",
    ]
