"""Output of `inspect`: head scores as rows, and named arrays as a file."""

from __future__ import annotations

import math
import os
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from explorer.cli.program import print_json
from explorer.inspection.attention import head_scores

_WIDTH = 80  # of output that goes to a file or to another program
_FIRST_COLUMN = 30  # characters


def output_width() -> int:
    """Return the number of characters in a line of the terminal; 80 if there is none."""
    return max(20, shutil.get_terminal_size((_WIDTH, 24)).columns)


def print_wrapped(text: str, indent: str = "") -> None:
    """Print a text in lines that fit the terminal. A path or a word that is longer than a line stays whole."""
    wrapper = textwrap.TextWrapper(
        output_width(), initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    )
    for line in wrapper.wrap(text):
        print(line)


def print_columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows below their headers. On a terminal, a line that does not fit is truncated after its first column.

    A first cell that is much longer than the others moves the rest of its line, so that the others stay readable.
    """
    fits = "COLUMNS" in os.environ or (sys.stdout is not None and sys.stdout.isatty())
    sizes = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    sizes[0] = min(sizes[0], _FIRST_COLUMN)
    for row in (header, *rows):
        line = "  ".join(f"{cell:{size}}" for cell, size in zip(row, sizes, strict=True)).rstrip()
        room = max(output_width(), len(row[0]) + 2) if fits else len(line)
        print(line if len(line) <= room else line[: room - 1] + "…")


def head_rows(found: head_scores.HeadScores) -> list[dict[str, Any]]:
    """Return the scores of each head as plain data. A score that is undefined for this text is None."""
    shares = ("previous", "itself", "first", "same", "after_same", "entropy", "spread")
    layers, heads = found.entropy.shape
    return [
        {
            "kind": "head",
            "layer": layer,
            "head": head,
            **{name: round_or_none(getattr(found, name)[layer, head]) for name in shares},
            "distance": {
                int(back): round_or_none(share)
                for back, share in zip(found.distances, found.distance[layer, head], strict=True)
            },
        }
        for layer in range(layers)
        for head in range(heads)
    ]


def print_rows(rows: Sequence[Mapping[str, Any]], as_json: bool) -> None:
    """Print rows as a table or as JSON."""
    if as_json:
        for row in rows:
            print_json(dict(row))
        return
    named = [name for name in rows[0] if name not in ("kind", "distance")]
    print(" ".join(f"{name:>10}" for name in named))
    for row in rows:
        print(" ".join(f"{_format_cell(row[name]):>10}" for name in named))


def visible_token(token: str) -> str:
    """Return a token of a row, with a symbol for the space."""
    return "␣" if token == " " else token


def round_or_none(value: float) -> float | None:
    """Return a number rounded to six digits, or None for NaN, which JSON does not have."""
    return None if math.isnan(value) else round(float(value), 6)


def _format_cell(value: int | float | str | None) -> str:
    if value is None:
        return "none"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
