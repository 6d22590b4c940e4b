"""docs/claims.md is what `python -m benchmarks.claims` writes, and every claim holds."""

from __future__ import annotations

from benchmarks.claims import FILE, page_rows
from tests import needs


def _check_rows(needs_text: bool) -> None:
    written = FILE.read_text(encoding="utf-8").splitlines()
    for row, holds in page_rows(needs_text):
        assert holds, row
        assert row in written, f"write it again: python -m benchmarks.claims\n{row}"


def test_the_claims_of_the_pages_hold_and_are_listed() -> None:
    _check_rows(needs_text=False)


@needs.tiny_shakespeare
def test_the_claims_about_tiny_shakespeare_hold_and_are_listed() -> None:
    _check_rows(needs_text=True)
