"""Sentences on the Runs page."""

from __future__ import annotations

from collections.abc import Sequence

from explorer.number_format import format_units
from explorer.run_store.index import Entry


def overview_finding(entries: Sequence[Entry], visitor_id: str) -> str:
    """Say how many runs are the visitor's, how many are included, and how many belong to others."""
    mine, included, others = count_by_owner(entries, visitor_id)
    tasks = len({entry.task for entry in entries if entry.shipped})
    own = f"You have trained {format_units(mine, 'run')}" if mine else "You have trained no run yet"
    shipped = f"{format_units(included, 'run')} of {format_units(tasks, 'task')}"
    found = f"{own}; {shipped} {'is' if included == 1 else 'are'} included"
    return f"{found}, and other visitors have trained {others:,}." if others else f"{found}."


def filtered_finding(entries: Sequence[Entry], visitor_id: str) -> str:
    """Say how many runs match the filters, and whose they are."""
    mine, included, others = count_by_owner(entries, visitor_id)
    if not entries:
        return "No run matches."
    parts = [f"{mine:,} of yours"] * bool(mine) + [f"{included:,} included"] * bool(included)
    parts += [f"{others:,} of other visitors"] * bool(others)
    matches = f"{format_units(len(entries), 'run')} match{'es' * (len(entries) == 1)}"
    return f"{matches}: {', '.join(parts)}." if len(parts) > 1 else f"{matches}."


def count_by_owner(entries: Sequence[Entry], visitor_id: str) -> tuple[int, int, int]:
    """Return how many runs are the visitor's own, included, and of others."""
    included = sum(entry.shipped for entry in entries)
    mine = sum(not entry.shipped and entry.owner == visitor_id for entry in entries)
    return mine, included, len(entries) - included - mine
