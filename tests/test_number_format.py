"""Every case of number_format.json; tests/static/format.test.mjs runs the same cases in JavaScript."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from explorer import number_format

CASES = json.loads(Path(__file__).with_name("number_format.json").read_text("utf-8"))


def _argument(value: object) -> object:
    return float(value) if value in ("nan", "inf", "-inf") else value


@pytest.mark.parametrize("name", CASES)
def test_numbers_are_formatted_as_the_table_says(name: str) -> None:
    function = getattr(number_format, name)
    for arguments, text in CASES[name]:
        assert function(*map(_argument, arguments)) == text, arguments


def test_the_table_has_cases_for_every_function() -> None:
    functions = {name for name, value in vars(number_format).items() if callable(value) and not name.startswith("_")}
    assert functions - {"format_bytes"} == set(CASES), "JavaScript formats no sizes of memory"
