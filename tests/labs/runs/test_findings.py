from __future__ import annotations

from dataclasses import replace

from syrupy.assertion import SnapshotAssertion

from explorer.labs.runs.findings import filtered_finding, overview_finding
from explorer.labs.runs.table import sort_entries
from explorer.run_store import index
from explorer.web.visitors import Visitor

SHIPPED = [entry for entry in index.search() if entry.task in ("negation", "recall")][:5]
MINE = replace(SHIPPED[0], shipped=False, owner="ada", key="a" * 12)
OTHER = replace(SHIPPED[1], shipped=False, owner="bob", key="b" * 12)


def test_sentences(snapshot: SnapshotAssertion) -> None:
    assert [
        *(overview_finding(each, "ada") for each in ([], [SHIPPED[0]], [MINE, OTHER, *SHIPPED])),
        filtered_finding([], "ada"),
        filtered_finding([MINE], "ada"),
        filtered_finding([MINE, OTHER, SHIPPED[0]], "ada"),
    ] == snapshot


def test_own_runs_come_first_and_runs_without_a_score_last() -> None:
    ada = Visitor("ada")
    assert sort_entries([SHIPPED[0], OTHER, MINE], "", ada)[:2] == [MINE, OTHER]
    without = replace(SHIPPED[2], metrics={})
    for sort in ("accuracy", "-accuracy"):
        assert sort_entries([without, MINE, OTHER], sort, ada)[-1] == without
    assert sort_entries(SHIPPED, "no such column", ada) == SHIPPED
    ten, two = (replace(SHIPPED[0], name=name, key=name) for name in ("run 10", "run 2"))
    assert sort_entries([ten, two], "title", ada) == [two, ten], "numbers are sorted as numbers"
