from __future__ import annotations

from dataclasses import replace

from explorer.labs.runs.findings import filtered_finding, overview_finding
from explorer.labs.runs.table import sort_entries
from explorer.run_store import index
from explorer.web.visitors import Visitor

SHIPPED = [entry for entry in index.search() if entry.task in ("negation", "recall")][:5]
MINE = replace(SHIPPED[0], shipped=False, owner="ada", key="a" * 12)
OTHER = replace(SHIPPED[1], shipped=False, owner="bob", key="b" * 12)


def test_the_overview_counts_runs_by_their_owner() -> None:
    assert overview_finding([], "ada") == "You have trained no run yet; 0 runs of 0 tasks are included."
    assert overview_finding([SHIPPED[0]], "ada") == "You have trained no run yet; 1 run of 1 task is included."
    sentence = overview_finding([MINE, OTHER, *SHIPPED], "ada")
    assert sentence.startswith("You have trained 1 run; 5 runs of ")
    assert sentence.endswith("are included, and other visitors have trained 1.")
    assert len(sentence.split()) <= 20


def test_matching_runs_are_counted() -> None:
    assert filtered_finding([], "ada") == "No run matches."
    assert filtered_finding([MINE], "ada") == "1 run matches."
    assert filtered_finding([MINE, OTHER, SHIPPED[0]], "ada") == (
        "3 runs match: 1 of yours, 1 included, 1 of other visitors."
    )


def test_own_runs_come_first_and_runs_without_a_score_last() -> None:
    ada = Visitor("ada")
    assert sort_entries([SHIPPED[0], OTHER, MINE], "", ada)[:2] == [MINE, OTHER]
    without = replace(SHIPPED[2], metrics={})
    for sort in ("accuracy", "-accuracy"):
        assert sort_entries([without, MINE, OTHER], sort, ada)[-1] == without
    assert sort_entries(SHIPPED, "no such column", ada) == SHIPPED
    ten, two = (replace(SHIPPED[0], name=name, key=name) for name in ("run 10", "run 2"))
    assert sort_entries([ten, two], "title", ada) == [two, ten], "numbers are sorted as numbers"
