"""The runs among which a visitor chooses, and the search in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from explorer.labs.runs.descriptions import display_name, generated_name
from explorer.run_store import index
from explorer.run_store.index import Entry, Query

MOST_RUNS = 5_000  # of which pages know; the newest ones
MOST_OPTIONS = 500  # runs that the browser receives as options


@dataclass(frozen=True)
class RunOptions:
    """The runs that a widget offers: their labels by key, whether there are more, and a sentence that says so."""

    labels: dict[str, str]
    searchable: bool
    note: str


def matching_entries(entries: Sequence[Entry], text: str) -> list[Entry]:
    """Return the runs that match a text, in their order.

    The text is looked for in what the index stores (names, tags, keys); or its words stand in the name of the run.
    Raises StoreError, InvalidSetting.
    """
    stored = {(entry.key, entry.shipped) for entry in index.search(Query(text=text, limit=MOST_RUNS))}
    words = text.casefold().split()
    return [
        entry
        for entry in entries
        if (entry.key, entry.shipped) in stored
        or (words and all(word in generated_name(entry).casefold() for word in words))
    ]


def find_run_options(text: str, selected: Sequence[str]) -> RunOptions:
    """Return the runs that match a text, the newest first, and the selected ones; at most MOST_OPTIONS."""
    every = index.search(Query(limit=MOST_RUNS))
    entries = matching_entries(every, text) if text else every
    offered = entries[:MOST_OPTIONS]
    chosen = [entry for entry in every if entry.key in set(selected)]
    names = {entry.key: display_name(entry) for entry in (*offered, *chosen)}
    several = {name for name, count in Counter(names.values()).items() if count > 1}
    labels = {run: f"{name} ({run})" if name in several else name for run, name in names.items()}
    note = ""
    if text and not entries:
        note = f"No run matches “{text}”."
    elif len(entries) > len(offered):
        note = f"The newest {len(offered):,} of {len(entries):,} runs can be chosen here; search for others."
    order = [*selected, *(entry.key for entry in offered)]
    return RunOptions({run: labels.get(run, run) for run in order}, len(every) > MOST_OPTIONS, note)
