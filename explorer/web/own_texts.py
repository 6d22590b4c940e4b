"""Forget a text of a visitor, with everything that this process has computed from it."""

from __future__ import annotations

from explorer.tasks.text import rows
from explorer.web import background, results


def forget(sha: str) -> None:
    """Drop the text with this SHA-256, what was made of it, and the results that name it."""
    rows.drop_text_data(sha)
    background.drop_results(sha)
    results.drop(sha)
