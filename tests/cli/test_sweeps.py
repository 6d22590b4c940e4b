"""The command `sweep`."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from explorer.sweeps import driver, stored
from tests.terminal import RunCommand, parse_json_lines

SHORT = ("sweep", "--task", "negation", "--model", "rnn", "--set", "epochs=1", "--seeds", "1")
RATES = ("--set", "learning_rate=1e-3,1e-2")


def test_a_sweep_prints_its_table_and_writes_it(ask: RunCommand, tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    code, out, _ = ask(*SHORT, *RATES, "--out", str(file))
    assert code == 0
    lines = out.splitlines()
    assert lines[0].startswith("Sweep ") and "4 runs, about" in lines[0]
    assert lines[1].split() == ["learning_rate", "state", "step", "test_loss", "lowest", "highest", "confirmed", "run"]
    assert [line.split()[0] for line in lines[2:4]] == ["0.01", "0.001"]
    table = pd.read_csv(file)
    assert table.learning_rate.tolist() == [0.01, 0.001] and table.step.tolist() == [13, 13]
    code, _, err = ask(*SHORT, *RATES, "--out", str(file))
    assert code == 2 and "exists" in err
    code, out, _ = ask(*SHORT, *RATES, "--no-halving", "--finalists", "0", "--json")
    rows = parse_json_lines(out)
    assert code == 0 and [row["kind"] for row in rows] == ["trial", "trial", "swept"]
    assert rows[0]["confirmed"] is None and rows[0]["learning_rate"] == 0.01
    assert stored.find(rows[-1]["sweep"]).state == "finished"


def test_an_interruption_keeps_what_there_is(ask: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(driver, "advance", interrupt)
        code, _, err = ask(*SHORT, *RATES)
    assert code == 130 and "To continue: the same" in err
    assert [sweep.state for sweep in stored.newest()] == ["stopped"]
    assert ask(*SHORT, *RATES)[0] == 0
    assert [sweep.state for sweep in stored.newest()] == ["finished"]
