"""`explorer.sweep`: the doctest, a real sweep, and what is refused."""

from __future__ import annotations

import doctest

import pandas as pd
import plotly.graph_objects as go
import pytest

import explorer
from explorer.api import sweeps
from explorer.errors import InvalidSetting
from explorer.run_store import store


def test_the_example() -> None:
    results = doctest.testmod(sweeps, globs={"explorer": explorer})
    assert results.attempted and not results.failed


def test_a_sweep_gives_a_table_a_best_run_and_a_picture(capsys: pytest.CaptureFixture[str]) -> None:
    found = explorer.sweep(
        "negation", "rnn", {"learning_rate": [1e-4, 1e-2], "hidden": [4, 8]}, seeds=2, epochs=3, progress=True
    )
    table = found.table()
    assert isinstance(table, pd.DataFrame) and len(table) == len(found) == 4
    assert set(table.learning_rate) == {1e-4, 1e-2} and set(table.hidden) == {4, 8}
    best = found.best()
    assert best.key == table.run.iloc[0] and store.find(best.key).card.finished
    assert best.settings["learning_rate"] == 1e-2
    assert found.winner is None or found.winner == {"learning_rate": 0.01, "hidden": best.config.model.hidden}
    assert isinstance(found.plot(), go.Figure)
    assert found.finding in repr(found) and found.finding in found._repr_html_()
    assert "6/6" in capsys.readouterr().err
    assert explorer.load(table.confirmation.iloc[0]).seeds == list(range(1000, 1008))


def test_what_is_not_possible_is_refused() -> None:
    with pytest.raises(InvalidSetting, match="executor = cloud is not possible"):
        explorer.sweep("negation", "rnn", {"learning_rate": [1e-3, 1e-2]}, executor="cloud")
    with pytest.raises(InvalidSetting, match="Give a task and a model"):
        explorer.sweep("negation", "", {"learning_rate": [1e-3, 1e-2]})
    with pytest.raises(InvalidSetting, match="no setting “lerning_rate”"):
        explorer.sweep("negation", "rnn", {"learning_rate": [1e-3, 1e-2]}, lerning_rate=1)
