"""docs/claims.md is what `python -m benchmarks.claims` writes, and every claim holds."""

from __future__ import annotations

from benchmarks.claims import FILE, page_rows


def test_the_claims_of_the_pages_hold_and_are_listed() -> None:
    written = FILE.read_text(encoding="utf-8")
    for row, holds in page_rows():
        assert holds, row
        assert row in written, "write it again: python -m benchmarks.claims"
