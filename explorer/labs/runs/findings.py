"""Sentences on the Runs page."""

from __future__ import annotations

from collections.abc import Sequence

from explorer.run_store.index import Entry


def overview_finding(entries: Sequence[Entry], visitor_id: str) -> str:
    """Say how many runs are the visitor's, how many are included, and how many belong to others."""
    mine, included, others = count_by_owner(entries, visitor_id)
    tasks = len({entry.task for entry in entries if entry.shipped})
    own = f"You have trained {_runs(mine)}" if mine else "You have trained no run yet"
    found = f"{own}; {_runs(included)} of {tasks} task{'s' * (tasks != 1)} {'is' if included == 1 else 'are'} included"
    return f"{found}, and other visitors have trained {others:,}." if others else f"{found}."


def filtered_finding(entries: Sequence[Entry], visitor_id: str) -> str:
    """Say how many runs match the filters, and whose they are."""
    mine, included, others = count_by_owner(entries, visitor_id)
    if not entries:
        return "No run matches."
    parts = [f"{mine:,} of yours"] * bool(mine) + [f"{included:,} included"] * bool(included)
    parts += [f"{others:,} of other visitors"] * bool(others)
    matches = f"{_runs(len(entries))} match{'es' * (len(entries) == 1)}"
    return f"{matches}: {', '.join(parts)}." if len(parts) > 1 else f"{matches}."


def count_by_owner(entries: Sequence[Entry], visitor_id: str) -> tuple[int, int, int]:
    """Return how many runs are the visitor's own, included, and of others."""
    included = sum(entry.shipped for entry in entries)
    mine = sum(not entry.shipped and entry.owner == visitor_id for entry in entries)
    return mine, included, len(entries) - included - mine


def _runs(count: int) -> str:
    return f"{count:,} run{'' if count == 1 else 's'}"
